#include "wire/records/rolling_record.h"

#include <errno.h>
#include <string.h>

#include "wire/records/fields.h"

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

static bool is_node(const char *text, size_t len)
{
	return len > 0 && utf8_is_valid(text, len);
}

/* --- the group ------------------------------------------------------------ */

/* [node, why, since] */
static int parse_halted(struct reader *r, void *record)
{
	struct rolling_group *g = record;
	size_t n;
	int e = reader_array(r, &n);

	if (e == 0 && n != 3)
		e = -EBADMSG;
	if (e == 0)
		e = keys_parse_text(r, is_node, g->halted_node, sizeof(g->halted_node));
	if (e == 0)
		e = keys_parse_text(r, utf8_is_valid, g->halted_why, sizeof(g->halted_why));
	return e == 0 ? keys_parse_int(r, 1, TIME_MAX_MS, &g->halted_since) : e;
}

static void pack_halted(struct pack *p, const void *record)
{
	const struct rolling_group *g = record;

	pack_array(p, 3);
	pack_str(p, g->halted_node);
	pack_str(p, g->halted_why);
	pack_int(p, g->halted_since);
}

static bool is_halted(const void *record)
{
	return ((const struct rolling_group *)record)->halted_since > 0;
}

static const struct key group_keys[] = {
	INT_KEY(rolling_group, max_unavailable, KEY_REQUIRED, 1, ROLLING_SLOTS_MAX,
		"not a number from 1 to 1000"),
	CUSTOM_KEY("halted", KEY_OPTIONAL, parse_halted, pack_halted,
		   "not an array of node, why and since", .is_there = is_halted),
};
RECORD_DEFINE(rolling_group, rolling_group, group_keys, RECORD_ROLLING_MAX)

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

static void pack_state(struct pack *p, const void *record)
{
	pack_str(p, rolling_state_name(((const struct rolling_slot *)record)->state));
}

#define NOT_EMPTY "not a string of 1 to 400 bytes of UTF-8"

static const struct key slot_keys[] = {
	TEXT_KEY(rolling_slot, id, KEY_REQUIRED, name_is_id, NOT_ID),
	TEXT_KEY(rolling_slot, drain, KEY_REQUIRED, name_is_id, NOT_ID),
	CUSTOM_KEY("state", KEY_REQUIRED, parse_state, pack_state,
		   "not one of draining, running, soaking, failed"),
	TEXT_KEY(rolling_slot, node, KEY_REQUIRED, is_node, NOT_EMPTY),
	TEXT_KEY(rolling_slot, machine, KEY_OPTIONAL, name_is_host, NOT_MACHINE),
	TEXT_KEY(rolling_slot, boot_id, KEY_REQUIRED, name_is_id, NOT_ID),
	TEXT_KEY(rolling_slot, process, KEY_OPTIONAL, rolling_process_is_good,
		 "not a string of 1 to 64 printable ASCII characters"),
	UTF8_KEY(rolling_slot, by, KEY_REQUIRED, NOT_TEXT),
	TEXT_KEY(rolling_slot, host, KEY_REQUIRED, name_is_host, NOT_HOST),
	TIME_KEY(rolling_slot, since, KEY_REQUIRED),
	STATUS_KEY(rolling_slot, exit_status),
};
RECORD_DEFINE(rolling_slot, rolling_slot, slot_keys, RECORD_ROLLING_MAX)

static const struct key waiter_keys[] = {
	TEXT_KEY(rolling_waiter, node, KEY_REQUIRED, is_node, NOT_EMPTY),
	TIME_KEY(rolling_waiter, since, KEY_REQUIRED),
};
RECORD_DEFINE(rolling_waiter, rolling_waiter, waiter_keys, RECORD_ROLLING_MAX)
