/* zkleader run: the command of a tick, here if this node leads and nowhere else. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/name.h"
#include "client/ask.h"
#include "client/async.h"
#include "client/claim.h"
#include "client/handle.h"
#include "client/job.h"
#include "client/json.h"
#include "wire/pack.h"
#include "wire/rpc.h"

#define PATIENCE_MS	  10000 /* for a sidecar that is being started again; or --wait */
#define NO_SOCKET_MS	  2000 /* where there is no socket, so that there may be no sidecar at all */
#define KNOCK_MS	  100
#define CLAIM_ID_SIZE	  33
#define PING_MS		  5000 /* while a claim is waited for: asks whether the sidecar is there */
#define RENEW_LIMIT_MS	  5000 /* for the answer to the first renewal */
#define RENEW_MAX_MS	  1000
#define KILL_AFTER_MS	  5000 /* by default, or a fifth of the lease */
#define KILL_AFTER_MAX_MS (INT64_C(3600) * 1000)
#define EXIT_MAX	  255
#define BY_LEASE	  (-1) /* for kill_after_ms */

enum { OPTION_TICK, OPTION_WAIT, OPTION_KILL_AFTER, OPTION_CODE };

static const struct option_spec options[] = {
	{300, "tick", "D|none", "round the clock down to D (the task's tick)"},
	{301, "wait", "D", "how long to wait where another leads (the task's wait)"},
	{302, "kill-after", "D", "from TERM to KILL (a fifth of the lease, up to 5s)"},
	{'E', "exit-code", "CODE", "exit code where CMD is not run here (1)"},
	{0, NULL, NULL, NULL},
};

struct run {
	struct context *c;
	const char *task;
	int64_t tick_ms, wait_ms, kill_after_ms;
	int code;
	struct signals signals;
	struct claim claim;
	char id[CLAIM_ID_SIZE];
	bool sent;	  /* the claim has been, to a sidecar that went */
	uint32_t ping_id; /* 0: none is on its way */
	int64_t heard_ms; /* when the sidecar said something or was asked whether it is there */
};

/* --- the command line ------------------------------------------------------------------------------- */

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
		e = options_duration("kill-after", values[OPTION_KILL_AFTER], KILL_AFTER_MAX_MS,
				     &r->kill_after_ms, why);
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
	if (!name_is_task(r->task, strlen(r->task))) {
		output_error(&c->output, "\"%s\" is not the name of a task", r->task);
		return -EINVAL;
	}
	if (parse_options(r, why) < 0) {
		output_error(&c->output, "%s", why);
		return -EINVAL;
	}
	return 0;
}

/*
 * Before anything is claimed: the time for the end is taken from the lease, and no less than half of it
 * must be left to be renewed in. A lease varies from 40 % to 97 % of the session's timeout.
 */
static int check_kill_after(struct run *r)
{
	json_auto_t *status = NULL;
	char most[DURATION_TEXT_SIZE];
	int64_t most_ms;
	const void *result;
	size_t len;

	if (r->kill_after_ms == BY_LEASE ||
	    zkleader_call(r->c->z, "status", NULL, 0, COMMAND_TIMEOUT_MS, &result, &len) != 0 ||
	    json_from_msgpack(result, len, &status) < 0)
		return 0; /* the claim says what is wrong */
	most_ms = json_number(json_object_get(status, "session"), "timeout_ms", 0) / 4;
	if (most_ms <= 0 || r->kill_after_ms <= most_ms)
		return 0;
	duration_format(most_ms, most);
	output_error(&r->c->output,
		     "--kill-after is at most %s here: a quarter of the session's timeout", most);
	return -EINVAL;
}

/* --- the claim -------------------------------------------------------------------------------------- */

static int send_claim(struct run *r, uint32_t *ret_id)
{
	const struct claim_request request = {
		.task = r->task,
		.kind = "run",
		.id = r->id,
		.again = r->sent,
		.now_ms = r->c->output.now_ms,
		.tick_ms = r->tick_ms,
		.wait_ms = r->wait_ms,
	};
	struct buffer params;
	int e;

	buffer_init(&params, RPC_REQUEST_MAX);
	e = claim_pack(&params, &request);
	if (e == 0)
		e = async_send(r->c->z, "claim", &params, clock_boot_ms() + COMMAND_TIMEOUT_MS,
			       ret_id);
	buffer_done(&params);
	return e;
}

/* A claim may take hours where another's run is stood by, so it is asked whether the sidecar is there. */
static int ping(struct run *r)
{
	struct buffer params;
	struct pack p;
	int e;

	if (r->ping_id != 0) {
		handle_hang_up(r->c->z);
		return handle_fail(r->c->z, -ETIMEDOUT, PING_MS);
	}
	buffer_init(&params, RPC_REQUEST_MAX);
	pack_init(&p, &params);
	pack_array(&p, 1);
	pack_str(&p, r->task);
	e = async_send(r->c->z, "check", &params, 0, &r->ping_id);
	buffer_done(&params);
	r->heard_ms = clock_boot_ms();
	return e;
}

