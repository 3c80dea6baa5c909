/* zkleader trigger: runs a task that has a schedule now, or one of its ticks again. */
#include <string.h>
#include <time.h>

#include "api/call.h"
#include "api/json.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"
#include "wire/pack.h"

#define WITHOUT_STATUS 70 /* exit code for a run that ended without a status, such as a lost one */
#define LOOK_NS	       300000000
#define GONE_LOOKS     10 /* checks in a row that may find it neither pending nor begun */

enum { OPTION_TICK, OPTION_WAIT };

static const struct option_spec options[] = {
	{300, "tick", "X", "run this tick again, such as 2026-11-20T02:00:00Z"},
	{301, "wait", NULL, "until it has ended; the exit code is the run's status"},
	{0, NULL, NULL, NULL},
};

static int ask_trigger(struct context *c, json_t **ret_result)
{
	const char *tick = c->values[OPTION_TICK];
	struct request request;
	struct pack *p = request_begin(&request, 2);

	pack_str(p, c->args[0]);
	pack_map(p, tick ? 1 : 0);
	if (tick)
		pack_kv_str(p, "tick", tick);
	return ask_packed(c, "trigger", &request, JSON_OBJECT, ret_result);
}

static int ask_outcome(struct context *c, const char *tick, json_t **ret_result)
{
	struct request request;
	struct pack *p = request_begin(&request, 2);

	pack_str(p, c->args[0]);
	pack_str(p, tick);
	return ask_packed(c, "outcome", &request, JSON_OBJECT, ret_result);
}

/* Prints how the run ended, and returns the exit code. */
static int tell(struct context *c, const json_t *outcome, const char *tick)
{
	const char *state = json_text(outcome, "state", "-");
	const char *detail = json_text(outcome, "detail", "");
	int64_t status = json_number(outcome, "exit_status", -1);

	if (c->output.json)
		output_json(&c->output, outcome);
	else
		output_line(&c->output, COLOR_NONE, "%s %s: %s%s%s", c->args[0], tick, state,
			    detail[0] ? ": " : "", detail);
	if (strcmp(state, "ok") == 0)
		return 0;
	return status > 0 ? (int)status : WITHOUT_STATUS;
}

/* Whether the attempt is the last one of the run. */
static bool has_ended(const json_t *outcome)
{
	const char *state = json_text(outcome, "state", NULL);

	return state && strcmp(state, "running") != 0 && !json_flag(outcome, "retrying");
}

static int wait_for(struct context *c, const char *tick, int64_t after)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};

	for (int gone = 0; gone < GONE_LOOKS;) {
		json_auto_t *outcome = NULL;
		int code = ask_outcome(c, tick, &outcome);
		bool begun = json_number(outcome, "attempt", 0) > after;

		if (code != 0)
			return code;
		if (begun && has_ended(outcome))
			return tell(c, outcome, tick);
		gone = begun || json_is_true(json_object_get(outcome, "pending")) ? 0 : gone + 1;
		nanosleep(&pause, NULL);
	}
	output_error(&c->output,
		     "%s %s: was not run and is not to be any more: see the log of its leader",
		     c->args[0], tick);
	return ZKLEADER_CANNOT_TELL;
}

static int run(struct context *c)
{
	json_auto_t *result = NULL;
	const char *tick;
	int code = ask_trigger(c, &result);

	if (code != 0)
		return code;
	tick = json_text(result, "tick", "");
	if (c->values[OPTION_WAIT])
		return wait_for(c, tick, json_number(result, "after", 0));
	if (c->output.json)
		output_json(&c->output, result);
	else
		output_line(&c->output, COLOR_NONE, "%s: is to be run, as the tick %s", c->args[0],
			    tick);
	return 0;
}

const struct command command_trigger = {
	.name = "trigger",
	.args = "TASK",
	.help = "run a task with a schedule now, or a tick of it again",
	.more = "From any node, by who may run it. Once this says so it is run, by whoever leads\n"
		"TASK, though the leader is lost meanwhile. The tick is the next second that is\n"
		"none of its schedule. Of a task with partitions one is named: TASK:K.\n",
	.exits = "0 done, 2 no sidecar or no answer, 3 misuse: the tick X is running, or has\n"
		 "      no record, 4 it is paused; with --wait the run's status, 70 where it has\n"
		 "      none",
	.min_args = 1,
	.max_args = 1,
	.options = options,
	.run = run,
};
