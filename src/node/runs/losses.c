#include "node/runs/losses.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "core/election/run.h"
#include "core/time/tick.h"
#include "node/election/leaders.h"
#include "node/election/tasks.h"
#include "node/notices/run_event.h"
#include "node/runs/runs.h"
#include "node/schedule/schedules.h"
#include "node/tree/paths.h"

/* Whether the runs of a task have been looked at. */
struct task_losses {
	int64_t token; /* of the leadership that has looked at all of them, 0: none, or it does */
	int64_t retry_ms; /* CLOCK_BOOTTIME: no look before */
	/* Those that are to be looked at again, as nothing final is known of them. */
	char open[LOSSES_NEWEST][TICK_NAME_SIZE];
	size_t n_open;
	/* Their retries may be over: a tick was claimed since, or the newest one was not known. */
	bool passed;
};

struct losses_look {
	LIST_ENTRY(losses_look) link;
	struct losses *losses;
	char task[NAME_ELECTION_MAX + 1];
	int64_t token; /* of the leadership */
	char ticks[LOSSES_NEWEST][TICK_NAME_SIZE];
	size_t n, at; /* their number, and how many were read or are being read */
	bool lost;    /* the record that is being written says so for the first time */
};

static struct task_losses *of(struct task *t)
{
	if (!t->losses)
		t->losses = mem_calloc(1, sizeof(*t->losses));
	return t->losses;
}

/* --- whether another attempt follows -------------------------------------- */

/*
 * The time for which a node that called `zkleader run` stands by for a lost run, or the leader may
 * still be kept from it by another job.
 */
static bool is_stood_by_for(const struct task *t, int64_t ended_at)
{
	const struct task_settings *s = t->settings;
	int64_t patience_ms = s->wait_ms > RUN_ORPHAN_MS ? s->wait_ms : RUN_ORPHAN_MS;

	if (t->holds > 0 && patience_ms < s->hold_max_ms)
		patience_ms = s->hold_max_ms;
	return host_wall_ms(t->leaders->session->host) < ended_at + patience_ms + LOSSES_MARGIN_MS;
}

bool losses_follows(const struct task *t, const char *tick, const struct run_record *record)
{
	if (!tick[0])
		return false;
	if (t->settings->schedule)
		return schedules_follows(t, tick, record);
	return strcmp(record->state, "lost") == 0 && t->settings->on_crash == TASK_ON_CRASH_RERUN &&
	       is_stood_by_for(t, record->ended_at);
}

/* --- looks ---------------------------------------------------------------- */

static struct task *task_of(const struct losses_look *k)
{
	struct task *t = tasks_find_any(k->losses->leaders, k->task);

	return t && election_leads(&t->election) && t->election.node.token == k->token ? t : NULL;
}

/* Drops the look: it is repeated, or another node leads. The tasks may be gone. */
static void give_up(struct losses_look *k)
{
	LIST_REMOVE(k, link);
	k->losses->n_looks--;
	if (k->losses->runs)
		runs_changed(k->losses->runs);
	free(k);
}

/* Marks the leadership as one that has looked. */
static void end(struct losses_look *k)
{
	struct losses *x = k->losses;
	struct task *t = task_of(k);

	if (t) {
		of(t)->token = k->token;
		of(t)->passed &= of(t)->n_open > 0;
		of(t)->retry_ms = host_now_ms(x->leaders->session->host) +
				  (!of(t)->passed	? LOSSES_AGAIN_MS
				   : schedules_known(t) ? 0
							: LOSSES_RETRY_MS);
	}
	give_up(k);
	losses_changed(x);
}

/* Has the run looked at again. Beyond the limit the oldest is forgotten. */
static void keep_open(struct task *t, const char *tick)
{
	struct task_losses *x = of(t);

	for (size_t i = 0; i < x->n_open; i++)
		if (strcmp(x->open[i], tick) == 0)
			return;
	if (x->n_open == LOSSES_NEWEST)
		memmove(x->open[0], x->open[1], sizeof(x->open[0]) * --x->n_open);
	snprintf(x->open[x->n_open++], TICK_NAME_SIZE, "%s", tick);
}

static bool is_looked_at(const struct losses *x, const struct task *t)
{
	const struct losses_look *k = LIST_FIRST(&x->looks);

	while (k && strcmp(k->task, t->name) != 0)
		k = LIST_NEXT(k, link);
	return k != NULL;
}

