#include "node/runs/run_steps.h"

#include <stdio.h>
#include <string.h>

#include "base/log/log.h"
#include "node/ledger/unclaimed.h"

void run_send(const struct run *r, const struct run_answer *answer)
{
	r->runs->handlers.answer(r->held.owner, r->request, answer);
}

/*
 * The time in ms for which this node keeps the task: for a job about to begin, or for a running
 * one.
 */
static int64_t promise_in_claim(const struct run *r)
{
	if (!r->task)
		return 0;
	return r->state.phase == RUN_GOING ? leaders_hold_renew(r->task) : leaders_promise(r->task);
}

static void answer_claim(struct run *r, const char *outcome, bool busy, const char *why,
			 const char *notice)
{
	const struct member *self = registry_self(r->runs->leaders->registry);
	bool keep = r->task && r->task->settings->keep_output;

	run_send(r, &(struct run_answer){.kind = RUN_ANSWER_CLAIM,
					 .worker_id = self ? self->worker->id : "",
					 .version = self ? self->worker->version : "",
					 .outcome = outcome,
					 .tick = r->tick[0] ? r->tick : NULL,
					 .token = r->record.token,
					 .attempt = r->record.attempt,
					 .index = r->options.index,
					 .lease_ms = promise_in_claim(r),
					 .run = r->held.number,
					 .partition = r->task ? (int)r->task->partition : 0,
					 .partitions = r->task ? r->task->settings->partitions : 0,
					 .busy = busy,
					 .output = keep || (r->task && r->task->settings->ping),
					 .keep_output = keep,
					 .why = why,
					 .notice = notice});
}

void run_answer_end(struct run *r, const char *outcome, bool busy, const char *why,
		    const char *notice)
{
	answer_claim(r, outcome, busy, why, notice);
}

void run_answer(struct run *r, const char *outcome, bool busy, const char *why)
{
	answer_claim(r, outcome, busy, why, "");
}

void run_answer_attached(struct run *r, bool is)
{
	const char *state = r->record.state;
	bool recorded = strcmp(state, "ok") == 0 || strcmp(state, "failed") == 0 ||
			strcmp(state, "timeout") == 0;

	run_send(r, &(struct run_answer){.kind = RUN_ANSWER_ATTACH,
					 .attached = is,
					 .run = r->held.number,
					 .recorded = recorded});
}

/* Another node leads. If the wait was for a tick, that node has not claimed it. */
static void tell_unclaimed(struct run *r)
{
	char notice[UNCLAIMED_TEXT_MAX] = "";

	if (r->tick[0] && r->options.wait_ms > 0)
		unclaimed_tell(r->task, r->tick, r->options.wait_ms, notice);
	answer_claim(r, "waited", false, "", r->options.once ? "" : notice);
}

void run_tell_waited(struct run *r)
{
	struct run_sight sight = run_sight_of(r);
	char blocked[LEADERS_BLOCKED_MAX];

	if (!sight.up)
		run_answer(r, "waited", false, SESSION_NONE);
	else if (r->task && leaders_is_blocked(r->task, blocked))
		run_answer(r, "waited", false, blocked);
	else if (sight.elsewhere)
		tell_unclaimed(r);
	else if (sight.drained)
		run_answer(r, "nobody", false, "this node is drained");
	else
		run_answer(r, "waited", false, "nobody leads the task");
}

/* The tick is not run here, and nobody can tell whether it was run elsewhere. */
void run_tell_refused(struct run *r, enum run_action how)
{
	char why[CLOCKS_TEXT_MAX + NAME_ELECTION_MAX + TICK_NAME_SIZE + 200], off[CLOCKS_TEXT_MAX];

	clocks_say_own(&r->runs->leaders->registry->clocks, off);
	if (how == RUN_OLDER)
		snprintf(why, sizeof(why),
			 "the tick %s is older than the oldest that is kept of %s, so it may have "
			 "been run: is the clock right, and was it when those were claimed?",
			 r->tick, r->task_name);
	else if (how == RUN_OFF)
		snprintf(why, sizeof(why),
			 "no tick is claimed by this node's clock: it is %s and most workers'",
			 off);
	else if (how == RUN_EARLY)
		snprintf(why, sizeof(why),
			 "the tick %s is ahead of its time: this node's clock is %s", r->tick, off);
	else
		snprintf(why, sizeof(why),
			 "the server refuses the ledger (an ACL, or a quota that is used up): see "
			 "the sidecar's log");
	if (how != RUN_REFUSED)
		log_warning("claim refused", LOG_STR("task", r->task_name),
			    LOG_STR("tick", r->tick), LOG_STR("why", why));
	run_send(r, &(struct run_answer){.kind = RUN_ANSWER_FAILED, .why = why});
}
