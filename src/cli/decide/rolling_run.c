/*
 * A rolling restart of this node, from waiting for a slot to freeing it, and after a reboot. The
 * slot's record says how far it has come. So if this process is killed, the same command goes on
 * from there when it is run again.
 */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "cli/decide/rolling.h"
#include "cli/ui/ask.h"

#define BUSY_MS 300 /* between checks of what the node still leads and runs */

static bool is(const json_t *answer, const char *result)
{
	return strcmp(rolling_result(answer), result) == 0;
}

static int senseless(const struct rolling_steps *s)
{
	output_error(&s->c->output, "the answer of the sidecar makes no sense");
	return ZKLEADER_CANNOT_TELL;
}

/* Prints with --json how it ended, as one object after the output of CMD. Returns code. */
static int conclude(const struct rolling_steps *s, const char *state, int status, int code)
{
	if (s->c->output.json) {
		json_auto_t *end =
			json_pack("{s:s, s:s, s:o}", "group", s->group, "state", state,
				  "exit_status", status < 0 ? json_null() : json_integer(status));
		output_json(&s->c->output, end);
	}
	return code;
}

static void take_slot(struct rolling_steps *s, const json_t *slot)
{
	snprintf(s->slot, sizeof(s->slot), "%s", json_text(slot, "id", ""));
	snprintf(s->before, sizeof(s->before), "%s", json_text(slot, "process", ""));
}

static int say_halted(const struct rolling_steps *s, const json_t *answer)
{
	const json_t *halted = json_object_get(json_object_get(answer, "group"), "halted");

	output_error(&s->c->output,
		     "%s is halted by %s: %s; zkleader rolling %s --resume ends that", s->group,
		     json_text(halted, "node", "a node"), json_text(halted, "why", "CMD failed"),
		     s->group);
	return conclude(s, "halted", -1, ZKLEADER_NOT_LEADER);
}

static int say_failed(const struct rolling_steps *s, const json_t *slot)
{
	output_error(&s->c->output,
		     "CMD failed on this node, with status %" PRId64
		     ": zkleader rolling %s --resume frees its slot",
		     json_number(slot, "exit_status", -1), s->group);
	return conclude(s, "failed", (int)json_number(slot, "exit_status", -1),
			ZKLEADER_NOT_LEADER);
}

static int say_released(const struct rolling_steps *s, int status, int code)
{
	output_error(&s->c->output, "the slot of this node has been released meanwhile");
	return conclude(s, "released", status, code);
}

static int say_other(const struct rolling_steps *s, const json_t *slot)
{
	output_error(&s->c->output,
		     "another zkleader rolling %s sees to the slot of this node: process %s",
		     s->group, json_text(slot, "process", "-"));
	return ZKLEADER_MISUSE;
}

/* --- steps ---------------------------------------------------------------- */

static int advance(struct rolling_steps *s, const char *state, int status, json_t **ret_answer)
{
	const struct rolling_step step = {.order = "advance",
					  .state = state,
					  .timeout_ms = ROLLING_FOREVER,
					  .exit_status = status,
					  .patient = true};

	return rolling_step(s, &step, ret_answer);
}

/*
 * Waits until the node has been healthy for long enough, and the slot is freed. status: of CMD; -1:
 * it was not run by this process.
 */
static int soak(struct rolling_steps *s, int status)
{
	const struct rolling_step step = {.order = "free",
					  .timeout_ms = ROLLING_FOREVER,
					  .exit_status = -1,
					  .waits = true,
					  .patient = true};
	json_auto_t *answer = NULL;
	int code;

	output_error(&s->c->output, "%s: CMD is done; waiting until this node is healthy for %g s",
		     s->group, (double)s->soak_ms / 1000);
	code = rolling_step(s, &step, &answer);
	if (code != 0)
		return code;
	if (is(answer, "nothing"))
		return say_released(s, status, ZKLEADER_OK);
	if (!is(answer, "done"))
		return say_other(s, json_object_get(answer, "slot"));
	output_error(&s->c->output, "%s: the slot is free, and this node is no longer drained",
		     s->group);
	return conclude(s, "freed", status, ZKLEADER_OK);
}

/*
 * Makes this process responsible for the slot, in the state "soaking", and waits for the node's
 * health.
 */
static int adopt_soaking(struct rolling_steps *s)
{
	json_auto_t *answer = NULL;
	int code = advance(s, "soaking", -1, &answer);

	if (code != 0)
		return code;
	if (is(answer, "nothing"))
		return say_released(s, -1, ZKLEADER_OK);
	if (!is(answer, "done"))
		return say_other(s, json_object_get(answer, "slot"));
	return soak(s, -1);
}

static void say_busy(const struct rolling_steps *s, const json_t *answer, int64_t *told)
{
	int64_t leads = json_number(answer, "leads", 0), jobs = json_number(answer, "jobs", 0);

	if (*told == leads * 100000 + jobs)
		return;
	*told = leads * 100000 + jobs;
	output_error(&s->c->output,
		     "%s: this node is drained; it still leads %" PRId64 ", and %" PRId64
		     " jobs run here",
		     s->group, leads, jobs);
}

/* Waits until the node leads nothing and runs no job. 0: CMD may begin; or an exit code. */
static int drain(struct rolling_steps *s)
{
	struct pollfd fd = {.fd = s->signals->fd, .events = POLLIN};
	int64_t told = -1;

	for (;;) {
		json_auto_t *answer = NULL;
		int code = advance(s, "running", -1, &answer);

		if (code != 0 || is(answer, "done"))
			return code;
		if (is(answer, "nothing"))
			return say_released(s, -1, ZKLEADER_NOT_LEADER);
		if (!is(answer, "busy"))
			return say_other(s, json_object_get(answer, "slot"));
		say_busy(s, answer, &told);
		poll(&fd, 1, BUSY_MS);
		if (rolling_job_is_ended(s->signals))
			return conclude(s, "kept", -1, 128 + SIGTERM);
	}
}

