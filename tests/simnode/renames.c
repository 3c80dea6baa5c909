#include "renames.h"

#include <stdio.h>
#include <string.h>

#include "base/text/names.h"
#include "faults.h"
#include "oracle.h"
#include "scenario.h"
#include "server.h"
#include "ticks.h"
#include "core/time/tick.h"
#include "wire/records/record.h"

#define FORMER	  0
#define LATER	  1
#define LOOK_US	  (250 * MS)
#define ROLL_US	  (15 * SECOND) /* between two sites that get another file */
#define BESIDE_US (90 * SECOND) /* for which what two leaders have begun may show */

/* Since when the site knows that the former name has a later one, and that somebody lists it; 0: not. */
static int64_t knows_at[HOSTS_MAX], listed_at[HOSTS_MAX];
static int64_t beside_at; /* when both were led last */
/* Since when the leader of the later name has had nothing in the way of its yield; 0: it has. */
static int64_t yields_at;
/* The newest tick that was decided under each of the names, by what was committed in that era of the ledger. */
static int64_t decided_ms[2], last_zxid;
static uint64_t decided_era;
static void (*next_commit)(const struct transaction *x);

bool renames_on(void)
{
	const struct options *o = &sim.options;

	return o->schedules && !o->partitions && !o->disagree && !o->queues && !o->recipes &&
	       o->seed % 4 == 3 && sim.n_tasks > LATER;
}

bool renames_are(unsigned task)
{
	return renames_on() && task <= LATER;
}

unsigned renames_same(unsigned task)
{
	return renames_are(task) ? FORMER : task;
}

static uint64_t bits(bool former, bool later)
{
	return (former ? UINT64_C(1) << FORMER : 0) | (later ? UINT64_C(1) << LATER : 0);
}

void renames_switch(struct site *s)
{
	bool former = s->tasks >> FORMER & 1;
	uint64_t others = s->tasks & ~bits(true, true);

	if (random_chance(100))
		s->tasks = others | bits(true, true);
	else if (random_chance(100))
		s->tasks = others;
	else if (former)
		s->tasks = others | bits(random_chance(150), true);
	else
		s->tasks = others | bits(random_chance(400), random_chance(700));
	TRACE("site %u has tasks %llx now", s->id, (unsigned long long)s->tasks);
}

static bool is_led(const struct tree *t, unsigned task)
{
	return t && tree_get(t, oracle_leader_path(task));
}

bool renames_barred(const struct fleet *f, unsigned task)
{
	if (!renames_on() || task != LATER)
		return false;
	for (size_t i = 0; i < f->n_members; i++)
		if (names_has(f->by_id[i]->worker->tasks, f->by_id[i]->worker->n_tasks,
			      task_settings[FORMER].name))
			return true;
	return false;
}

bool renames_were_beside(void)
{
	return renames_on() && sim.now < beside_at + BESIDE_US + 2 * sim.timeout_ms * MS;
}

static path_id ledger_path(unsigned task, const char *rest)
{
	char path[STORE_PATH_MAX];

	snprintf(path, sizeof(path), SITE_ROOT "/runs/%s%s", task_settings[task].name, rest);
	return path_intern(path);
}

static bool deletes(const struct transaction *x, path_id path)
{
	for (size_t i = 0; i < x->n_ops; i++)
		if (x->ops[i].type == STORE_OP_DELETE && x->ops[i].path == path)
			return true;
	return false;
}

bool renames_moves(const struct transaction *x, const struct op *op, path_id *ret_from)
{
	static const char *const folders[] = {"runs", "schedules", "seen"};
	char to[STORE_PATH_MAX], from[STORE_PATH_MAX];

	for (size_t i = 0; renames_on() && i < 2 * sizeof(folders) / sizeof(folders[0]); i++) {
		const char *folder = folders[i / 2], *text = path_text(op->path);
		snprintf(to, sizeof(to), SITE_ROOT "/%s/%s", folder, task_settings[i % 2].name);
		size_t len = strlen(to);
		if (strncmp(text, to, len) != 0 || (text[len] != '/' && text[len] != '\0'))
			continue;
		snprintf(from, sizeof(from), SITE_ROOT "/%s/%s%s", folder,
			 task_settings[1 - i % 2].name, text + len);
		*ret_from = path_intern(from);
		return op->type == STORE_OP_CREATE && deletes(x, *ret_from);
	}
	return false;
}

