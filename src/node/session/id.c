#include "node/session/id.h"

#include <stddef.h>
#include <stdint.h>

#define UUID_BYTES 16

void id_new(struct host *h, char id[NAME_ID_MAX + 1])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t bytes[UUID_BYTES];

	host_random(h, bytes, sizeof(bytes));
	bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40);
	bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*id++ = '-';
		*id++ = digits[bytes[i] >> 4];
		*id++ = digits[bytes[i] & 15];
	}
	*id = '\0';
}
