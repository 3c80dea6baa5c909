#include "site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crowd.h"
#include "disagree.h"
#include "jobs.h"
#include "lists.h"
#include "notices.h"
#include "recipes.h"
#include "roll.h"
#include "renames.h"
#include "simq.h"
#include "node/schedule/schedules.h"
#include "node/election/tasks.h"
#include "oracle.h"
#include "schedules.h"
#include "splits.h"
#include "tables.h"
#include "ticks.h"

#define STOP_US		(1200 * MS) /* for the farewell, as the daemon has it */
#define STOP_POLL_US	(50 * MS)
#define TWINS_PER_MILLE 150 /* of fleets in which two have one name */
#define OLDER_PER_MILLE 400 /* of sidecars where releases are mixed */

struct site sites[HOSTS_MAX];
struct task_settings task_settings[TASKS_MAX];
struct node_timing timing;
static char task_names[TASKS_MAX][16];

const char *const version_names[] = {"1.0", "1.0.1", "1.1-rc1", "1.1", "2.0", "1.10"};
const unsigned n_version_names = sizeof(version_names) / sizeof(version_names[0]);

unsigned task_number(const char *name)
{
	for (unsigned k = 0; k < sim.n_tasks; k++)
		if (strcmp(task_names[k], name) == 0)
			return k;
	return TASKS_MAX;
}

struct task *site_task(struct site *s, unsigned task)
{
	const char *name = task_names[task];

	return s->running ? tasks_find(&s->node.leaders, name, strlen(name)) : NULL;
}

/* --- what the node tells -------------------------------------------------------------------------- */

static void on_task(void *arg, struct task *t)
{
	(void)arg, (void)t;
}

static void on_listing(void *arg, struct listing *listing)
{
	(void)arg, (void)listing;
}

static void on_leased(void *arg)
{
	(void)arg;
}

static void on_membership(void *arg, const char *event, const struct member *m)
{
	(void)arg, (void)event, (void)m;
}

static void on_decision(void *arg, const struct policy_item *item, bool ended)
{
	(void)arg, (void)item, (void)ended;
}

static void on_status(void *arg)
{
	(void)arg;
}

static void on_handoff(void *arg, const struct handoff *handoff)
{
	struct site *s = arg;

	if (!s->running || s->stopping)
		return;
	s->kept = *handoff;
	s->kept_place = s->place;
	if (!s->machine->older)
		return;
	/* Its file says neither where it was written nor what was promised. */
	s->kept_place.host[0] = '\0';
	s->kept.promise_ms = s->kept.promised_ms = 0;
}

static void on_handoff_runs(void *arg, const struct handoff_run *runs, size_t n)
{
	struct site *s = arg;

	if (!s->running || s->stopping)
		return;
	s->n_kept_runs = n < SITE_RUNS_MAX ? n : SITE_RUNS_MAX;
	if (n > 0)
		memcpy(s->kept_runs, runs, s->n_kept_runs * sizeof(*runs));
}

static void on_run_answer(void *owner, uint32_t request, const struct run_answer *answer)
{
	if (!crowd_owns(owner))
		jobs_answer(owner, request, answer);
}

static void on_run_released(void *owner)
{
	if (crowd_owns(owner))
		crowd_released(owner);
	else
		jobs_released(owner);
}

/* --- its process ---------------------------------------------------------------------------------- */

static void after_turn(void *arg)
{
	oracle_look(arg);
	renames_look_at(arg);
	if (sim.options.ticks)
		ticks_look(arg);
}

void site_configure(struct site *s)
{
	static struct task_settings mine[TASKS_MAX + QUEUES + CROWD_TASKS];
	struct node_timing own = timing;
	size_t n = 0;

	for (unsigned k = 0; !sim.options.partitions && k < sim.n_tasks; k++)
		if (s->tasks >> k & 1)
			mine[n++] = disagree_settings(s, k);
	if (sim.options.partitions && (s->tasks & 1)) {
		mine[n] = task_settings[0];
		mine[n].partitions = split_file(s->id);
		mine[n++].name = PARTITIONED;
	}
	if (sim.options.queues)
		n += simq_list(s, mine + n);
	if (sim.options.crowd)
		n += crowd_list(mine + n);
	own.yield_delay_ms = s->yield_delay_ms;
	node_configure(&s->node, &own, mine, n);
	machine_wake(s->machine, 0);
}

