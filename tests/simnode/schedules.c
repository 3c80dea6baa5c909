#include "schedules.h"

#include <stdio.h>
#include <string.h>

#include "faults.h"
#include "jobs.h"
#include "node/ledger/ledger.h"
#include "node/schedule/schedules.h"
#include "node/schedule/trigger.h"
#include "oracle.h"
#include "renames.h"
#include "scenario.h"
#include "server.h"
#include "splits.h"
#include "ticks.h"
#include "truth.h"
#include "wire/records/schedule_record.h"

#define LOOK_US	     (250 * MS)
#define AWAY_CHANCE  30	  /* per mille of offers that find the runner away in a storm */
#define TWICE_CHANCE 50	  /* of those that one takes twice, as it was started anew between */
#define SLACK_MS     1500 /* that clocks are apart, and that requests take */
#define PAUSE_MAX_US (30 * SECOND) /* between two offers of a tick */
/* A leader that takes over reads what is in force; and what did not work out is begun anew. */
#define BEGIN_US (4 * SECOND)

/* The schedules that a task has in turn. Never changed, as nodes borrow them. */
static struct plan {
	char texts[SCHEDULE_TEXTS][32];
	struct schedule schedules[SCHEDULE_TEXTS];
	struct task_schedule settings[SCHEDULE_TEXTS];
	unsigned at;
	int64_t busy_at;
	int64_t fit_since; /* its leader has had nothing in the way since then, 0: it has now */
	int64_t fit_token;
} plans[TASKS_MAX];

static bool near;
static int64_t away_until[HOSTS_MAX]; /* of its runner */

/* --- what the tree has ------------------------------------------------------------------------------ */

static path_id path_in(const char *folder, const char *name)
{
	char path[STORE_PATH_MAX];

	snprintf(path, sizeof(path), SITE_ROOT "/%s%s%s", folder, name[0] ? "/" : "", name);
	return path_intern(path);
}

bool schedule_policy(const struct tree *t, path_id path, unsigned task, enum policy_kind kind,
		     struct policy_record *ret)
{
	const struct znode *node = tree_get(t, path);
	const char *why;

	if (!node || !node->data ||
	    record_parse_policy(node->data->bytes, node->data->len, ret, &why) != 0 ||
	    strcmp(ret->kind, policy_kind_name(kind)) != 0)
		return false;
	return strcmp(ret->task, task_settings[task].name) == 0 ||
	       (sim.options.partitions && strcmp(ret->task, PARTITIONED) == 0);
}

const struct task_schedule *schedule_of_text(unsigned task, const char *text)
{
	for (unsigned i = 0; i < SCHEDULE_TEXTS; i++)
		if (strcmp(plans[task].texts[i], text) == 0)
			return &plans[task].settings[i];
	return NULL;
}

struct owed_rules schedule_rules(const struct task_schedule *c)
{
	return (struct owed_rules){.schedule = c->schedule, .zone = c->zone};
}

/* A second that was no tick when somebody triggered it; the schedule may have changed since. */
static bool is_triggered(const struct znode *run)
{
	struct run_record r;
	const char *why;

	return run->data && record_parse_run(run->data->bytes, run->data->len, &r, &why) == 0 &&
	       r.attempt == 1 && r.by[0] != '\0';
}

static void find_newest(const struct tree *t, unsigned task, struct schedule_facts *f)
{
	const struct znode *folder = tree_get(t, path_in("runs", task_settings[task].name));
	struct owed_rules rules = schedule_rules(f->in_force);

	for (size_t i = 0; folder && i < folder->n_children; i++) {
		int64_t ms;
		if (!tick_parse(path_name(folder->children[i]), &ms) || ms <= f->decided_ms ||
		    !owed_is_tick(&rules, ms))
			continue;
		if (ms > f->newest_ms)
			f->newest_ms = ms;
		if (!is_triggered(tree_get(t, folder->children[i])))
			f->decided_ms = ms;
	}
}