/* Nothing runs yet, so each does what it would have done without us. */
static void take_signals(struct run *r)
{
	int sig;

	while ((sig = signals_next(&r->signals)) != 0) {
		if (sig == SIGTSTP)
			raise(SIGSTOP);
		if (sig == SIGTSTP || sig == SIGCHLD || sig == SIGCONT)
			continue;
		signals_restore(&r->signals);
		raise(sig);
	}
}

/* Until the claim is decided: as async_receive(). */
static int await_claim(struct run *r, uint32_t id, struct reader *ret_result)
{
	struct zkleader *z = r->c->z;
	uint32_t got = 0;

	r->heard_ms = clock_boot_ms();
	for (;;) {
		struct pollfd fds[] = {
			{.fd = zkleader_fd(z), .events = POLLIN},
			{.fd = r->signals.fd, .events = POLLIN},
		};
		int e = async_receive(z, &got, ret_result);
		int64_t left = r->heard_ms + PING_MS - clock_boot_ms();

		if (e >= 0 && got == id)
			return e;
		if (e >= 0) {
			r->ping_id =
				0; /* the only other request; whatever it says, it is an answer */
			continue;
		}
		if (e == -EAGAIN && left <= 0)
			e = ping(r) < 0 ? -ETIMEDOUT : -EAGAIN;
		if (e != -EAGAIN)
			return e;
		poll(fds, 2, left > 0 ? (int)left : PING_MS);
		take_signals(r);
	}
}