void site_toggle_task(struct site *s)
{
	unsigned k = (unsigned)random_range(0, sim.n_tasks - 1);

	if (renames_are(k)) {
		renames_switch(s);
		return;
	}
	s->tasks ^= UINT64_C(1) << k;
	TRACE("site %u has tasks %llx now", s->id, (unsigned long long)s->tasks);
}

void site_set_version(struct site *s, unsigned version)
{
	s->version = version;
	TRACE("site %u has version %s now", s->id, version_names[version]);
	if (!s->running)
		return;
	node_set_version(&s->node, version_names[version]);
	machine_wake(s->machine, 0);
}

void site_set_health(struct site *s)
{
	struct node_unhealthy list[TASKS_MAX + QUEUES];
	struct node_health health = {
		.known = true, .sick = s->sick, .says = "sick", .unhealthy = list};

	for (unsigned k = 0; k < sim.n_tasks; k++) {
		const char *name = sim.options.partitions ? PARTITIONED : task_names[k];
		if ((s->unhealthy >> k & 1) && (k == 0 || !sim.options.partitions))
			list[health.n_unhealthy++] =
				(struct node_unhealthy){.task = name, .says = "unhealthy"};
	}
	for (unsigned k = 0; k < QUEUES && simq_is_hung(s); k++)
		list[health.n_unhealthy++] =
			(struct node_unhealthy){.task = queue_names[k], .says = "hangs"};
	node_set_health(&s->node, &health);
	machine_wake(s->machine, 0);
}

void site_rename(struct site *s)
{
	s->renamed = !s->renamed;
	snprintf(s->name, sizeof(s->name), s->renamed ? "new-%02u" : "host-%02u:/run/zkleader",
		 s->id);
	TRACE("site %u is called %s", s->id, s->name);
}

/* As the daemon does with its file. */
static bool may_take_over(const struct site *s)
{
	struct handoff_place left = s->kept_place;
	const char *why;

	if (s->kept.session == 0)
		return false;
	if (s->machine->older && !left.host[0]) /* one of the older release takes its own */
		left = s->place;
	if (handoff_is_ours(&left, &s->place, &why))
		return true;
	TRACE("site %u does not take over what was kept: %s", s->id, why);
	return false;
}

void site_copy_kept(struct site *s, const struct site *from)
{
	s->kept = from->kept;
	s->kept_place = from->place;
	s->n_kept_runs = from->n_kept_runs;
	memcpy(s->kept_runs, from->kept_runs, sizeof(s->kept_runs));
}

bool sites_are_mixed(void)
{
	const struct options *o = &sim.options;

	return o->seed % 10 == 7 && !o->partitions && !o->alerts && !o->notices && !o->schedules &&
	       !o->recipes && !o->queues;
}

/* The older release knows no lists. */
static void set_lists(struct site *s)
{
	bool lists = sim.options.lists && !s->machine->older;

	s->settings.lists_from = s->machine->older ? SIZE_MAX : lists ? 1 : 0;
	s->settings.roll_from = sim.options.roll && !s->machine->older ? ROLL_SMALL : 0;
	s->settings.lists_keep_ms = lists ? LISTS_KEPT_MS : LISTS_UNAUDITED;
}

void site_install(struct site *s)
{
	s->machine->older = sites_are_mixed() && random_chance(OLDER_PER_MILLE);
	set_lists(s);
	if (!s->machine->older)
		return;
	TRACE("site %u gets the older release", s->id);
	sim.figures.faults[FAULT_OLDER]++;
}

