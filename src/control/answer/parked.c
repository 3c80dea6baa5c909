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

/* A check is answered whatever else there is to do: neither time nor room puts it off. */
static bool is_check(const struct parked *k)
{
	return k->kind == PARKED_CHECK || k->kind == PARKED_CHECK_ANY;
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

static void unpark(struct methods *m, struct parked *k)
{
	if (k->prev)
		k->prev->next = k->next;
	else
		m->parked = k->next;
	if (k->next)
		k->next->prev = k->prev;
	k->client->parked--;
	k->client->asking -= !is_check(k);
	leave_round(k->round);
	subjects_done(&k->subjects);
	free(k);
}

struct parked *parked_add(struct methods *m, struct peer *c, uint32_t msgid, enum parked_kind kind,
			  int64_t wait_ms)
{
	struct parked *k = mem_calloc(1, sizeof(*k));

	k->client = c;
	k->msgid = msgid;
	k->kind = kind;
	k->deadline_ms = host_now_ms(m->node->host) + wait_ms;
	k->next = m->parked;
	if (k->next)
		k->next->prev = k;
	m->parked = k;
	c->parked++;
	c->asking += !is_check(k);
	m->dirty = true;
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

	if (!session_is_up(&s->session) || !s->registry.workers.ready || !s->policy.folder.ready)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!leaders_fresh(tasks[i]))
			return false;
	return true;
}

/* The only subject of the request. False: it has been removed, as answer_one() says. */
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

/* Answers a request that is about one subject. */
static void answer_one(const struct node *s, const struct parked *k)
{
	struct subject subject;

	if (!the_subject(s, k, &subject))
		peer_error(k->client, k->msgid, RPC_MISUSE, "the task has been removed");
	else if (k->kind == PARKED_EXPLAIN && subject.task)
		answer_explain(s, k->client, k->msgid, subject.task);
	else if (subject.task)
		peer_error(k->client, k->msgid, RPC_MISUSE, "it has no partitions any more");
	else if (k->kind == PARKED_EXPLAIN)
		answer_explain_listing(s, k->client, k->msgid, subject.listing);
	else if (k->kind == PARKED_PARTITIONS)
		answer_partitions(s, k->client, k->msgid, subject.listing);
	else
		answer_check_any(s, k->client, k->msgid, subject.listing);
}

static void answer(struct methods *m, struct parked *k)
{
	const struct node *s = m->node;

	switch (k->kind) {
	case PARKED_CHECK: answer_check(s, k->client, k->msgid, k->subjects.tasks[0]); break;
	case PARKED_TASKS:
		answer_tasks(s, k->client, k->msgid, k->all ? NULL : &k->subjects);
		break;
	case PARKED_WORKERS:
		answer_workers(s, k->client, k->msgid, k->round ? k->round->survey : NULL);
		break;
	case PARKED_CHECK_ANY:
	case PARKED_EXPLAIN:
	case PARKED_PARTITIONS: answer_one(s, k); break;
	}
}

static bool is_due(const struct methods *m, const struct parked *k, int64_t now)
{
	if (now < k->deadline_ms && !is_ready(m->node, k))
		return false;
	return is_check(k) || peer_has_room(k->client);
}

/*
 * Answers the requests that are ready or have waited long enough, the oldest first: all checks, or
 * tables for about LOOK_US. False: there are more.
 */
static bool look_at(struct methods *m, bool tables)
{
	int64_t now = host_now_ms(m->node->host);
	int64_t until_us = clock_boot_us() + LOOK_US;
	struct parked *k = m->parked;

	while (k && k->next)
		k = k->next;
	while (k) {
		struct parked *prev = k->prev;
		if (is_check(k) != tables && is_due(m, k, now)) {
			answer(m, k);
			unpark(m, k);
			if (tables && clock_boot_us() >= until_us)
				return false;
		}
		k = prev;
	}
	return true;
}

void parked_look(struct methods *m)
{
	m->dirty = false;
	bool all = look_at(m, false);
	all &= look_at(m, true);
	parked_schedule(m);
	m->dirty = !all;
	if (!all)
		host_timer_start(&m->due, 1);
}

/* Without a deadline ahead the timer is stopped, and costs nothing. */
void parked_schedule(struct methods *m)
{
	int64_t first = INT64_MAX, now = host_now_ms(m->node->host);

	/* Overdue requests wait for the next turn, or for room at their client. */
	for (const struct parked *k = m->parked; k; k = k->next)
		if (k->deadline_ms > now && k->deadline_ms < first)
			first = k->deadline_ms;
	if (first == INT64_MAX) {
		host_timer_stop(&m->due);
		return;
	}
	host_timer_start(&m->due, first - now);
}

void parked_wake(struct methods *m)
{
	m->dirty = true;
	/* The timer makes the next turn follow at once. */
	if (m->parked)
		host_timer_start(&m->due, 0);
}

static void on_survey_done(void *arg)
{
	struct methods *m = arg;

	m->round = NULL;
	parked_begin_round(m);
	parked_wake(m);
}

/*
 * There is one survey at a time. A request that comes during a survey waits for the next one, as
 * its client may have changed something that the present survey does not see.
 */
void parked_begin_round(struct methods *m)
{
	struct node *s = m->node;

	if (m->round || !session_is_up(&s->session))
		return;
	for (struct parked *k = m->parked; k; k = k->next) {
		if (k->kind != PARKED_WORKERS || k->round)
			continue;
		if (!m->round) {
			m->round = mem_calloc(1, sizeof(*m->round));
			m->round->methods = m;
			m->round->survey = survey_start(&s->registry, tasks_have, &s->leaders,
							on_survey_done, m);
		}
		k->round = m->round;
		m->round->users++;
	}
}

void parked_client_gone(struct methods *m, const struct peer *c)
{
	struct parked *next;

	for (struct parked *k = m->parked; k; k = next) {
		next = k->next;
		if (k->client == c)
			unpark(m, k);
	}
}

void parked_task_removed(struct methods *m, const struct task *t)
{
	struct parked *next;

	for (struct parked *k = m->parked; k; k = next) {
		next = k->next;
		for (size_t i = 0; i < k->subjects.n_tasks; i++) {
			if (k->subjects.tasks[i] != t)
				continue;
			peer_error(k->client, k->msgid, RPC_MISUSE, "the task has been removed");
			unpark(m, k);
			break;
		}
	}
}
