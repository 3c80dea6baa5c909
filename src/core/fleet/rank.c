#include "core/fleet/rank.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

#include "base/hash.h"

#define RANK_SHIFT 11 /* leaves the 53 bits that a double holds exactly */

/* An address as it is ordered: its kind first, then its bytes in network order. */
struct address {
	enum { ADDRESS_OTHER, ADDRESS_IPV4, ADDRESS_IPV6 } kind;
	uint8_t bytes[16]; /* IPv4: the first four */
};

uint64_t rank_key(const int32_t random_ints[WORKER_RANDOM_INTS])
{
	uint8_t bytes[WORKER_RANDOM_INTS * 4];

	for (size_t i = 0; i < WORKER_RANDOM_INTS; i++) {
		uint32_t value = (uint32_t)random_ints[i];
		for (size_t j = 0; j < 4; j++)
			bytes[4 * i + j] = (uint8_t)(value >> (8 * j));
	}
	return hash_bytes(bytes, sizeof(bytes), 0);
}

uint64_t rank_score(uint64_t key, const char *task)
{
	return hash_bytes(task, strlen(task), key) >> RANK_SHIFT;
}

uint32_t rank_digest(const struct rank_keys *k)
{
	uint64_t kind = (uint64_t)(uint8_t)(k->position + 1);

	if (k->version_policy == VERSION_OLDEST)
		kind |= 0x100U;
	if (k->version_policy == VERSION_ANY)
		kind |= 0x400U;
	if (k->min_version)
		kind |= 0x200U;
	kind |= (uint64_t)k->partitions << 16 | (uint64_t)k->limit << 32;
	/* A task without new keys has the digest that it always had. */
	if (k->spread)
		kind = hash_bytes(k->spread, strlen(k->spread), kind) | UINT64_C(1) << 63;
	if (!k->min_version)
		return (uint32_t)hash_bytes("", 0, kind);
	return (uint32_t)hash_bytes(k->min_version, strlen(k->min_version), kind);
}

static struct address parse_address(const char *text)
{
	struct address address = {.kind = ADDRESS_OTHER};

	if (inet_pton(AF_INET, text, address.bytes) == 1)
		address.kind = ADDRESS_IPV4;
	else if (inet_pton(AF_INET6, text, address.bytes) == 1)
		address.kind = ADDRESS_IPV6;
	return address;
}

int rank_compare_ip(const char *a, const char *b)
{
	struct address aa = parse_address(a);
	struct address bb = parse_address(b);

	if (aa.kind != bb.kind)
		return aa.kind < bb.kind ? -1 : 1;
	if (aa.kind == ADDRESS_OTHER)
		return strcmp(a, b);
	return memcmp(aa.bytes, bb.bytes, sizeof(aa.bytes));
}
