#include "wire/records/gang_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/utf8.h"
#include "wire/keys.h"
#include "wire/pack.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_key(const char *text, size_t len)
{
	return len > 0 && len <= GANG_KEY_MAX && utf8_is_valid(text, len) && !memchr(text, 0, len);
}

static int parse_text(struct reader *r, char *text, size_t size,
		      bool (*is_good)(const char *text, size_t len))
{
	struct reader_text t;
	int e = reader_str(r, &t);

	if (e < 0)
		return e;
	return is_good(t.data, t.len) ? reader_text_copy(t, text, size) : -EBADMSG;
}

/* [key, id, ip, hostname] */
static int parse_place(struct reader *r, struct gang_place *p)
{
	size_t n;
	int e = reader_array(r, &n);

	if (e == 0 && n != 4)
		e = -EBADMSG;
	if (e == 0)
		e = parse_text(r, p->key, sizeof(p->key), is_key);
	if (e == 0)
		e = reader_uint(r, &p->id);
	if (e == 0)
		e = parse_text(r, p->ip, sizeof(p->ip), name_is_ip);
	if (e == 0)
		e = parse_text(r, p->hostname, sizeof(p->hostname), name_is_host);
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

/* No key and no id is there twice. */
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

static const struct key gang_keys[] = {
	{.name = "instance",
	 .kind = KEY_INT,
	 .offset = offsetof(struct gang_record, instance),
	 .min = 0,
	 .max = INT64_MAX - 1,
	 KEY_WHY("instance", "not a number from 0 on")},
	{.name = "count",
	 .kind = KEY_INT,
	 .offset = offsetof(struct gang_record, count),
	 .min = 1,
	 .max = GANG_COUNT_MAX,
	 KEY_WHY("count", "not a number from 1 to 256")},
	{.name = "members",
	 .kind = KEY_CUSTOM,
	 .parse = parse_places,
	 KEY_WHY("members", "not an array of at most 256 different members")},
	{.name = "goes_on",
	 .kind = KEY_BOOL,
	 .optional = true,
	 .offset = offsetof(struct gang_record, goes_on),
	 KEY_WHY("goes_on", "neither true nor false")},
	{.name = "lost",
	 .kind = KEY_BOOL,
	 .optional = true,
	 .offset = offsetof(struct gang_record, lost),
	 KEY_WHY("lost", "neither true nor false")},
	{.name = "empty",
	 .kind = KEY_INT,
	 .optional = true,
	 .offset = offsetof(struct gang_record, empty),
	 .min = 0,
	 .max = INT64_MAX,
	 KEY_WHY("empty", "not the number of a transaction")},
};

int record_parse_gang(const void *data, size_t len, struct gang_record *ret_gang,
		      const char **ret_why)
{
	mem_auto struct gang_record *g = mem_calloc(1, sizeof(*g));
	int e = keys_parse(data, len, RECORD_GANG_MAX, gang_keys, COUNT(gang_keys), g, ret_why);

	if (e == 0 &&
	    ((g->n == 0) != (g->instance == 0) || (g->n > 0 && (int64_t)g->n != g->count))) {
		*ret_why = "members: do not go with the count and the instance";
		e = -EBADMSG;
	}
	if (e == 0)
		*ret_gang = *g;
	return e;
}

/* Takes back what was appended since `before`, if it is not to be. */
static int finish(const struct pack *p, size_t before, size_t max)
{
	if (!p->failed && p->buffer->len - before <= max)
		return 0;
	buffer_truncate(p->buffer, before);
	return -ENOBUFS;
}

int record_pack_gang(struct buffer *out, const struct gang_record *g)
{
	size_t before = out->len;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, 6);
	pack_kv_int(&p, "instance", g->instance);
	pack_kv_int(&p, "count", g->count);
	pack_str(&p, "members");
	pack_array(&p, g->n);
	for (size_t i = 0; i < g->n; i++) {
		pack_array(&p, 4);
		pack_str(&p, g->members[i].key);
		pack_uint(&p, g->members[i].id);
		pack_str(&p, g->members[i].ip);
		pack_str(&p, g->members[i].hostname);
	}
	pack_kv_bool(&p, "goes_on", g->goes_on);
	pack_kv_bool(&p, "lost", g->lost);
	pack_kv_int(&p, "empty", g->empty);
	return finish(&p, before, RECORD_GANG_MAX);
}

/* --- who is behind a node ------------------------------------------------- */

static bool is_text(const char *text, size_t len)
{
	return utf8_is_valid(text, len);
}

static const struct key member_keys[] = {
	{.name = "node",
	 .kind = KEY_TEXT,
	 .offset = offsetof(struct gang_member_record, node),
	 .size = sizeof(((struct gang_member_record *)NULL)->node),
	 .is_good = is_text,
	 KEY_WHY("node", "not the name of a node")},
	{.name = "machine",
	 .kind = KEY_TEXT,
	 .optional = true,
	 .offset = offsetof(struct gang_member_record, machine),
	 .size = sizeof(((struct gang_member_record *)NULL)->machine),
	 .is_good = is_text,
	 KEY_WHY("machine", "not a text of at most 32 bytes")},
	{.name = "ip",
	 .kind = KEY_TEXT,
	 .offset = offsetof(struct gang_member_record, ip),
	 .size = sizeof(((struct gang_member_record *)NULL)->ip),
	 .is_good = name_is_ip,
	 KEY_WHY("ip", "not an address")},
	{.name = "hostname",
	 .kind = KEY_TEXT,
	 .offset = offsetof(struct gang_member_record, hostname),
	 .size = sizeof(((struct gang_member_record *)NULL)->hostname),
	 .is_good = name_is_host,
	 KEY_WHY("hostname", "not a string of 1 to 255 printable ASCII characters")},
};

int record_parse_gang_member(const void *data, size_t len, struct gang_member_record *ret_member,
			     const char **ret_why)
{
	struct gang_member_record m = {.node = ""};
	int e = keys_parse(data, len, RECORD_GANG_MEMBER_MAX, member_keys, COUNT(member_keys), &m,
			   ret_why);

	if (e == 0)
		*ret_member = m;
	return e;
}

int record_pack_gang_member(struct buffer *out, const struct gang_member_record *m)
{
	size_t before = out->len;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, 4);
	pack_kv_str(&p, "node", m->node);
	pack_kv_str(&p, "machine", m->machine);
	pack_kv_str(&p, "ip", m->ip);
	pack_kv_str(&p, "hostname", m->hostname);
	return finish(&p, before, RECORD_GANG_MEMBER_MAX);
}
