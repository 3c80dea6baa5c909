/* UUIDs as texts, by libuuid: names that nobody else ever makes. */
#ifndef ZKLEADER_BASE_TEXT_UUID_TEXT_H
#define ZKLEADER_BASE_TEXT_UUID_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UUID_BYTES     16
#define UUID_TEXT_SIZE 37

/* Makes a UUID of version 4 (RFC 4122) from these random bytes, in lower case. */
void uuid_text_of(const uint8_t bytes[UUID_BYTES], char text[UUID_TEXT_SIZE]);
/* The same by random bytes of the system. 0 or a negative errno. */
int uuid_text_new(char text[UUID_TEXT_SIZE]);
/* Whether the text is a UUID of any version in lower case. */
bool uuid_text_is(const char *text, size_t len);

#endif
