/*
 * Judges every transaction that is committed in --schedules: which run it begins, and why that one;
 * which ticks it says are missed, and why; and whether the end of a pause leaves what is needed.
 */
#include <stdio.h>
#include <string.h>

#include "crowd.h"
#include "jobs.h"
#include "renames.h"
#include "schedules.h"
#include "ticks.h"
#include "server.h"

#define RUNS_PATH   SITE_ROOT "/runs/"
#define FORCE_PATH  SITE_ROOT "/schedules/"
#define POLICY_PATH SITE_ROOT "/policy/"
#define SLACK_MS    1500  /* that clocks are apart, and that requests take */
#define OFFERED_MS  60000 /* it was offered in time, and claimed late */
#define FORGIVEN_MS 1000  /* a tick that is no later is in time, whoever leads */

#define FORCED_US   (5 * SECOND)
#define LOST_US	    (60 * SECOND) /* in which nodes see that the servers have lost all data */

static int64_t forced_at[TASKS_MAX]; /* true time at which its schedule came into force */
/* The newest tick that was decided, whether its record is still kept or not; in that era of the ledger. */
static int64_t decided_ms[TASKS_MAX];
static uint64_t decided_era[TASKS_MAX];
static int64_t ahead_most_ms[HOSTS_MAX];
static int64_t
	taken_zxid[TASKS_MAX]; /* of the last pause that a hand took away, which leaves nothing */

/* A record of a tick that is written. */
struct judged {
	const struct transaction *x;
	const struct tree *before;
	unsigned task;
	int64_t tick_ms;
	char tick[TICK_NAME_SIZE];
	struct run_record record, last; /* last: as it is there, its state "" if it is not */
	struct schedule_facts facts;
	int64_t leader_zxid; /* of the leadership that it is written under */
};

#define WRONG(j, format, ...)                                                         \
	sim_violation("task %u tick %s: " format " (now %lld)", (j)->task, (j)->tick, \
		      ##__VA_ARGS__, (long long)(EPOCH_MS + sim.now / MS) / 1000)

static bool parse(struct run_record *ret, const struct blob *data)
{
	const char *why;

	return data && record_parse_run(data->bytes, data->len, ret, &why) == 0;
}

static bool take(const struct transaction *x, const struct op *op, const struct tree *before,
		 struct judged *j)
{
	const char *text = path_text(op->path), *slash;
	char name[64], path[STORE_PATH_MAX];
	const struct znode *node;

	if ((op->type != STORE_OP_CREATE && op->type != STORE_OP_SET) ||
	    strncmp(text, RUNS_PATH, strlen(RUNS_PATH)) != 0)
		return false;
	/* Made, to be taken away at once: nobody has an order for that tick, or runs it. */
	if (op->type == STORE_OP_CREATE && (!op->data || op->data->len == 0))
		return false;
	text += strlen(RUNS_PATH);
	slash = strchr(text, '/');
	if (!slash || (size_t)(slash - text) >= sizeof(name))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(slash - text), text);
	if (crowd_has(name))
		return false;
	*j = (struct judged){.x = x, .before = before, .task = task_number(name)};
	snprintf(j->tick, sizeof(j->tick), "%s", slash + 1);
	if (j->task == TASKS_MAX || !tick_parse(j->tick, &j->tick_ms) ||
	    !parse(&j->record, op->data)) {
		sim_violation("%s: what is written there is no record", path_text(op->path));
		return false;
	}
	node = tree_get(before, op->path);
	if (node && !parse(&j->last, node->data))
		j->last = (struct run_record){0};
	snprintf(path, sizeof(path), SITE_ROOT "/leaders/%s", name);
	node = tree_get(before, path_intern(path));
	j->leader_zxid = node ? node->stat.czxid : 0;
	j->facts = schedule_facts(before, j->task);
	return true;
}

/* --- runs ------------------------------------------------------------------------------------------- */

/* The trigger that this spends; false: none. */
static bool find_trigger(const struct judged *j, struct policy_record *ret)
{
	for (size_t i = 0; i < j->x->n_ops; i++)
		if (j->x->ops[i].type == STORE_OP_DELETE &&
		    schedule_policy(j->before, j->x->ops[i].path, j->task, POLICY_TRIGGER, ret))
			return true;
	return false;
}

