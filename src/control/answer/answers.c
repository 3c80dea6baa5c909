#include "control/answer/answers.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/names.h"
#include "control/answer/decisions.h"
#include "control/answer/explain.h"
#include "control/answer/partition_answers.h"
#include "control/ask/subject.h"
#include "core/fleet/identity.h"
#include "core/fleet/version.h"
#include "node/ledger/last_run.h"
#include "node/ledger/overdue.h"
#include "node/node.h"

/* --- pieces of answers ---------------------------------------------------- */

/* The key and the leader of the task, as far as known; nil: nobody leads. */
static void pack_leader(struct pack *p, const char *key, const struct task *t)
{
	const struct member *m = leaders_leader(t);

	pack_str(p, key);
	if (!leaders_is_led(t)) {
		pack_nil(p);
		return;
	}
	/* A leader that is not in the fleet here is known by its leader node alone. */
	pack_map(p, 5);
	pack_kv_str(p, "id", m ? m->worker->id : t->leader.id);
	pack_kv_str(p, "ip", m ? m->worker->ip : t->leader.ip);
	pack_kv_str(p, "hostname", m ? m->worker->hostname : t->leader.hostname);
	pack_kv_str(p, "version", m ? m->worker->version : t->leader.version);
	pack_kv_str(p, "node", m ? identity_name(m) : "");
}

static void pack_token(struct pack *p, const struct task *t)
{
	pack_kv_known(p, "token", leaders_is_led(t), t->election.node.token);
}

void answers_pack_leadership(struct pack *p, const struct task *t)
{
	pack_leader(p, "leader", t);
	pack_token(p, t);
	pack_kv_time(p, "since", leaders_is_led(t) ? t->leader.since : 0);
}

void answers_pack_task(struct pack *p, const struct node *s, struct task *t)
{
	int64_t left = leaders_promise(t);

	pack_kv_str(p, "task", t->name);
	pack_kv_str(p, "state", explain_state(s, t, left > 0));
	pack_kv_bool(p, "self", election_leads(&t->election));
	answers_pack_leadership(p, t);
	pack_kv_int(p, "lease_ms", left);
	decisions_pack(p, s, t);
	pack_kv_str(p, "unhealthy", explain_unhealthy(s, t->name));
	pack_kv_str(p, "description", t->settings->description);
}

void answers_pack_refused(struct pack *p, const struct node *s)
{
	const struct registry *r = &s->registry;

	pack_str(p, "refused");
	pack_array(p, r->n_refused);
	for (size_t i = 0; i < r->n_refused; i++) {
		pack_map(p, 2);
		pack_kv_str(p, "id", r->refused[i].id);
		pack_kv_str(p, "why", r->refused[i].why);
	}
}

/* --- workers -------------------------------------------------------------- */

size_t answers_count_led(const struct node *s, const struct member *m)
{
	size_t n = 0;

	for (size_t i = 0; i < s->leaders.n_tasks; i++)
		n += leaders_leader(s->leaders.tasks[i]) == m;
	return n;
}

void answers_pack_worker(struct pack *p, const struct node *s, const struct member *m, size_t led)
{
	const struct worker *w = m->worker;

	pack_kv_str(p, "id", w->id);
	pack_kv_str(p, "version", w->version);
	pack_kv_str(p, "ip", w->ip);
	pack_kv_str(p, "hostname", w->hostname);
	pack_str(p, "random_ints");
	pack_array(p, WORKER_RANDOM_INTS);
	for (size_t i = 0; i < WORKER_RANDOM_INTS; i++)
		pack_int(p, w->random_ints[i]);
	pack_str(p, "tasks");
	pack_array(p, w->n_tasks);
	for (size_t i = 0; i < w->n_tasks; i++)
		pack_str(p, w->tasks[i]);
	pack_kv_str(p, "state", m->drained ? "drained" : "active");
	pack_kv_uint(p, "leads", led);
	pack_kv_bool(p, "self", m == registry_self(&s->registry));
	pack_kv_time(p, "since", m->registered_at);
	decisions_pack_drain(p, s, w->node, w->machine);
	pack_kv_bool(p, "healthy", !w->sick && w->n_unhealthy == 0);
	pack_kv_str(p, "node", identity_name(m));
	pack_str(p, "partitions");
	pack_map(p, w->n_splits);
	for (size_t i = 0; i < w->n_splits; i++)
		pack_kv_uint(p, w->splits[i].task, w->splits[i].partitions);
}

static void pack_problems(struct pack *p, const char *key, const struct problem *list, size_t n)
{
	pack_str(p, key);
	pack_array(p, n);
	for (size_t i = 0; i < n; i++) {
		pack_map(p, 3);
		pack_kv_str(p, "file", list[i].file);
		pack_kv_int(p, "line", list[i].line);
		pack_kv_str(p, "message", list[i].message);
	}
}

void answers_pack_problems(struct pack *p, const struct problems *problems)
{
	pack_problems(p, "problems", problems->list, problems->n);
	pack_problems(p, "warnings", problems->warnings, problems->n_warnings);
}

/* --- check ---------------------------------------------------------------- */