/* The tick that is being read, or was read last; the oldest comes first. */
static const char *tick_of(const struct losses_look *k)
{
	return k->ticks[k->at - 1];
}

static void next(struct losses_look *k);

static void on_written(void *arg, const struct store_reply *reply)
{
	struct losses_look *k = arg;

	if (store_is_lost(reply->code)) {
		give_up(k);
		return;
	}
	if (reply->code == STORE_OK && k->lost)
		log_warning("a run was lost", LOG_STR("task", k->task), LOG_STR("tick", tick_of(k)),
			    LOG_STR("why", "node"));
	next(k);
}

/* A node that takes the run over writes the record as well: only one write succeeds. */
static void write_end(struct losses_look *k, const struct run_record *record, int32_t version)
{
	struct leaders *l = k->losses->leaders;
	char leader[STORE_PATH_MAX], path[STORE_PATH_MAX];
	struct notice_record event;
	struct buffer data;

	bool tells = run_event_of(l->registry, k->task, tick_of(k), record, &event);
	path_of(l->registry->settings, PATH_LEADERS, k->task, leader);
	path_of_tick(l->session->settings, k->task, tick_of(k), path);
	buffer_init(&data, RECORD_RUN_MAX);
	int error = record_pack_run(&data, record);
	assert(error == 0);
	(void)error;
	const struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = l->session->registration, .version = -1},
		{.type = STORE_OP_CHECK, .path = leader, .version = -1},
		{.type = STORE_OP_SET,
		 .path = path,
		 .data = data.data,
		 .len = data.len,
		 .version = version},
	};
	notices_multi(l->registry, ops, 3, tells ? &event : NULL, on_written, k);
	buffer_done(&data);
}

/* Whether its session has ended; ret_elsewhere: whether it may be running in another one. */
static bool is_lost(const struct losses_look *k, const struct run_record *record,
		    bool *ret_elsewhere)
{
	const struct leaders *l = k->losses->leaders;
	bool runs = strcmp(record->state, "running") == 0 && record->session != 0 &&
		    record->session != l->session->id;
	bool there = !registry_is_gone(l->registry, record->session);

	*ret_elsewhere = runs && there;
	return runs && !there;
}

/* Writes what became of the run, if nobody else will; else has it looked at again. */
static void judge(struct losses_look *k, struct task *t, struct run_record *record, int32_t version)
{
	bool elsewhere, told = record->retrying;

	k->lost = is_lost(k, record, &elsewhere);
	if (k->lost) {
		snprintf(record->state, sizeof(record->state), "lost");
		run_why_node(record);
		record->ended_at = host_wall_ms(k->losses->leaders->session->host);
	}
	if (k->lost || told)
		record->retrying = losses_follows(t, tick_of(k), record);
	if (elsewhere || record->retrying)
		keep_open(t, tick_of(k));
	of(t)->passed |= record->retrying && !schedules_known(t);
	if (k->lost || told > record->retrying)
		write_end(k, record, version);
	else
		next(k);
}

static void on_record(void *arg, const struct store_reply *reply)
{
	struct losses_look *k = arg;
	struct task *t = !store_is_lost(reply->code) ? task_of(k) : NULL;
	struct run_record record;
	const char *why;

	if (!t || !registry_settled(k->losses->leaders->registry))
		give_up(k);
	else if (reply->code == STORE_OK &&
		 record_parse_run(reply->data, reply->len, &record, &why) == 0)
		judge(k, t, &record, reply->stat.version);
	else
		next(k);
}

static void next(struct losses_look *k)
{
	const struct leaders *l = k->losses->leaders;
	char path[STORE_PATH_MAX];

	if (k->at == k->n) {
		end(k);
		return;
	}
	if (!session_is_up(l->session)) {
		give_up(k);
		return;
	}
	k->at++;
	path_of_tick(l->session->settings, k->task, tick_of(k), path);
	store_get(l->session->store, path, false, on_record, k);
}

