#include "base/text/uuid_text.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include <uuid/uuid.h>

void uuid_text_of(const uint8_t bytes[UUID_BYTES], char text[UUID_TEXT_SIZE])
{
	uuid_t uuid;

	memcpy(uuid, bytes, sizeof(uuid));
	uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40); /* the version, and the variant */
	uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
	uuid_unparse_lower(uuid, text);
}

int uuid_text_new(char text[UUID_TEXT_SIZE])
{
	uint8_t bytes[UUID_BYTES];

	/* getrandom() fills up to 256 bytes completely. */
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -errno;
	uuid_text_of(bytes, text);
	return 0;
}

bool uuid_text_is(const char *text, size_t len)
{
	char given[UUID_TEXT_SIZE], canonical[UUID_TEXT_SIZE];
	uuid_t uuid;

	if (len != UUID_TEXT_SIZE - 1)
		return false;
	memcpy(given, text, len);
	given[len] = '\0';
	if (uuid_parse(given, uuid) != 0)
		return false;
	uuid_unparse_lower(uuid, canonical);
	return memcmp(canonical, given, len) == 0;
}
