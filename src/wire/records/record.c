#include "wire/records/record.h"

#include <string.h>

#include "wire/records/fields.h"

/* --- leaders -------------------------------------------------------------- */

static const struct key leader_keys[] = {
	TEXT_KEY(leader_record, id, KEY_REQUIRED, name_is_id, NOT_ID),
	TEXT_KEY(leader_record, ip, KEY_REQUIRED, name_is_ip, NOT_IP),
	TEXT_KEY(leader_record, hostname, KEY_REQUIRED, name_is_host, NOT_HOST),
	TEXT_KEY(leader_record, version, KEY_REQUIRED, name_is_version, NOT_VERSION),
	TIME_KEY(leader_record, since, KEY_REQUIRED),
};
RECORD_DEFINE(leader, leader_record, leader_keys, RECORD_LEADER_MAX)

struct marker_record {
	bool partitions;
};

static const struct key marker_keys[] = {
	BOOL_KEY(marker_record, partitions, KEY_REQUIRED),
};
static const struct keys marker = KEYS(marker_keys, marker_record, RECORD_LEADER_MAX);

bool record_is_marker(const void *data, size_t len)
{
	struct marker_record m = {.partitions = false};
	const char *why;

	return keys_read(data, len, &marker, &m, &why) == 0 && m.partitions;
}

int record_pack_marker(struct buffer *out)
{
	return keys_write(out, &marker, &(struct marker_record){.partitions = true});
}

/* --- runs ----------------------------------------------------------------- */

static const char *const run_states[] = {"running", "ok",     "failed",	 "lost",
					 "claimed", "missed", "timeout", NULL};

static const struct key run_keys[] = {
	WORD_KEY(run_record, state, KEY_REQUIRED, run_states,
		 "not one of running, ok, failed, lost, claimed, missed, timeout"),
	TEXT_KEY(run_record, id, KEY_REQUIRED, name_is_id, NOT_ID),
	TEXT_KEY(run_record, hostname, KEY_REQUIRED, name_is_host, NOT_HOST),
	INT_KEY(run_record, token, KEY_REQUIRED, 1, INT64_MAX, NOT_POSITIVE),
	INT_KEY(run_record, attempt, KEY_REQUIRED, 1, INT32_MAX, NOT_POSITIVE),
	INT_KEY(run_record, failures, KEY_OPTIONAL, 0, INT32_MAX, NOT_NUMBER, .none = -1),
	BOOL_KEY(run_record, retrying, KEY_OPTIONAL),
	TIME_KEY(run_record, started_at, KEY_REQUIRED),
	UTF8_KEY(run_record, node, KEY_OPTIONAL, NOT_NODE),
	TEXT_KEY(run_record, run, KEY_OPTIONAL, name_is_id, NOT_ID),
	INT_KEY(run_record, session, KEY_OPTIONAL, 1, INT64_MAX, NOT_POSITIVE),
	TIME_KEY(run_record, ended_at, KEY_OPTIONAL),
	STATUS_KEY(run_record, exit_status),
	UTF8_KEY(run_record, by, KEY_OPTIONAL, "not a string of at most 456 bytes of UTF-8"),
	UTF8_KEY(run_record, why, KEY_OPTIONAL, NOT_WHY),
	UTF8_KEY(run_record, detail, KEY_OPTIONAL, NOT_TEXT),
	BYTES_KEY(run_record, output, KEY_OPTIONAL, RECORD_OUTPUT_MAX, NOT_OUTPUT),
};
RECORD_DEFINE(run, run_record, run_keys, RECORD_RUN_MAX)

/* --- decisions ------------------------------------------------------------ */

static bool is_kind(const char *text, size_t len)
{
	enum policy_kind kind;

	return policy_kind_parse(text, len, &kind);
}

static const struct key policy_keys[] = {
	TEXT_KEY(policy_record, kind, KEY_REQUIRED, is_kind,
		 "not one of pause, pin, drain, resign"),
	UTF8_KEY(policy_record, by, KEY_REQUIRED, NOT_TEXT),
	TEXT_KEY(policy_record, host, KEY_REQUIRED, name_is_host, NOT_HOST),
	TIME_KEY(policy_record, since, KEY_REQUIRED),
	TEXT_KEY(policy_record, task, KEY_OPTIONAL, name_is_election, NOT_NAME),
	UTF8_KEY(policy_record, node, KEY_OPTIONAL, NOT_NODE),
	TEXT_KEY(policy_record, machine, KEY_OPTIONAL, name_is_host, NOT_MACHINE),
	TEXT_KEY(policy_record, version, KEY_OPTIONAL, name_is_version, NOT_VERSION),
	UTF8_KEY(policy_record, reason, KEY_OPTIONAL, NOT_TEXT),
	TIME_KEY(policy_record, until, KEY_OPTIONAL),
	TEXT_KEY(policy_record, rolling, KEY_OPTIONAL, name_is_task, NOT_NAME),
	BOOL_KEY(policy_record, halted, KEY_OPTIONAL),
};

/*
 * Checks that a record has those of task, node and version that its kind is about, and no others.
 */
static const char *policy_misfit(const void *record)
{
	const struct policy_record *p = record;
	enum policy_kind kind;
	bool known = policy_kind_parse(p->kind, strlen(p->kind), &kind);
	bool of_node = kind == POLICY_DRAIN || kind == POLICY_RESIGN || kind == POLICY_RERUN ||
		       kind == POLICY_TRIGGER;

	return known && (p->task[0] != '\0') == (kind != POLICY_DRAIN) &&
			       (p->node[0] != '\0') == of_node &&
			       (p->version[0] != '\0') == (kind == POLICY_PIN)
		       ? NULL
		       : "kind: task, node or version do not fit it";
}

RECORD_DEFINE(policy, policy_record, policy_keys, RECORD_POLICY_MAX, .misfit = policy_misfit)

/* --- numbers of partitions ------------------------------------------------ */

static const struct key split_keys[] = {
	INT_KEY(split_record, partitions, KEY_REQUIRED, 1, NAME_PARTITIONS_MAX,
		"not a number from 1 to 256"),
	INT_KEY(split_record, from, KEY_REQUIRED, 0, NAME_PARTITIONS_MAX,
		"not a number from 0 to 256"),
	TEXT_KEY(split_record, host, KEY_REQUIRED, name_is_host, NOT_HOST),
	TIME_KEY(split_record, since, KEY_REQUIRED),
	UTF8_KEY(split_record, reason, KEY_OPTIONAL, NOT_TEXT),
	UTF8_KEY(split_record, by, KEY_OPTIONAL, NOT_TEXT),
};
RECORD_DEFINE(split, split_record, split_keys, RECORD_SPLIT_MAX)