/* --- what is judged ----------------------------------------------------------------------------------------- */

/* A record that is moved must not change, and nobody may be writing it. */
static void judge_move(const struct transaction *x, const struct op *op, const struct tree *before)
{
	const struct znode *node;
	path_id from;

	if (!renames_moves(x, op, &from))
		return;
	sim.figures.moved++;
	node = tree_get(before, from);
	if (!node || !node->data || !op->data || node->data->len != op->data->len ||
	    memcmp(node->data->bytes, op->data->bytes, op->data->len) != 0)
		sim_violation("%s is moved to %s, and is not what was there", path_text(from),
			      path_text(op->path));
	if (is_led(before, FORMER) && is_led(before, LATER))
		return;
	if (strstr(path_text(from), task_settings[FORMER].name) ? is_led(before, FORMER)
								: is_led(before, LATER))
		sim_violation("%s is moved while it is led", path_text(from));
}

/* Whether it is claimed only if nobody leads the later name. */
static bool proves(const struct transaction *x)
{
	for (size_t i = 0; i < x->n_ops; i++)
		if (x->ops[i].type == STORE_OP_CREATE &&
		    x->ops[i].path == oracle_leader_path(LATER))
			return true;
	return false;
}

static void judge_claim(const struct transaction *x, const struct tree *before, unsigned task)
{
	unsigned other = task == FORMER ? LATER : FORMER, by = 0;

	while (by < sim.n_hosts && !(sites[by].running && sites[by].node.session.id == x->session))
		by++;
	/* The former name begins anew once nobody says any more that it was renamed. */
	if (task == FORMER && !proves(x) && tree_get(before, ledger_path(LATER, "")))
		ticks_anew(FORMER);
	/*
	 * A worker that learned of the other name while its claim was on its way proves nothing. Claims are sent at
	 * the end of a turn, in which it may have learned of it behind the decision.
	 */
	bool knows = task == LATER || (by < sim.n_hosts && knows_at[by] > 0 &&
				       knows_at[by] < oracle_claimed_at(by, task));
	if (!knows)
		return;
	if (task == LATER && by < sim.n_hosts && listed_at[by] > 0 &&
	    listed_at[by] < oracle_claimed_at(by, task))
		sim_violation("task %u is claimed, and somebody lists its former name", task);
	else if (is_led(before, other))
		sim_violation("task %u is claimed while it is led under its %s name", task,
			      task == LATER ? "former" : "later");
	else if (tree_get(before, ledger_path(other, "")))
		sim_violation("task %u is claimed, and its %s name has a ledger", task,
			      task == LATER ? "former" : "later");
}

void renames_propose(const struct transaction *x, const struct tree *before)
{
	if (!renames_on() || x->session == HAND)
		return;
	for (size_t i = 0; i < x->n_ops && !sim.stop; i++) {
		const struct op *op = &x->ops[i];
		judge_move(x, op, before);
		for (unsigned k = FORMER; k <= LATER; k++)
			if (op->type == STORE_OP_CREATE_EPHEMERAL &&
			    op->path == oracle_leader_path(k))
				judge_claim(x, before, k);
	}
}

/* A tick that nobody triggered, for the first time. */
static void note_decided(const struct op *op, unsigned task)
{
	const char *text = path_text(op->path), *folder = path_text(ledger_path(task, ""));
	struct run_record r;
	const char *why;
	int64_t ms;

	if (op->type != STORE_OP_CREATE || strncmp(text, folder, strlen(folder)) != 0 ||
	    text[strlen(folder)] != '/' || !tick_parse(text + strlen(folder) + 1, &ms) ||
	    !op->data || record_parse_run(op->data->bytes, op->data->len, &r, &why) != 0)
		return;
	if (r.by[0] == '\0' && ms > decided_ms[task])
		decided_ms[task] = ms;
}