/* --- CMD ------------------------------------------------------------------ */

/*
 * Reports the status of CMD to the sidecar. A signal that has come meanwhile ends this process only
 * after that. ended: there was one.
 */
static int report(struct rolling_steps *s, int status, bool ended, bool *ret_soaks)
{
	const char *state = status == 0 ? "soaking" : "failed";
	json_auto_t *answer = NULL;
	int code;

	if (ended && status != 0) {
		output_error(&s->c->output,
			     "%s: CMD was ended; this node keeps its slot and its drain: run the "
			     "command again, or reboot",
			     s->group);
		return conclude(s, "kept", status, status);
	}
	code = advance(s, state, status, &answer);
	if (code != 0)
		return status != 0 ? status : code;
	if (is(answer, "nothing"))
		return say_released(s, status, status);
	if (!is(answer, "done"))
		return say_other(s, json_object_get(answer, "slot"));
	if (status != 0) {
		output_error(&s->c->output,
			     "%s is halted: CMD failed with status %d; this node keeps its slot "
			     "and its drain until zkleader rolling %s --resume",
			     s->group, status, s->group);
		return conclude(s, "failed", status, status);
	}
	*ret_soaks = !ended;
	return ended ? conclude(s, "kept", status, 128 + SIGTERM) : 0;
}

static int run_job(struct rolling_steps *s, const char *const *argv)
{
	struct signals signals;
	bool ended = false, soaks = false;
	int status, code;

	if (signals_block(&signals) < 0) {
		output_error(&s->c->output, "no signalfd");
		return ZKLEADER_CANNOT_TELL;
	}
	s->signals = &signals;
	code = drain(s);
	if (code == 0) {
		status = rolling_job(&s->c->output, &signals, argv, &ended);
		code = report(s, status, ended, &soaks);
	}
	signals_restore(&signals);
	s->signals = NULL;
	return soaks ? soak(s, 0) : code;
}

/* --- going on with a slot ------------------------------------------------- */

/* Does what is left to do for a slot that an earlier process has taken. */
static int go_on(struct rolling_steps *s, const json_t *slot, const char *const *argv)
{
	const char *state = json_text(slot, "state", "");

	if (strcmp(json_text(slot, "boot_id", ""), s->boot_id) != 0) {
		output_error(&s->c->output,
			     "this machine has booted since %s, when this node got its slot: CMD "
			     "counts as done",
			     json_text(slot, "since", "-"));
		return adopt_soaking(s);
	}
	output_error(&s->c->output, "%s: going on with the slot of this node, since %s", s->group,
		     json_text(slot, "since", "-"));
	return strcmp(state, "soaking") == 0 ? adopt_soaking(s) : run_job(s, argv);
}

int rolling_run(struct rolling_steps *s, const char *const *argv)
{
	const struct rolling_step step = {.order = "take",
					  .timeout_ms = s->timeout_ms,
					  .exit_status = -1,
					  .waits = true,
					  .patient = true,
					  .begins = true};
	json_auto_t *answer = NULL;
	int code;

	output_error(&s->c->output, "%s: waiting for a slot, of %" PRId64, s->group,
		     s->max_unavailable);
	code = rolling_step(s, &step, &answer);
	if (code != 0)
		return code;
	const json_t *slot = json_object_get(answer, "slot");
	if (is(answer, "halted"))
		return say_halted(s, answer);
	if (is(answer, "failed"))
		return say_failed(s, slot);
	if (is(answer, "other")) {
		output_error(&s->c->output, "others use --max-unavailable %" PRId64,
			     json_number(json_object_get(answer, "group"), "max_unavailable", 0));
		return ZKLEADER_MISUSE;
	}
	if (is(answer, "late")) {
		output_error(&s->c->output, "%s: no slot in that time", s->group);
		return conclude(s, "late", -1, ZKLEADER_NOT_LEADER);
	}
	if (!is(answer, "done") || !slot)
		return senseless(s);
	take_slot(s, slot);
	if (strcmp(s->before, s->process) == 0)
		return run_job(s, argv);
	if (rolling_process_lives(s, s->before))
		return say_other(s, slot);
	return go_on(s, slot, argv);
}

int rolling_finish(struct rolling_steps *s)
{
	const struct rolling_step step = {
		.order = "own", .timeout_ms = ROLLING_FOREVER, .exit_status = -1, .patient = true};
	json_auto_t *answer = NULL;
	int code = rolling_step(s, &step, &answer);

	if (code != 0)
		return code;
	const json_t *slot = json_object_get(answer, "slot");
	if (!is(answer, "done") || !slot)
		return conclude(s, "nothing", -1, ZKLEADER_OK);
	take_slot(s, slot);
	if (strcmp(json_text(slot, "boot_id", ""), s->boot_id) == 0) {
		output_error(&s->c->output,
			     "%s: this machine has not booted since this node got "
			     "its slot",
			     s->group);
		return conclude(s, "kept", -1, ZKLEADER_OK);
	}
	if (strcmp(json_text(slot, "state", ""), "failed") == 0) {
		say_failed(s, slot);
		return ZKLEADER_OK;
	}
	if (rolling_process_lives(s, s->before))
		return conclude(s, "kept", -1, ZKLEADER_OK);
	if (strcmp(json_text(slot, "state", ""), "draining") == 0)
		output_error(&s->c->output,
			     "%s: this machine has booted before CMD had begun; it counts as done",
			     s->group);
	return adopt_soaking(s);
}
