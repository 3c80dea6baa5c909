#include "base/hash.h"

#include <assert.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed)
{
	assert(bytes || len == 0);
	return XXH64(bytes ? bytes : "", len, seed);
}

void hash_digest(const void *bytes, size_t len, char digest[HASH_DIGEST_LEN + 1])
{
	static const char digits[] = "0123456789abcdef";
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, len));
	for (size_t i = 0; i < sizeof(canonical.digest); i++) {
		digest[2 * i] = digits[canonical.digest[i] >> 4];
		digest[2 * i + 1] = digits[canonical.digest[i] & 15];
	}
	digest[HASH_DIGEST_LEN] = '\0';
}