struct schedule_facts schedule_facts(const struct tree *t, unsigned task)
{
	const struct znode *node = tree_get(t, path_in("schedules", task_settings[task].name));
	const struct znode *policy = tree_get(t, path_in("policy", ""));
	struct schedule_facts f = {0};
	struct schedule_record r;
	const char *why;

	if (node && node->data &&
	    record_parse_schedule(node->data->bytes, node->data->len, &r, &why) == 0) {
		f.in_force = schedule_of_text(task, r.text);
		f.since_ms = r.since;
	}
	for (size_t i = 0; policy && i < policy->n_children; i++) {
		path_id path = policy->children[i];
		struct policy_record p;
		if (schedule_policy(t, path, task, POLICY_ENDED, &p) &&
		    tree_get(t, path)->stat.czxid > f.ended_zxid) {
			f.ended_ms = p.since;
			f.ended_zxid = tree_get(t, path)->stat.czxid;
		} else if (schedule_policy(t, path, task, POLICY_PAUSE, &p)) {
			f.paused_zxid = tree_get(t, path)->stat.czxid;
		}
	}
	if (sim.options.partitions)
		f.split_ms = split_changed_ms(t);
	if (f.in_force)
		find_newest(t, task, &f);
	return f;
}

/* --- runners ---------------------------------------------------------------------------------------- */

static void check_offer(const struct site *s, const struct task *t, unsigned task,
			const struct schedule_due *due)
{
	const struct plan *p = &plans[task];
	int64_t wall_ms = host_wall_ms(machine_host(s->machine));
	int64_t splay_ms = owed_splay(task_settings[task].name, p->settings[p->at].splay_ms);
	int64_t late_us = (wall_ms - splay_ms - due->tick_ms) * MS;

	/* A further attempt is of a tick by another's clock. */
	if (due->triggered || due->attempt > 1)
		return;
	if (late_us < 0)
		sim_violation("task %u: site %u offers a tick %.3f s before its time", task, s->id,
			      -(double)late_us / 1e6);
	/* Only ticks that came while nothing was in the way are judged. */
	if (p->fit_since == 0 || t->election.node.token != p->fit_token ||
	    p->busy_at >= sim.now - late_us - SECOND ||
	    sim.now - late_us < p->fit_since + PAUSE_MAX_US + BEGIN_US)
		return;
	if (late_us > sim.figures.worst_offer)
		sim.figures.worst_offer = late_us;
	if (late_us > SECOND)
		sim_violation("task %u: site %u offers a tick %.3f s late", task, s->id,
			      (double)late_us / 1e6);
}

void schedules_due(void *arg, struct task *t, const struct schedule_due *due)
{
	struct site *s = arg;
	unsigned task = task_number(t->name);

	sim.figures.offers++;
	/* The site's clock may count as right only for this moment, as somebody comes or goes. */
	(void)truth_clock_is_off(s->id);
	TRACE("task %u: site %u offers tick %lld, attempt %lld%s", task, s->id,
	      (long long)due->tick_ms / 1000, (long long)due->attempt,
	      due->triggered ? ", triggered" : "");
	check_offer(s, t, task, due);
	if (scenario_is_storm() && random_chance(AWAY_CHANCE))
		away_until[s->id] = sim.now + fault_time();
	if (sim.now < away_until[s->id] && scenario_is_storm())
		return;
	if (!jobs_has(s, task, due) || (scenario_is_storm() && random_chance(TWICE_CHANCE)))
		jobs_due(s, task, due);
}

/* --- what is not done ------------------------------------------------------------------------------- */

/* Whether a job is there, or may be, as far as any of them knows. */
static bool is_busy(unsigned task)
{
	bool busy = jobs_go_on(task);

	for (unsigned i = 0; i < sim.n_hosts && !busy; i++) {
		const struct task *t = site_task(&sites[i], task);
		busy = t && (t->holds > 0 || t->dying > 0);
	}
	return busy;
}

int64_t schedule_busy_at(unsigned task)
{
	if (is_busy(task))
		plans[task].busy_at = sim.now;
	return plans[task].busy_at;
}