void site_start(struct site *s, bool take_over)
{
	const struct node_handlers handlers = {
		.task_changed = on_task,
		.task_added = on_task,
		.task_removed = on_task,
		.listing_changed = on_listing,
		.leased = on_leased,
		.membership = on_membership,
		.decision = on_decision,
		.status = on_status,
		.handoff = on_handoff,
		.handoff_runs = on_handoff_runs,
		.due = schedules_due,
		.queues = {.job = simq_on_job, .cancel = simq_on_cancel, .arg = s},
		.runs = {.answer = on_run_answer, .released = on_run_released},
		.arg = s,
	};

	TRACE("site %u starts%s", s->id, take_over && s->kept.session ? " with what was kept" : "");
	machine_start(s->machine, after_turn, s);
	s->running = true;
	s->stopping = s->withdrawn = s->parting = false;
	s->life++;
	node_init(&s->node, machine_host(s->machine), &s->settings, &handlers);
	node_set_version(&s->node, version_names[s->version]);
	site_configure(s);
	site_set_health(s);
	if (take_over && may_take_over(s)) {
		sim.figures.taken_over++;
		node_take_over(&s->node, &s->kept, s->kept_runs, s->n_kept_runs,
			       random_chance(900));
	} else {
		s->kept.session = 0;
		s->n_kept_runs = 0;
	}
	notices_site_starts(s);
	node_start(&s->node);
}

static void on_over(void *arg)
{
	(void)arg;
}

/* Nothing that the node still asks for leaves it. */
static void end_process(struct site *s)
{
	s->running = false;
	s->machine->silent = true;
	oracle_dead(s);
	tables_ended(s);
	if (!s->parting)
		node_stop(&s->node, on_over, NULL);
	node_done(&s->node);
	machine_end(s->machine);
	jobs_ended(s);
	crowd_ended(s);
	lock_ended(s);
	simq_ended(s);
	gang_ended(s);
}

void site_kill(struct site *s)
{
	TRACE("site %u is killed", s->id);
	end_process(s);
}

static void on_parted(void *arg)
{
	struct site *s = arg;

	s->stop_by = sim.now;
}

/* Jobs, and commands under a lock or in a gang. */
static size_t going(const struct site *s)
{
	return node_going(&s->node);
}

static void on_stop_poll(void *arg, uint64_t life)
{
	struct site *s = arg;
	bool listens = machine_listens(s->machine);

	if (!s->running || s->life != life)
		return;
	if (listens && s->parting && sim.now >= s->stop_by) {
		TRACE("site %u has stopped", s->id);
		end_process(s);
		return;
	}
	if (listens && !s->parting && sim.now >= s->stop_by) {
		runs_revoke(&s->node.runs);
		recipes_revoke(&s->node.recipes);
		queues_revoke(&s->node.queues);
		s->stop_by = sim.now + session_lease_left(&s->node.session) * MS;
	}
	if (listens && !s->parting &&
	    (going(s) == 0 || (s->node.runs.holders.revoked && sim.now >= s->stop_by))) {
		s->parting = true;
		s->stop_by = sim.now + STOP_US;
		node_stop(&s->node, on_parted, s);
		oracle_dead(s);
	}
	event_at(sim.now + STOP_POLL_US, on_stop_poll, s, life);
}

void site_stop(struct site *s)
{
	if (s->stopping)
		return;
	TRACE("site %u is told to stop", s->id);
	s->stopping = true;
	s->kept.session = 0;
	s->n_kept_runs = 0;
	s->stop_by = sim.now + SITE_STOP_US;
	oracle_stopping(s);
	node_leave(&s->node);
	s->withdrawn = going(s) > 0;
	if (s->withdrawn)
		node_withdraw(&s->node);
	machine_wake(s->machine, 0);
	on_stop_poll(s, s->life);
}

/* --- all of them ---------------------------------------------------------------------------------- */

