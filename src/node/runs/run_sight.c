/* The situation of a run, for core/election/run.h. */
#include <string.h>

#include "node/runs/losses.h"
#include "node/runs/run_steps.h"
#include "node/schedule/schedules.h"
#include "node/tree/paths.h"

/*
 * Whether the session that runs the job may be alive. If it has ended, its lease ended before, and
 * the job with the lease. While records are being read, a worker that registers again may be
 * missing.
 */
static bool runner_may_live(const struct run *r)
{
	return !registry_is_gone(r->runs->leaders->registry, r->state.seen.session);
}

/* Whether another run of the task is there or about to begin, and may not overlap. */
static bool is_busy(const struct run *r)
{
	return r->task->settings->overlap == TASK_OVERLAP_FORBID && r->task->holds > r->holds;
}

bool run_is_same(const struct run *r)
{
	return !r->runs->holders.revoked && r->task->election.node.token == r->record.token;
}

/* The tick is named by the clock of the caller, which is usually that of this host. */
static enum run_clock clock_of(const struct run *r)
{
	const struct clocks *c = &r->runs->leaders->registry->clocks;

	if (r->state.phase != RUN_WAITING)
		return RUN_CLOCK_GOOD;
	if (clocks_is_unsure(c))
		return RUN_CLOCK_UNSURE;
	if (clocks_is_off(c))
		return RUN_CLOCK_OFF;
	return r->begins_ms > clocks_latest_ms(c) ? RUN_CLOCK_EARLY : RUN_CLOCK_GOOD;
}

const struct due_offer *run_offer(const struct run *r)
{
	if (!r->task || r->options.scheduled == 0)
		return NULL;
	return schedules_offer(r->task, r->tick, r->options.scheduled);
}

/* As the wait ends without a watch, the fate of the tick may not be known yet. */
static bool is_unwatched(const struct run *r, int64_t now_ms)
{
	struct session *session = r->runs->leaders->session;
	char path[STORE_PATH_MAX];

	if (!r->watches || r->state.phase != RUN_WAITING || now_ms < r->state.deadline_ms)
		return false;
	path_of_tick(session->settings, r->task_name, r->tick, path);
	return !watches_has(&session->watches, path, WATCH_NODE);
}

struct run_sight run_sight_of(const struct run *r)
{
	const struct leaders *l = r->runs->leaders;
	const struct member *self = registry_self(l->registry);
	const struct task *t = r->task;
	struct run_sight sight = {.now_ms = host_now_ms(r->runs->host),
				  .up = session_is_up(l->session),
				  .drained = self && self->drained,
				  .clock = r->tick[0] ? clock_of(r) : RUN_CLOCK_GOOD,
				  .runner_lives = r->state.seen.running && runner_may_live(r)};

	if (!t)
		return sight;
	sight.unwatched = is_unwatched(r, sight.now_ms);
	sight.leads = self && leaders_may_begin(t); /* its record says whose it is */
	sight.brief = leaders_lease_left(t) < session_lease_least(l->session);
	sight.same = run_is_same(r) && leaders_lease_left(t) > 0;
	sight.busy = is_busy(r);
	sight.beside = t->settings->overlap == TASK_OVERLAP_FORBID && t->going > r->going;
	sight.dying = t->dying > r->dying;
	sight.behind =
		r->state.phase == RUN_FINISHING && sight.now_ms < r->behind_ms && losses_pending(t);
	sight.elsewhere = leaders_is_led(t) && !t->election.node.mine;
	sight.paused = t->standing.paused;
	sight.spent = r->tick[0] && r->begins_ms <= partitions_floor_ms(l, r->task_name);
	const struct due_offer *offer = run_offer(r);
	/* A run that seemed lost may have ended after all: its record was only written late. */
	sight.offered = offer && !(offer->lost && r->state.seen.failed);
	sight.triggered = offer && offer->trigger[0];
	sight.rerun = t->settings->on_crash == TASK_ON_CRASH_RERUN;
	sight.token = t->election.node.token;
	sight.hold_max_ms = t->settings->hold_max_ms;
	return sight;
}