/* Whether the leader changed the schedule while the tick was being decided. */
static bool is_overtaken(const struct judged *j)
{
	return j->tick_ms <= j->facts.since_ms && sim.now - forced_at[j->task] < FORCED_US;
}

/* A task that is renamed decides each tick under one of its names. */
int64_t schedule_decided_ms(unsigned task)
{
	task = renames_same(task);
	return decided_era[task] == ticks_era() ? decided_ms[task] : 0;
}

/* Judges what holds of each tick of the schedule that is decided, run or not. */
static void judge_decided(const struct judged *j, const char *how)
{
	const struct schedule_facts *f = &j->facts;
	struct owed_rules rules;

	if (is_overtaken(j))
		return;
	if (!f->in_force) {
		WRONG(j, "is %s, and no schedule is in force", how);
		return;
	}
	rules = schedule_rules(f->in_force);
	if (!owed_is_tick(&rules, j->tick_ms))
		WRONG(j, "is %s, and is none of the schedule in force", how);
	else if (j->tick_ms <= f->since_ms)
		WRONG(j, "is %s, from before its schedule came into force", how);
	else if (j->tick_ms <= f->split_ms)
		WRONG(j, "is %s, from before the number of partitions was changed", how);
	else if (j->tick_ms <= f->decided_ms)
		WRONG(j, "is %s, behind a later one", how);
	else if (renames_decided(j->task, &rules, j->tick_ms))
		WRONG(j, "is %s, and was decided under its other name", how);
	else if (f->ended_zxid > taken_zxid[j->task] && j->leader_zxid > f->ended_zxid &&
		 j->tick_ms <= f->ended_ms)
		WRONG(j, "is %s, and is one of a pause", how);
	else if (f->paused_zxid > 0 && j->leader_zxid > f->paused_zxid)
		WRONG(j, "is %s in a pause, by a leader of later", how);
}

/* Notes by how much each clock is ahead of the time: what a node remembers goes by the clock that it had then. */
static void note_clocks(void)
{
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		int64_t ahead_ms =
			host_wall_ms(machine_host(sites[i].machine)) - (EPOCH_MS + sim.now / MS);
		if (ahead_ms > ahead_most_ms[i])
			ahead_most_ms[i] = ahead_ms;
	}
}

/* By how much the clock of who writes was ahead at most; 0: it is gone by now. */
static int64_t writer_ahead_ms(const struct judged *j)
{
	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (sites[i].running && sites[i].node.session.id == j->x->session)
			return ahead_most_ms[i];
	return 0;
}

/*
 * None that is owed is passed over in silence, whatever else has a record, and however few of them are kept. A
 * tick that somebody triggered may be one of a schedule that came into force since: it is not looked behind.
 */
static void judge_passed_over(const struct judged *j)
{
	const struct schedule_facts *f = &j->facts;
	int64_t after_ms = f->since_ms, known_ms[] = {f->ended_ms, f->split_ms, f->newest_ms};
	struct owed_rules rules;

	if (!f->in_force || sim.now - forced_at[j->task] < FORCED_US || f->paused_zxid > 0 ||
	    taken_zxid[j->task] > f->ended_zxid)
		return;
	rules = schedule_rules(f->in_force);
	for (size_t i = 0; i < sizeof(known_ms) / sizeof(known_ms[0]); i++)
		after_ms = known_ms[i] > after_ms ? known_ms[i] : after_ms;
	if (schedule_decided_ms(j->task) > after_ms)
		after_ms = schedule_decided_ms(j->task);
	/* A pause that was lost with all data ends when a node sees that it is not there, by the clock that it has then. */
	int64_t lost_ms = EPOCH_MS + (ticks_era_since() + LOST_US) / MS + writer_ahead_ms(j);
	if (ticks_era_since() > 0 && lost_ms > after_ms)
		after_ms = lost_ms;
	if (owed_next(&rules, after_ms) < j->tick_ms)
		WRONG(j, "is run, and %lld before it is neither run nor missed",
		      (long long)owed_next(&rules, after_ms) / 1000);
}

