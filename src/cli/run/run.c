/* zkleader run: runs a command if this node leads the task and gets the tick. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run/run.h"
#include "base/clock.h"
#include "base/text/duration.h"
#include "base/text/name.h"
#include "cli/ui/ask.h"
#include "supervise/leased_job.h"

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
		r->code = (int)options_number(values[OPTION_CODE], EXIT_MAX);
		if (r->code < 0) {
			snprintf(why, OPTIONS_WHY_SIZE, "an exit code is a number from 0 to 255");
			e = -EINVAL;
		}
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

/* --- what follows the claim ------------------------------------------------ */

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
		return context_failed(c, e);
	if (leased_job_check_kill_after(c, r.kill_after_ms) < 0)
		return ZKLEADER_MISUSE;
	e = signals_block(&r.signals);
	if (e == 0)
		e = run_claim(&r);
	if (e == ZKLEADER_NOBODY)
		return e;
	if (e != 0)
		return context_failed(c, e);
	if (r.claim.tick.outcome != ZKLEADER_YOURS)
		return run_not_ours(&r);
	return is_of_partitions(&r) ? run_partitions(&r) : run_job(&r);
}

const struct command command_run = {
	.name = "run",
	.args = "TASK -- CMD...",
	.help = "run CMD here if this node leads and no other ran it",
	.more = "One tick of a task, which is the clock rounded down, is run once in the whole\n"
		"fleet. Where another node leads, it waits until that has claimed the tick, or\n"
		"steps in. CMD gets TERM in time, and KILL, for it to be dead before another node\n"
		"can lead. Of a TASK with partitions CMD is run for each that is led here, so\n"
		"many at a time as its file says; the exit code is the greatest of theirs.\n",
	.exits = "CMD's own status (128+N for signal N, 126 and 127 as a shell), CODE if it\n"
		 "      was not run here, 2 cannot tell or the leadership was lost, 3 misuse,\n"
		 "      4 nobody may run it now",
	.min_args = 2,
	.max_args = COMMAND_ARGS_ANY,
	.options = options,
	.run = run,
};