static void make_id(char id[CLAIM_ID_SIZE])
{
	unsigned char bytes[(CLAIM_ID_SIZE - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		abort(); /* it is never short below 256 bytes */
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(id + 2 * i, 3, "%02x", bytes[i]);
}

/* 0, or how asking failed. */
static int claim_once(struct run *r)
{
	int64_t sent_ms = clock_boot_ms();
	struct reader result;
	uint32_t id;
	int e = send_claim(r, &id);

	if (e == 0)
		e = await_claim(r, id, &result);
	if (e == 0) {
		e = claim_parse(result, sent_ms, &r->claim);
		if (e < 0)
			handle_fail(r->c->z, e, 0);
	}
	return e;
}

/*
 * A sidecar that is started again goes on leading what it led, so the tick is still to be claimed there:
 * nobody else will. What had been claimed when it went is known again by its id.
 */
static int claim(struct run *r)
{
	int64_t began_ms = clock_boot_ms();
	int64_t patience_ms = r->wait_ms == CLAIM_BY_TASK ? PATIENCE_MS : r->wait_ms;
	bool was_there = false;

	make_id(r->id);
	for (;;) {
		struct pollfd fd = {.fd = r->signals.fd, .events = POLLIN};
		int e = claim_once(r);
		int64_t limit_ms = patience_ms;

		if (e != -ENOENT && e != -ECONNREFUSED && e != -ECONNRESET && e != -EPIPE)
			return e;
		was_there |= e != -ENOENT;
		r->sent |= e == -ECONNRESET || e == -EPIPE;
		r->ping_id = 0;
		if (!was_there && limit_ms > NO_SOCKET_MS)
			limit_ms = NO_SOCKET_MS;
		if (clock_boot_ms() - began_ms + KNOCK_MS > limit_ms)
			return e;
		poll(&fd, 1, KNOCK_MS);
		take_signals(r);
	}
}

/*
 * The lease of the claim's answer may be as old as the claim was waited for, so that of a renewal counts.
 * 0 and what is left of it, or -EPERM if the leadership is lost already, or how asking failed.
 */
static int first_lease(struct run *r, struct job *job, int64_t *ret_deadline)
{
	int64_t sent_ms = clock_boot_ms(), lease_ms = 0;
	struct zkleader *z = r->c->z;
	struct reader result = {.p = NULL};
	uint32_t id;
	bool leads = false;
	int e = job_ask_renewal(z, r->claim.run, sent_ms + RENEW_LIMIT_MS, &id);

	if (e == 0)
		e = async_await(z, id, sent_ms + RENEW_LIMIT_MS, &result);
	if (e == 0)
		e = job_parse_renewal(job, result, &leads, &lease_ms);
	if (e == -ETIMEDOUT || e == -EBADMSG)
		handle_fail(z, e, RENEW_LIMIT_MS);
	*ret_deadline = sent_ms + lease_ms;
	return e == 0 && (!leads || clock_boot_ms() >= *ret_deadline) ? -EPERM : e;
}

/* --- the job ---------------------------------------------------------------------------------------- */

static void set_environment(const struct run *r)
{
	const struct zkleader_tick *t = &r->claim.tick;
	char token[24], attempt[24];

	snprintf(token, sizeof(token), "%" PRIu64, t->token);
	snprintf(attempt, sizeof(attempt), "%" PRId64, t->attempt);
	setenv("ZKLEADER_TASK", r->task, 1);
	setenv("ZKLEADER_TICK", t->tick, 1);
	setenv("ZKLEADER_TOKEN", token, 1);
	setenv("ZKLEADER_ATTEMPT", attempt, 1);
	setenv("ZKLEADER_WORKER_ID", t->worker_id, 1);
	setenv("ZKLEADER_VERSION", t->version, 1);
}

static int64_t within(int64_t value, int64_t least, int64_t most)
{
	return value < least ? least : value > most ? most : value;
}

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* What the job came to: the exit code. */
static int conclude(const struct run *r, const struct job *job, int e)
{
	const struct output *o = &r->c->output;

	if (e < 0) {
		output_error(o, "the command cannot be started: %s", strerror(-e));
		return JOB_CANNOT_START;
	}
	if (job->shared->lost) {
		output_error(o, "the leadership of %s was lost, so its command was ended", r->task);
		return ZKLEADER_CANNOT_TELL;
	}
	if (job->guard_killed)
		output_error(o, "the guard of %s was killed, so its command was killed as well%s",
			     r->task,
			     job->all_reached
				     ? ""
				     : ", but what has left its process group may be alive");
	if (!job->shared->recorded && r->claim.tick.tick[0] != '\0')
		output_error(o, "the end of this run of %s could not be recorded", r->task);
	return job->shared->status;
}

static int run_job(struct run *r)
{
	int64_t deadline = 0, left, by_lease, asked;
	struct job job = {.z = r->c->z,
			  .task = r->task,
			  .id = r->id,
			  .run = r->claim.run,
			  .argv = r->c->args + 1,
			  .signals = &r->signals,
			  .kill_after_ms = KILL_AFTER_MAX_MS,
			  .renew_ms = RENEW_MAX_MS};
	int e = first_lease(r, &job, &deadline);

	if (e == -EPERM) {
		output_error(&r->c->output,
			     "the leadership of %s was lost before its command began", r->task);
		return ZKLEADER_CANNOT_TELL;
	}
	if (e != 0)
		return ask_failed(r->c, e);
	left = deadline - clock_boot_ms();
	/* This lease may be twice as long as a later one will be: see check_kill_after(). */
	by_lease = left / 5 < KILL_AFTER_MS ? left / 5 : KILL_AFTER_MS;
	asked = r->kill_after_ms == BY_LEASE ? by_lease : r->kill_after_ms;
	job.kill_after_ms = within(asked, 0, min64(left / 2, job.kill_after_ms));
	job.renew_ms = within(left / 16, JOB_RENEW_MIN_MS, job.renew_ms);
	job.shared = mmap(NULL, sizeof(*job.shared), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (job.shared == MAP_FAILED)
		abort(); /* as for any other memory */
	job.shared->deadline = deadline;
	job.shared->status = JOB_NO_STATUS;
	set_environment(r);
	terminal_init(&job.terminal);
	e = job_run(&job);
	e = conclude(r, &job, e);
	munmap(job.shared, sizeof(*job.shared));
	return e;
}

static int run(struct context *c)
{
	struct run r = {.c = c,
			.tick_ms = CLAIM_BY_TASK,
			.wait_ms = CLAIM_BY_TASK,
			.kill_after_ms = BY_LEASE,
			.code = ZKLEADER_NOT_LEADER};
	int e;

	if (parse(&r) < 0)
		return ZKLEADER_MISUSE;
	e = zkleader_open(c->socket, &c->z);
	if (e < 0)
		return ask_failed(c, e);
	if (check_kill_after(&r) < 0)
		return ZKLEADER_MISUSE;
	e = signals_block(&r.signals);
	if (e == 0)
		e = claim(&r);
	if (e == ZKLEADER_NOBODY)
		return e;
	if (e != 0)
		return ask_failed(c, e);
	switch (r.claim.tick.outcome) {
	case ZKLEADER_YOURS: return run_job(&r);
	case ZKLEADER_TAKEN: return r.code;
	case ZKLEADER_PAUSED: return ZKLEADER_NOBODY;
	case ZKLEADER_WAITED: break;
	}
	if (r.claim.busy) {
		output_error(&c->output, "not begun: the run of %s before this one goes on",
			     r.task);
		return r.code;
	}
	if (r.claim.tick.why[0] == '\0') {
		if (r.claim.notice[0] != '\0')
			output_error(&c->output, "%s", r.claim.notice);
		return r.code;
	}
	output_error(&c->output, "cannot tell: %s", r.claim.tick.why);
	return ZKLEADER_CANNOT_TELL;
}

const struct command command_run = {
	.name = "run",
	.args = "TASK -- CMD...",
	.help = "run CMD here if this node leads and no other ran it",
	.more = "One tick of a task, which is the clock rounded down, is run once in the whole "
		"fleet.\n"
		"Where another node leads, it waits until that has claimed the tick, or steps in.\n"
		"CMD gets TERM in time, and KILL, for it to be dead before another node can "
		"lead.\n",
	.exits = "CMD's own status (128+N for signal N, 126 and 127 as a shell), CODE if it\n"
		 "      was not run here, 2 cannot tell or the leadership was lost, 3 misuse,\n"
		 "      4 nobody may run it now",
	.min_args = 2,
	.max_args = COMMAND_ARGS_ANY,
	.options = options,
	.run = run,
};
