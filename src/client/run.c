/* zkleader run: runs a command if this node leads the task and gets the tick. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/name.h"
#include "client/ask.h"
#include "client/claim.h"
#include "client/handle.h"
#include "client/leased_job.h"
#include "client/run.h"
#include "wire/pack.h"
#include "wire/rpc.h"

#define EXIT_MAX 255

enum { OPTION_TICK, OPTION_WAIT, OPTION_KILL_AFTER, OPTION_CODE, OPTION_TAG };

static const struct option_spec options[] = {
	{300, "tick", "D|none", "round the clock down to D (the task's tick)"},
	{301, "wait", "D", "how long to wait where another leads (the task's wait)"},
	{302, "kill-after", "D", "from TERM to KILL (a fifth of the lease, up to 5s)"},
	{'E', "exit-code", "CODE", "exit code where CMD is not run here (1)"},
	{303, "tag", NULL, "TASK:K before each line of output"},
	{0, NULL, NULL, NULL},
};

/* --- the command line ----------------------------------------------------- */

static int parse_code(const char *text, int *ret_code)
{
	size_t digits = strspn(text, "0123456789");
	long code = strtol(text, NULL, 10);

	if (digits == 0 || text[digits] != '\0' || code > EXIT_MAX)
		return -EINVAL;
	*ret_code = (int)code;
	return 0;
}

static int parse_options(struct run *r, char why[OPTIONS_WHY_SIZE])
{
	const char *const *values = r->c->values;
	int e = 0;

	if (values[OPTION_TICK] && strcmp(values[OPTION_TICK], "none") == 0)
		r->tick_ms = 0;
	else if (values[OPTION_TICK])
		e = claim_tick_parse(values[OPTION_TICK], &r->tick_ms, why);
	if (e == 0 && values[OPTION_WAIT])
		e = options_duration("wait", values[OPTION_WAIT], ZKLEADER_WAIT_MAX_MS, &r->wait_ms,
				     why);
	if (e == 0 && values[OPTION_KILL_AFTER])
		e = options_duration("kill-after", values[OPTION_KILL_AFTER],
				     LEASED_JOB_KILL_AFTER_MAX_MS, &r->kill_after_ms, why);
	if (e == 0 && values[OPTION_CODE]) {
		e = parse_code(values[OPTION_CODE], &r->code);
		if (e < 0)
			snprintf(why, OPTIONS_WHY_SIZE, "an exit code is a number from 0 to 255");
	}
	return e;
}

static int parse(struct run *r)
{
	const struct context *c = r->c;
	char why[OPTIONS_WHY_SIZE];

	if (c->n_before != 1) {
		output_error(&c->output, "where does the command begin? "
					 "zkleader run [OPTIONS] TASK -- CMD [ARG...]");
		return -EINVAL;
	}
	r->task = c->args[0];
	r->tag = c->values[OPTION_TAG];
	if (!name_is_election(r->task, strlen(r->task))) {
		output_error(&c->output, "\"%s\" is not the name of a task", r->task);
		return -EINVAL;
	}
	if (parse_options(r, why) < 0) {
		output_error(&c->output, "%s", why);
		return -EINVAL;
	}
	return 0;
}

/* --- the claim ------------------------------------------------------------ */

static int send_claim(const struct pending *pending, uint32_t *ret_id)
{
	const struct run *r = pending->arg;
	const struct claim_request request = {
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
	struct buffer params;
	int e;

	buffer_init(&params, RPC_REQUEST_MAX);
	e = claim_pack(&params, &request);
	if (e == 0)
		e = handle_send(pending->z, "claim", params.data, params.len,
				clock_boot_ms() + COMMAND_TIMEOUT_MS, ret_id);
	buffer_done(&params);
	return e;
}

static int send_check(const struct pending *pending, uint32_t *ret_id)
{
	struct buffer params;
	struct pack p;
	int e;

	buffer_init(&params, RPC_REQUEST_MAX);
	pack_init(&p, &params);
	pack_array(&p, 1);
	pack_str(&p, ((const struct run *)pending->arg)->task);
	e = handle_send(pending->z, "check", params.data, params.len, HANDLE_AT_ONCE, ret_id);
	buffer_done(&params);
	return e;
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
	const char *name = r->tag && r->claim.partition >= 0 ? r->task : NULL;
	struct relay relay;
	/* If no relay can be made, the output still goes where it went before. */
	bool relayed = !r->capture && (name || r->claim.output) &&
		       relay_begin(&relay, name, r->claim.output) == 0;
	struct leased_job leased = {.c = r->c,
				    .kind = &of_runs,
				    .name = r->task,
				    .id = r->pending.id,
				    .number = r->claim.run,
				    .argv = r->c->args + 1,
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

int run_not_ours(const struct run *r)
{
	const struct output *o = &r->c->output;

	if (r->claim.tick.outcome == ZKLEADER_TAKEN)
		return r->code;
	if (r->claim.tick.outcome == ZKLEADER_PAUSED)
		return ZKLEADER_NOBODY;
	if (r->claim.busy) {
		output_error(o, "not begun: the run of %s before this one goes on", r->task);
		return r->code;
	}
	if (r->claim.tick.why[0] == '\0') {
		if (r->claim.notice[0] != '\0')
			output_error(o, "%s", r->claim.notice);
		return r->code;
	}
	output_error(o, "cannot tell: %s", r->claim.tick.why);
	return ZKLEADER_CANNOT_TELL;
}

/* Whether a task was claimed as a whole, and the claim has got one of its partitions. */
static bool is_of_partitions(const struct run *r)
{
	return r->claim.partition >= 0 && name_is_task(r->task, strlen(r->task));
}

static int run(struct context *c)
{
	struct run r = {.c = c,
			.tick_ms = CLAIM_BY_TASK,
			.wait_ms = CLAIM_BY_TASK,
			.kill_after_ms = LEASED_JOB_BY_LEASE,
			.code = ZKLEADER_NOT_LEADER,
			.began_ms = clock_boot_ms()};
	int e;

	if (parse(&r) < 0)
		return ZKLEADER_MISUSE;
	e = zkleader_open(c->socket, &c->z);
	if (e < 0)
		return ask_failed(c, e);
	if (leased_job_check_kill_after(c, r.kill_after_ms) < 0)
		return ZKLEADER_MISUSE;
	e = signals_block(&r.signals);
	if (e == 0)
		e = run_claim(&r);
	if (e == ZKLEADER_NOBODY)
		return e;
	if (e != 0)
		return ask_failed(c, e);
	if (r.claim.tick.outcome != ZKLEADER_YOURS)
		return run_not_ours(&r);
	return is_of_partitions(&r) ? run_partitions(&r) : run_job(&r);
}

const struct command command_run = {
	.name = "run",
	.args = "TASK -- CMD...",
	.help = "run CMD here if this node leads and no other ran it",
	.more = "One tick of a task, which is the clock rounded down, is run once in the whole "
		"fleet.\n"
		"Where another node leads, it waits until that has claimed the tick, or steps in.\n"
		"CMD gets TERM in time, and KILL, for it to be dead before another node can "
		"lead.\n"
		"Of a TASK with partitions CMD is run for each that is led here, so many at a "
		"time\n"
		"as its file says; the exit code is the greatest of theirs.\n",
	.exits = "CMD's own status (128+N for signal N, 126 and 127 as a shell), CODE if it\n"
		 "      was not run here, 2 cannot tell or the leadership was lost, 3 misuse,\n"
		 "      4 nobody may run it now",
	.min_args = 2,
	.max_args = COMMAND_ARGS_ANY,
	.options = options,
	.run = run,
};
