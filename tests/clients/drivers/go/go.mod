module driver

go 1.19

require zkleader v0.0.0

replace zkleader => ../../../../clients/go
