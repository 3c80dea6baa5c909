#include "core/time/zone.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "core/time/calendar.h"
#include "core/time/zone_rule.h"

#define HEADER_SIZE 44
#define TYPES_MAX   256
#define NAMES_MAX   1024 /* bytes of abbreviations */
#define TYPE_SIZE   6

struct zone {
	size_t n; /* changes, ascending */
	int64_t *at;
	int32_t *offset;       /* from then on */
	int32_t first_offset;  /* before the first */
	struct zone_rule rule; /* behind the last, if it says something */
};

/* The counts in a header. */
struct counts {
	uint32_t isut, isstd, leap, time, type, chars;
};

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t be64(const uint8_t *p)
{
	return (int64_t)((uint64_t)be32(p) << 32 | be32(p + 4));
}

/* NULL or what is wrong with the header. */
static const char *read_header(const uint8_t *p, size_t len, struct counts *ret)
{
	if (len < HEADER_SIZE || memcmp(p, "TZif", 4) != 0)
		return "not a compiled time zone";
	if (p[4] < '2')
		return "a compiled time zone without 64-bit times";
	*ret = (struct counts){be32(p + 20), be32(p + 24), be32(p + 28),
			       be32(p + 32), be32(p + 36), be32(p + 40)};
	if (ret->leap > 0)
		return "leap seconds are not supported: take the zone without \"right/\"";
	if (ret->type < 1 || ret->type > TYPES_MAX || ret->time > ZONE_CHANGES_MAX ||
	    ret->chars > NAMES_MAX || ret->isut > TYPES_MAX || ret->isstd > TYPES_MAX)
		return "counts beyond all limits";
	return NULL;
}

/* Bytes of a block behind its header; time_size is that of a time. */
static size_t block_size(const struct counts *c, size_t time_size)
{
	return c->time * (time_size + 1) + c->type * TYPE_SIZE + c->chars + c->isstd + c->isut;
}

/* The types' offsets; NULL or what is wrong. */
static const char *read_types(const uint8_t *p, uint32_t n, int32_t offsets[TYPES_MAX])
{
	for (uint32_t i = 0; i < n; i++) {
		offsets[i] = (int32_t)be32(p + i * TYPE_SIZE);
		if (offsets[i] < -ZONE_OFFSET_MAX || offsets[i] > ZONE_OFFSET_MAX)
			return "an offset of more than 26 hours";
	}
	return NULL;
}

static const char *read_block(struct zone *z, const uint8_t *p, const struct counts *c)
{
	const uint8_t *kinds = p + c->time * 8;
	int32_t offsets[TYPES_MAX] = {0};
	const char *why = read_types(kinds + c->time, c->type, offsets);

	if (why)
		return why;
	z->at = mem_calloc(c->time + 1, sizeof(*z->at));
	z->offset = mem_calloc(c->time + 1, sizeof(*z->offset));
	z->first_offset = offsets[0];
	for (uint32_t i = 0; i < c->time; i++) {
		z->at[i] = be64(p + i * 8);
		if (kinds[i] >= c->type)
			return "a type that is not there";
		if (i > 0 && z->at[i] <= z->at[i - 1])
			return "times that do not ascend";
		z->offset[i] = offsets[kinds[i]];
	}
	z->n = c->time;
	return NULL;
}

/* The line behind the second block: "\nRULE\n". */
static const char *read_footer(struct zone *z, const uint8_t *p, size_t len)
{
	const uint8_t *end = len > 1 && p[0] == '\n' ? memchr(p + 1, '\n', len - 1) : NULL;

	if (!end)
		return "it ends too early";
	return zone_rule_parse((const char *)p + 1, (size_t)(end - p) - 1, &z->rule)
		       ? NULL
		       : "a rule for later years that cannot be read";
}

static const char *read_all(struct zone *z, const uint8_t *p, size_t len)
{
	struct counts c;
	const char *why;

	if (len > ZONE_BYTES_MAX)
		return "too long";
	/* The first block has the times in 32 bits, for readers of old. */
	why = read_header(p, len, &c);
	if (why)
		return why;
	size_t skip = HEADER_SIZE + block_size(&c, 4);
	if (len < skip)
		return "it ends too early";
	p += skip;
	len -= skip;
	why = read_header(p, len, &c);
	if (why)
		return why;
	skip = HEADER_SIZE + block_size(&c, 8);
	if (len < skip)
		return "it ends too early";
	why = read_block(z, p + HEADER_SIZE, &c);
	return why ? why : read_footer(z, p + skip, len - skip);
}

int zone_parse(const void *data, size_t len, struct zone **ret_zone, const char **ret_why)
{
	struct zone *z = mem_calloc(1, sizeof(*z));
	const char *why = read_all(z, data, len);

	if (why) {
		zone_free(z);
		*ret_why = why;
		return -EINVAL;
	}
	*ret_zone = z;
	return 0;
}

void zone_free(struct zone *z)
{
	if (!z)
		return;
	free(z->at);
	free(z->offset);
	free(z);
}

static int behind(const void *time, const void *change)
{
	return *(const int64_t *)time >= *(const int64_t *)change;
}

/* The number of changes up to that time. */
static size_t changes_until(const struct zone *z, int64_t at)
{
	return sort_place(&at, z->at, z->n, sizeof(*z->at), behind);
}

int32_t zone_offset(const struct zone *z, int64_t at)
{
	if (!z)
		return 0;
	size_t n = changes_until(z, at);
	if (n == z->n && z->rule.known)
		return zone_rule_offset(&z->rule, at);
	return n > 0 ? z->offset[n - 1] : z->first_offset;
}

bool zone_next_change(const struct zone *z, int64_t after, int64_t *ret_at)
{
	if (!z)
		return false;
	int32_t now = zone_offset(z, after);
	for (size_t i = changes_until(z, after); i < z->n; i++) {
		after = z->at[i];
		if (zone_offset(z, after) != now) {
			*ret_at = after;
			return true;
		}
	}
	return z->rule.known && zone_rule_next(&z->rule, after, ret_at);
}

uint64_t zone_digest(const struct zone *z)
{
	uint64_t digest = 0;

	if (!z)
		return 0;
	digest = hash_bytes(&z->first_offset, sizeof(z->first_offset), digest);
	digest = hash_bytes(z->at, z->n * sizeof(*z->at), digest);
	digest = hash_bytes(z->offset, z->n * sizeof(*z->offset), digest);
	return zone_rule_digest(&z->rule, digest);
}
