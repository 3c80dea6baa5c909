#include "node/election/renames.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/names.h"
#include "core/fleet/identity.h"
#include "node/election/candidates.h"
#include "node/election/leaders.h"
#include "node/election/tasks.h"
#include "node/tree/paths.h"
#include "node/tree/rename_move.h"

#define AGAIN_MS 2000 /* after a look that ended nothing: at the same task */
#define PAUSE_MS 100  /* likewise: at any */

bool renames_has(const struct task *t)
{
	return t->settings->renamed_from || (t->rename.later && t->rename.later[0]);
}

/* A leader keeps its task although a later name exists; nobody leads the later one meanwhile. */
static bool is_held(const struct task *t)
{
	enum election_state state = t->election.state;

	return state == ELECTION_LEADING || state == ELECTION_RESOLVING ||
	       state == ELECTION_RELEASING;
}

/* The other name of its task, or of this partition of it: the former one, or else the later one. */
static void other_name(const struct task *t, char name[NAME_ELECTION_MAX + 1])
{
	const char *task = t->settings->renamed_from ? t->settings->renamed_from : t->rename.later;

	if (t->listed)
		snprintf(name, NAME_ELECTION_MAX + 1, "%s:%u", task, t->partition);
	else
		snprintf(name, NAME_ELECTION_MAX + 1, "%s", task);
}

/* A worker that lists the former name, or may list it. Most workers share one list. */
static const struct member *lister(const struct task *t)
{
	const struct fleet *f = &t->leaders->registry->fleet;
	char **seen = NULL;

	for (size_t i = 0; i < f->n_members; i++) {
		const struct worker *w = f->by_id[i]->worker;
		if (w->unlisted)
			return f->by_id[i];
		if (w->n_tasks == 0 || w->tasks == seen)
			continue;
		seen = w->tasks;
		if (names_has(w->tasks, w->n_tasks, t->settings->renamed_from))
			return f->by_id[i];
	}
	return NULL;
}

/* Sets the later name. Whatever the ledger has under it is not known yet. */
static void set_later(struct task *t, const char *later)
{
	if (strcmp(t->rename.later ? t->rename.later : "", later) == 0)
		return;
	ids_set(&t->leaders->ids, &t->rename.later, later);
	t->rename.moved = false;
	t->rename.again_ms = 0;
}

/* Workers that have renamed the same tasks are read only once. */
static bool says_more(const struct worker *w, const struct worker *last)
{
	return w->n_renamed > 0 &&
	       !(last && names_same((const char *const *)w->renamed, w->n_renamed,
				    (const char *const *)last->renamed, last->n_renamed));
}

static void learn_one(struct leaders *l, const char *later, const char *former)
{
	const struct listing *listing = listings_find(l, former, strlen(former));

	for (size_t i = 0; listing && i < listing->n; i++) {
		struct task *t = listing->tasks[i];
		if (t->rename.learned || t->withdrawn || t->settings->renamed_from)
			continue;
		t->rename.learned = true;
		set_later(t, later);
	}
}

/*
 * Keeps a pair if the later name is no longer ours and the former one is again; one pair for each
 * former name.
 */
static void remember_one(struct renames *r, char **past, size_t *n, const char *later,
			 const char *former)
{
	if (listings_find(r->leaders, later, strlen(later)) ||
	    !listings_find(r->leaders, former, strlen(former)))
		return;
	for (size_t i = 1; i < *n; i += 2)
		if (strcmp(past[i], former) == 0)
			return;
	past[(*n)++] = mem_strdup(later);
	past[(*n)++] = mem_strdup(former);
}

void renames_remember(struct renames *r, const char *const *renamed, size_t n)
{
	char **past;
	size_t n_past = 0;

	if (n + r->n_past == 0)
		return;
	past = mem_calloc(n + r->n_past, sizeof(*past));
	for (size_t i = 0; i + 1 < n; i += 2)
		remember_one(r, past, &n_past, renamed[i], renamed[i + 1]);
	for (size_t i = 0; i + 1 < r->n_past; i += 2)
		remember_one(r, past, &n_past, r->past[i], r->past[i + 1]);
	names_free(r->past, r->n_past);
	r->past = past;
	r->n_past = n_past;
}

/* Learns by which later names the fleet has our tasks now. */
static void learn(struct renames *r)
{
	struct leaders *l = r->leaders;
	const struct fleet *f = &l->registry->fleet;
	const struct worker *last = NULL;
	bool any = r->learns || r->n_past > 0;

	for (size_t i = 0; i < f->n_members && !any; i++)
		any = f->by_id[i]->worker->n_renamed > 0;
	if (!any)
		return;
	for (size_t i = 0; i < l->n_tasks; i++)
		l->tasks[i]->rename.learned = false;
	for (size_t i = 0; i < f->n_members; i++) {
		const struct worker *w = f->by_id[i]->worker;
		if (!says_more(w, last))
			continue;
		for (size_t j = 0; j + 1 < w->n_renamed; j += 2)
			learn_one(l, w->renamed[j], w->renamed[j + 1]);
		last = w;
	}
	for (size_t i = 0; i + 1 < r->n_past; i += 2)
		learn_one(l, r->past[i], r->past[i + 1]);
	r->learns = false;
	for (size_t i = 0; i < l->n_tasks; i++) {
		if (!l->tasks[i]->rename.learned)
			set_later(l->tasks[i], "");
		r->learns |= l->tasks[i]->rename.learned;
	}
}

static bool may_move(const struct task *t)
{
	return !t->withdrawn && !t->rename.listed && !t->rename.moved &&
	       (t->settings->renamed_from || !is_held(t));
}

