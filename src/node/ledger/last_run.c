#include "node/ledger/last_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/election/leaders.h"
#include "node/election/tasks.h"
#include "node/ledger/ledger.h"
#include "node/ledger/overdue.h"
#include "node/tree/paths.h"

/* A read for a task, found by name as the task may be removed meanwhile. */
struct last_read {
	STAILQ_ENTRY(last_read) link;
	struct last_runs *runs;
	char task[NAME_ELECTION_MAX + 1];
	char tick[TICK_NAME_SIZE]; /* the newest there is, "" */
	unsigned noted;
};

/* Allocated on first use: most tasks of most nodes are never asked for. */
static struct last_run *of(struct task *t)
{
	if (!t->last)
		t->last = mem_calloc(1, sizeof(*t->last));
	return t->last;
}

const struct last_run *last_run_of(const struct task *t)
{
	static const struct last_run none;

	return t->last ? t->last : &none;
}

void last_run_forget(struct task *t)
{
	free(t->last);
	t->last = NULL;
}

static void keep(struct last_run *last, const char *tick, const struct run_record *record)
{
	memset(last->tick, 0, sizeof(last->tick));
	memset(last->state, 0, sizeof(last->state));
	last->session = 0;
	last->ended_at = 0;
	if (!record)
		return;
	snprintf(last->tick, sizeof(last->tick), "%s", tick);
	memcpy(last->state, record->state, sizeof(last->state));
	last->session = record->session;
	last->ended_at = record->ended_at;
}

/* --- reading -------------------------------------------------------------- */

static void send_queued(struct last_runs *l);

static void drop_queue(struct last_runs *l)
{
	struct last_read *read;

	while ((read = STAILQ_FIRST(&l->queue))) {
		STAILQ_REMOVE_HEAD(&l->queue, link);
		free(read);
	}
}

/* Ends a read, and begins the next in the queue. */
static void end(struct last_read *read, const struct store_reply *reply)
{
	struct last_runs *l = read->runs;

	free(read);
	l->outstanding--;
	if (reply->code == STORE_ABANDONED) {
		drop_queue(l);
		return;
	}
	send_queued(l);
	if (!last_runs_busy(l) && l->idle)
		l->idle(l->arg);
}

static void on_seen(void *arg, const struct store_reply *reply)
{
	struct last_read *read = arg;
	struct task *t = reply->code == STORE_ABANDONED
				 ? NULL
				 : tasks_find_any(read->runs->leaders, read->task);

	/* The leader has looked for itself. */
	if (t && !election_leads(&t->election))
		overdue_read(t, reply);
	end(read, reply);
}

/* The run is read. For a task that can be overdue, the last run that ended well is read too. */
static void end_run(struct last_read *read, const struct store_reply *reply)
{
	const struct leaders *l = read->runs->leaders;
	bool good = reply->code == STORE_OK || reply->code == STORE_NO_NODE;
	const struct task *t = good ? tasks_find_any(l, read->task) : NULL;
	char path[STORE_PATH_MAX];

	if (!t || t->settings->alert_after_ms == 0 || !session_is_up(l->session)) {
		end(read, reply);
		return;
	}
	path_of(l->session->settings, PATH_SEEN, read->task, path);
	store_get(l->session->store, path, false, on_seen, read);
}

/* The task, unless it has gone, or a run of this node is newer than what was read. */
static struct task *task_of(const struct last_read *read)
{
	struct task *t = tasks_find_any(read->runs->leaders, read->task);

	return t && last_run_of(t)->noted == read->noted ? t : NULL;
}

static void on_newest(void *arg, const struct store_reply *reply)
{
	struct last_read *read = arg;
	struct task *t = reply->code == STORE_OK ? task_of(read) : NULL;
	struct run_record record;
	char path[STORE_PATH_MAX];
	const char *why;

	if (t && record_parse_run(reply->data, reply->len, &record, &why) == 0) {
		keep(of(t), read->tick, &record);
	} else if (t) {
		path_of_tick(read->runs->leaders->session->settings, read->task, read->tick, path);
		log_warning("run record refused", LOG_STR("znode", path), LOG_STR("why", why));
		keep(of(t), "", NULL);
	}
	end_run(read, reply);
}

