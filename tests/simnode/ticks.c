#include "ticks.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "core/time/tick.h"
#include "node/runs/run_steps.h"
#include "oracle.h"
#include "renames.h"
#include "scenario.h"
#include "schedules.h"
#include "server.h"
#include "truth.h"

#define SLOTS 4096 /* ticks of a task that are remembered */

/* The history of a tick. */
static struct slot {
	int64_t tick;
	unsigned starts;
	int64_t attempts; /* bits: those that have begun */
	bool finished;
} * slots[TASKS_MAX];

static uint64_t era, anew_count;
static int64_t era_since;
static int64_t quiet_since; /* no fault since then */

static struct slot *slot_at(unsigned task, int64_t tick)
{
	struct slot *slot = &slots[renames_same(task)][tick % SLOTS];

	if (slot->tick != tick)
		*slot = (struct slot){.tick = tick};
	return slot;
}

static struct slot *slot_of(const struct job *j)
{
	return slot_at(j->task, j->tick);
}

void ticks_forget(void)
{
	era++;
	era_since = sim.now;
	for (unsigned k = 0; k < TASKS_MAX; k++)
		if (slots[k])
			memset(slots[k], 0, SLOTS * sizeof(*slots[k]));
}

void ticks_anew(unsigned task)
{
	anew_count++;
	memset(slots[task], 0, SLOTS * sizeof(*slots[task]));
	schedule_forget_decided(task);
}

uint64_t ticks_anew_count(void)
{
	return anew_count;
}

void ticks_reset(void)
{
	for (unsigned k = 0; k < TASKS_MAX; k++)
		if (!slots[k])
			slots[k] = mem_calloc(SLOTS, sizeof(*slots[k]));
	quiet_since = 0;
	ticks_forget();
}

uint64_t ticks_era(void)
{
	return era;
}

int64_t ticks_era_since(void)
{
	return era_since;
}

/* --- never twice ---------------------------------------------------------------------------------- */

/* Whether a session that lives is about to record that the tick's job has ended well. */
static bool is_being_recorded(const struct job *mine)
{
	const struct tree *t = servers_tree();

	for (size_t i = 0; t && i < JOBS_MAX; i++) {
		const struct job *j = &jobs[i];
		if (j->phase == JOB_ENDED && j->told && job_is_done(j) && j->task == mine->task &&
		    j->tick == mine->tick && sites[j->site].running &&
		    sites[j->site].node.session.id == j->session && tree_session(t, j->session))
			return true;
	}
	return false;
}

void ticks_check_start(const struct job *mine)
{
	struct slot *slot = slot_of(mine);

	if (renames_are(mine->task) && renames_were_beside())
		return;
	for (size_t i = 0; i < JOBS_MAX; i++) {
		const struct job *j = &jobs[i];
		/*
		 * A claim with --once runs nothing under the sidecar's eyes, which does not look at
		 * other runs then.
		 */
		if (j == mine || renames_same(j->task) != renames_same(mine->task) ||
		    !job_is_alive(j) || (mine->once && j->site == mine->site) ||
		    oracle_has_shrunk(j->site) ||
		    (j->site == mine->site &&
		     task_settings[mine->task].overlap == TASK_OVERLAP_ALLOW))
			continue;
		sim_violation("task %u: site %u runs tick %lld while site %u runs tick %lld",
			      mine->task, mine->site, (long long)mine->tick, j->site,
			      (long long)j->tick);
	}
	if (mine->era != era)
		return; /* what was claimed is not known any more */
	if (mine->attempt < 63 && (slot->attempts >> mine->attempt & 1))
		sim_violation("task %u tick %lld: attempt %lld was begun twice", mine->task,
			      (long long)mine->tick, (long long)mine->attempt);
	/* Further attempts of what a schedule wants are judged with its record: schedules.c. */
	if (slot->starts > 0 && mine->scheduled <= 1 &&
	    task_settings[mine->task].on_crash == TASK_ON_CRASH_SKIP)
		sim_violation("task %u tick %lld was begun twice", mine->task,
			      (long long)mine->tick);
	if (slot->finished)
		sim_violation("task %u tick %lld is begun after it was finished", mine->task,
			      (long long)mine->tick);
	if (is_being_recorded(mine))
		sim_violation("task %u tick %lld is begun while its end is being recorded",
			      mine->task, (long long)mine->tick);
	slot->attempts |= INT64_C(1) << (mine->attempt & 63);
	slot->starts++;
}

