#include "wire/records/recipe_record.h"

#include <errno.h>

#include "wire/records/fields.h"

/* --- counters ------------------------------------------------------------- */

/* [node, machine, op, value] */
static int parse_last(struct reader *r, struct counter_last *l)
{
	size_t n;
	int e = reader_array(r, &n);

	if (e == 0 && n != 4)
		e = -EBADMSG;
	if (e == 0)
		e = keys_parse_text(r, utf8_is_valid, l->node, sizeof(l->node));
	if (e == 0)
		e = keys_parse_text(r, utf8_is_valid, l->machine, sizeof(l->machine));
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

static void pack_lasts(struct pack *p, const void *record)
{
	const struct counter_record *c = record;

	pack_array(p, c->n);
	for (size_t i = 0; i < c->n; i++) {
		pack_array(p, 4);
		pack_str(p, c->last[i].node);
		pack_str(p, c->last[i].machine);
		pack_int(p, c->last[i].op);
		pack_int(p, c->last[i].value);
	}
}

static const struct key counter_keys[] = {
	INT_KEY(counter_record, value, KEY_REQUIRED, INT64_MIN, INT64_MAX, "not an int64"),
	CUSTOM_KEY("last", KEY_REQUIRED, parse_lasts, pack_lasts,
		   "not an array of at most 256 arrays of node, machine, op and value"),
};
RECORD_DEFINE(counter, counter_record, counter_keys, RECORD_COUNTER_MAX)

/* --- the roster ----------------------------------------------------------- */

static const struct key roster_keys[] = {
	INT_KEY(roster_record, index, KEY_REQUIRED, 0, ROSTER_INDEX_MAX,
		"not a number from 0 to 1000000"),
	TIME_KEY(roster_record, since, KEY_REQUIRED),
	TIME_KEY(roster_record, departed, KEY_ALWAYS),
	TEXT_KEY(roster_record, hostname, KEY_OPTIONAL, name_is_host, NOT_HOST),
};
RECORD_DEFINE(roster, roster_record, roster_keys, RECORD_ROSTER_MAX)

static const struct key roster_head_keys[] = {
	INT_KEY(roster_head, next, KEY_REQUIRED, 0, ROSTER_INDEX_MAX + 1,
		"not a number from 0 to 1000001"),
};
RECORD_DEFINE(roster_head, roster_head, roster_head_keys, RECORD_ROSTER_MAX)

/* --- locks ---------------------------------------------------------------- */

#define NOT_SLOTS "not a number from 1 to 1000"

static const struct key lock_keys[] = {
	INT_KEY(lock_record, slots, KEY_REQUIRED, 1, LOCK_SLOTS_MAX, NOT_SLOTS),
};
RECORD_DEFINE(lock, lock_record, lock_keys, RECORD_LOCK_MAX)

static const struct key locker_keys[] = {
	UTF8_KEY(locker_record, node, KEY_REQUIRED, "not the name of a node"),
	UTF8_KEY(locker_record, command, KEY_ALWAYS, "not a text of at most 100 bytes"),
	INT_KEY(locker_record, pid, KEY_ALWAYS, 0, INT32_MAX, "not the number of a process"),
	BOOL_KEY(locker_record, held, KEY_ALWAYS),
	INT_KEY(locker_record, slots, KEY_OPTIONAL, 1, LOCK_SLOTS_MAX, NOT_SLOTS),
};
RECORD_DEFINE(locker, locker_record, locker_keys, RECORD_LOCK_MAX)