static void draw_tasks(void)
{
	timing = (struct node_timing){.yield_delay_ms = random_range(0, 3) * 1000,
				      .tick_guard_ms = random_range(0, 5) * 1000};
	for (unsigned k = 0; k < TASKS_MAX; k++) {
		snprintf(task_names[k], sizeof(task_names[k]), "task-%02u", k);
		task_settings[k] = (struct task_settings){
			.name = task_names[k],
			.min_version = random_chance(100) ? "1.1" : NULL,
			.yield = random_chance(700) ? ELECTION_YIELD_RANK
						    : (enum election_yield)random_range(1, 2),
			.rank_position = random_chance(800) ? -1 : (int)random_range(0, 4),
			.version_policy = random_chance(100) ? VERSION_OLDEST : VERSION_NEWEST,
			.tick_ms = random_range(2, 10) * 1000,
			.wait_ms = random_range(2, 10) * 1000,
			.on_crash = random_chance(500) ? TASK_ON_CRASH_RERUN : TASK_ON_CRASH_SKIP,
			.overlap = TASK_OVERLAP_FORBID,
			.hold_max_ms =
				random_chance(500) ? 24 * 3600 * 1000 : random_range(2, 20) * 1000,
			.history = (int)random_range(10, 20)};
	}
}

/* In every other fleet some tasks are spread evenly with each other. */
static void draw_group(void)
{
	for (unsigned k = 0; k < TASKS_MAX && sim.options.seed % 2 == 0; k += 2) {
		task_settings[k].spread = "feeds";
		task_settings[k].min_version = NULL;
		task_settings[k].rank_position = -1;
		task_settings[k].version_policy = VERSION_NEWEST;
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* All alike but for their names, which are in the order of strcmp: "scan:10" before "scan:2". */
static void draw_partitions(void)
{
	task_settings[0].rank_position = -1;
	task_settings[0].partitions = PARTITIONS;
	task_settings[0].partition_limit = random_chance(500) ? (unsigned)random_range(1, 6) : 0;
	task_settings[0].partition_jobs = PARTITIONS;
	for (unsigned k = 0; k < PARTITIONS; k++)
		snprintf(task_names[k], sizeof(task_names[k]), PARTITIONED ":%u", k);
	qsort(task_names, PARTITIONS, sizeof(task_names[0]), by_name);
	for (unsigned k = 0; k < PARTITIONS; k++) {
		task_settings[k] = task_settings[0];
		task_settings[k].name = task_names[k];
	}
}

void sites_done(void)
{
	for (unsigned i = 0; i < HOSTS_MAX; i++)
		if (sites[i].running)
			end_process(&sites[i]);
}

void sites_reset(void)
{
	bool twins = random_chance(TWINS_PER_MILLE) && !sites_are_mixed(); /* 0.1.0 knows none */
	bool clones = sim.options.seed % 4 == 0; /* of one image: all have its machine id */

	draw_tasks();
	if (sim.options.partitions)
		draw_partitions();
	else
		draw_group();
	memset(sites, 0, sizeof(sites));
	for (unsigned i = 0; i < HOSTS_MAX; i++) {
		struct site *s = &sites[i];
		unsigned named = twins && i == 1 ? 0 : i;
		s->id = i;
		s->machine = &machines[i];
		snprintf(s->hostname, sizeof(s->hostname), "host-%02u", named);
		snprintf(s->name, sizeof(s->name), "host-%02u:/run/zkleader", named);
		snprintf(s->machine_id, sizeof(s->machine_id), "machine-%02u",
			 clones && !twins ? 0 : i);
		snprintf(s->place.host, sizeof(s->place.host), "%s %s", s->machine_id, s->hostname);
		snprintf(s->place.boot, sizeof(s->place.boot), "boot-%02u", i);
		s->settings = (struct node_settings){
			.servers = "zookeeper:2181",
			.root = SITE_ROOT,
			.session_timeout_ms = sim.timeout_ms,
			.hostname = s->hostname,
			.name = s->name,
			.machine = s->machine_id,
		};
		set_lists(s);
		s->version = (unsigned)random_range(0, 1);
		s->tasks = random_chance(700) ? UINT64_MAX : random_bits();
		s->yield_delay_ms = timing.yield_delay_ms;
		s->queues = UINT64_MAX;
	}
	renames_reset();
}
