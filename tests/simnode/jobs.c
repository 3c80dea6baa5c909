/*
 * Crontabs, `zkleader run` and jobs. A crontab asks at each tick of its own wall clock; a
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
#include "ticks.h"
#include "truth.h"
#include "wall.h"

#define AWAY	  (10 * SECOND) /* for which a sidecar that is away is looked for */
#define REPORT_US (200 * MS)
/* A user asks for ticks that are further ahead than any clock is wrong. */
#define AHEAD_MS	(INT64_C(30) * 24 * 3600 * 1000)
#define AHEAD_PER_MILLE 5
/* With --partitions. */
#define ANY_PER_MILLE  500
#define ONCE_PER_MILLE 50

struct job jobs[JOBS_MAX];
static uint64_t last_serial;
static uint32_t last_request;

static int64_t tick_us;
static int64_t last_tick[HOSTS_MAX];

static int64_t now_ms(const struct job *j)
{
	return host_now_ms(machine_host(&machines[j->site]));
}

/* So also on a machine that is suspended: it is killed before it does anything. */
bool job_is_alive(const struct job *j)
{
	return j->phase == JOB_RUNNING && now_ms(j) < j->deadline_ms;
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

	j->phase = JOB_NONE;
	j->connected = false;
	j->serial = 0;
	if (connected && s->running)
		runs_owner_gone(&s->node.runs, j);
	machine_wake(s->machine, 0);
}

static void set_phase(struct job *j, enum job_phase phase)
{
	j->phase = phase;
	j->since = sim.now;
}

/* --- the end of a job ------------------------------------------------------------------------------ */

/* Its supervisor tells the sidecar, as soon as that hears it. */
static void on_report(void *arg, uint64_t serial)
{
	struct job *j = arg;
	struct site *s = &sites[j->site];

	if (j->serial != serial || j->phase != JOB_ENDED)
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
		runs_finish(&s->node.runs, j, ++last_request, j->run,
			    &(struct run_outcome){.exit_status = j->ok ? 0 : -1,
						  .interrupted = !j->ok});
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
	set_phase(j, JOB_ENDED);
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

	if (j->serial != serial || j->phase != JOB_RUNNING)
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

	if (j->serial != serial || j->phase != JOB_CLAIMED)
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
	ticks_check_start(j);
	set_phase(j, JOB_RUNNING);
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
	if (j->phase == JOB_CLAIMED) {
		begin(j, lease_ms);
	} else if (j->phase == JOB_RUNNING && lease_ms <= 0) {
		/* TERM at once. */
		j->deadline_ms = 0;
		on_deadline(j, j->serial);
	} else if (j->phase == JOB_RUNNING && j->sent_ms + lease_ms > j->deadline_ms) {
		j->deadline_ms = j->sent_ms + lease_ms;
	}
}

static void ask(struct site *s, unsigned task, int64_t wall_ms, unsigned ran);

/* A call for any partition has got this one, and asks for the next while that runs. */
static void got(struct job *j, const struct run_answer *a)
{
	char name[NAME_ELECTION_MAX + 1];

	snprintf(name, sizeof(name), PARTITIONED ":%d", a->partition);
	j->task = task_number(name);
	if (j->task == TASKS_MAX || a->partitions != PARTITIONS)
		sim_violation("site %u is given partition %d of %u", j->site, a->partition,
			      a->partitions);
	else if (j->ran + 1 < PARTITIONS)
		ask(&sites[j->site], TASKS_MAX, j->now_ms, j->ran + 1);
}

static void claimed(struct job *j, const struct run_answer *a)
{
	if (j->any)
		got(j, a);
	if (sim.stop)
		return;
	if (j->now_ms > EPOCH_MS + sim.now / MS + AHEAD_MS / 2)
		sim_violation("task %u: a tick was claimed far ahead of its time", j->task);
	if (truth_clock_is_off(j->site))
		sim_violation("task %u: site %u claims a tick and its clock is off", j->task,
			      j->site);
	j->session = sites[j->site].node.session.id;
	j->run = a->run;
	j->attempt = a->attempt;
	if (j->once) {
		ticks_check_start(j);
		ticks_recorded(j);
		over(j);
		return;
	}
	set_phase(j, JOB_CLAIMED);
	at(j, random_exp(2 * MS), on_claimed);
}

static void recorded(struct job *j, bool is)
{
	if (is && j->ok)
		ticks_recorded(j);
	over(j);
}

