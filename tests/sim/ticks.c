/*
 * Crontabs, jobs and the oracle of runs. A crontab asks at each tick of its own wall clock; a job lives until
 * it ends, or until the lease ends that it last heard of; it is killed then, or with what supervises it.
 */
#include "ticks.h"

#include <string.h>

#include "base/mem.h"
#include "oracle.h"
#include "scenario.h"
#include "server.h"

#define JOBS_MAX 512
#define AWAY	 (10 * SECOND) /* for which a sidecar that is away is looked for, to tell it the end */
#define SLOTS	 4096	       /* ticks of a task that are remembered */

bool task_reruns[TASKS_MAX];
int64_t tick_us, tick_wait_ms, tick_hold_max_ms;
size_t tick_history;

static struct job {
	bool alive;
	uint64_t serial;
	unsigned sidecar, task;
	uint32_t tick;
	uint64_t run;
	int64_t deadline_ms; /* CLOCK_BOOTTIME */
	int64_t ended;	     /* true time */
} jobs[JOBS_MAX];
static uint64_t last_serial;

/* What became of a tick. */
static struct slot {
	uint32_t tick;
	unsigned claims, starts;
	int64_t attempts; /* bits: those that have begun */
	bool finished;
} * slots[TASKS_MAX];

uint64_t ticks_era;
static uint64_t preferred[TASKS_MAX];
static int64_t quiet_since; /* no fault since then */

static struct slot *slot_of(unsigned task, uint32_t tick)
{
	struct slot *slot = &slots[task][tick % SLOTS];

	if (slot->tick != tick)
		*slot = (struct slot){.tick = tick};
	return slot;
}

void ticks_forget(void)
{
	ticks_era++;
	for (unsigned k = 0; k < TASKS_MAX; k++)
		if (slots[k])
			memset(slots[k], 0, SLOTS * sizeof(*slots[k]));
}

/* --- jobs --------------------------------------------------------------------------------------------- */

/* By its own clock, so also on a machine that is suspended: it is killed before it does anything. */
static bool is_alive(const struct job *j)
{
	const struct sidecar *s = &sidecars[j->sidecar];

	return j->alive && (sim.options.plant == PLANT_NO_KILL || sidecar_ms(s) < j->deadline_ms);
}

static struct sim_run *run_of(const struct job *j)
{
	struct sidecar *s = &sidecars[j->sidecar];

	return s->running ? runs_find(s, j->run) : NULL;
}

/* The job is dead, and its supervisor says so as soon as the sidecar hears it. */
static void on_report(void *arg, uint64_t number)
{
	struct job *j = arg;
	struct sidecar *s = &sidecars[j->sidecar];
	struct sim_run *r = run_of(j);

	bool away = !s->running && sim.now < j->ended + AWAY;
	bool told = r && (r->state.phase == RUN_INHERITED || r->state.phase == RUN_DYING);

	if (j->serial != number >> 2 || (!r && !away))
		return;
	if ((number & 3) == TICK_LOST && (away || told))
		return; /* it is told, but not looked for */
	if (away || s->inbox.paused || sim.now < s->busy_until) {
		event_at(sim.now + 200 * MS, on_report, j, number);
	} else if ((number & 3) == 3) {
		runs_caller_gone(s, r);
	} else if (told) {
		runs_attach(s, r);
		runs_settle(s);
		event_at(sim.now + 100 * MS, on_report, j, number);
	} else {
		runs_finish(s, r, (enum tick_state)(number & 3));
	}
}

static void on_end(void *arg, uint64_t serial)
{
	struct job *j = arg;
	struct sidecar *s = &sidecars[j->sidecar];

	if (!j->alive || j->serial != serial)
		return;
	if (s->suspended) {
		event_at(sim.now + 300 * MS, on_end, j, serial);
		return;
	}
	if (!is_alive(j)) /* it was killed in time */
		return;
	j->alive = false;
	j->ended = sim.now;
	sim.figures.finished++;
	TRACE("task %u tick %u: the job of sidecar %u has ended", j->task, j->tick, j->sidecar);
	on_report(j, serial << 2 | TICK_OK);
}