static void on_commit(const struct transaction *x)
{
	path_id from;

	if (next_commit)
		next_commit(x);
	if (decided_era != ticks_era() + ticks_anew_count()) {
		decided_era = ticks_era() + ticks_anew_count();
		memset(decided_ms, 0, sizeof(decided_ms));
		last_zxid = 0;
	}
	if (x->zxid <= last_zxid || x->code != STORE_OK)
		return;
	last_zxid = x->zxid;
	for (size_t i = 0; i < x->n_ops; i++)
		for (unsigned k = FORMER; k <= LATER; k++)
			if (!renames_moves(x, &x->ops[i], &from))
				note_decided(&x->ops[i], k);
}

bool renames_decided(unsigned task, const struct owed_rules *in_force, int64_t tick_ms)
{
	int64_t decided = decided_ms[task == FORMER ? LATER : FORMER];

	return renames_are(task) && !renames_were_beside() &&
	       decided_era == ticks_era() + ticks_anew_count() && tick_ms <= decided &&
	       owed_is_tick(in_force, decided);
}

static void note_since(int64_t *at, bool is)
{
	if (!is)
		*at = 0;
	else if (*at == 0)
		*at = sim.now;
}

void renames_look_at(const struct site *s)
{
	const struct fleet *f = &s->node.registry.fleet;
	bool knows = false;

	if (!renames_on())
		return;
	for (size_t i = 0; i < f->n_members && !knows; i++)
		knows = f->by_id[i]->worker->n_renamed > 0;
	note_since(&knows_at[s->id], knows);
	note_since(&listed_at[s->id], renames_barred(f, LATER));
}

/* Whether who leads the later name could give it up: it hears of things, and no run goes on. */
static bool may_yield(const struct tree *t)
{
	int64_t owner = tree_get(t, oracle_leader_path(LATER))->stat.owner;

	for (unsigned i = 0; i < sim.n_hosts; i++) {
		const struct task *task = site_task(&sites[i], LATER);
		if (task && sites[i].node.session.id == owner)
			return machine_listens(sites[i].machine) && task->holds == 0 &&
			       task->dying == 0 && session_is_up(&sites[i].node.session);
	}
	return false;
}

static void on_look(void *arg, uint64_t number)
{
	const struct tree *t = servers_tree();
	bool beside = is_led(t, FORMER) && is_led(t, LATER);

	(void)arg, (void)number;
	if (beside) {
		if (sim.now > beside_at + SECOND)
			sim.figures.beside++;
		beside_at = sim.now;
	}
	if (!beside || scenario_is_storm() || !may_yield(t))
		yields_at = 0;
	else if (yields_at == 0)
		yields_at = sim.now;
	if (yields_at > 0 && sim.now > yields_at + (sim.timeout_ms + 15000) * MS)
		sim_violation("task %u is led on beside its former name", LATER);
	event_at(sim.now + LOOK_US, on_look, NULL, 0);
}

/* --- the beginning ------------------------------------------------------------------------------------------ */

static void on_roll(void *arg, uint64_t number)
{
	struct site *s = scenario_is_storm() ? fault_site(true) : NULL;

	(void)arg, (void)number;
	if (fault_listens(s)) {
		renames_switch(s);
		sim.figures.renamed++;
		site_configure(s);
	}
	event_at(sim.now + random_exp(ROLL_US), on_roll, NULL, 0);
}

void renames_reset(void)
{
	memset(knows_at, 0, sizeof(knows_at));
	memset(listed_at, 0, sizeof(listed_at));
	memset(decided_ms, 0, sizeof(decided_ms));
	decided_era = UINT64_MAX;
	last_zxid = 0;
	beside_at = -HOUR;
	yields_at = 0;
	if (!renames_on())
		return;
	task_settings[FORMER].spread = NULL;
	const char *name = task_settings[LATER].name;
	task_settings[LATER] = task_settings[FORMER];
	task_settings[LATER].name = name;
	task_settings[LATER].renamed_from = task_settings[FORMER].name;
	for (unsigned i = 0; i < HOSTS_MAX; i++)
		sites[i].tasks = (sites[i].tasks & ~bits(true, true)) | bits(true, false);
}

void renames_begin(void)
{
	if (!renames_on())
		return;
	next_commit = servers_commit;
	servers_commit = on_commit;
	event_at(SECOND, on_look, NULL, 0);
	event_at(SECOND, on_roll, NULL, 0);
}
