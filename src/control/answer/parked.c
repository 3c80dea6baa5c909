#include "control/answer/parked.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "control/answer/answers.h"
#include "control/answer/explain.h"
#include "control/answer/partition_answers.h"
#include "node/election/tasks.h"
#include "node/fleet/survey.h"
#include "node/ledger/last_run.h"

#define LOOK_US 2000 /* microseconds for tables in one turn of the loop */

/* A survey, shared by all requests that waited when it began. */
struct round {
	struct methods *methods;
	struct survey *survey;
	unsigned users;
};

bool parked_settled(const struct task *t)
{
	return leaders_says(t) || t->standing.paused ||
	       (!election_unsettled(&t->election) && !election_leads(&t->election));
}

static void leave_round(struct round *r)
{
	if (!r || --r->users > 0)
		return;
	if (r->methods->round == r)
		r->methods->round = NULL;
	survey_free(r->survey);
	free(r);
}

static void parked_done(struct ask *a)
{
	struct parked *k = (struct parked *)a;

	a->methods->n_parked--;
	leave_round(k->round);
	subjects_done(&k->subjects);
}

static void on_due(struct ask *a)
{
	a->methods->dirty = true;
}

/* Checks are kept apart: they do not count as requests that ask ZooKeeper. */
static const struct ask_kind check_kind = {
	.size = sizeof(struct parked), .gone = ask_end, .due = on_due, .done = parked_done};
static const struct ask_kind table_kind = {.size = sizeof(struct parked),
					   .asks = true,
					   .gone = ask_end,
					   .due = on_due,
					   .done = parked_done};

struct parked *parked_add(const struct call *call, enum parked_kind kind, int64_t wait_ms)
{
	bool check = kind == PARKED_CHECK || kind == PARKED_CHECK_ANY;
	struct parked *k = ask_new(call, check ? &check_kind : &table_kind);

	k->kind = kind;
	call->m->n_parked++;
	call->m->dirty = true;
	ask_until(&k->ask, host_now_ms(call->m->node->host) + wait_ms);
	return k;
}

void parked_about(struct parked *k, const struct subject *s)
{
	const char *name = subject_name(s);
	size_t n;
	struct task *const *tasks = subject_tasks(s, &n);

	k->subjects.tasks = mem_calloc(n + 1, sizeof(struct task *));
	memcpy(k->subjects.tasks, tasks, n * sizeof(*tasks));
	k->subjects.n_tasks = n;
	buffer_init(&k->subjects.names, strlen(name) + 1);
	buffer_append(&k->subjects.names, name, strlen(name) + 1);
	k->subjects.n = 1;
}

static bool all_fresh(const struct node *s, const struct parked *k)
{
	struct task *const *tasks = k->all ? s->leaders.tasks : k->subjects.tasks;
	size_t n = k->all ? s->leaders.n_tasks : k->subjects.n_tasks;

	if (!session_is_up(&s->session) || !registry_ready(&s->registry) || !s->policy.folder.ready)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!leaders_fresh(tasks[i]))
			return false;
	return true;
}

/* Returns the only subject of the request. False: it was removed, which lacks() says. */
static bool the_subject(const struct node *s, const struct parked *k, struct subject *ret)
{
	const char *name = subjects_next(&k->subjects, NULL);

	return name && subject_find(&s->leaders, name, strlen(name), ret);
}

static bool is_ready(const struct node *s, const struct parked *k)
{
	struct subject subject;

	switch (k->kind) {
	case PARKED_CHECK: return parked_settled(k->subjects.tasks[0]);
	case PARKED_CHECK_ANY:
		return !the_subject(s, k, &subject) || subject.task ||
		       partition_any_settled(subject.listing);
	case PARKED_WORKERS: return k->round && survey_is_done(k->round->survey) && all_fresh(s, k);
	case PARKED_TASKS: return all_fresh(s, k) && !last_runs_busy(&s->last_runs);
	case PARKED_EXPLAIN:
	case PARKED_PARTITIONS: return all_fresh(s, k);
	}
	return true;
}

/* Why a request about one subject cannot be answered any more; NULL: it can. */
static const char *lacks(const struct node *s, const struct parked *k, struct subject *ret)
{
	if (k->kind != PARKED_CHECK_ANY && k->kind != PARKED_EXPLAIN &&
	    k->kind != PARKED_PARTITIONS)
		return NULL;
	if (!the_subject(s, k, ret))
		return "the task has been removed";
	if (ret->task)
		return k->kind == PARKED_EXPLAIN ? NULL : "it has no partitions any more";
	return k->kind == PARKED_CHECK_ANY && ret->listing->n == 0
		       ? "its partitions are not known any more"
		       : NULL;
}