/* The task as its leader has it, if nothing keeps that from offering what is due; NULL. */
static const struct task *fit_task(unsigned task)
{
	int leader = oracle_leader(task);
	struct site *s = leader >= 0 ? &sites[leader] : NULL;
	const struct task *t = s ? site_task(s, task) : NULL;
	bool fit = t && !scenario_is_storm() && !s->stopping && machine_listens(s->machine) &&
		   session_is_up(&s->node.session) && leaders_may_begin(t) && t->dying == 0 &&
		   !clocks_is_unsure(&s->node.registry.clocks) &&
		   !clocks_is_off(&s->node.registry.clocks) && !jobs_go_on(task) &&
		   host_now_ms(machine_host(s->machine)) >= s->node.runs.quiet_ms;

	return fit ? t : NULL;
}

/* For how long a task's leader may take to offer something, and a runner to claim it. */
static int64_t bound_us(const struct task_schedule *c)
{
	return PAUSE_MAX_US + BEGIN_US + c->splay_ms * MS +
	       20 * (2 * sim.delay_us + 6 * sim.server_delay_us);
}

/* No tick may be left once nothing has been in the way for bound_us(). */
static void check_ticks(unsigned task, const struct tree *tree, const struct schedule_facts *f)
{
	struct owed_rules rules = schedule_rules(f->in_force);
	int64_t after_ms = f->since_ms, until_ms, tick;
	size_t all;

	if (f->ended_ms > after_ms)
		after_ms = f->ended_ms;
	if (f->newest_ms > after_ms)
		after_ms = f->newest_ms;
	if (f->split_ms > after_ms)
		after_ms = f->split_ms;
	if (schedule_decided_ms(task) > after_ms) /* its record may have been pruned */
		after_ms = schedule_decided_ms(task);
	until_ms = EPOCH_MS + (sim.now - bound_us(f->in_force)) / MS - SLACK_MS;
	if (owed_ticks(&rules, after_ms + SLACK_MS, until_ms, 1, &tick, &all) == 1)
		sim_violation("task %u: tick %lld is neither run nor missed", task,
			      (long long)tick / 1000);
	(void)tree;
}

/* A run that was lost, and is to be begun again. */
static void check_lost(unsigned task, const struct tree *tree, const struct schedule_facts *f)
{
	char name[64];
	struct run_record r;
	const char *why;
	int64_t tick_ms;

	if (task_settings[task].on_crash != TASK_ON_CRASH_RERUN)
		return;
	snprintf(name, sizeof(name), "runs/%s", task_settings[task].name);
	const struct znode *folder = tree_get(tree, path_in(name, ""));
	for (size_t i = 0; folder && i < folder->n_children; i++) {
		const struct znode *node = tree_get(tree, folder->children[i]);
		if (!tick_parse(path_name(folder->children[i]), &tick_ms) ||
		    tick_ms <= f->ended_ms || tick_ms <= f->split_ms || !node->data ||
		    record_parse_run(node->data->bytes, node->data->len, &r, &why) != 0)
			continue;
		if (strcmp(r.state, "lost") == 0 ||
		    (strcmp(r.state, "running") == 0 && !tree_session(tree, r.session)))
			sim_violation("task %u: tick %s was lost, and is not begun again", task,
				      path_name(folder->children[i]));
	}
}

static void check_triggers(unsigned task, const struct tree *tree, const struct schedule_facts *f)
{
	const struct znode *policy = tree_get(tree, path_in("policy", ""));
	int64_t since_ms = EPOCH_MS + (sim.now - bound_us(f->in_force)) / MS - SLACK_MS;
	struct policy_record p;

	for (size_t i = 0; policy && i < policy->n_children; i++)
		if (schedule_policy(tree, policy->children[i], task, POLICY_TRIGGER, &p) &&
		    p.since < since_ms)
			sim_violation("task %u: what was triggered, tick %s, is not run", task,
				      p.node);
}