void jobs_answer(void *owner, uint32_t request, const struct run_answer *a)
{
	struct job *j = owner;

	(void)request;
	if (j->phase == JOB_NONE || !sites[j->site].running)
		return;
	switch (a->kind) {
	case RUN_ANSWER_CLAIM:
		if (strcmp(a->outcome, "waited") == 0)
			ticks_waited(j);
		if (strcmp(a->outcome, "taken") == 0 && j->any)
			ticks_taken(j);
		if (j->phase == JOB_ASKING && strcmp(a->outcome, "yours") == 0)
			claimed(j, a);
		else
			over(j);
		break;
	case RUN_ANSWER_ATTACH:
		if (a->attached)
			j->run = a->run;
		else
			j->connected = false;
		if (!a->attached && j->phase == JOB_ENDED)
			recorded(j, a->recorded);
		break;
	case RUN_ANSWER_RENEW: renewed(j, a->lease_ms); break;
	case RUN_ANSWER_FINISH: recorded(j, a->recorded); break;
	case RUN_ANSWER_MISUSE:
	case RUN_ANSWER_FAILED:
		if (j->phase == JOB_RUNNING)
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

static bool claim(struct job *j)
{
	struct site *s = &sites[j->site];
	struct listing *whole =
		listings_find(&s->node.leaders, PARTITIONED, sizeof(PARTITIONED) - 1);
	struct task *t = j->any ? NULL : site_task(s, j->task);
	const struct task_settings *settings = &task_settings[j->any ? 0 : j->task];
	struct run_options o = {.again = j->asked,
				.once = j->once,
				.now_ms = j->now_ms,
				.tick_ms = settings->tick_ms,
				.wait_ms = settings->wait_ms,
				.pid = 1,
				.ran = j->ran};

	if (j->any ? !whole : !t)
		return false;
	memcpy(o.id, j->id, sizeof(o.id));
	j->asked = j->connected = true;
	if (j->any)
		runs_claim_any(&s->node.runs, j, ++last_request, whole, &o);
	else
		runs_claim(&s->node.runs, j, ++last_request, t, &o);
	machine_wake(s->machine, 0);
	return true;
}

static void on_ask(void *arg, uint64_t serial)
{
	struct job *j = arg;

	if (j->serial != serial || j->phase != JOB_ASKING || j->connected)
		return;
	if (!listens(j) || sites[j->site].stopping) {
		if (sim.now > j->since + AWAY)
			over(j);
		else
			at(j, REPORT_US, on_ask);
		return;
	}
	if (!claim(j))
		over(j);
}

/* task TASKS_MAX: of any partition; ran of them the same call has got before. */
static void ask(struct site *s, unsigned task, int64_t wall_ms, unsigned ran)
{
	struct job *j = jobs;

	while (j < jobs + JOBS_MAX && j->phase != JOB_NONE)
		j++;
	if (j == jobs + JOBS_MAX) {
		sim_violation("more jobs than the simulator has room for");
		return;
	}
	sim.figures.asked++;
	*j = (struct job){.serial = ++last_serial,
			  .site = s->id,
			  .task = task,
			  .any = task == TASKS_MAX,
			  .ran = ran,
			  .now_ms = wall_ms,
			  .tick = wall_ms / task_settings[0].tick_ms,
			  .era = ticks_era()};
	j->once = sim.options.partitions && !j->any && random_chance(ONCE_PER_MILLE);
	set_phase(j, JOB_ASKING);
	id_new(machine_host(s->machine), j->id);
	if (ran > 0)
		at(j, 0, on_ask); /* not within the answer to the claim before */
	else
		on_ask(j, j->serial);
}

/* What a crontab has: a line for each task, or one for whatever partitions are led there. */
static void ask_all(struct site *s, int64_t wall_ms)
{
	if (sim.options.partitions && random_chance(ANY_PER_MILLE)) {
		ask(s, TASKS_MAX, wall_ms, 0);
		return;
	}
	for (unsigned k = 0; k < sim.n_tasks; k++)
		if (s->running && (s->tasks >> k & 1))
			ask(s, k, wall_ms + (random_chance(AHEAD_PER_MILLE) ? AHEAD_MS : 0), 0);
}

static void on_cron(void *arg, uint64_t number)
{
	struct site *s = arg;
	int64_t wall_ms = host_wall_ms(machine_host(s->machine));
	int64_t tick_ms = tick_us / MS, tick = wall_ms / tick_ms;

	(void)number;
	if (tick != last_tick[s->id] && !s->machine->suspended) {
		last_tick[s->id] = tick;
		ask_all(s, wall_ms);
	}
	/* Its clock may be set meanwhile. */
	int64_t next = tick_ms - wall_ms % tick_ms;
	event_at(sim.now + (next < 1000 ? next : 1000) * MS + random_exp(50 * MS), on_cron, s, 0);
}

/* --- with the sidecars ------------------------------------------------------------------------------ */

void jobs_ended(struct site *s)
{
	for (struct job *j = jobs; j < jobs + JOBS_MAX; j++) {
		if (j->phase == JOB_NONE || j->site != s->id)
			continue;
		j->connected = j->told = false;
		if (j->phase == JOB_ASKING)
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
	ticks_reset();
	tick_us = random_range(2, 10) * SECOND;
	bool near = random_chance(600); /* clocks that are kept by NTP, or minutes apart */
	unsigned wrong =
		random_chance(500) ? (unsigned)random_range(0, sim.n_hosts - 1) : HOSTS_MAX;
	for (unsigned k = 0; k < TASKS_MAX; k++) {
		task_settings[k].tick_ms = tick_us / MS;
		task_settings[k].alert_after_ms = k % 2 ? 3 * tick_us / MS : 0;
	}
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		sites[i].machine->wall_ms =
			near ? random_range(0, 500) : random_range(-300000, 300000);
		if (i == wrong)
			sites[i].machine->wall_ms = wall_draw();
		last_tick[i] = 0;
		event_at(random_range(5, 10) * SECOND, on_cron, &sites[i], 0);
	}
}
