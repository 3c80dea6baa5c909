/* Hashes of bytes that are the same on every machine and in every release. */
#ifndef ZKLEADER_BASE_HASH_H
#define ZKLEADER_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_DIGEST_LEN 32 /* hexadecimal digits */

/* XXH64 of these bytes with that seed. */
uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed);
/* XXH3 of these bytes with 128 bits, as hexadecimal digits in the order of xxhsum. */
void hash_digest(const void *bytes, size_t len, char digest[HASH_DIGEST_LEN + 1]);

#endif