static void on_deadline(void *arg, uint64_t serial)
{
	struct job *j = arg;
	struct sidecar *s = &sidecars[j->sidecar];

	if (!j->alive || j->serial != serial)
		return;
	if (sidecar_ms(s) < j->deadline_ms || sim.options.plant == PLANT_NO_KILL) {
		if (sidecar_ms(s) < j->deadline_ms)
			event_at(clock_when(&s->clock, j->deadline_ms * MS), on_deadline, j,
				 serial);
		return;
	}
	j->alive = false;
	sim.figures.killed++;
	TRACE("task %u tick %u: the job of sidecar %u is killed at its lease's end", j->task,
	      j->tick, j->sidecar);
	on_report(j, serial << 2 | TICK_LOST);
}

static void on_renew(void *arg, uint64_t serial)
{
	struct job *j = arg;
	struct sidecar *s = &sidecars[j->sidecar];
	struct sim_run *r = run_of(j);
	int64_t every = sim.timeout_ms * MS / 12;

	if (!j->serial || j->serial != serial || !is_alive(j))
		return;
	event_at(sim.now + (every < SECOND ? every : SECOND), on_renew, j, serial);
	if (!r || s->inbox.paused || s->suspended || sim.now < s->busy_until)
		return;
	if (r->state.phase != RUN_GOING) {
		runs_attach(s, r);
		runs_settle(s);
		return;
	}
	int64_t now = sidecar_ms(s), left = runs_renew(s, r);
	runs_settle(s);
	if (left <= 0 && j->alive) {
		/* TERM at once. */
		j->deadline_ms = now;
		on_deadline(j, serial);
	} else if (now + left > j->deadline_ms) {
		j->deadline_ms = now + left;
	}
}

/* The supervisor is killed, and its guard as well: the kernel kills the job. */
static void on_supervisor_dies(void *arg, uint64_t serial)
{
	struct job *j = arg;

	if (!j->alive || j->serial != serial || sidecars[j->sidecar].suspended)
		return;
	j->alive = false;
	sim.figures.died++;
	TRACE("task %u tick %u: the supervisor of sidecar %u is killed", j->task, j->tick,
	      j->sidecar);
	on_report(j, serial << 2 | 3);
}

/* Whether a session that lives is about to record that the tick's job has ended well. */
static bool is_being_recorded(unsigned task, uint32_t tick)
{
	int leader = servers_leader();

	for (unsigned i = 0; leader >= 0 && i < sim.n_sidecars; i++) {
		const struct sidecar *s = &sidecars[i];
		for (size_t k = 0; s->running && k < s->n_runs; k++) {
			const struct sim_run *r = &s->runs[k];
			if (r->used && r->task == task && r->tick == tick &&
			    r->state.phase == RUN_FINISHING && r->record.state == TICK_OK &&
			    tree_session(&servers[leader].prepared, r->record.session))
				return true;
		}
	}
	return false;
}

void ticks_recorded(const struct sim_run *r)
{
	if (r->record.state == TICK_OK && r->era == ticks_era)
		slot_of(r->task, r->tick)->finished = true;
}

static void check_start(const struct sidecar *s, const struct sim_run *r)
{
	struct slot *slot = slot_of(r->task, r->tick);
	int32_t attempt = r->record.attempt;

	for (size_t i = 0; i < JOBS_MAX; i++) {
		const struct job *j = &jobs[i];
		if (!j->alive || j->task != r->task || !is_alive(j))
			continue;
		sim_violation("task %u: sidecar %u runs tick %u while sidecar %u runs tick %u",
			      r->task, s->id, r->tick, j->sidecar, j->tick);
	}
	if (r->era != ticks_era)
		return; /* what was claimed is not known any more */
	if (attempt < 63 && (slot->attempts >> attempt & 1))
		sim_violation("task %u tick %u: attempt %d was begun twice", r->task, r->tick,
			      attempt);
	if (slot->starts > 0 && !task_reruns[r->task])
		sim_violation("task %u tick %u was begun twice", r->task, r->tick);
	if (slot->finished)
		sim_violation("task %u tick %u is begun after it was finished", r->task, r->tick);
	if (is_being_recorded(r->task, r->tick))
		sim_violation("task %u tick %u is begun while its end is being recorded", r->task,
			      r->tick);
	slot->attempts |= INT64_C(1) << (attempt & 63);
	slot->starts++;
}