static void look_at(unsigned task, const struct tree *tree)
{
	struct plan *p = &plans[task];
	const struct task *t = tree ? fit_task(task) : NULL;
	struct schedule_facts f;

	(void)schedule_busy_at(task);
	if (!t || t->election.node.token != p->fit_token)
		p->fit_since = 0;
	if (!t)
		return;
	if (p->fit_since == 0)
		p->fit_since = sim.now;
	p->fit_token = t->election.node.token;
	f = schedule_facts(tree, task);
	if (f.paused_zxid > 0 || !f.in_force) {
		p->fit_since = f.paused_zxid > 0 ? 0 : p->fit_since;
		if (p->fit_since > 0 && sim.now - p->fit_since > PAUSE_MAX_US)
			sim_violation("task %u: no schedule comes into force", task);
		return;
	}
	if (!near || sim.now - p->fit_since < bound_us(f.in_force))
		return;
	check_ticks(task, tree, &f);
	check_triggers(task, tree, &f);
	check_lost(task, tree, &f);
}

static void on_look(void *arg, uint64_t number)
{
	const struct tree *tree = servers_tree();

	(void)arg, (void)number;
	for (unsigned k = 0; k < sim.n_tasks; k++)
		look_at(k, tree);
	event_at(sim.now + LOOK_US, on_look, NULL, 0);
}

/* --- faults and orders ------------------------------------------------------------------------------ */

bool schedules_are_near(void)
{
	return sim.options.schedules && near;
}

bool schedules_change(void)
{
	unsigned task = (unsigned)random_range(0, sim.n_tasks - 1);
	struct plan *p = &plans[task];

	if (!sim.options.schedules || random_chance(500))
		return false;
	p->at = (unsigned)random_range(0, SCHEDULE_TEXTS - 1);
	task_settings[task].schedule = &p->settings[p->at];
	for (unsigned k = 0; sim.options.partitions && k < sim.n_tasks; k++) {
		plans[k].at = p->at;
		task_settings[k].schedule = &plans[k].settings[p->at];
	}
	for (unsigned k = 0; renames_are(task) && k < sim.n_tasks; k++) {
		if (!renames_are(k))
			continue;
		plans[k].at = p->at;
		task_settings[k].schedule = &plans[k].settings[p->at];
	}
	TRACE("task %u has the schedule \"%s\" now", task, p->texts[p->at]);
	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (sites[i].running && fault_listens(&sites[i]))
			site_configure(&sites[i]);
	return true;
}

static void on_put(void *arg, enum trigger_result result)
{
	(void)arg;
	sim.figures.ordered += result == TRIGGER_DONE;
}

/*
 * A tick that has a record, as somebody saw it a moment ago, in that version; or a second that is none of the
 * schedule.
 */
static bool draw_tick(unsigned task, int64_t wall_ms, char tick[TICK_NAME_SIZE],
		      int32_t *ret_version)
{
	const struct tree *tree = servers_tree();
	const struct znode *runs =
		tree ? tree_get(tree, path_in("runs", task_settings[task].name)) : NULL;
	const struct plan *p = &plans[task];
	struct owed_rules rules = schedule_rules(&p->settings[p->at]);
	int64_t ms = (wall_ms / 1000 + 1) * 1000;

	if (runs && runs->n_children > 0 && random_chance(500)) {
		size_t i = (size_t)random_range(0, (int64_t)runs->n_children - 1);
		snprintf(tick, TICK_NAME_SIZE, "%s", path_name(runs->children[i]));
		*ret_version = tree_get(tree, runs->children[i])->stat.version;
		return true;
	}
	return !owed_is_tick(&rules, ms) && tick_name(ms, tick);
}

