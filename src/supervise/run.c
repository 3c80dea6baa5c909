#include "supervise/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/call.h"
#include "api/handle.h"
#include "base/clock.h"
#include "supervise/leased_job.h"
#include "wire/pack.h"

/* --- the claim ------------------------------------------------------------ */

static int send_claim(const struct pending *pending, uint32_t *ret_id)
{
	const struct run *r = pending->arg;
	const struct claim_request claim = {
		.task = r->task,
		.kind = "run",
		.id = pending->id,
		.again = pending->sent,
		.now_ms = r->c->output.now_ms,
		.tick_ms = r->tick_ms,
		.wait_ms = r->wait_ms,
		.tick = r->scheduled_tick,
		.scheduled = r->attempt,
		.ran = r->ran,
		.got = r->got,
		.waited_ms = clock_boot_ms() - r->began_ms,
	};
	struct request request;

	claim_pack(&request, &claim);
	return pending_send(pending, "claim", &request, ret_id);
}

static int send_check(const struct pending *pending, uint32_t *ret_id)
{
	struct request request;
	struct pack *p = request_begin(&request, 1);

	pack_str(p, ((const struct run *)pending->arg)->task);
	return request_send(pending->z, "check", &request, HANDLE_AT_ONCE, ret_id);
}

static int take_claim(const struct pending *pending, struct reader result, int64_t sent_ms)
{
	return claim_parse(result, sent_ms, &((struct run *)pending->arg)->claim);
}

int run_claim(struct run *r)
{
	struct pending *p = &r->pending;

	p->z = r->c->z;
	p->signals = &r->signals;
	p->patience_ms = r->wait_ms == CLAIM_BY_TASK ? PENDING_PATIENCE_MS : r->wait_ms;
	p->send = send_claim;
	p->ping = send_check;
	p->take = take_claim;
	p->arg = r;
	return pending_wait(p);
}

/* --- the job -------------------------------------------------------------- */

static void set_environment(const struct run *r)
{
	const struct zkleader_tick *t = &r->claim.tick;
	char token[24], attempt[24], index[24], number[24];

	snprintf(token, sizeof(token), "%" PRIu64, t->token);
	snprintf(attempt, sizeof(attempt), "%" PRId64, t->attempt);
	setenv("ZKLEADER_TASK", r->task, 1);
	setenv("ZKLEADER_TICK", t->tick, 1);
	setenv("ZKLEADER_TOKEN", token, 1);
	setenv("ZKLEADER_ATTEMPT", attempt, 1);
	setenv("ZKLEADER_WORKER_ID", t->worker_id, 1);
	setenv("ZKLEADER_VERSION", t->version, 1);
	snprintf(index, sizeof(index), "%" PRId64, r->claim.index);
	if (r->claim.index >= 0)
		setenv("ZKLEADER_INDEX", index, 1);
	else
		unsetenv("ZKLEADER_INDEX");
	unsetenv("ZKLEADER_PARTITION");
	unsetenv("ZKLEADER_PARTITIONS");
	if (r->claim.partition < 0)
		return;
	snprintf(number, sizeof(number), "%d", r->claim.partition);
	setenv("ZKLEADER_PARTITION", number, 1);
	snprintf(number, sizeof(number), "%d", r->claim.partitions);
	setenv("ZKLEADER_PARTITIONS", number, 1);
}

static const struct job_kind of_runs = {
	.renew = "renew", .finish = "finish", .attach = "attach", .lease = "the leadership of"};

/*
 * Waits until the relay has passed on all output. Its reader may be slow for ever, so signals end
 * this process from now on, as they would have ended the command.
 */
static void end_relay(const struct run *r, struct relay *relay)
{
	while (signals_next(&r->signals) != 0)
		;
	signals_restore(&r->signals);
	relay_end(relay);
}

int run_job(struct run *r)
{
	bool named = r->tag && r->claim.partition >= 0;
	struct relay relay;
	/* If no relay can be made, the output still goes where it went before. */
	bool relayed = !r->capture && (named || r->claim.output) &&
		       relay_begin(&relay, named ? r->task : NULL,
				   r->claim.keep_output ? RELAY_KEEP_ALL
				   : r->claim.output	? RELAY_KEEP_PIPED
							: RELAY_KEEP_NOTHING) == 0;
	struct leased_job leased = {.c = r->c,
				    .kind = &of_runs,
				    .name = r->task,
				    .id = r->pending.id,
				    .number = r->claim.run,
				    .argv = r->c->args + 1,
				    .directory = r->directory,
				    .signals = &r->signals,
				    .kill_after_ms = r->kill_after_ms,
				    .timeout_ms = r->timeout_ms,
				    .capture = r->capture,
				    .relay = relayed ? &relay : NULL};
	int code;

	set_environment(r);
	code = leased_job_run(&leased);
	if (leased.unrecorded && r->claim.tick.tick[0] != '\0')
		output_error(&r->c->output, "the end of this run of %s could not be recorded",
			     r->task);
	if (relayed)
		end_relay(r, &relay);
	return code;
}
