/*
 * Crontabs, `zkleader run`, jobs and the oracle of runs. A crontab asks at each tick of its own wall clock; a
 * job lives until it ends, or until the lease ends that it last heard of; it is killed then, or with what
 * supervises it.
 */
#include "jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/id.h"
#include "oracle.h"
#include "scenario.h"
#include "server.h"
#include "wall.h"

#define JOBS_MAX  2048
#define AWAY	  (10 * SECOND) /* for which a sidecar that is away is looked for */
#define SLOTS	  4096		/* ticks of a task that are remembered */
#define REPORT_US (200 * MS)
/* A user asks for ticks that are further ahead than any clock is wrong. */
#define AHEAD_MS	(INT64_C(30) * 24 * 3600 * 1000)
#define AHEAD_PER_MILLE 5

static struct job {
	enum phase {
		PHASE_NONE,
		PHASE_ASKING,  /* for the tick */
		PHASE_CLAIMED, /* it is to begin, once its lease has been asked for */
		PHASE_RUNNING, /* the job; it may be dead at any moment */
		PHASE_ENDED    /* its end is to be recorded */
	} phase;
	uint64_t serial;
	unsigned site, task;
	int64_t tick, now_ms; /* number of the tick; the wall clock when it was asked for */
	char id[NAME_ID_MAX + 1];
	bool connected; /* the sidecar knows this supervisor */
	bool asked;	/* its claim has been sent, to whichever sidecar */
	bool told;	/* the end: the answer is awaited */
	bool ok;	/* it ended well */
	uint64_t run;
	uint64_t era;
	int64_t attempt;
	int64_t deadline_ms; /* by the host's clock */
	int64_t sent_ms;     /* of the last renewal */
	int64_t since;	     /* true time of the phase */
} jobs[JOBS_MAX];
static uint64_t last_serial;
static uint32_t last_request;

/* What became of a tick. */
static struct slot {
	int64_t tick;
	unsigned starts;
	int64_t attempts; /* bits: those that have begun */
	bool finished;
} * slots[TASKS_MAX];

static uint64_t era; /* of the ledger: a new one when all data was lost */
static int64_t tick_us;
static int64_t last_tick[HOSTS_MAX];

static struct slot *slot_of(unsigned task, int64_t tick)
{
	struct slot *slot = &slots[task][tick % SLOTS];

	if (slot->tick != tick)
		*slot = (struct slot){.tick = tick};
	return slot;
}

void jobs_forget(void)
{
	era++;
	for (unsigned k = 0; k < TASKS_MAX; k++)
		if (slots[k])
			memset(slots[k], 0, SLOTS * sizeof(*slots[k]));
}

static int64_t now_ms(const struct job *j)
{
	return host_now_ms(machine_host(&machines[j->site]));
}

/* By its own clock, so also on a machine that is suspended: it is killed before it does anything. */
static bool job_is_alive(const struct job *j)
{
	return j->phase == PHASE_RUNNING && now_ms(j) < j->deadline_ms;
}

static bool listens(const struct job *j)
{
	return sites[j->site].running && !sites[j->site].parting &&
	       machine_listens(&machines[j->site]);
}

static void at(const struct job *j, int64_t in_us, event_fn fn)
{
	event_at(sim.now + in_us, fn, (void *)(uintptr_t)j, j->serial);
}

static void over(struct job *j)
{
	struct site *s = &sites[j->site];
	bool connected = j->connected;

	j->phase = PHASE_NONE;
	j->connected = false;
	j->serial = 0;
	if (connected && s->running)
		runs_owner_gone(&s->node.runs, j);
	machine_wake(s->machine, 0);
}

static void set_phase(struct job *j, enum phase phase)
{
	j->phase = phase;
	j->since = sim.now;
}

/* --- what is promised ----------------------------------------------------------------------------- */