void ticks_triggered(unsigned task, int64_t tick, bool anew)
{
	struct slot *slot = slot_at(task, tick);

	slot->finished = false;
	if (!anew)
		return;
	/* Its record was pruned before it was run again, as somebody wants. */
	slot->attempts = 0;
	slot->starts = 0;
}

void ticks_recorded(const struct job *j)
{
	if (j->era == era)
		slot_of(j)->finished = true;
}

/* A call for any partition that has got none: somebody has claimed one, or did before all data was lost. */
void ticks_taken(const struct job *j)
{
	const struct tree *t = servers_tree();
	char tick[TICK_NAME_SIZE], path[STORE_PATH_MAX];
	bool is = j->ran > 0 || j->era != era || !t;

	(void)tick_name(j->tick * task_settings[0].tick_ms, tick);
	for (unsigned k = 0; !is && k < sim.n_tasks; k++) {
		snprintf(path, sizeof(path), SITE_ROOT "/runs/%s/%s", task_settings[k].name, tick);
		is = tree_get(t, path_intern(path)) || (slots[k][j->tick % SLOTS].tick == j->tick &&
							slots[k][j->tick % SLOTS].starts > 0);
	}
	if (!is)
		sim_violation("tick %lld: site %u is told that it was run, and nobody has claimed "
			      "any partition",
			      (long long)j->tick, j->site);
}

/* --- soon ----------------------------------------------------------------------------------------- */

static void since(int64_t *when, bool is)
{
	if (!is)
		*when = 0;
	else if (*when == 0)
		*when = sim.now;
}

/*
 * The time within which a waiting tick is begun. Several ticks of a task are claimed one after the
 * other, as each that prunes makes the others look again.
 */
static int64_t must_begin(void)
{
	return 4 * SECOND + 20 * (2 * sim.delay_us + 6 * sim.server_delay_us);
}

/* Whether nothing keeps it from claiming the tick, which nobody has claimed as far as it has seen. */
static bool is_due(const struct run *r, const struct run_sight *sight)
{
	const struct run_state *state = &r->state;
	bool claimed = state->counts || (state->looked && state->there);

	return state->phase == RUN_WAITING && !claimed && sight->up && sight->leads &&
	       !sight->brief && !sight->dying && !sight->busy && !sight->paused &&
	       sight->clock == RUN_CLOCK_GOOD && sight->now_ms >= state->not_before_ms;
}

void ticks_look(const struct site *s)
{
	bool quiet = !scenario_is_storm();

	if (!quiet)
		quiet_since = sim.now;
	if (!s->running || s->parting)
		return;
	for (const struct run *r = TAILQ_FIRST(&s->node.runs.list); r; r = TAILQ_NEXT(r, link)) {
		struct job *j = r->held.owner;
		/* A claim of any partition may have let go of one that it was due for. */
		if (j && !r->task)
			j->due = j->fit = 0;
		if (!j || !r->task || r->options.once || j->scheduled > 0)
			continue;
		struct run_sight sight = run_sight_of(r);
		since(&j->due, quiet && is_due(r, &sight));
		since(&j->fit, sight.up && r->task->election.view.candidate && r->state.calls &&
				       r->state.orphan_ms > 0);
		if (j->due > 0 && sim.now - j->due > must_begin())
			sim_violation("task %u tick %lld: site %u leads and does not begin",
				      j->task, (long long)j->tick, s->id);
	}
}

void ticks_waited(const struct job *j)
{
	int leader = j->any ? -1 : oracle_leader(j->task);
	struct task *t = leader >= 0 ? site_task(&sites[leader], j->task) : NULL;
	int64_t from = j->fit > quiet_since ? j->fit : quiet_since, judged = truth_clocks_since();

	/* A leader keeps the task while it has jobs of it. */
	if (j->any || j->fit == 0 || scenario_is_storm() || (t && t->holds > 0))
		return;
	/* Before that who is to lead is not the same for all. */
	if (judged > from)
		from = judged;
	if (sim.now - from > (RUN_ORPHAN_MS - 2 * RUN_CALL_MS - 1000) * MS)
		sim_violation("task %u tick %lld was lost and not begun again, though site %u "
			      "stood by",
			      j->task, (long long)j->tick, j->site);
}