void ticks_begin(struct sidecar *s, struct sim_run *r)
{
	size_t at = 0;
	int64_t left = runs_renew(s, r);

	/* The leadership was lost before it began. */
	if (left <= 0) {
		sim.figures.unbegun++;
		run_caller_gone(&r->state, sidecar_ms(s), session_lease_left(s));
		runs_changed(s);
		return;
	}
	check_start(s, r);
	sim.figures.starts++;
	sim.figures.reruns += r->record.attempt > 1;
	TRACE("task %u tick %u: sidecar %u begins attempt %d, token %lld", r->task, r->tick, s->id,
	      r->record.attempt, (long long)r->record.token);
	while (at < JOBS_MAX && jobs[at].alive)
		at++;
	if (at == JOBS_MAX) {
		sim_violation("more jobs than the simulator has room for");
		return;
	}
	struct job *j = &jobs[at];
	*j = (struct job){.alive = true,
			  .serial = ++last_serial,
			  .sidecar = s->id,
			  .task = r->task,
			  .tick = r->tick,
			  .run = r->id,
			  .deadline_ms = sidecar_ms(s) + left};
	event_at(sim.now + random_exp(tick_us / 3), on_end, j, j->serial);
	event_at(clock_when(&s->clock, j->deadline_ms * MS), on_deadline, j, j->serial);
	event_at(sim.now + 50 * MS, on_renew, j, j->serial);
	if (random_chance(30))
		event_at(sim.now + random_exp(tick_us / 4), on_supervisor_dies, j, j->serial);
}

void ticks_stop(struct sidecar *s)
{
	for (size_t i = 0; i < JOBS_MAX; i++) {
		if (jobs[i].alive && jobs[i].sidecar == s->id) {
			TRACE("task %u tick %u: the job of sidecar %u is ended with it",
			      jobs[i].task, jobs[i].tick, s->id);
			jobs[i].alive = false;
			sim.figures.died++;
		}
	}
}

/* --- what is promised ------------------------------------------------------------------------------------ */

void ticks_claimed(struct sidecar *s, const struct sim_run *r)
{
	struct slot *slot = slot_of(r->task, r->tick);

	if (r->record.attempt > 1 || r->state.asked == RUN_CLAIM_ANEW || r->era != ticks_era)
		return;
	TRACE("task %u tick %u: sidecar %u has claimed it", r->task, r->tick, s->id);
	if (slot->claims++ > 0)
		sim_violation("task %u tick %u was claimed twice", r->task, r->tick);
	sim.figures.ticks++;
}

/* Of several that wait for ticks of one task, one after the other claims: who prunes makes others look again. */
static int64_t must_begin(void)
{
	return 4 * SECOND + 20 * (2 * sim.delay_us + 6 * sim.server_delay_us);
}

/* Who could begin has to, soon. */
void ticks_look(struct sidecar *s, struct sim_run *r, const struct run_sight *sight)
{
	bool free = r->state.phase == RUN_WAITING && sight->up && sight->leads && !sight->dying &&
		    !sight->busy && !s->inbox.paused && !s->suspended && sim.now >= s->busy_until;
	bool decided = r->state.phase != RUN_WAITING || (r->state.looked && r->state.there);
	bool fit = sight->up && s->tasks[r->task].election.view.candidate && r->state.calls;

	if (!free || decided || scenario_is_storm())
		r->led_since = 0;
	else if (r->led_since == 0)
		r->led_since = sim.now;
	else if (sim.now - r->led_since > must_begin())
		sim_violation("task %u tick %u: sidecar %u leads and does not begin", r->task,
			      r->tick, s->id);
	if (!fit)
		r->fit_since = 0;
	else if (r->fit_since == 0)
		r->fit_since = sim.now;
}

/*
 * Nobody here may run it. Of a lost run whom it was stood by for all the time, with no fault meanwhile,
 * that must not be.
 */