static bool is_best(void *arg, const char *task)
{
	const struct renames *r = arg;
	const struct registry *registry = r->leaders->registry;
	const struct task *t = tasks_find(r->leaders, task, strlen(task));
	const struct member *self = registry_self(registry);

	return t && self &&
	       fleet_stand(&registry->fleet, &t->contest, t->index, registry->id).best == self;
}

static void on_move_done(void *arg, const char *task, bool moved, const char *wants)
{
	struct renames *r = arg;
	struct leaders *l = r->leaders;
	struct task *t = tasks_find(l, task, strlen(task));
	int64_t now_ms = host_now_ms(l->session->host);

	r->busy = false;
	if (t && renames_has(t)) {
		t->rename.moved = moved && !t->rename.listed;
		t->rename.wants = wants;
		t->rename.again_ms = moved ? 0 : now_ms + AGAIN_MS;
	}
	if (moved) {
		candidates_changed(l);
		return;
	}
	r->pause_ms = now_ms + PAUSE_MS;
	host_timer_start(&r->due, PAUSE_MS);
}

static void move(struct renames *r, const struct task *t)
{
	const struct rename_move_handlers handlers = {is_best, on_move_done, r};
	char former[NAME_ELECTION_MAX + 1];

	r->busy = true;
	other_name(t, former);
	rename_move_begin(r->leaders->session, t->name, former, &handlers);
}

void renames_look(struct renames *r)
{
	const struct leaders *l = r->leaders;
	int64_t now_ms = host_now_ms(l->session->host), due_ms = INT64_MAX;
	const struct task *first = NULL;

	if (!registry_ready(l->registry))
		return;
	learn(r);
	for (size_t i = 0; i < l->n_tasks; i++) {
		struct task *t = l->tasks[i];
		if (!renames_has(t))
			continue;
		t->rename.listed = t->settings->renamed_from && lister(t) != NULL;
		t->rename.moved &= !t->rename.listed;
		if (!may_move(t))
			continue;
		if (t->rename.again_ms < due_ms) {
			due_ms = t->rename.again_ms;
			first = t;
		}
	}
	if (!first || r->busy || !session_is_up(l->session) || !registry_is_proven(l->registry))
		return;
	if (due_ms < r->pause_ms)
		due_ms = r->pause_ms;
	if (due_ms > now_ms)
		host_timer_start(&r->due, due_ms - now_ms);
	else
		move(r, first);
}

static void on_due(void *arg)
{
	struct renames *r = arg;

	renames_look(r);
}

void renames_forget(struct renames *r)
{
	r->busy = false;
	for (size_t i = 0; i < r->leaders->n_tasks; i++)
		r->leaders->tasks[i]->rename.moved = false;
}

bool renames_bar(const struct task *t)
{
	return renames_has(t) && (t->rename.listed || !t->rename.moved) &&
	       (t->settings->renamed_from || !is_held(t));
}

void renames_prove(const struct task *t, char paths[2][STORE_PATH_MAX],
		   struct store_op ops[RENAMES_OPS])
{
	const struct node_settings *s = t->leaders->session->settings;
	char other[NAME_ELECTION_MAX + 1];

	other_name(t, other);
	path_of(s, PATH_LEADERS, other, paths[0]);
	path_of_tick(s, other, NULL, paths[1]);
	for (size_t i = 0; i < 2; i++) {
		ops[2 * i] = (struct store_op){.type = STORE_OP_CREATE, .path = paths[i]};
		ops[2 * i + 1] =
			(struct store_op){.type = STORE_OP_DELETE, .path = paths[i], .version = -1};
	}
}

static void on_ledger(void *arg, const struct store_reply *reply)
{
	(void)arg, (void)reply;
}

void renames_refused(struct task *t, const struct store_reply *reply)
{
	struct leaders *l = t->leaders;
	char path[STORE_PATH_MAX];

	if (reply->code == STORE_NO_NODE) { /* nothing was ever run */
		path_of(l->session->settings, PATH_RUNS, NULL, path);
		store_create(l->session->store, path, on_ledger, NULL);
	} else if (reply->code == STORE_NODE_EXISTS) {
		t->rename.moved = false;
		candidates_changed(l);
	}
}

void renames_task_gone(struct task *t)
{
	ids_set(&t->leaders->ids, &t->rename.later, "");
}

void renames_say(const struct task *t, char *text, size_t size)
{
	const struct member *m = t->settings->renamed_from ? lister(t) : NULL;
	char former[NAME_ELECTION_MAX + 1];

	other_name(t, former);
	if (!t->settings->renamed_from)
		snprintf(text, size,
			 "it was called %s meanwhile, whose runs are taken over first%s%s", former,
			 t->rename.wants ? ": " : "", t->rename.wants ? t->rename.wants : "");
	else if (m && m->worker->unlisted)
		snprintf(text, size,
			 "it was %s, which %s may list: its list cannot be read, see zkleader "
			 "status",
			 former, identity_name(m));
	else if (m)
		snprintf(
			text, size,
			"it was %s, which %s still lists: it is led once no worker lists that, and "
			"goes on where that ended",
			former, identity_name(m));
	else
		snprintf(text, size, "it was %s, whose runs are taken over first%s%s", former,
			 t->rename.wants ? ": " : "", t->rename.wants ? t->rename.wants : "");
}

void renames_init(struct renames *r, struct leaders *leaders)
{
	r->leaders = leaders;
	host_timer_init(&r->due, leaders->session->host, on_due, r);
}

void renames_done(struct renames *r)
{
	host_timer_done(&r->due);
	names_free(r->past, r->n_past);
}
