#include "api/claim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/answer.h"
#include "api/call.h"
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

	for (size_t i = 0; e == 0 && i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
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

	if (reader_uint(r, &number) < 0 || number > NAME_PARTITIONS_MAX)
		return -EBADMSG;
	*(int *)to = (int)number;
	return 0;
}

struct answer {
	struct claim is;
	int64_t lease_ms;
};

static const struct key answer_keys[] = {
	MESSAGE_KEY("outcome", answer, is.tick.outcome, KEY_CUSTOM, KEY_REQUIRED,
		    .parse = read_outcome),
	MESSAGE_KEY("tick", answer, is.tick.tick, KEY_SHOWN, KEY_OPTIONAL, .nil = true),
	MESSAGE_KEY("token", answer, is.tick.token, KEY_UINT, KEY_OPTIONAL, .nil = true),
	MESSAGE_KEY("attempt", answer, is.tick.attempt, KEY_INT, KEY_OPTIONAL, .min = INT64_MIN,
		    .max = INT64_MAX),
	MESSAGE_KEY("index", answer, is.index, KEY_INT, KEY_OPTIONAL, .min = INT64_MIN,
		    .max = INT64_MAX),
	MESSAGE_KEY("worker_id", answer, is.tick.worker_id, KEY_SHOWN, KEY_OPTIONAL),
	MESSAGE_KEY("version", answer, is.tick.version, KEY_SHOWN, KEY_OPTIONAL),
	LEASE_KEY("lease_ms", answer, lease_ms, KEY_OPTIONAL),
	MESSAGE_KEY("run", answer, is.run, KEY_UINT, KEY_OPTIONAL),
	MESSAGE_KEY("busy", answer, is.busy, KEY_BOOL, KEY_OPTIONAL),
	MESSAGE_KEY("output", answer, is.output, KEY_BOOL, KEY_OPTIONAL),
	MESSAGE_KEY("keep_output", answer, is.keep_output, KEY_BOOL, KEY_OPTIONAL),
	MESSAGE_KEY("partition", answer, is.partition, KEY_CUSTOM, KEY_OPTIONAL, .nil = true,
		    .parse = read_partition),
	MESSAGE_KEY("partitions", answer, is.partitions, KEY_CUSTOM, KEY_OPTIONAL, .nil = true,
		    .parse = read_partition),
	MESSAGE_KEY("why", answer, is.tick.why, KEY_SHOWN, KEY_OPTIONAL),
	MESSAGE_KEY("notice", answer, is.notice, KEY_SHOWN, KEY_OPTIONAL, .nil = true),
};
static const struct keys answer_form = KEYS(answer_keys, answer, SIZE_MAX);

int claim_parse(struct reader result, int64_t sent_ms, struct claim *ret_claim)
{
	struct answer a = {.is = {.index = -1, .partition = -1}};
	struct zkleader_tick *t = &a.is.tick;
	int e = keys_take(&result, &answer_form, &a);

	if (e < 0)
		return e;
	if (result.p != result.end || (t->outcome == ZKLEADER_YOURS && t->token == 0))
		return -EBADMSG;
	t->valid_until = sent_ms + a.lease_ms;
	*ret_claim = a.is;
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