/* Whether a session that lives is about to record that the tick's job has ended well. */
static bool is_being_recorded(const struct job *mine)
{
	const struct tree *t = servers_tree();

	for (size_t i = 0; t && i < JOBS_MAX; i++) {
		const struct job *j = &jobs[i];
		if (j->phase == PHASE_ENDED && j->told && j->ok && j->task == mine->task &&
		    j->tick == mine->tick && sites[j->site].running &&
		    tree_session(t, sites[j->site].node.session.id))
			return true;
	}
	return false;
}

static void check_start(const struct job *mine)
{
	struct slot *slot = slot_of(mine->task, mine->tick);

	for (size_t i = 0; i < JOBS_MAX; i++) {
		const struct job *j = &jobs[i];
		if (j == mine || j->task != mine->task || !job_is_alive(j) ||
		    oracle_has_shrunk(j->site))
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
	if (slot->starts > 0 && task_settings[mine->task].on_crash == TASK_ON_CRASH_SKIP)
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

/* --- the end of a job ------------------------------------------------------------------------------ */

/* Its supervisor tells the sidecar, as soon as that hears it. */
static void on_report(void *arg, uint64_t serial)
{
	struct job *j = arg;
	struct site *s = &sites[j->site];

	if (j->serial != serial || j->phase != PHASE_ENDED)
		return;
	if (sim.now > j->since + AWAY && !j->told) {
		over(j);
		return;
	}
	at(j, REPORT_US, on_report);
	if (j->told || !listens(j))
		return;
	if (j->connected) {
		j->told = true;
		runs_finish(&s->node.runs, j, ++last_request, j->run, j->ok ? 0 : -1, !j->ok);
	} else if (site_task(s, j->task)) {
		j->connected = true;
		runs_attach(&s->node.runs, j, ++last_request, site_task(s, j->task), j->id, 1);
	}
	machine_wake(s->machine, 0);
}

static void end_job(struct job *j, bool ok, const char *why)
{
	TRACE("task %u tick %lld: the job of site %u %s", j->task, (long long)j->tick, j->site,
	      why);
	set_phase(j, PHASE_ENDED);
	j->ok = ok;
	j->told = false;
	on_report(j, j->serial);
}

static void on_end(void *arg, uint64_t serial)
{
	struct job *j = arg;

	if (j->serial != serial || !job_is_alive(j))
		return; /* it was killed in time */
	if (machines[j->site].suspended) {
		at(j, 300 * MS, on_end);
		return;
	}
	sim.figures.finished++;
	end_job(j, true, "has ended");
}

static void on_deadline(void *arg, uint64_t serial)
{
	struct job *j = arg;

	if (j->serial != serial || j->phase != PHASE_RUNNING)
		return;
	if (job_is_alive(j)) {
		event_at(machine_when(&machines[j->site], j->deadline_ms), on_deadline, j, serial);
		return;
	}
	if (machines[j->site].suspended) {
		at(j, 300 * MS, on_deadline);
		return;
	}
	sim.figures.killed++;
	end_job(j, false, "is killed at the end of its lease");
}

/* The supervisor is killed, and its guard as well: the kernel kills the job. */
static void on_supervisor_dies(void *arg, uint64_t serial)
{
	struct job *j = arg;

	if (j->serial != serial || !job_is_alive(j) || machines[j->site].suspended)
		return;
	sim.figures.died++;
	TRACE("task %u tick %lld: the supervisor of site %u is killed", j->task, (long long)j->tick,
	      j->site);
	over(j);
}

/* --- while it runs --------------------------------------------------------------------------------- */

static void on_renew(void *arg, uint64_t serial)
{
	struct job *j = arg;
	struct site *s = &sites[j->site];
	int64_t every = sim.timeout_ms * MS / 12;

	if (j->serial != serial || !job_is_alive(j))
		return;
	at(j, every < SECOND ? every : SECOND, on_renew);
	if (!listens(j) || machines[j->site].suspended)
		return;
	if (j->connected) {
		j->sent_ms = now_ms(j);
		runs_renew(&s->node.runs, j, ++last_request, j->run);
	} else if (site_task(s, j->task)) {
		j->connected = true;
		runs_attach(&s->node.runs, j, ++last_request, site_task(s, j->task), j->id, 1);
	}
	machine_wake(s->machine, 0);
}

/* It begins with what is left then, not with what was left when it was claimed. */
static void on_claimed(void *arg, uint64_t serial)
{
	struct job *j = arg;
	struct site *s = &sites[j->site];

	if (j->serial != serial || j->phase != PHASE_CLAIMED)
		return;
	if (sim.now > j->since + AWAY || (!j->connected && listens(j))) {
		over(j);
		return;
	}
	if (!listens(j)) {
		at(j, REPORT_US, on_claimed);
		return;
	}
	j->sent_ms = now_ms(j);
	runs_renew(&s->node.runs, j, ++last_request, j->run);
	machine_wake(s->machine, 0);
}

static void begin(struct job *j, int64_t lease_ms)
{
	j->deadline_ms = j->sent_ms + lease_ms;
	if (lease_ms <= 0) {
		/* The leadership was lost before it began. */
		sim.figures.refused++;
		end_job(j, false, "is not begun");
		return;
	}
	check_start(j);
	set_phase(j, PHASE_RUNNING);
	sim.figures.starts++;
	sim.figures.reruns += j->attempt > 1;
	TRACE("task %u tick %lld: site %u begins attempt %lld, lease %lld ms", j->task,
	      (long long)j->tick, j->site, (long long)j->attempt, (long long)lease_ms);
	at(j, random_exp(tick_us / 3), on_end);
	event_at(machine_when(&machines[j->site], j->deadline_ms), on_deadline, j, j->serial);
	at(j, 50 * MS, on_renew);
	if (random_chance(30))
		at(j, random_exp(tick_us / 4), on_supervisor_dies);
}

static void renewed(struct job *j, int64_t lease_ms)
{
	if (j->phase == PHASE_CLAIMED) {
		begin(j, lease_ms);
	} else if (j->phase == PHASE_RUNNING && lease_ms <= 0) {
		/* TERM at once. */
		j->deadline_ms = 0;
		on_deadline(j, j->serial);
	} else if (j->phase == PHASE_RUNNING && j->sent_ms + lease_ms > j->deadline_ms) {
		j->deadline_ms = j->sent_ms + lease_ms;
	}
}

static void claimed(struct job *j, const struct run_answer *a)
{
	if (j->now_ms > EPOCH_MS + sim.now / MS + AHEAD_MS / 2)
		sim_violation("task %u: a tick was claimed far ahead of its time", j->task);
	j->run = a->run;
	j->attempt = a->attempt;
	set_phase(j, PHASE_CLAIMED);
	at(j, random_exp(2 * MS), on_claimed);
}

static void recorded(struct job *j, bool is)
{
	if (is && j->ok && j->era == era)
		slot_of(j->task, j->tick)->finished = true;
	over(j);
}

void jobs_answer(void *owner, uint32_t request, const struct run_answer *a)
{
	struct job *j = owner;

	(void)request;
	if (j->phase == PHASE_NONE || !sites[j->site].running)
		return;
	switch (a->kind) {
	case RUN_ANSWER_CLAIM:
		if (j->phase == PHASE_ASKING && strcmp(a->outcome, "yours") == 0)
			claimed(j, a);
		else
			over(j);
		break;
	case RUN_ANSWER_ATTACH:
		if (a->attached)
			j->run = a->run;
		else
			j->connected = false;
		if (!a->attached && j->phase == PHASE_ENDED)
			recorded(j, a->recorded);
		break;
	case RUN_ANSWER_RENEW: renewed(j, a->lease_ms); break;
	case RUN_ANSWER_FINISH: recorded(j, a->recorded); break;
	case RUN_ANSWER_MISUSE:
	case RUN_ANSWER_FAILED:
		if (j->phase == PHASE_RUNNING)
			j->connected = false; /* it goes on to its lease's end */
		else
			over(j);
		break;
	}
}

void jobs_released(void *owner)
{
	struct job *j = owner;

	j->connected = false;
}

/* --- asking ---------------------------------------------------------------------------------------- */

static void on_ask(void *arg, uint64_t serial)
{
	struct job *j = arg;
	struct site *s = &sites[j->site];
	struct task *t = site_task(s, j->task);
	struct run_options o = {.again = j->asked,
				.now_ms = j->now_ms,
				.tick_ms = task_settings[j->task].tick_ms,
				.wait_ms = task_settings[j->task].wait_ms,
				.pid = 1};

	if (j->serial != serial || j->phase != PHASE_ASKING || j->connected)
		return;
	if (!listens(j) || s->stopping) {
		if (sim.now > j->since + AWAY)
			over(j);
		else
			at(j, REPORT_US, on_ask);
		return;
	}
	if (!t) {
		over(j);
		return;
	}
	memcpy(o.id, j->id, sizeof(o.id));
	j->asked = j->connected = true;
	runs_claim(&s->node.runs, j, ++last_request, t, &o);
	machine_wake(s->machine, 0);
}

static void ask(struct site *s, unsigned task, int64_t wall_ms)
{
	struct job *j = jobs;

	while (j < jobs + JOBS_MAX && j->phase != PHASE_NONE)
		j++;
	if (j == jobs + JOBS_MAX) {
		sim_violation("more jobs than the simulator has room for");
		return;
	}
	sim.figures.asked++;
	*j = (struct job){.serial = ++last_serial,
			  .site = s->id,
			  .task = task,
			  .now_ms = wall_ms,
			  .tick = wall_ms / task_settings[task].tick_ms,
			  .era = era};
	set_phase(j, PHASE_ASKING);
	id_new(machine_host(s->machine), j->id);
	on_ask(j, j->serial);
}

static void on_cron(void *arg, uint64_t number)
{
	struct site *s = arg;
	int64_t wall_ms = host_wall_ms(machine_host(s->machine));
	int64_t tick_ms = tick_us / MS, tick = wall_ms / tick_ms;

	(void)number;
	if (tick != last_tick[s->id] && !s->machine->suspended) {
		last_tick[s->id] = tick;
		for (unsigned k = 0; k < sim.n_tasks; k++)
			if (s->running && (s->tasks >> k & 1))
				ask(s, k,
				    wall_ms + (random_chance(AHEAD_PER_MILLE) ? AHEAD_MS : 0));
	}
	/* Its clock may be set meanwhile. */
	int64_t next = tick_ms - wall_ms % tick_ms;
	event_at(sim.now + (next < 1000 ? next : 1000) * MS + random_exp(50 * MS), on_cron, s, 0);
}

/* --- with the sidecars ------------------------------------------------------------------------------ */

void jobs_started(struct site *s)
{
	(void)s;
}

void jobs_ended(struct site *s)
{
	for (struct job *j = jobs; j < jobs + JOBS_MAX; j++) {
		if (j->phase == PHASE_NONE || j->site != s->id)
			continue;
		j->connected = j->told = false;
		if (j->phase == PHASE_ASKING)
			at(j, REPORT_US, on_ask);
	}
}

void jobs_done(void)
{
	memset(jobs, 0, sizeof(jobs));
}

void jobs_reset(void)
{
	last_serial = 0;
	last_request = 0;
	if (!sim.options.ticks)
		return;
	for (unsigned k = 0; k < TASKS_MAX; k++)
		if (!slots[k])
			slots[k] = mem_calloc(SLOTS, sizeof(*slots[k]));
	jobs_forget();
	tick_us = random_range(2, 10) * SECOND;
	bool near = random_chance(600); /* clocks that are kept by NTP, or minutes apart */
	unsigned wrong =
		random_chance(500) ? (unsigned)random_range(0, sim.n_hosts - 1) : HOSTS_MAX;
	for (unsigned k = 0; k < TASKS_MAX; k++)
		task_settings[k].tick_ms = tick_us / MS;
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		sites[i].machine->wall_ms =
			near ? random_range(0, 500) : random_range(-300000, 300000);
		if (i == wrong)
			sites[i].machine->wall_ms = wall_draw();
		last_tick[i] = 0;
		event_at(random_range(5, 10) * SECOND, on_cron, &sites[i], 0);
	}
}