/* Keeps the newest ticks, sorted with the oldest first. */
static void take_name(struct losses_look *k, const char *name)
{
	size_t at = k->n;

	if (k->n == LOSSES_NEWEST) {
		if (strcmp(name, k->ticks[0]) < 0)
			return;
		memmove(k->ticks[0], k->ticks[1], sizeof(k->ticks[0]) * (LOSSES_NEWEST - 1));
		at = k->n -= 1;
	}
	while (at > 0 && strcmp(k->ticks[at - 1], name) > 0)
		at--;
	memmove(k->ticks[at + 1], k->ticks[at], sizeof(k->ticks[0]) * (k->n - at));
	memcpy(k->ticks[at], name, sizeof(k->ticks[0]));
	k->n++;
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct losses_look *k = arg;

	if (store_is_lost(reply->code) || !task_of(k)) {
		give_up(k);
		return;
	}
	for (size_t i = 0; reply->code == STORE_OK && i < reply->n_names; i++)
		if (tick_is_name(reply->names[i]))
			take_name(k, reply->names[i]);
	next(k);
}

static void look(struct losses *x, struct task *t, int64_t now_ms)
{
	struct losses_look *k = mem_calloc(1, sizeof(*k));
	char path[STORE_PATH_MAX];

	k->losses = x;
	k->token = t->election.node.token;
	snprintf(k->task, sizeof(k->task), "%s", t->name);
	of(t)->retry_ms = now_ms + LOSSES_RETRY_MS;
	of(t)->passed = false;
	LIST_INSERT_HEAD(&x->looks, k, link);
	x->n_looks++;
	if (of(t)->token == k->token) {
		k->n = of(t)->n_open;
		memcpy(k->ticks, of(t)->open, sizeof(k->ticks));
		of(t)->n_open = 0;
		of(t)->token = 0; /* if this comes to nothing, all are looked at */
		next(k);
		return;
	}
	path_of_tick(x->leaders->session->settings, t->name, NULL, path);
	store_children(x->leaders->session->store, path, false, on_names, k);
}

/* Whether the task is led here, and records of it are to be looked at. */
static bool is_open(const struct task *t)
{
	return election_leads(&t->election) &&
	       !(t->losses && t->losses->token == t->election.node.token && t->losses->n_open == 0);
}

static void on_due(void *arg)
{
	struct losses *x = arg;
	struct leaders *l = x->leaders;
	int64_t now_ms = host_now_ms(l->session->host);
	bool more = false;

	for (size_t i = 0; session_is_up(l->session) && i < l->n_tasks; i++) {
		struct task *t = l->tasks[i];

		if (t->withdrawn || !is_open(t) || !run_event_wanted(l->registry, t->name))
			continue;
		more = true;
		if ((!t->losses || t->losses->retry_ms <= now_ms) &&
		    x->n_looks < LOSSES_LOOKS_MAX && !is_looked_at(x, t) &&
		    registry_settled(l->registry))
			look(x, t, now_ms);
	}
	if (more)
		host_timer_start(&x->due, LOSSES_RETRY_MS);
}

void losses_changed(struct losses *x)
{
	const struct notices *n = x->leaders->registry->notices;

	if (n && n->n_rules > 0)
		host_timer_start(&x->due, 0);
}

void losses_task_changed(struct losses *x, const struct task *t)
{
	if (is_open(t))
		losses_changed(x);
}

void losses_noted(struct losses *x, struct task *t, const char *tick,
		  const struct run_record *record)
{
	if (record->retrying) {
		keep_open(t, tick);
	} else if (is_open(t)) {
		of(t)->passed = true;
		of(t)->retry_ms = 0;
	} else {
		return;
	}
	losses_changed(x);
}

bool losses_pending(const struct task *t)
{
	const struct task_losses *x = t->losses;

	if (!election_leads(&t->election) || t->withdrawn || !session_is_up(t->leaders->session) ||
	    !run_event_wanted(t->leaders->registry, t->name))
		return false;
	return !x || x->token != t->election.node.token || (x->passed && x->n_open > 0);
}

void losses_forget(struct task *t)
{
	free(t->losses);
	t->losses = NULL;
}

void losses_init(struct losses *x, struct leaders *leaders, struct runs *runs)
{
	*x = (struct losses){.leaders = leaders, .runs = runs};
	host_timer_init(&x->due, leaders->session->host, on_due, x);
}

void losses_done(struct losses *x)
{
	host_timer_done(&x->due);
}
