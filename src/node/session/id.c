#include "node/session/id.h"

#include "base/text/uuid_text.h"

void id_new(struct host *h, char id[NAME_ID_MAX + 1])
{
	uint8_t bytes[UUID_BYTES];

	host_random(h, bytes, sizeof(bytes));
	uuid_text_of(bytes, id);
}