void schedule_forget_decided(unsigned task)
{
	decided_ms[renames_same(task)] = 0;
}

static void note_decided(const struct judged *j)
{
	unsigned task = renames_same(j->task);

	if (decided_era[task] != ticks_era() || j->tick_ms > decided_ms[task])
		decided_ms[task] = j->tick_ms;
	decided_era[task] = ticks_era();
}

/* Whether another has a record that is later than this. */
static bool is_followed(const struct judged *j)
{
	char path[STORE_PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", RUNS_PATH, task_settings[j->task].name);
	const struct znode *folder = tree_get(j->before, path_intern(path));
	for (size_t i = 0; folder && i < folder->n_children; i++) {
		const struct znode *run = tree_get(j->before, folder->children[i]);
		struct run_record r;

		if (strcmp(path_name(folder->children[i]), j->tick) <= 0)
			continue;
		/* A trigger that was dropped is no run, and hinders none. */
		if (!run || !parse(&r, run->data) || r.by[0] == '\0' ||
		    strcmp(r.state, "missed") != 0)
			return true;
	}
	return false;
}

static void judge_again(const struct judged *j)
{
	const struct task_schedule *c = task_settings[j->task].schedule;
	const struct run_record *last = &j->last;
	bool failed = strcmp(last->state, "failed") == 0 || strcmp(last->state, "timeout") == 0;
	bool running = strcmp(last->state, "running") == 0;
	bool lost = strcmp(last->state, "lost") == 0 ||
		    (running && !tree_session(j->before, last->session));
	bool rerun = task_settings[j->task].on_crash == TASK_ON_CRASH_RERUN;

	if (running && last->attempt == j->record.attempt && strcmp(last->run, j->record.run) == 0)
		return; /* it is claimed anew: its job has not begun */
	if (j->record.attempt != last->attempt + 1)
		WRONG(j, "attempt %d follows attempt %d", (int)j->record.attempt,
		      (int)last->attempt);
	else if (j->record.failures != last->failures + failed)
		WRONG(j, "counts %d failures, and had %d%s", (int)j->record.failures,
		      (int)last->failures, failed ? " and one more" : "");
	else if (!(failed && last->failures < c->retries) && !(lost && rerun))
		WRONG(j, "is begun again, and is %s at attempt %d of session %llx", last->state,
		      (int)last->attempt, (unsigned long long)last->session);
	else if (failed && is_followed(j))
		WRONG(j, "is begun again behind a later one%s", "");
	else if (failed && schedules_are_near() &&
		 EPOCH_MS + sim.now / MS < last->ended_at + c->retry_delay_ms - SLACK_MS)
		WRONG(j, "is begun again before its delay is over%s", "");
	sim.figures.retried++;
}

/* A tick that is caught up with does not begin beside another run, whatever overlap says. */
static void judge_turn(const struct judged *j)
{
	const struct task_schedule *c = j->facts.in_force;
	int64_t late_ms = EPOCH_MS + sim.now / MS - j->tick_ms;

	if (c && c->catch_up == OWED_ALL && schedules_are_near() && jobs_run(j->task) &&
	    late_ms - owed_splay(task_settings[j->task].name, c->splay_ms) >
		    OWED_PATIENCE_MS + OFFERED_MS)
		WRONG(j, "is caught up with beside another run%s", "");
}

static void judge_run(const struct judged *j)
{
	struct policy_record trigger;

	if (find_trigger(j, &trigger)) {
		sim.figures.triggers++;
		ticks_triggered(j->task, j->tick_ms / 1000, !j->last.state[0]);
		if (strcmp(trigger.node, j->tick) != 0)
			WRONG(j, "is run for what was triggered for %s", trigger.node);
		if (j->record.attempt != (j->last.state[0] ? j->last.attempt + 1 : 1))
			WRONG(j, "is triggered as attempt %d", (int)j->record.attempt);
		if (j->record.by[0] == '\0')
			WRONG(j, "does not say who has triggered it%s", "");
	} else if (j->last.state[0]) {
		judge_again(j);
	} else if (j->record.attempt != 1) {
		WRONG(j, "begins with attempt %d", (int)j->record.attempt);
	} else {
		judge_decided(j, "run");
		judge_passed_over(j);
		judge_turn(j);
		note_decided(j);
	}
}

/* --- what is missed --------------------------------------------------------------------------------- */

/* Whether a tick that is later than this has come. */
static bool has_successor(const struct judged *j, int64_t now_ms)
{
	struct owed_rules rules = schedule_rules(j->facts.in_force);
	int64_t tick;
	size_t all;

	return owed_ticks(&rules, j->tick_ms, now_ms, 1, &tick, &all) == 1;
}

/* Why it is not run; with clocks that say the same. */
static void judge_missed(const struct judged *j)
{
	const struct task_schedule *c = j->facts.in_force;
	int64_t now_ms = EPOCH_MS + sim.now / MS, late_ms;

	sim.figures.missed++;
	judge_decided(j, "missed");
	note_decided(j);
	if (!schedules_are_near() || !c || is_overtaken(j))
		return;
	late_ms = now_ms - owed_splay(task_settings[j->task].name, c->splay_ms) - j->tick_ms;
	if (late_ms > c->window_ms - SLACK_MS ||
	    EPOCH_MS + schedule_busy_at(j->task) / MS > j->tick_ms - SLACK_MS)
		return;
	if (c->catch_up == OWED_ALL)
		WRONG(j, "is missed, and was to be caught up with%s", "");
	else if (c->catch_up == OWED_LAST && !has_successor(j, now_ms + SLACK_MS))
		WRONG(j, "is missed, and is the last one%s", "");
	else if (c->catch_up == OWED_NONE && late_ms < FORGIVEN_MS - SLACK_MS / 3)
		WRONG(j, "is missed in time%s", "");
}

/* --- orders that are not run ------------------------------------------------------------------------ */

/* An order goes with the claim of its tick, or when it has waited too long and people are told. */
static void judge_order(const struct transaction *x, const struct tree *before, unsigned task,
			const struct policy_record *order)
{
	int64_t now_ms = EPOCH_MS + sim.now / MS, tick_ms, since_ms = order->since;
	struct schedule_facts f = schedule_facts(before, task);
	bool is_tick = tick_parse(order->node, &tick_ms);
	struct judged j;

	for (size_t i = 0; i < x->n_ops; i++)
		if (take(x, &x->ops[i], before, &j) && strcmp(j.record.state, "running") == 0)
			return;
	sim.figures.expired++;
	if (is_tick && tick_ms > since_ms)
		since_ms = tick_ms;
	if (schedules_are_near() && is_tick && tick_ms > f.split_ms &&
	    now_ms < since_ms + task_settings[task].schedule->window_ms - SLACK_MS)
		sim_violation("task %u tick %s: what was triggered for it is dropped", task,
			      order->node);
}

/* Whether it is made by who has seen in this transaction that the tick has no record, or which one. */
static bool has_looked(const struct transaction *x, const char *path)
{
	for (size_t i = 0; i < x->n_ops; i++)
		if (strcmp(path_text(x->ops[i].path), path) == 0)
			return true;
	return false;
}

/* Each has a tick of its own. */
static void judge_new_order(const struct transaction *x, const struct op *op,
			    const struct tree *before)
{
	const struct znode *policy = tree_get(before, path_intern(SITE_ROOT "/policy"));
	char path[STORE_PATH_MAX];
	struct policy_record r, other;
	const char *why;

	if (op->type != STORE_OP_CREATE || !op->data ||
	    strncmp(path_text(op->path), POLICY_PATH, strlen(POLICY_PATH)) != 0 ||
	    record_parse_policy(op->data->bytes, op->data->len, &r, &why) != 0 ||
	    strcmp(r.kind, policy_kind_name(POLICY_TRIGGER)) != 0)
		return;
	unsigned task = task_number(r.task);
	for (size_t i = 0; task < TASKS_MAX && policy && i < policy->n_children; i++)
		if (schedule_policy(before, policy->children[i], task, POLICY_TRIGGER, &other) &&
		    strcmp(other.node, r.node) == 0)
			sim_violation("task %u tick %s is triggered twice", task, r.node);
	snprintf(path, sizeof(path), "%s%s/%s", RUNS_PATH, r.task, r.node);
	if (!has_looked(x, path))
		sim_violation("task %u tick %s is triggered, whatever its record is", task, r.node);
}

/* --- pauses ----------------------------------------------------------------------------------------- */

/* Its end leaves the time up to which nothing is owed; or another takes its place. */
static void judge_end(const struct transaction *x, const char *task)
{
	int64_t now_ms = EPOCH_MS + sim.now / MS;

	for (size_t i = 0; i < x->n_ops; i++) {
		const struct op *op = &x->ops[i];
		struct policy_record r;
		const char *why;
		if (op->type != STORE_OP_CREATE || !op->data ||
		    record_parse_policy(op->data->bytes, op->data->len, &r, &why) != 0 ||
		    strcmp(r.task, task) != 0)
			continue;
		if (strcmp(r.kind, policy_kind_name(POLICY_PAUSE)) == 0)
			return;
		if (strcmp(r.kind, policy_kind_name(POLICY_ENDED)) != 0)
			continue;
		if (schedules_are_near() && r.since > now_ms + SLACK_MS)
			sim_violation("task %s: the end of a pause is ahead of its time", task);
		return;
	}
	sim_violation("task %s: a pause ends, and does not leave when", task);
}

/* --- all of them ------------------------------------------------------------------------------------ */

static void note_force(const struct transaction *x, const struct op *op)
{
	const char *text = path_text(op->path);
	path_id from;

	if (renames_moves(x, op, &from))
		return; /* it is in force as before */
	if ((op->type != STORE_OP_CREATE && op->type != STORE_OP_SET) ||
	    strncmp(text, FORCE_PATH, strlen(FORCE_PATH)) != 0)
		return;
	unsigned task = task_number(text + strlen(FORCE_PATH));
	if (task < TASKS_MAX)
		forced_at[task] = sim.now;
}

void schedule_judge_begin(void)
{
	memset(ahead_most_ms, 0, sizeof(ahead_most_ms));
	for (unsigned k = 0; k < TASKS_MAX; k++) {
		forced_at[k] = -HOUR;
		decided_era[k] = UINT64_MAX;
		taken_zxid[k] = 0;
	}
}

/*
 * A pause that was deleted by hand has no record of its end; records that are older than the pause
 * are of earlier ones.
 */
static void note_taken(const struct transaction *x, const struct tree *before)
{
	struct policy_record pause;

	for (size_t i = 0; i < x->n_ops; i++)
		for (unsigned k = 0; x->ops[i].type == STORE_OP_DELETE && k < sim.n_tasks; k++)
			if (schedule_policy(before, x->ops[i].path, k, POLICY_PAUSE, &pause))
				taken_zxid[k] = tree_get(before, x->ops[i].path)->stat.czxid;
}

void schedules_propose(const struct transaction *x, const struct tree *before)
{
	struct policy_record pause;
	struct judged j;
	path_id from;

	if (!sim.options.schedules)
		return;
	note_clocks();
	if (x->session == HAND) {
		note_taken(x, before);
		return;
	}
	for (size_t i = 0; i < x->n_ops && !sim.stop; i++) {
		const struct op *op = &x->ops[i];
		bool ends = op->type == STORE_OP_DELETE &&
			    strncmp(path_text(op->path), POLICY_PATH, strlen(POLICY_PATH)) == 0;
		for (unsigned k = 0; ends && k < sim.n_tasks; k++)
			if (schedule_policy(before, op->path, k, POLICY_PAUSE, &pause))
				judge_end(x, pause.task);
			else if (schedule_policy(before, op->path, k, POLICY_TRIGGER, &pause))
				judge_order(x, before, k, &pause);
		judge_new_order(x, op, before);
		note_force(x, op);
		if (renames_moves(x, op, &from) || !take(x, op, before, &j))
			continue;
		if (strcmp(j.record.state, "ok") == 0 && jobs_ended_by_others(j.record.run))
			WRONG(&j, "is recorded as ok, and was ended by others%s", "");
		if (strcmp(j.record.state, "running") == 0)
			judge_run(&j);
		else if (strcmp(j.record.state, "missed") == 0 && !find_trigger(&j, &pause))
			judge_missed(&j);
	}
}