static void answer(const struct node *s, struct parked *k)
{
	struct task *checked = k->kind == PARKED_CHECK ? k->subjects.tasks[0] : NULL;
	struct subject subject = {NULL, NULL};
	const char *why = lacks(s, k, &subject);

	if (why) {
		ask_fail(&k->ask, RPC_MISUSE, why);
		return;
	}
	struct pack *p = ask_result(&k->ask);
	switch (k->kind) {
	case PARKED_CHECK: answer_check(p, s, checked, checked->name); break;
	case PARKED_CHECK_ANY: answer_check_any(p, s, subject.listing); break;
	case PARKED_TASKS: answer_tasks(p, s, k->all ? NULL : &k->subjects); break;
	case PARKED_WORKERS: answer_workers(p, s, k->round ? k->round->survey : NULL); break;
	case PARKED_EXPLAIN:
		if (subject.task)
			answer_explain(p, s, subject.task);
		else
			answer_explain_listing(p, s, subject.listing);
		break;
	case PARKED_PARTITIONS: answer_partitions(p, subject.listing); break;
	}
	ask_end(&k->ask);
}

struct look {
	int64_t now, until_us;
	bool out_of_time;
};

/*
 * Answers a request that is ready or has waited long enough. A check is always answered; a table
 * only if there is room, and for about LOOK_US in a turn. False: no time is left in this turn.
 */
static bool look_at(struct ask *a, void *arg)
{
	struct parked *k = (struct parked *)a;
	struct methods *m = a->methods;
	struct look *look = arg;
	bool table = a->kind == &table_kind;

	if ((look->now < a->deadline_ms && !is_ready(m->node, k)) ||
	    (table && !peer_has_room(a->client)))
		return true;
	answer(m->node, k);
	look->out_of_time = table && clock_boot_us() >= look->until_us;
	return !look->out_of_time;
}

void parked_look(struct methods *m)
{
	struct look look = {.now = host_now_ms(m->node->host),
			    .until_us = clock_boot_us() + LOOK_US};

	m->dirty = false;
	asks_each(&m->asks, &check_kind, look_at, &look);
	asks_each(&m->asks, &table_kind, look_at, &look);
	m->dirty = look.out_of_time;
	if (m->dirty)
		host_timer_start(&m->due, 1);
}

void parked_wake(struct methods *m)
{
	m->dirty = true;
	/* The timer makes the next turn follow at once. */
	if (m->n_parked > 0)
		host_timer_start(&m->due, 0);
}

static void on_survey_done(void *arg)
{
	struct methods *m = arg;

	m->round = NULL;
	parked_begin_round(m);
	parked_wake(m);
}

static bool join_round(struct ask *a, void *arg)
{
	struct parked *k = (struct parked *)a;
	struct methods *m = a->methods;
	struct node *s = m->node;

	(void)arg;
	if (k->kind != PARKED_WORKERS || k->round)
		return true;
	if (!m->round) {
		m->round = mem_calloc(1, sizeof(*m->round));
		m->round->methods = m;
		m->round->survey =
			survey_start(&s->registry, tasks_have, &s->leaders, on_survey_done, m);
	}
	k->round = m->round;
	m->round->users++;
	return true;
}

/*
 * There is one survey at a time. A request that comes during a survey waits for the next one, as
 * its client may have changed something that the present survey does not see.
 */
void parked_begin_round(struct methods *m)
{
	if (!m->round && session_is_up(&m->node->session))
		asks_each(&m->asks, &table_kind, join_round, NULL);
}

static bool forget_task(struct ask *a, void *t)
{
	const struct subjects *subjects = &((struct parked *)a)->subjects;
	bool has = false;

	for (size_t i = 0; i < subjects->n_tasks; i++)
		has |= subjects->tasks[i] == t;
	if (has)
		ask_fail(a, RPC_MISUSE, "the task has been removed");
	return true;
}

void parked_task_removed(struct methods *m, struct task *t)
{
	asks_each(&m->asks, &check_kind, forget_task, t);
	asks_each(&m->asks, &table_kind, forget_task, t);
}