void ticks_waited(struct sidecar *s, const struct sim_run *r)
{
	if (r->state.orphan_ms == 0 || r->fit_since == 0 || scenario_is_storm())
		return;
	/* Who leads has had jobs of the task all the time, or had one when we gave up: it is kept. */
	int leader = oracle_leader(r->task);
	if (leader >= 0 && sidecars[leader].holds[r->task] > 0)
		return;
	int64_t from = r->fit_since > quiet_since ? r->fit_since : quiet_since;
	if (sim.now - from > (RUN_ORPHAN_MS - 2 * RUN_CALL_MS - 1000) * MS)
		sim_violation(
			"task %u tick %u was lost and not begun again, though sidecar %u stood by",
			r->task, r->tick, s->id);
}

/* --- who is preferred: a decision that everybody hears of a moment later ---------------------------------- */

static void on_preferred(void *arg, uint64_t task)
{
	struct sidecar *s = arg;

	if (s->preferred[task] == preferred[task])
		return;
	s->preferred[task] = preferred[task];
	if (s->running && !s->inbox.paused)
		leaders_fleet_changed(s);
	runs_settle(s);
}

static void on_decided(void *arg, uint64_t number)
{
	struct sidecar *s = arg;
	unsigned task = (unsigned)(number >> 1);
	bool on = number & 1;

	if (on && (!s->running || s->state != SESSION_UP)) {
		if (s->running)
			event_at(sim.now + SECOND, on_decided, arg, number);
		return;
	}
	preferred[task] &= ~(UINT64_C(1) << s->id);
	preferred[task] |= (uint64_t)on << s->id;
	for (unsigned i = 0; i < sim.n_sidecars; i++)
		event_at(sim.now + random_range(0, 100 * MS), on_preferred, &sidecars[i], task);
	if (on)
		event_at(sim.now + RUN_ORPHAN_MS * MS, on_decided, s, (uint64_t)task << 1);
}

void ticks_prefer(struct sidecar *s, unsigned task, bool on)
{
	event_at(sim.now + 20 * MS, on_decided, s, (uint64_t)task << 1 | on);
}

/* --- crontabs ---------------------------------------------------------------------------------------------- */

static void on_ask(void *arg, uint64_t number)
{
	struct sidecar *s = arg;
	uint32_t tick = (uint32_t)number;

	if (!s->running || s->inbox.paused)
		return; /* it cannot be told */
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		if (!(s->tasks_mask >> k & 1))
			continue;
		sim.figures.asked++;
		runs_begin(s, k, tick);
	}
	runs_settle(s);
}

static void on_cron(void *arg, uint64_t number)
{
	struct sidecar *s = arg;
	int64_t wall_us = clock_us(&s->clock, sim.now) + s->wall_ms * MS;
	uint32_t tick = (uint32_t)(wall_us / tick_us);

	(void)number;
	if (scenario_is_storm())
		quiet_since = sim.now;
	if (tick != s->last_tick && !s->suspended) {
		s->last_tick = tick;
		event_at(sim.now + random_exp(100 * MS), on_ask, s, tick);
	}
	/* Its clock may be set meanwhile. */
	int64_t next = tick_us - wall_us % tick_us;
	event_at(sim.now + (next < SECOND ? next : SECOND) + 1 * MS, on_cron, s, 0);
}

void ticks_reset(void)
{
	memset(jobs, 0, sizeof(jobs));
	memset(preferred, 0, sizeof(preferred));
	quiet_since = 0;
	for (unsigned k = 0; k < TASKS_MAX; k++)
		if (!slots[k])
			slots[k] = mem_calloc(SLOTS, sizeof(*slots[k]));
	ticks_forget();
	tick_us = random_range(2, 10) * SECOND;
	tick_wait_ms = random_range(2, 10) * 1000;
	tick_hold_max_ms = random_chance(500) ? 24 * 3600 * 1000 : random_range(2, 20) * 1000;
	tick_history = (size_t)random_range(4, 12);
	bool near = random_chance(500); /* clocks that are kept by NTP, or minutes apart */
	for (unsigned k = 0; k < TASKS_MAX; k++)
		task_reruns[k] = random_chance(500);
	for (unsigned i = 0; i < sim.n_sidecars; i++) {
		struct sidecar *s = &sidecars[i];
		if (near)
			s->wall_ms =
				INT64_C(1795000000000) - s->clock.start / MS + random_range(0, 500);
		s->last_tick = 0;
		event_at(random_range(5, 10) * SECOND, on_cron, s, 0);
	}
}
