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
#include "node/session/id.h"
#include "oracle.h"
#include "scenario.h"
#include "server.h"
#include "ticks.h"
#include "truth.h"
#include "wall.h"

#define AWAY	       (10 * SECOND) /* for which a sidecar that is away is looked for */
#define REPORT_US      (200 * MS)
#define ONCE_PER_MILLE 50  /* with --partitions */
#define FAIL_PER_MILLE 200 /* with --schedules: jobs whose status is not 0 */
#define GONE_PER_MILLE 100 /* calls for any partition that are killed as their wait ends */

struct job jobs[JOBS_MAX];
static uint64_t last_serial;
static uint32_t last_request;

/* How long jobs last follows from it. */
static int64_t tick_us(void)
{
	return task_settings[0].tick_ms * MS;
}

static int64_t now_ms(const struct job *j)
{
	return host_now_ms(machine_host(&machines[j->site]));
}

/*
 * The deadline counts on a suspended machine too: there the job is killed before it does anything.
 */
bool job_is_alive(const struct job *j)
{
	return j->phase == JOB_RUNNING && now_ms(j) < j->deadline_ms;
}

bool job_is_done(const struct job *j)
{
	return j->ok && !j->timed_out && j->status == 0;
}

/* Every third job exits 0 on the signal that ends it: that status says nothing. */
static int ended_status(const struct job *j)
{
	return j->serial % 3 == 0 ? 0 : 143;
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
	if (j->told || !listens(j) || j->attaching)
		return;
	if (j->connected) {
		j->told = true;
		runs_finish(&s->node.runs, j, ++last_request, j->run,
			    &(struct run_outcome){.what = {.exit_status = j->status,
							   .interrupted = !j->ok,
							   .timeout = j->timed_out}});
	} else if (!j->connected && site_task(s, j->task)) {
		j->connected = j->attaching = true;
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
	j->status = ok ? j->status : ended_status(j);
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
	j->timed_out = j->timeout_ms > 0 && sim.now >= j->since + j->timeout_ms * MS;
	j->status =
		j->timed_out ? ended_status(j) : j->scheduled > 0 && random_chance(FAIL_PER_MILLE);
	end_job(j, true, j->timed_out ? "has timed out" : j->status ? "has failed" : "has ended");
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
	if (j->connected && !j->attaching) {
		j->sent_ms = now_ms(j);
		runs_renew(&s->node.runs, j, ++last_request, j->run);
	} else if (!j->connected && site_task(s, j->task)) {
		j->connected = j->attaching = true;
		runs_attach(&s->node.runs, j, ++last_request, site_task(s, j->task), j->id, 1);
	}
	machine_wake(s->machine, 0);
}

/* The job begins with what is left of its lease then, not with what was left at its claim. */
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
	int64_t length = random_exp(tick_us() / 3);
	if (j->timeout_ms > 0 && length > j->timeout_ms * MS)
		length = j->timeout_ms * MS;
	at(j, length, on_end);
	event_at(machine_when(&machines[j->site], j->deadline_ms), on_deadline, j, j->serial);
	at(j, 50 * MS, on_renew);
	if (random_chance(30))
		at(j, random_exp(tick_us() / 4), on_supervisor_dies);
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
		jobs_ask(&sites[j->site], TASKS_MAX, j->now_ms, j->ran + 1);
}

static void claimed(struct job *j, const struct run_answer *a)
{
	if (j->any)
		got(j, a);
	if (sim.stop)
		return;
	if (j->now_ms > EPOCH_MS + sim.now / MS + JOBS_AHEAD_MS / 2)
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
	if (is && job_is_done(j))
		ticks_recorded(j);
	over(j);
}

void jobs_answer(void *owner, uint32_t request, const struct run_answer *a)
{
	struct job *j = owner;

	(void)request;
	if (!j) {
		sim_violation("an answer is for somebody who has gone");
		return;
	}
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
		j->attaching = false;
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
		j->attaching = false;
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

	j->connected = j->attaching = false;
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
				.tick_ms = j->scheduled ? SCHEDULED_TICK_MS : settings->tick_ms,
				.scheduled = j->scheduled,
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

/* Kills the caller while it asks, and its sidecar hears of that. */
static void on_caller_dies(void *arg, uint64_t serial)
{
	struct job *j = arg;

	if (j->serial == serial && j->phase == JOB_ASKING && !machines[j->site].suspended)
		over(j);
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
	else if (j->any && random_chance(GONE_PER_MILLE))
		at(j, task_settings[0].wait_ms * MS + random_exp(4 * MS), on_caller_dies);
}

/* NULL: there is no room for it. */
static struct job *new_job(struct site *s, unsigned task, int64_t wall_ms, int64_t tick_ms)
{
	struct job *j = jobs;

	while (j < jobs + JOBS_MAX && j->phase != JOB_NONE)
		j++;
	if (j == jobs + JOBS_MAX) {
		sim_violation("more jobs than the simulator has room for");
		return NULL;
	}
	sim.figures.asked++;
	*j = (struct job){.serial = ++last_serial,
			  .site = s->id,
			  .task = task,
			  .now_ms = wall_ms,
			  .tick = wall_ms / tick_ms,
			  .era = ticks_era()};
	set_phase(j, JOB_ASKING);
	id_new(machine_host(s->machine), j->id);
	return j;
}

void jobs_ask(struct site *s, unsigned task, int64_t wall_ms, unsigned ran)
{
	struct job *j = new_job(s, task, wall_ms, task_settings[0].tick_ms);

	if (!j)
		return;
	j->any = task == TASKS_MAX;
	j->ran = ran;
	j->once = sim.options.partitions && !j->any && random_chance(ONCE_PER_MILLE);
	if (ran > 0)
		at(j, 0, on_ask); /* not within the answer to the claim before */
	else
		on_ask(j, j->serial);
}

void jobs_due(struct site *s, unsigned task, const struct schedule_due *due)
{
	struct job *j = new_job(s, task, due->tick_ms, SCHEDULED_TICK_MS);

	if (!j)
		return;
	j->scheduled = due->attempt;
	j->timeout_ms = due->timeout_ms;
	at(j, random_exp(2 * MS), on_ask);
}

bool jobs_has(const struct site *s, unsigned task, const struct schedule_due *due)
{
	for (const struct job *j = jobs; j < jobs + JOBS_MAX; j++)
		if (j->phase != JOB_NONE && j->site == s->id && j->task == task &&
		    j->scheduled == due->attempt && j->now_ms == due->tick_ms)
			return true;
	return false;
}

bool jobs_ended_by_others(const char *id)
{
	for (const struct job *j = jobs; j < jobs + JOBS_MAX; j++)
		if (j->phase == JOB_ENDED && strcmp(j->id, id) == 0)
			return !j->ok || j->timed_out;
	return false;
}

bool jobs_run(unsigned task)
{
	for (const struct job *j = jobs; j < jobs + JOBS_MAX; j++)
		if (j->task == task && job_is_alive(j))
			return true;
	return false;
}

bool jobs_go_on(unsigned task)
{
	for (const struct job *j = jobs; j < jobs + JOBS_MAX; j++)
		if (j->phase > JOB_ASKING && j->task == task)
			return true;
	return false;
}

/* --- with the sidecars ------------------------------------------------------------------------------ */

void jobs_ended(struct site *s)
{
	for (struct job *j = jobs; j < jobs + JOBS_MAX; j++) {
		if (j->phase == JOB_NONE || j->site != s->id)
			continue;
		j->connected = j->attaching = j->told = false;
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
	if (sim.options.ticks)
		ticks_reset();
}
