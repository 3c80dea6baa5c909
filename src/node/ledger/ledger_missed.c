/* Records ticks as missed, in one transaction. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "node/election/leaders.h"
#include "node/election/tasks.h"
#include "node/ledger/ledger.h"
#include "node/notices/notices.h"
#include "node/tree/paths.h"
#include "node/tree/tick_folder.h"

#define OPS	       3  /* before those that make the records */
#define PRUNED_AT_ONCE 50 /* records, in one transaction */

struct missed {
	struct leaders *leaders;
	char task[NAME_ELECTION_MAX + 1];
	ledger_fn fn;
	void *arg;
	struct run_record record;
	struct notice_record event;
	char owed[TICK_NAME_SIZE];
	char trigger[STORE_PATH_MAX]; /* goes with them; "" */
	size_t keep;
	bool rerun; /* a lost run is to be run again, so its record stays */
	bool made;  /* the parents have been made */
	int64_t *ticks;
	struct missed_why *whys; /* NULL */
	size_t n;
	int32_t version;	       /* of ROOT/runs/TASK */
	char floor[TICK_NAME_SIZE];    /* its data */
	char first[TICK_NAME_SIZE];    /* of the ticks */
	char (*names)[TICK_NAME_SIZE]; /* ticks that have records, sorted */
	size_t n_names;
	size_t n_pruned; /* of the oldest; they have been looked at */
};

static void load(struct missed *m);

static void end(struct missed *m, enum ledger_result result)
{
	m->fn(m->arg, result, NULL, 0);
	free(m->ticks);
	free(m->whys);
	free(m->names);
	free(m);
}

static void end_failed(struct missed *m, const struct store_reply *reply)
{
	if (store_is_refusal(reply->code)) {
		log_error("ledger refused", LOG_STR("task", m->task), LOG_STR("tick", NULL),
			  LOG_STR("why", reply->text));
		end(m, LEDGER_FAILED);
	} else {
		end(m, LEDGER_UNKNOWN);
	}
}

static void on_made(void *arg, const struct store_reply *reply)
{
	struct missed *m = arg;
	struct task *t;

	switch (reply->code) {
	case STORE_OK:
		session_confirmed(m->leaders->session, reply->sent_ms);
		/* The known ticks are out of date. */
		t = tasks_find(m->leaders, m->task, strlen(m->task));
		if (t)
			ledger_forget(t);
		end(m, LEDGER_DONE);
		break;
	case STORE_NO_NODE:
	case STORE_NODE_EXISTS:
	case STORE_BAD_VERSION: end(m, LEDGER_AGAIN); break;
	case STORE_NO_AUTH:
	case STORE_FULL:
	case STORE_FAILED:
	case STORE_UNKNOWN:
	case STORE_ABANDONED: end_failed(m, reply); break;
	}
}

/*
 * The transaction checks that the task has a leader, not which one: so it is not sent after a
 * release of our own.
 */
static bool is_led(const void *arg)
{
	const struct missed *m = arg;
	const struct task *t = tasks_find_any(m->leaders, m->task);

	return t && leaders_may_begin(t) && t->election.node.token == m->record.token;
}

/*
 * The oldest tick that is kept or made. It never goes back, although a triggered tick may be older.
 */
static const char *floor_after(struct missed *m)
{
	const char *first = m->names[m->n_pruned];

	(void)tick_name(m->ticks[0], m->first);
	if (strcmp(m->first, first) < 0)
		first = m->first;
	return strcmp(m->floor, first) > 0 ? m->floor : first;
}

static void pack_record(struct missed *m, size_t i, struct buffer *bytes)
{
	struct run_record *r = &m->record;

	if (m->whys) {
		snprintf(r->why, sizeof(r->why), "%s", m->whys[i].why);
		snprintf(r->detail, sizeof(r->detail), "%s", m->whys[i].detail);
	}
	buffer_init(bytes, RECORD_RUN_MAX);
	int error = record_pack_run(bytes, r);
	assert(error == 0);
	(void)error;
}

static void make(struct missed *m)
{
	if (!is_led(m)) {
		end(m, LEDGER_AGAIN);
		return;
	}
	const struct node_settings *settings = m->leaders->session->settings;
	size_t n = OPS + m->n + (m->trigger[0] != '\0') + m->n_pruned;
	char(*paths)[STORE_PATH_MAX] = mem_calloc(n, STORE_PATH_MAX), name[TICK_NAME_SIZE];
	struct store_op *ops = mem_calloc(n, sizeof(*ops)), *op = ops;
	struct buffer *records = mem_calloc(m->n, sizeof(*records));

	path_of(settings, PATH_LEADERS, m->task, paths[1]);
	path_of_tick(settings, m->task, NULL, paths[2]);
	*op++ = (struct store_op){
		.type = STORE_OP_CHECK, .path = m->leaders->session->registration, .version = -1};
	*op++ = (struct store_op){.type = STORE_OP_CHECK, .path = paths[1], .version = -1};
	*op++ = (struct store_op){.type = STORE_OP_CHECK, .path = paths[2], .version = m->version};
	if (m->n_pruned > 0) {
		ops[2].type = STORE_OP_SET;
		ops[2].data = floor_after(m);
		ops[2].len = TICK_NAME_SIZE - 1;
	}
	for (size_t i = 0; i < m->n; i++, op++) {
		tick_name(m->ticks[i], name);
		path_of_tick(settings, m->task, name, paths[op - ops]);
		pack_record(m, i, &records[i]);
		*op = (struct store_op){.type = STORE_OP_CREATE,
					.path = paths[op - ops],
					.data = records[i].data,
					.len = records[i].len,
					.closed = true};
	}
	if (m->trigger[0])
		*op++ = (struct store_op){
			.type = STORE_OP_DELETE, .path = m->trigger, .version = -1};
	for (size_t i = 0; i < m->n_pruned; i++, op++) {
		path_of_tick(settings, m->task, m->names[i], paths[op - ops]);
		*op = (struct store_op){
			.type = STORE_OP_DELETE, .path = paths[op - ops], .version = -1};
	}
	notices_multi_if(m->leaders->registry, ops, n, &m->event, is_led, on_made, m);
	for (size_t i = 0; i < m->n; i++)
		buffer_done(&records[i]);
	free(records);
	free(ops);
	free(paths);
}

