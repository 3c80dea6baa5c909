#include "daemon/id.h"

#include <uuid/uuid.h>

void id_new(char id[NAME_ID_MAX + 1])
{
	uuid_t uuid;

	uuid_generate(uuid);
	uuid_unparse_lower(uuid, id);
}
