#include "wire/records/recipe_record.h"

#include <errno.h>
#include <string.h>

#include "base/text/utf8.h"
#include "wire/keys.h"
#include "wire/pack.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A text of at most size - 1 bytes of UTF-8. */
static int parse_text(struct reader *r, char *text, size_t size)
{
	struct reader_text t;
	int e = reader_str(r, &t);

	if (e < 0)
		return e;
	return utf8_is_valid(t.data, t.len) ? reader_text_copy(t, text, size) : -EBADMSG;
}

/* Takes back what was appended since `before`, if it is not to be. */
static int finish(const struct pack *p, size_t before, size_t max)
{
	if (!p->failed && p->buffer->len - before <= max)
		return 0;
	buffer_truncate(p->buffer, before);
	return -ENOBUFS;
}

/* --- counters ------------------------------------------------------------- */

/* [node, machine, op, value] */
static int parse_last(struct reader *r, struct counter_last *l)
{
	size_t n;
	int e = reader_array(r, &n);

	if (e == 0 && n != 4)
		e = -EBADMSG;
	if (e == 0)
		e = parse_text(r, l->node, sizeof(l->node));
	if (e == 0)
		e = parse_text(r, l->machine, sizeof(l->machine));
	if (e == 0)
		e = keys_parse_int(r, 1, INT64_MAX, &l->op);
	if (e == 0)
		e = keys_parse_int(r, INT64_MIN, INT64_MAX, &l->value);
	return e;
}

static int parse_lasts(struct reader *r, void *record)
{
	struct counter_record *c = record;
	size_t n;
	int e = reader_array(r, &n);

	if (e == 0 && n > COUNTER_NODES_MAX)
		e = -EBADMSG;
	for (c->n = 0; e == 0 && c->n < n; c->n++)
		e = parse_last(r, &c->last[c->n]);
	return e;
}

static const struct key counter_keys[] = {
	{.name = "value",
	 .kind = KEY_INT,
	 .offset = offsetof(struct counter_record, value),
	 .min = INT64_MIN,
	 .max = INT64_MAX,
	 KEY_WHY("value", "not an int64")},
	{.name = "last",
	 .kind = KEY_CUSTOM,
	 .parse = parse_lasts,
	 KEY_WHY("last", "not an array of at most 256 arrays of node, machine, op and value")},
};

int record_parse_counter(const void *data, size_t len, struct counter_record *ret_counter,
			 const char **ret_why)
{
	memset(ret_counter, 0, sizeof(*ret_counter));
	return keys_parse(data, len, RECORD_COUNTER_MAX, counter_keys, COUNT(counter_keys),
			  ret_counter, ret_why);
}

int record_pack_counter(struct buffer *out, const struct counter_record *c)
{
	size_t before = out->len;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, 2);
	pack_kv_int(&p, "value", c->value);
	pack_str(&p, "last");
	pack_array(&p, c->n);
	for (size_t i = 0; i < c->n; i++) {
		pack_array(&p, 4);
		pack_str(&p, c->last[i].node);
		pack_str(&p, c->last[i].machine);
		pack_int(&p, c->last[i].op);
		pack_int(&p, c->last[i].value);
	}
	return finish(&p, before, RECORD_COUNTER_MAX);
}

/* --- the roster ----------------------------------------------------------- */

#define TIME_MAX_MS INT64_C(253402300799999) /* the end of 9999 */

static const struct key roster_keys[] = {
	{.name = "index",
	 .kind = KEY_INT,
	 .offset = offsetof(struct roster_record, index),
	 .min = 0,
	 .max = ROSTER_INDEX_MAX,
	 KEY_WHY("index", "not a number from 0 to 1000000")},
	{.name = "since",
	 .kind = KEY_INT,
	 .offset = offsetof(struct roster_record, since),
	 .min = 0,
	 .max = TIME_MAX_MS,
	 KEY_WHY("since", "not milliseconds since the epoch, before the year 10000")},
	{.name = "departed",
	 .kind = KEY_INT,
	 .optional = true,
	 .offset = offsetof(struct roster_record, departed),
	 .min = 0,
	 .max = TIME_MAX_MS,
	 KEY_WHY("departed", "not milliseconds since the epoch, before the year 10000")},
	{.name = "hostname",
	 .kind = KEY_TEXT,
	 .optional = true,
	 .offset = offsetof(struct roster_record, hostname),
	 .size = sizeof(((struct roster_record *)NULL)->hostname),
	 .is_good = name_is_host,
	 KEY_WHY("hostname", "not a string of 1 to 255 printable ASCII characters")},
};

int record_parse_roster(const void *data, size_t len, struct roster_record *ret_roster,
			const char **ret_why)
{
	struct roster_record r = {.index = 0};
	int e = keys_parse(data, len, RECORD_ROSTER_MAX, roster_keys, COUNT(roster_keys), &r,
			   ret_why);

	if (e < 0)
		return e;
	*ret_roster = r;
	return 0;
}

