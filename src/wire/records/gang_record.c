#include "wire/records/gang_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/records/fields.h"

static bool is_key(const char *text, size_t len)
{
	return len > 0 && utf8_is_valid(text, len);
}

/* [key, id, ip, hostname] */
static int parse_place(struct reader *r, struct gang_place *p)
{
	size_t n;
	int e = reader_array(r, &n);

	if (e == 0 && n != 4)
		e = -EBADMSG;
	if (e == 0)
		e = keys_parse_text(r, is_key, p->key, sizeof(p->key));
	if (e == 0)
		e = reader_uint(r, &p->id);
	if (e == 0)
		e = keys_parse_text(r, name_is_ip, p->ip, sizeof(p->ip));
	if (e == 0)
		e = keys_parse_text(r, name_is_host, p->hostname, sizeof(p->hostname));
	return e;
}

static int compare_keys(const void *a, const void *b)
{
	return strcmp((*(const struct gang_place *const *)a)->key,
		      (*(const struct gang_place *const *)b)->key);
}

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = (*(const struct gang_place *const *)a)->id;
	uint64_t y = (*(const struct gang_place *const *)b)->id;

	return (x > y) - (x < y);
}

/* Whether no two members have the same key or id, whichever `compare` looks at. */
static bool are_distinct(const struct gang_record *g, int (*compare)(const void *, const void *))
{
	const struct gang_place *sorted[GANG_COUNT_MAX] = {NULL};

	for (size_t i = 0; i < g->n; i++)
		sorted[i] = &g->members[i];
	qsort(sorted, g->n, sizeof(sorted[0]), compare);
	for (size_t i = 1; i < g->n; i++)
		if (compare(&sorted[i - 1], &sorted[i]) == 0)
			return false;
	return true;
}

static int parse_places(struct reader *r, void *record)
{
	struct gang_record *g = record;
	size_t n;
	int e = reader_array(r, &n);

	if (e == 0 && n > GANG_COUNT_MAX)
		e = -EBADMSG;
	for (g->n = 0; e == 0 && g->n < n; g->n++)
		e = parse_place(r, &g->members[g->n]);
	if (e == 0 && !(are_distinct(g, compare_keys) && are_distinct(g, compare_ids)))
		e = -EBADMSG;
	return e;
}

static void pack_places(struct pack *p, const void *record)
{
	const struct gang_record *g = record;

	pack_array(p, g->n);
	for (size_t i = 0; i < g->n; i++) {
		pack_array(p, 4);
		pack_str(p, g->members[i].key);
		pack_uint(p, g->members[i].id);
		pack_str(p, g->members[i].ip);
		pack_str(p, g->members[i].hostname);
	}
}

static const struct key gang_keys[] = {
	INT_KEY(gang_record, instance, KEY_REQUIRED, 0, INT64_MAX - 1, "not a number from 0 on"),
	INT_KEY(gang_record, count, KEY_REQUIRED, 1, GANG_COUNT_MAX, "not a number from 1 to 256"),
	CUSTOM_KEY("members", KEY_REQUIRED, parse_places, pack_places,
		   "not an array of at most 256 different members"),
	BOOL_KEY(gang_record, goes_on, KEY_ALWAYS),
	BOOL_KEY(gang_record, lost, KEY_ALWAYS),
	INT_KEY(gang_record, empty, KEY_ALWAYS, 0, INT64_MAX, "not the number of a transaction"),
};

static const char *misfit(const void *record)
{
	const struct gang_record *g = record;

	return (g->n == 0) != (g->instance == 0) || (g->n > 0 && (int64_t)g->n != g->count)
		       ? "members: do not go with the count and the instance"
		       : NULL;
}

RECORD_DEFINE(gang, gang_record, gang_keys, RECORD_GANG_MAX, .misfit = misfit)

static const struct key member_keys[] = {
	UTF8_KEY(gang_member_record, node, KEY_REQUIRED, "not the name of a node"),
	UTF8_KEY(gang_member_record, machine, KEY_ALWAYS, "not a text of at most 32 bytes"),
	TEXT_KEY(gang_member_record, ip, KEY_REQUIRED, name_is_ip, NOT_IP),
	TEXT_KEY(gang_member_record, hostname, KEY_REQUIRED, name_is_host, NOT_HOST),
};
RECORD_DEFINE(gang_member, gang_member_record, member_keys, RECORD_GANG_MEMBER_MAX)