/* --- what may be pruned --------------------------------------------------- */

/*
 * The number of records to prune: those over one and a half times the history. Claims prune the
 * rest.
 */
static size_t too_many(const struct missed *m)
{
	size_t most = m->keep + m->keep / 2, n = m->n_names + m->n;
	size_t over = n > most ? n - most : 0;

	if (over > PRUNED_AT_ONCE)
		over = PRUNED_AT_ONCE;
	return over < m->n_names ? over : m->n_names;
}

static void look_at_oldest(struct missed *m);

static void on_oldest(void *arg, const struct store_reply *reply)
{
	struct missed *m = arg;
	struct run_record record;
	const char *why;
	bool open;

	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE) {
		end_failed(m, reply);
		return;
	}
	if (reply->code == STORE_NO_NODE) {
		end(m, LEDGER_AGAIN);
		return;
	}
	open = record_parse_run(reply->data, reply->len, &record, &why) != 0 ||
	       strcmp(record.state, "running") == 0 ||
	       (m->rerun && strcmp(record.state, "lost") == 0);
	if (open) {
		make(m);
		return;
	}
	m->n_pruned++;
	look_at_oldest(m);
}

static void look_at_oldest(struct missed *m)
{
	char path[STORE_PATH_MAX];

	if (m->n_pruned >= too_many(m) || m->n_pruned + 1 >= m->n_names ||
	    strcmp(m->names[m->n_pruned + 1], m->owed) > 0) {
		make(m);
		return;
	}
	path_of_tick(m->leaders->session->settings, m->task, m->names[m->n_pruned], path);
	store_get(m->leaders->session->store, path, false, on_oldest, m);
}

/* --- what there is -------------------------------------------------------- */

static void on_names(void *arg, const struct store_reply *reply)
{
	struct missed *m = arg;

	if (reply->code != STORE_OK) {
		end_failed(m, reply);
		return;
	}
	m->names = tick_folder_names(reply, &m->n_names);
	look_at_oldest(m);
}

static void on_folder_made(void *arg, const struct store_reply *reply)
{
	struct missed *m = arg;

	if (reply->code != STORE_OK && reply->code != STORE_NODE_EXISTS) {
		end_failed(m, reply);
		return;
	}
	m->made = true;
	load(m);
}

static void on_runs_made(void *arg, const struct store_reply *reply)
{
	struct missed *m = arg;
	char path[STORE_PATH_MAX];

	if (reply->code != STORE_OK && reply->code != STORE_NODE_EXISTS) {
		end_failed(m, reply);
		return;
	}
	path_of_tick(m->leaders->session->settings, m->task, NULL, path);
	store_create(m->leaders->session->store, path, on_folder_made, m);
}

static void on_folder(void *arg, const struct store_reply *reply)
{
	struct missed *m = arg;
	char path[STORE_PATH_MAX];

	if (reply->code == STORE_NO_NODE && !m->made) {
		path_of(m->leaders->session->settings, PATH_RUNS, NULL, path);
		store_create(m->leaders->session->store, path, on_runs_made, m);
		return;
	}
	if (reply->code != STORE_OK) {
		end_failed(m, reply);
		return;
	}
	m->version = reply->stat.version;
	tick_folder_floor(reply, m->floor);
	path_of_tick(m->leaders->session->settings, m->task, NULL, path);
	store_children(m->leaders->session->store, path, false, on_names, m);
}

static void load(struct missed *m)
{
	char path[STORE_PATH_MAX];

	path_of_tick(m->leaders->session->settings, m->task, NULL, path);
	store_get(m->leaders->session->store, path, false, on_folder, m);
}

void ledger_missed(struct task *t, const struct ledger_missing *missing, ledger_fn fn, void *arg)
{
	struct missed *m = mem_calloc(1, sizeof(*m));

	m->leaders = t->leaders;
	m->fn = fn;
	m->arg = arg;
	m->record = *missing->record;
	m->event = *missing->event;
	snprintf(m->owed, sizeof(m->owed), "%s", missing->owed);
	snprintf(m->trigger, sizeof(m->trigger), "%s", missing->trigger ? missing->trigger : "");
	m->keep = (size_t)t->settings->history;
	m->rerun = t->settings->on_crash == TASK_ON_CRASH_RERUN;
	m->n = missing->n;
	m->ticks = mem_calloc(m->n + 1, sizeof(*m->ticks));
	memcpy(m->ticks, missing->ticks, m->n * sizeof(*m->ticks));
	if (missing->whys) {
		m->whys = mem_calloc(m->n + 1, sizeof(*m->whys));
		memcpy(m->whys, missing->whys, m->n * sizeof(*m->whys));
	}
	snprintf(m->task, sizeof(m->task), "%s", t->name);
	load(m);
}