/* Whether nobody writes that record any more. A lost run may be run again. */
static bool is_over(const struct last_run *last)
{
	return strcmp(last->state, "ok") == 0 || strcmp(last->state, "failed") == 0 ||
	       strcmp(last->state, "claimed") == 0;
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct last_read *read = arg;
	struct leaders *l = read->runs->leaders;
	bool known = reply->code == STORE_OK || reply->code == STORE_NO_NODE;
	struct task *t = known ? task_of(read) : NULL;
	char path[STORE_PATH_MAX];

	for (size_t i = 0; reply->code == STORE_OK && i < reply->n_names; i++)
		if (tick_is_name(reply->names[i]) && strcmp(reply->names[i], read->tick) > 0)
			memcpy(read->tick, reply->names[i], sizeof(read->tick));
	if (t && !read->tick[0])
		keep(of(t), "", NULL);
	if (!t || !read->tick[0] ||
	    (strcmp(read->tick, last_run_of(t)->tick) == 0 && is_over(last_run_of(t)))) {
		end_run(read, reply);
		return;
	}
	path_of_tick(l->session->settings, read->task, read->tick, path);
	store_get(l->session->store, path, false, on_newest, read);
}

static void send_queued(struct last_runs *l)
{
	char path[STORE_PATH_MAX];

	if (!session_is_up(l->leaders->session))
		drop_queue(l);
	while (!STAILQ_EMPTY(&l->queue) && l->outstanding < LAST_RUN_OUTSTANDING) {
		struct last_read *read = STAILQ_FIRST(&l->queue);
		STAILQ_REMOVE_HEAD(&l->queue, link);
		l->outstanding++;
		path_of_tick(l->leaders->session->settings, read->task, NULL, path);
		store_children(l->leaders->session->store, path, false, on_names, read);
	}
}

/* --- asking --------------------------------------------------------------- */

static int longest_ago(const void *a, const void *b)
{
	const struct last_run *x = last_run_of(*(struct task *const *)a),
			      *y = last_run_of(*(struct task *const *)b);

	return (x->asked_ms > y->asked_ms) - (x->asked_ms < y->asked_ms);
}

/* The number of tasks that may be read now. */
static size_t allowance(struct last_runs *l, int64_t now)
{
	if (l->spent_ms < now)
		l->spent_ms = now;
	int64_t left = (int64_t)LAST_RUN_BURST * LAST_RUN_COST_MS - (l->spent_ms - now);
	return left > 0 ? (size_t)(left / LAST_RUN_COST_MS) : 0;
}

void last_runs_ask(struct last_runs *l, struct task *const *tasks, size_t n)
{
	int64_t now = host_now_ms(l->leaders->session->host);
	size_t most = allowance(l, now), n_old = 0;

	if (!session_is_up(l->leaders->session) || most == 0)
		return;
	mem_auto struct task **old = mem_calloc(n + 1, sizeof(struct task *));
	for (size_t i = 0; i < n; i++)
		if (!tasks[i]->withdrawn &&
		    (last_run_of(tasks[i])->asked_ms == 0 ||
		     now - last_run_of(tasks[i])->asked_ms >= LAST_RUN_AGE_MS))
			old[n_old++] = tasks[i];
	if (n_old > most)
		qsort(old, n_old, sizeof(struct task *), longest_ago);
	for (size_t i = 0; i < n_old && i < most; i++) {
		struct last_read *read = mem_calloc(1, sizeof(*read));
		read->runs = l;
		read->noted = last_run_of(old[i])->noted;
		snprintf(read->task, sizeof(read->task), "%s", old[i]->name);
		of(old[i])->asked_ms = now;
		l->spent_ms += LAST_RUN_COST_MS;
		STAILQ_INSERT_TAIL(&l->queue, read, link);
	}
	send_queued(l);
}

bool last_runs_busy(const struct last_runs *l)
{
	return l->outstanding > 0 || !STAILQ_EMPTY(&l->queue);
}

void last_runs_cut(struct last_runs *l)
{
	for (size_t i = 0; i < l->leaders->n_tasks; i++)
		if (l->leaders->tasks[i]->last)
			l->leaders->tasks[i]->last->asked_ms = 0;
}

void last_runs_init(struct last_runs *l, struct leaders *leaders)
{
	memset(l, 0, sizeof(*l));
	STAILQ_INIT(&l->queue);
	l->leaders = leaders;
}

void last_runs_done(struct last_runs *l)
{
	drop_queue(l);
}

void last_runs_on_idle(struct last_runs *l, void (*idle)(void *arg), void *arg)
{
	l->idle = idle;
	l->arg = arg;
}

/* --- one task's ----------------------------------------------------------- */

void last_run_note(struct task *t, const char *tick, const struct run_record *record)
{
	struct last_run *last = of(t);

	if (strcmp(tick, last->tick) < 0)
		return;
	keep(last, tick, record);
	last->noted++;
}

const char *last_run_state(const struct task *t)
{
	const struct last_run *last = last_run_of(t);

	return ledger_state(t->leaders->registry, last->state, last->session);
}
