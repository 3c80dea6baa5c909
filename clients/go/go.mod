module zkleader

go 1.19