bool schedules_order(void)
{
	struct site *by = sim.options.schedules && random_chance(400) ? order_any_node() : NULL;
	unsigned task = (unsigned)random_range(0, sim.n_tasks - 1);
	struct policy_record r = {0};
	int32_t version = TRIGGER_NO_RECORD;
	char tick[TICK_NAME_SIZE];

	if (!by)
		return false;
	r.since = host_wall_ms(machine_host(by->machine));
	if (!draw_tick(task, r.since, tick, &version))
		return false;
	snprintf(r.kind, sizeof(r.kind), "%s", policy_kind_name(POLICY_TRIGGER));
	snprintf(r.task, sizeof(r.task), "%s", task_settings[task].name);
	snprintf(r.node, sizeof(r.node), "%s", tick);
	snprintf(r.by, sizeof(r.by), "operator");
	snprintf(r.host, sizeof(r.host), "%s", by->hostname);
	TRACE("task %u tick %s is triggered at site %u", task, tick, by->id);
	trigger_put(&by->node.leaders, &r, version, on_put, NULL);
	machine_wake(by->machine, 0);
	return true;
}

/* --- the beginning ---------------------------------------------------------------------------------- */

static void use_plan(unsigned task, const struct task_schedule *c)
{
	struct plan *p = &plans[task];
	struct schedule_error error;

	for (unsigned i = 0; i < SCHEDULE_TEXTS; i++) {
		(void)schedule_parse(p->texts[i],
				     sim.options.partitions ? PARTITIONED
							    : task_settings[task].name,
				     &p->schedules[i], &error);
		p->settings[i] = *c;
		p->settings[i].text = p->texts[i];
		p->settings[i].schedule = &p->schedules[i];
	}
	task_settings[task].schedule = &p->settings[0];
}

/* The partitions of a task have its schedule, and so has a task under its later name. */
static void copy_plan(unsigned task)
{
	plans[task] = plans[0];
	use_plan(task, &plans[0].settings[0]);
	task_settings[task].overlap = task_settings[0].overlap;
	task_settings[task].history = task_settings[0].history;
}

static void draw_plan(unsigned task)
{
	struct plan *p = &plans[task];
	struct task_schedule c = {.timezone = "UTC",
				  .catch_up = (enum owed_catch_up)random_range(OWED_NONE, OWED_ALL),
				  .window_ms = random_chance(500) ? 3600000
								  : random_range(5, 120) * 1000,
				  .splay_ms = random_chance(700) ? 0 : random_range(1, 3000),
				  .timeout_ms = random_chance(700) ? 0 : random_range(1, 10) * 1000,
				  .retries = random_chance(500) ? 0 : random_range(1, 3),
				  .retry_delay_ms = random_range(0, 5000)};

	memset(p, 0, sizeof(*p));
	for (unsigned i = 0; i < SCHEDULE_TEXTS; i++) {
		if (random_chance(sim.options.partitions ? 20 : 150)) /* it is that of all */
			snprintf(p->texts[i], sizeof(p->texts[i]), "%u * * * *", i);
		else if (random_chance(150))
			snprintf(p->texts[i], sizeof(p->texts[i]), "*/%u * * * *", i + 1);
		else
			snprintf(p->texts[i], sizeof(p->texts[i]), "every %us",
				 (unsigned)random_range(1, 20));
	}
	use_plan(task, &c);
	if (c.catch_up == OWED_ALL && task % 2 == 1)
		task_settings[task].overlap = TASK_OVERLAP_ALLOW;
	if (sim.options.seed % 3 == task % 3)
		task_settings[task].history = 1 + (int)task % 2;
}

void schedules_begin(void)
{
	near = true;
	schedule_judge_begin();
	memset(away_until, 0, sizeof(away_until));
	for (unsigned k = 0; k < TASKS_MAX; k++) {
		task_settings[k].schedule = NULL;
		task_settings[k].overlap = TASK_OVERLAP_FORBID;
	}
	if (!sim.options.schedules)
		return;
	for (unsigned i = 0; i < sim.n_hosts; i++)
		near &= sites[i].machine->wall_ms >= 0 && sites[i].machine->wall_ms <= 500;
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		if (k > 0 && (sim.options.partitions || renames_are(k)))
			copy_plan(k);
		else
			draw_plan(k);
	}
	event_at(SECOND, on_look, NULL, 0);
}