void answer_check(struct pack *p, const struct node *s, struct task *t, const char *name)
{
	const struct election_node *node = &t->election.node;
	int64_t left = leaders_promise(t);
	char why[EXPLAIN_TEXT_MAX];

	explain_why(s, t, left > 0, why);
	pack_map(p, 7);
	pack_kv_str(p, "task", name);
	pack_kv_bool(p, "leader", left > 0);
	pack_kv_str(p, "state", explain_state(s, t, left > 0));
	/* The token is an int in any case, for clients in typed languages. No znode has zxid 0. */
	pack_kv_int(p, "token", leaders_is_led(t) ? node->token : 0);
	pack_kv_int(p, "lease_ms", left);
	/*
	 * The leader that was known before a disconnection may not lead any more. Nor does this
	 * node without its lease.
	 */
	if (session_is_up(&s->session) && (left > 0 || !node->mine))
		pack_leader(p, "led_by", t);
	else
		pack_kv_nil(p, "led_by");
	pack_kv_str(p, "why", why);
}

/* --- tables --------------------------------------------------------------- */

/* The key `last` and the newest known run of the task; nil: none. */
static void pack_last(struct pack *p, const struct task *t)
{
	const struct last_run *last = t ? last_run_of(t) : NULL;

	pack_str(p, "last");
	if (!last || !last->tick[0]) {
		pack_nil(p);
		return;
	}
	pack_map(p, 3);
	pack_kv_str(p, "tick", last->tick);
	pack_kv_str(p, "state", last_run_state(t));
	pack_kv_time(p, "ended_at", last->ended_at);
}

static void pack_row(struct pack *p, const struct node *s, const struct subject *row)
{
	if (row->task) {
		pack_map(p, ANSWERS_TASK_FIELDS + 3);
		answers_pack_task(p, s, row->task);
		pack_last(p, row->task);
		pack_kv_bool(p, "overdue", overdue_is(row->task));
		answers_pack_due(p, s, row->task->listing);
	} else {
		pack_map(p, PARTITION_ANSWERS_FIELDS + 3);
		partition_answers_pack(p, s, row->listing);
		pack_last(p, partition_answers_last(row->listing));
		pack_kv_bool(p, "overdue", partition_answers_overdue(row->listing));
		answers_pack_due(p, s, row->listing);
	}
}

static void pack_all(struct pack *p, const struct node *s)
{
	const struct leaders *l = &s->leaders;

	pack_array(p, l->n_listings);
	for (size_t i = 0; i < l->n_listings; i++) {
		struct subject row = subject_of(l->listings[i]);
		pack_row(p, s, &row);
	}
}

void answer_tasks(struct pack *p, const struct node *s, const struct subjects *subjects)
{
	struct subject row;
	size_t shown = 0;
	const char *name;

	if (!subjects) {
		pack_all(p, s);
		return;
	}
	for (name = NULL; (name = subjects_next(subjects, name));)
		shown += subject_find(&s->leaders, name, strlen(name), &row);
	pack_array(p, shown);
	for (name = NULL; (name = subjects_next(subjects, name));)
		if (subject_find(&s->leaders, name, strlen(name), &row))
			pack_row(p, s, &row);
}

/* A member, and how many tasks it leads. */
struct standing_worker {
	const struct member *member;
	size_t led;
};

/*
 * The order is for people: that version_compare() is not transitive on odd versions does not
 * matter.
 */
static int newest_first(const void *a, const void *b)
{
	const struct member *x = ((const struct standing_worker *)a)->member;
	const struct member *y = ((const struct standing_worker *)b)->member;
	int order = version_compare(y->worker->version, x->worker->version);

	if (order == 0)
		order = names_natural(identity_name(x), identity_name(y));
	return order ? order : strcmp(x->worker->id, y->worker->id);
}

static int by_id(const void *id, const void *w)
{
	return strcmp(id, ((const struct standing_worker *)w)->member->worker->id);
}

struct workers {
	struct standing_worker *list; /* sorted by id */
	size_t n;
};

static void count_one(void *arg, const struct member *m)
{
	struct workers *w = arg;
	struct standing_worker *found =
		bsearch(m->worker->id, w->list, w->n, sizeof(*w->list), by_id);

	if (found)
		found->led++;
}

void answer_workers(struct pack *p, const struct node *s, const struct survey *survey)
{
	const struct fleet *f = &s->registry.fleet;
	struct workers w = {.n = f->n_members};

	/*
	 * A single pass over the tasks counts for all workers: tasks times workers may be five
	 * million.
	 */
	w.list = mem_calloc(w.n + 1, sizeof(*w.list));
	for (size_t i = 0; i < w.n; i++)
		w.list[i].member = f->by_id[i];
	for (size_t i = 0; i < s->leaders.n_tasks; i++) {
		const struct member *m = leaders_leader(s->leaders.tasks[i]);
		if (m)
			count_one(&w, m);
	}
	if (survey)
		survey_each(survey, count_one, &w);
	qsort(w.list, w.n, sizeof(*w.list), newest_first);
	pack_array(p, w.n);
	for (size_t i = 0; i < w.n; i++) {
		pack_map(p, ANSWERS_WORKER_FIELDS);
		answers_pack_worker(p, s, w.list[i].member, w.list[i].led);
	}
	free(w.list);
}
