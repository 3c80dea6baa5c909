#include "api/claim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/call.h"
#include "api/fields.h"
#include "api/handle.h"
#include "base/clock.h"
#include "base/text/name.h"
#include "wire/pack.h"

#define TICK_FIRST sizeof(struct zkleader_tick) /* the struct's size in its first release */

/* The offset of local time from UTC at the time wall_ms, in this process's time zone. */
static int64_t zone_ms(int64_t wall_ms)
{
	time_t seconds = (time_t)(wall_ms / 1000);
	struct tm tm;

	return localtime_r(&seconds, &tm) ? (int64_t)tm.tm_gmtoff * 1000 : 0;
}

void claim_pack(struct request *request, const struct claim_request *claim)
{
	struct pack *p = request_begin(request, 2);
	size_t map;

	pack_str(p, claim->task);
	map = pack_open(p);
	pack_kv_str(p, "kind", claim->kind);
	if (claim->id) {
		pack_kv_str(p, "id", claim->id);
		pack_kv_bool(p, "again", claim->again);
	}
	pack_kv_int(p, "now_ms", claim->now_ms);
	pack_kv_int(p, "zone_ms", zone_ms(claim->now_ms));
	if (claim->tick_ms != CLAIM_BY_TASK)
		pack_kv_int(p, "tick_ms", claim->tick_ms);
	if (claim->wait_ms != CLAIM_BY_TASK)
		pack_kv_int(p, "wait_ms", claim->wait_ms);
	if (claim->tick) {
		pack_kv_str(p, "tick", claim->tick);
		pack_kv_int(p, "scheduled", claim->scheduled);
	}
	if (claim->ran > 0) {
		pack_kv_uint(p, "ran", claim->ran);
		pack_str(p, "got");
		pack_array(p, claim->ran);
		for (unsigned i = 0; i < claim->ran; i++)
			pack_uint(p, claim->got[i]);
		pack_kv_int(p, "waited_ms", claim->waited_ms);
	}
	pack_close(p, map);
}

int claim_tick_parse(const char *text, int64_t *ret_ms, char why[OPTIONS_WHY_SIZE])
{
	int64_t ms;

	if (options_duration("tick", text, CLAIM_TICK_MAX_MS, &ms, why) < 0)
		return -EINVAL;
	if (ms < CLAIM_TICK_MIN_MS || ms % CLAIM_TICK_MIN_MS != 0) {
		snprintf(why, OPTIONS_WHY_SIZE, "a tick is whole seconds, 1s at the least");
		return -EINVAL;
	}
	*ret_ms = ms;
	return 0;
}

static int read_outcome(struct reader *r, void *to)
{
	static const struct {
		const char *name;
		enum zkleader_outcome outcome;
	} outcomes[] = {
		{"yours", ZKLEADER_YOURS},
		{"taken", ZKLEADER_TAKEN},
		{"waited", ZKLEADER_WAITED},
		{"nobody", ZKLEADER_PAUSED},
	};
	struct reader_text text;
	int e = reader_str(r, &text);

	for (size_t i = 0; e == 0 && i < N_FIELDS(outcomes); i++) {
		if (reader_text_is(text, outcomes[i].name)) {
			*(enum zkleader_outcome *)to = outcomes[i].outcome;
			return 0;
		}
	}
	return -EBADMSG;
}

static int read_partition(struct reader *r, void *to)
{
	uint64_t number;

	if (reader_nil(r) == 0)
		return 0;
	if (reader_uint(r, &number) < 0 || number > NAME_PARTITIONS_MAX)
		return -EBADMSG;
	*(int *)to = (int)number;
	return 0;
}

int claim_parse(struct reader result, int64_t sent_ms, struct claim *ret_claim)
{
	struct claim c = {.index = -1, .partition = -1};
	struct zkleader_tick *t = &c.tick;
	struct field_text tick = {t->tick, sizeof(t->tick)};
	struct field_text worker_id = {t->worker_id, sizeof(t->worker_id)};
	struct field_text version = {t->version, sizeof(t->version)};
	struct field_text why = {t->why, sizeof(t->why)};
	struct field_text notice = {c.notice, sizeof(c.notice)};
	int64_t lease_ms = 0;
	const struct field fields[] = {
		{"outcome", read_outcome, &t->outcome, false},
		{"tick", field_text_or_nil, &tick, true},
		{"token", field_token, &t->token, true},
		{"attempt", field_int, &t->attempt, true},
		{"index", field_int, &c.index, true},
		{"worker_id", field_text, &worker_id, true},
		{"version", field_text, &version, true},
		{"lease_ms", field_lease, &lease_ms, true},
		{"run", field_uint, &c.run, true},
		{"busy", field_bool, &c.busy, true},
		{"output", field_bool, &c.output, true},
		{"keep_output", field_bool, &c.keep_output, true},
		{"partition", read_partition, &c.partition, true},
		{"partitions", read_partition, &c.partitions, true},
		{"why", field_text, &why, true},
		{"notice", field_text_or_nil, &notice, true},
	};
	int e = fields_read(&result, fields, N_FIELDS(fields));

	if (e < 0)
		return e;
	if (result.p != result.end || (t->outcome == ZKLEADER_YOURS && t->token == 0))
		return -EBADMSG;
	t->valid_until = sent_ms + lease_ms;
	*ret_claim = c;
	return 0;
}

static int call(struct zkleader *z, const struct claim_request *claim, int64_t timeout_ms,
		struct claim *ret_claim)
{
	int64_t sent_ms = clock_boot_ms();
	struct request request;
	struct reader result;
	int e;

	claim_pack(&request, claim);
	e = request_call(z, "claim", &request, timeout_ms, &result);
	if (e != 0)
		return e;
	e = claim_parse(result, sent_ms, ret_claim);
	return e < 0 ? handle_fail(z, e, timeout_ms) : 0;
}

int zkleader_claim(struct zkleader *z, const char *task, int64_t tick_ms, int64_t wait_ms,
		   int64_t timeout_ms, struct zkleader_tick *ret_tick)
{
	struct claim_request request = {
		.task = task,
		.kind = "once",
		.now_ms = clock_wall_ms(),
		.tick_ms = tick_ms > 0 ? tick_ms : CLAIM_BY_TASK,
		/*
		 * The sidecar waits less long than our timeout, so that its answer comes in time.
		 */
		.wait_ms = wait_ms < timeout_ms / 10 * 9 ? wait_ms : timeout_ms / 10 * 9,
	};
	struct claim claim;
	int e;

	z->message[0] = '\0';
	if (timeout_ms < 0 || wait_ms < 0 || wait_ms > ZKLEADER_WAIT_MAX_MS)
		return handle_refuse(z, -EINVAL, "not a time to wait");
	if (tick_ms < 0 || tick_ms > CLAIM_TICK_MAX_MS || tick_ms % CLAIM_TICK_MIN_MS != 0)
		return handle_refuse(z, -EINVAL, "a tick is whole seconds, up to a day");
	if (!name_is_election(task, strlen(task))) {
		handle_refuse(z, 0, "that is not the name of a task");
		return ZKLEADER_MISUSE;
	}
	e = call(z, &request, timeout_ms, &claim);
	if (e == 0)
		handle_copy_out(ret_tick, &claim.tick, sizeof(claim.tick), TICK_FIRST);
	return e;
}