int record_pack_roster(struct buffer *out, const struct roster_record *r)
{
	size_t before = out->len;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, 3 + (r->hostname[0] != '\0'));
	pack_kv_int(&p, "index", r->index);
	pack_kv_int(&p, "since", r->since);
	pack_kv_int(&p, "departed", r->departed);
	if (r->hostname[0])
		pack_kv_str(&p, "hostname", r->hostname);
	return finish(&p, before, RECORD_ROSTER_MAX);
}

static const struct key roster_head_keys[] = {
	{.name = "next",
	 .kind = KEY_INT,
	 .offset = offsetof(struct roster_head, next),
	 .min = 0,
	 .max = ROSTER_INDEX_MAX + 1,
	 KEY_WHY("next", "not a number from 0 to 1000001")},
};

int record_parse_roster_head(const void *data, size_t len, struct roster_head *ret_head,
			     const char **ret_why)
{
	struct roster_head h = {.next = 0};
	int e = keys_parse(data, len, RECORD_ROSTER_MAX, roster_head_keys, COUNT(roster_head_keys),
			   &h, ret_why);

	if (e < 0)
		return e;
	*ret_head = h;
	return 0;
}

int record_pack_roster_head(struct buffer *out, const struct roster_head *h)
{
	size_t before = out->len;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, 1);
	pack_kv_int(&p, "next", h->next);
	return finish(&p, before, RECORD_ROSTER_MAX);
}

/* --- locks ---------------------------------------------------------------- */

static const struct key lock_keys[] = {
	{.name = "slots",
	 .kind = KEY_INT,
	 .offset = offsetof(struct lock_record, slots),
	 .min = 1,
	 .max = LOCK_SLOTS_MAX,
	 KEY_WHY("slots", "not a number from 1 to 1000")},
};

int record_parse_lock(const void *data, size_t len, struct lock_record *ret_lock,
		      const char **ret_why)
{
	*ret_lock = (struct lock_record){.slots = 0};
	return keys_parse(data, len, RECORD_LOCK_MAX, lock_keys, COUNT(lock_keys), ret_lock,
			  ret_why);
}

int record_pack_lock(struct buffer *out, const struct lock_record *l)
{
	size_t before = out->len;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, 1);
	pack_kv_int(&p, "slots", l->slots);
	return finish(&p, before, RECORD_LOCK_MAX);
}

static bool is_any_text(const char *text, size_t len)
{
	return utf8_is_valid(text, len);
}

static const struct key locker_keys[] = {
	{.name = "node",
	 .kind = KEY_TEXT,
	 .offset = offsetof(struct locker_record, node),
	 .size = sizeof(((struct locker_record *)NULL)->node),
	 .is_good = is_any_text,
	 KEY_WHY("node", "not the name of a node")},
	{.name = "command",
	 .kind = KEY_TEXT,
	 .optional = true,
	 .offset = offsetof(struct locker_record, command),
	 .size = sizeof(((struct locker_record *)NULL)->command),
	 .is_good = is_any_text,
	 KEY_WHY("command", "not a text of at most 100 bytes")},
	{.name = "pid",
	 .kind = KEY_INT,
	 .optional = true,
	 .offset = offsetof(struct locker_record, pid),
	 .min = 0,
	 .max = INT32_MAX,
	 KEY_WHY("pid", "not the number of a process")},
	{.name = "held",
	 .kind = KEY_BOOL,
	 .optional = true,
	 .offset = offsetof(struct locker_record, held),
	 KEY_WHY("held", "neither true nor false")},
	{.name = "slots",
	 .kind = KEY_INT,
	 .optional = true,
	 .offset = offsetof(struct locker_record, slots),
	 .min = 1,
	 .max = LOCK_SLOTS_MAX,
	 KEY_WHY("slots", "not a number from 1 to 1000")},
};

int record_parse_locker(const void *data, size_t len, struct locker_record *ret_locker,
			const char **ret_why)
{
	memset(ret_locker, 0, sizeof(*ret_locker));
	return keys_parse(data, len, RECORD_LOCK_MAX, locker_keys, COUNT(locker_keys), ret_locker,
			  ret_why);
}

int record_pack_locker(struct buffer *out, const struct locker_record *l)
{
	size_t before = out->len;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, l->slots > 0 ? 5 : 4);
	pack_kv_str(&p, "node", l->node);
	pack_kv_str(&p, "command", l->command);
	pack_kv_int(&p, "pid", l->pid);
	pack_kv_bool(&p, "held", l->held);
	if (l->slots > 0)
		pack_kv_int(&p, "slots", l->slots);
	return finish(&p, before, RECORD_LOCK_MAX);
}
