#include "wire/records/rolling_record.h"

#include <errno.h>
#include <string.h>

#include "base/text/utf8.h"
#include "wire/keys.h"
#include "wire/pack.h"

#define COUNT(array)	 (sizeof(array) / sizeof((array)[0]))
#define TIME_MAX_MS	 INT64_C(253402300799999) /* the end of 9999 */

#define PLACE(type, key) .name = #key, .offset = offsetof(struct type, key)
#define TEXT(type, key, is_optional, check, text)                                                 \
	{                                                                                         \
		PLACE(type, key), .kind = KEY_TEXT, .optional = (is_optional),                    \
				  .size = sizeof(((struct type *)NULL)->key), .is_good = (check), \
				  KEY_WHY(#key, text)                                             \
	}
#define INT(type, key, is_optional, least, most, text)                                        \
	{                                                                                     \
		PLACE(type, key), .kind = KEY_INT, .optional = (is_optional), .min = (least), \
				  .max = (most), KEY_WHY(#key, text)                          \
	}
#define NOT_TEXT "not a string of UTF-8 that is short enough"
#define NOT_NODE "not a string of 1 to 400 bytes of UTF-8"
#define NOT_ID	 "not a string of 1 to 64 letters, digits and hyphens"
#define NOT_HOST "not a string of printable ASCII characters that is short enough"
#define NOT_TIME "not milliseconds since the epoch, before the year 10000"

static const char *const state_names[ROLLING_STATES] = {"draining", "running", "soaking", "failed"};

const char *rolling_state_name(enum rolling_state state)
{
	return state_names[state];
}

bool rolling_state_parse(const char *text, size_t len, enum rolling_state *ret_state)
{
	for (size_t i = 0; i < ROLLING_STATES; i++) {
		if (len != strlen(state_names[i]) || memcmp(text, state_names[i], len) != 0)
			continue;
		*ret_state = (enum rolling_state)i;
		return true;
	}
	return false;
}

bool rolling_process_is_good(const char *text, size_t len)
{
	return len <= ROLLING_PROCESS_MAX && name_is_host(text, len);
}

static bool is_text(const char *text, size_t len)
{
	return len <= POLICY_TEXT_MAX && utf8_is_valid(text, len) && !memchr(text, '\0', len);
}

static bool is_node(const char *text, size_t len)
{
	return len > 0 && len <= WORKER_NODE_MAX && utf8_is_valid(text, len) &&
	       !memchr(text, '\0', len);
}

static bool is_machine(const char *text, size_t len)
{
	return len <= WORKER_MACHINE_MAX && name_is_host(text, len);
}

/* Takes back what was appended since `before`, if it is not to be. */
static int finish(const struct pack *p, size_t before)
{
	if (!p->failed && p->buffer->len - before <= RECORD_ROLLING_MAX)
		return 0;
	buffer_truncate(p->buffer, before);
	return -ENOBUFS;
}

/* --- the group ------------------------------------------------------------ */

/* [node, why, since] */
static int parse_halted(struct reader *r, void *record)
{
	struct rolling_group *g = record;
	struct reader_text node = {"", 0}, why = {"", 0};
	size_t n;
	int e = reader_array(r, &n);

	if (e == 0 && n != 3)
		e = -EBADMSG;
	if (e == 0)
		e = reader_str(r, &node);
	if (e == 0)
		e = reader_str(r, &why);
	if (e == 0)
		e = keys_parse_int(r, 1, TIME_MAX_MS, &g->halted_since);
	if (e == 0 && (!is_node(node.data, node.len) || !is_text(why.data, why.len)))
		e = -EBADMSG;
	if (e == 0)
		e = reader_text_copy(node, g->halted_node, sizeof(g->halted_node));
	return e == 0 ? reader_text_copy(why, g->halted_why, sizeof(g->halted_why)) : e;
}

static const struct key group_keys[] = {
	INT(rolling_group, max_unavailable, false, 1, ROLLING_SLOTS_MAX,
	    "not a number from 1 to 1000"),
	{.name = "halted",
	 .kind = KEY_CUSTOM,
	 .optional = true,
	 .parse = parse_halted,
	 KEY_WHY("halted", "not an array of node, why and since")},
};

int record_parse_rolling_group(const void *data, size_t len, struct rolling_group *ret_group,
			       const char **ret_why)
{
	struct rolling_group g = {.halted_since = 0};
	int e = keys_parse(data, len, RECORD_ROLLING_MAX, group_keys, COUNT(group_keys), &g,
			   ret_why);

	if (e == 0)
		*ret_group = g;
	return e;
}

int record_pack_rolling_group(struct buffer *out, const struct rolling_group *g)
{
	size_t before = out->len;
	bool halted = g->halted_since > 0;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, 1U + halted);
	pack_kv_int(&p, "max_unavailable", g->max_unavailable);
	if (halted) {
		pack_str(&p, "halted");
		pack_array(&p, 3);
		pack_str(&p, g->halted_node);
		pack_str(&p, g->halted_why);
		pack_int(&p, g->halted_since);
	}
	return finish(&p, before);
}

/* --- slots and those who wait for one ------------------------------------- */

static int parse_state(struct reader *r, void *record)
{
	struct rolling_slot *s = record;
	struct reader_text t;
	int e = reader_str(r, &t);

	if (e < 0)
		return e;
	return rolling_state_parse(t.data, t.len, &s->state) ? 0 : -EBADMSG;
}

static const struct key slot_keys[] = {
	TEXT(rolling_slot, id, false, name_is_id, NOT_ID),
	TEXT(rolling_slot, drain, false, name_is_id, NOT_ID),
	{.name = "state",
	 .kind = KEY_CUSTOM,
	 .parse = parse_state,
	 KEY_WHY("state", "not one of draining, running, soaking, failed")},
	TEXT(rolling_slot, node, false, is_node, NOT_NODE),
	TEXT(rolling_slot, machine, true, is_machine, NOT_HOST),
	TEXT(rolling_slot, boot_id, false, name_is_id, NOT_ID),
	TEXT(rolling_slot, process, true, rolling_process_is_good, NOT_HOST),
	TEXT(rolling_slot, by, false, is_text, NOT_TEXT),
	TEXT(rolling_slot, host, false, name_is_host, NOT_HOST),
	INT(rolling_slot, since, false, 0, TIME_MAX_MS, NOT_TIME),
	INT(rolling_slot, exit_status, true, 0, 255, "not a number from 0 to 255"),
};

int record_parse_rolling_slot(const void *data, size_t len, struct rolling_slot *ret_slot,
			      const char **ret_why)
{
	struct rolling_slot s = {.exit_status = -1};
	int e = keys_parse(data, len, RECORD_ROLLING_MAX, slot_keys, COUNT(slot_keys), &s, ret_why);

	if (e == 0)
		*ret_slot = s;
	return e;
}

int record_pack_rolling_slot(struct buffer *out, const struct rolling_slot *s)
{
	size_t before = out->len, n = 8;
	struct pack p;

	n += s->machine[0] != '\0';
	n += s->process[0] != '\0';
	n += s->exit_status >= 0;
	pack_init(&p, out);
	pack_map(&p, n);
	pack_kv_str(&p, "id", s->id);
	pack_kv_str(&p, "drain", s->drain);
	pack_kv_str(&p, "state", rolling_state_name(s->state));
	pack_kv_str(&p, "node", s->node);
	if (s->machine[0])
		pack_kv_str(&p, "machine", s->machine);
	pack_kv_str(&p, "boot_id", s->boot_id);
	if (s->process[0])
		pack_kv_str(&p, "process", s->process);
	pack_kv_str(&p, "by", s->by);
	pack_kv_str(&p, "host", s->host);
	pack_kv_int(&p, "since", s->since);
	if (s->exit_status >= 0)
		pack_kv_int(&p, "exit_status", s->exit_status);
	return finish(&p, before);
}

static const struct key waiter_keys[] = {
	TEXT(rolling_waiter, node, false, is_node, NOT_NODE),
	INT(rolling_waiter, since, false, 0, TIME_MAX_MS, NOT_TIME),
};

int record_parse_rolling_waiter(const void *data, size_t len, struct rolling_waiter *ret_waiter,
				const char **ret_why)
{
	struct rolling_waiter w = {.since = 0};
	int e = keys_parse(data, len, RECORD_ROLLING_MAX, waiter_keys, COUNT(waiter_keys), &w,
			   ret_why);

	if (e == 0)
		*ret_waiter = w;
	return e;
}

int record_pack_rolling_waiter(struct buffer *out, const struct rolling_waiter *w)
{
	size_t before = out->len;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, 2);
	pack_kv_str(&p, "node", w->node);
	pack_kv_int(&p, "since", w->since);
	return finish(&p, before);
}
