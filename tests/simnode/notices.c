/*
 * Each site has a notifier, which takes what it is told a little later, or has no room for a while. On every
 * transaction that is committed: a note goes only once a notifier has taken the event, or to be noted anew by
 * another session under the same id; the first leader of a task ever, which is not told, excepted. Nothing
 * waits for longer than it may, and no run ends badly without a note where the folder is there.
 */
#include "notices.h"

#include <stdio.h>
#include <string.h>

#include "wire/records/notice_record.h"
#include "wire/records/record.h"

#define NOTED_MAX    4096
#define BACKS_MAX    512
#define NOTICES_PATH SITE_ROOT "/notices/"
#define LED_PATH     SITE_ROOT "/led/"
#define RUNS_PATH    SITE_ROOT "/runs/"
#define ROWS_PATH    SITE_ROOT "/troubles/"
#define RETURNS_PATH SITE_ROOT "/outages/"
#define FRESH_US     (30 * SECOND)	/* a server that is behind may not have it yet */
#define WAITS_US     (20 * 60 * SECOND) /* that a note may stay, through all faults */
#define LOOK_US	     (30 * SECOND)

static struct noted {
	char id[NAME_ID_MAX + 1]; /* "": the place is free */
	char task[NAME_ELECTION_MAX + 1];
	enum notice_event event;
	unsigned there; /* znodes of it */
	int64_t since;	/* true time: it was noted first */
	bool taken;	/* by a notifier */
} noted[NOTED_MAX];
/* ROOT/troubles of each task: a row of failures, until the next good end. */
static struct row {
	bool there;
	int64_t made_at, failed_at; /* true times */
	int64_t failed;
	bool unsure; /* a transaction had no note that says of how many */
} rows[TASKS_MAX];
/* ROOT/outages: nodes that are back, until people are told of them. */
static struct back {
	path_id path;
	int64_t since; /* true time; 0: the place is free */
} backs[BACKS_MAX];
static uint64_t first_leaders; /* bits of tasks: one leader of them may go untold */
static int64_t last_zxid;
static void (*next_commit)(const struct transaction *x);

/* Notices that a notifier was told; it takes each of them a little later. */
static struct told {
	char id[NAME_ID_MAX + 1];
	struct site *site;
	uint64_t life;
	bool taken;
} tolds[NOTED_MAX];
static uint64_t n_tolds;

static bool was_taken(const char *id)
{
	for (size_t i = 0; i < NOTED_MAX; i++)
		if (tolds[i].taken && strcmp(tolds[i].id, id) == 0)
			return true;
	return false;
}

static struct noted *find(const char *id)
{
	for (size_t i = 0; i < NOTED_MAX; i++)
		if (strcmp(noted[i].id, id) == 0)
			return &noted[i];
	return NULL;
}

/* --- the notifiers ------------------------------------------------------------------------------------ */

static void on_listen(void *arg, uint64_t life)
{
	struct site *s = arg;

	if (!s->running || s->life != life)
		return;
	notices_listen(&s->node.notices, true);
	machine_wake(s->machine, 0);
}

static void on_take(void *arg, uint64_t number)
{
	struct told *t = arg;
	struct site *s = t->site;

	(void)number;
	if (!s->running || s->life != t->life)
		return;
	struct noted *n = find(t->id);
	if (n)
		n->taken = true;
	t->taken = true;
	sim.figures.told++;
	notices_taken(&s->node.notices, t->id, strlen(t->id));
	machine_wake(s->machine, 0);
}

static bool on_tell(void *arg, const struct notice_record *record)
{
	struct site *s = arg;

	if (random_chance(50))
		return false;
	if (random_chance(100)) { /* its spool is full */
		event_at(sim.now + random_range(SECOND, 10 * SECOND), on_listen, s, s->life);
		return true;
	}
	struct told *t = &tolds[n_tolds++ % NOTED_MAX];
	*t = (struct told){.site = s, .life = s->life};
	snprintf(t->id, sizeof(t->id), "%s", record->id);
	event_at(sim.now + random_range(0, 3 * SECOND), on_take, t, 0);
	return true;
}

void notices_site_starts(struct site *s)
{
	static const struct notice_rule all = {.events = (1U << NOTICE_EVENTS) - 1};

	if (!sim.options.notices)
		return;
	s->node.notices.tell = on_tell;
	s->node.notices.arg = s;
	node_set_notices(&s->node, &all, 1);
	event_at(sim.now + random_range(0, 5 * SECOND), on_listen, s, s->life);
}

/* --- what is committed -------------------------------------------------------------------------------- */

static void take_note(const struct op *op)
{
	struct notice_record record;
	const char *why;

	if (!op->data || record_parse_notice(op->data->bytes, op->data->len, &record, &why) != 0) {
		sim_violation("a note of an event is no record");
		return;
	}
	struct noted *n = find(record.id);
	if (!n) {
		n = find("");
		if (!n)
			return;
		/* A notice may be told before it is noted. */
		*n = (struct noted){
			.since = sim.now, .event = record.event, .taken = was_taken(record.id)};
		snprintf(n->id, sizeof(n->id), "%s", record.id);
		snprintf(n->task, sizeof(n->task), "%s", record.task);
		sim.figures.noted++;
	}
	n->there++;
}

static bool is_first_leader(const struct noted *n)
{
	unsigned task = task_number(n->task);
	bool first = n->event == NOTICE_LEADER && task < TASKS_MAX && (first_leaders >> task & 1);

	if (first)
		first_leaders &= ~(UINT64_C(1) << task);
	return first;
}

static void take_away(const char *path)
{
	const char *id = strrchr(path, '.');
	struct noted *n = id ? find(id + 1) : NULL;

	if (!n)
		return;
	n->there--;
	if (n->there > 0)
		return;
	if (!n->taken && !is_first_leader(n))
		sim_violation("event %s (%s of %s) was forgotten before anybody was told", n->id,
			      notice_event_name(n->event), n->task);
	n->id[0] = '\0';
}

/* The events that the records of runs in it stand for, and those that are noted with it. */
static void count_ends(const struct transaction *x, size_t *ret_bad, size_t *ret_noted)
{
	struct run_record record;
	const char *why;

	*ret_bad = *ret_noted = 0;
	for (size_t i = 0; i < x->n_ops; i++) {
		const struct op *op = &x->ops[i];
		const char *path = path_text(op->path);

		*ret_noted += op->type == STORE_OP_CREATE &&
			      strncmp(path, NOTICES_PATH, strlen(NOTICES_PATH)) == 0;
		if (op->type == STORE_OP_SET && op->data &&
		    strncmp(path, RUNS_PATH, strlen(RUNS_PATH)) == 0 &&
		    record_parse_run(op->data->bytes, op->data->len, &record, &why) == 0)
			*ret_bad += strcmp(record.state, "failed") == 0 ||
				    strcmp(record.state, "timeout") == 0 ||
				    strcmp(record.state, "lost") == 0;
	}
}

/* The task whose row the operation is about; NULL: none. */
static struct row *row_of(const struct op *op, const char *folder)
{
	const char *path = path_text(op->path);
	char name[NAME_ELECTION_MAX + 1];

	if (strncmp(path, folder, strlen(folder)) != 0)
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(path + strlen(folder), "/"),
		 path + strlen(folder));
	unsigned task = task_number(name);
	return task < TASKS_MAX ? &rows[task] : NULL;
}

/* Whether the transaction changes that row. */
static bool changes(const struct transaction *x, const struct row *row)
{
	for (size_t i = 0; i < x->n_ops; i++)
		if (row_of(&x->ops[i], ROWS_PATH) == row)
			return true;
	return false;
}

/*
 * A good end ends the row in its transaction, a bad one that no other attempt follows counts in it, and one that
 * another follows does not.
 */
static void judge_end(const struct transaction *x, const struct op *op)
{
	struct row *row = row_of(op, RUNS_PATH);
	struct run_record record;
	const char *why;

	if (!row || op->type != STORE_OP_SET || !op->data ||
	    record_parse_run(op->data->bytes, op->data->len, &record, &why) != 0)
		return;
	bool good = strcmp(record.state, "ok") == 0, changed = changes(x, row);
	bool bad = strcmp(record.state, "failed") == 0 || strcmp(record.state, "timeout") == 0 ||
		   strcmp(record.state, "lost") == 0;
	unsigned task = (unsigned)(row - rows);

	if (good && row->there && !changed && sim.now - row->made_at > FRESH_US)
		sim_violation("task %u: a run ended well, and the row of failures goes on", task);
	else if (bad && record.retrying && changed)
		sim_violation("task %u: an attempt counts that another one follows", task);
	else if (bad && !record.retrying && !changed)
		sim_violation("task %u: a run failed for good, and does not count", task);
}

/* The note of an end that the transaction has for the row; false: none. */
static bool note_of(const struct transaction *x, const struct row *row,
		    struct notice_record *ret_record)
{
	const char *why;

	for (size_t i = 0; i < x->n_ops; i++) {
		const struct op *op = &x->ops[i];
		const char *path = path_text(op->path);

		if (op->type == STORE_OP_CREATE && op->data &&
		    strncmp(path, NOTICES_PATH, strlen(NOTICES_PATH)) == 0 &&
		    record_parse_notice(op->data->bytes, op->data->len, ret_record, &why) == 0 &&
		    task_number(ret_record->task) == (unsigned)(row - rows) &&
		    (ret_record->event == NOTICE_RECOVERED || ret_record->event == NOTICE_OVERDUE ||
		     ret_record->failed > 0))
			return true;
	}
	return false;
}

/*
 * A row ends with `recovered`, which says how many failures it had; and the first of them is told as such once,
 * whoever leads.
 */
static void judge_row(const struct transaction *x, const struct op *op)
{
	struct row *row = row_of(op, ROWS_PATH);
	struct notice_record note;

	if (!row)
		return;
	unsigned task = (unsigned)(row - rows);
	bool told = note_of(x, row, &note);
	if (op->type == STORE_OP_DELETE) {
		if (told && !row->unsure && note.failed != row->failed)
			sim_violation("task %u: is well again after %lld failures, and had %lld",
				      task, (long long)note.failed, (long long)row->failed);
		row->there = false;
		return;
	}
	if (op->type == STORE_OP_CREATE)
		*row = (struct row){.there = true, .made_at = sim.now};
	if (told && note.first && row->failed > 0 && sim.now - row->failed_at > FRESH_US)
		sim_violation("task %u: people are told again that it fails", task);
	row->unsure |= !told;
	row->failed += told ? note.failed : 0;
	row->failed_at = sim.now;
}

/* Nobody is told that a task is well again where it was, and the end of its run is good. */
static void judge_recovery(const struct transaction *x, const struct op *op)
{
	struct row *row = op->type == STORE_OP_SET ? row_of(op, RUNS_PATH) : NULL;
	struct notice_record note;

	if (row && !changes(x, row) && note_of(x, row, &note) && note.event == NOTICE_RECOVERED)
		sim_violation("task %u: people are told that it is well again, and it was",
			      (unsigned)(row - rows));
}

static void take_back(const struct op *op)
{
	size_t at = 0, free = BACKS_MAX;

	if (strncmp(path_text(op->path), RETURNS_PATH, strlen(RETURNS_PATH)) != 0)
		return;
	for (; at < BACKS_MAX && (backs[at].since == 0 || backs[at].path != op->path); at++)
		if (backs[at].since == 0)
			free = at;
	if (op->type == STORE_OP_CREATE && free < BACKS_MAX)
		backs[free] = (struct back){op->path, sim.now};
	else if (op->type == STORE_OP_DELETE && at < BACKS_MAX)
		backs[at].since = 0;
}

static void look(const struct transaction *x)
{
	size_t bad, with;

	for (size_t i = 0; i < x->n_ops && !sim.stop; i++)
		judge_end(x, &x->ops[i]);
	for (size_t i = 0; i < x->n_ops && !sim.stop; i++)
		judge_recovery(x, &x->ops[i]);
	for (size_t i = 0; i < x->n_ops && !sim.stop; i++) {
		judge_row(x, &x->ops[i]);
		take_back(&x->ops[i]);
	}

	count_ends(x, &bad, &with);
	sim.figures.ended_badly += bad;
	sim.figures.ended_noted += bad < with ? bad : with;
	for (size_t i = 0; i < x->n_ops && !sim.stop; i++) {
		const struct op *op = &x->ops[i];
		const char *path = path_text(op->path);
		unsigned task;

		if (strncmp(path, LED_PATH, strlen(LED_PATH)) == 0) {
			task = task_number(path + strlen(LED_PATH));
			if (op->type == STORE_OP_CREATE && task < TASKS_MAX)
				first_leaders |= UINT64_C(1) << task;
		}
		if (strncmp(path, NOTICES_PATH, strlen(NOTICES_PATH)) != 0)
			continue;
		if (op->type == STORE_OP_CREATE)
			take_note(op);
	}
	/* Behind them: who takes one over makes it anew in the same transaction. */
	for (size_t i = 0; i < x->n_ops && !sim.stop; i++) {
		const char *path = path_text(x->ops[i].path);

		if (x->ops[i].type == STORE_OP_DELETE &&
		    strncmp(path, NOTICES_PATH, strlen(NOTICES_PATH)) == 0)
			take_away(path);
	}
}

static void on_commit(const struct transaction *x)
{
	if (next_commit)
		next_commit(x);
	if (x->zxid <= last_zxid)
		return;
	last_zxid = x->zxid;
	if (x->code == STORE_OK && x->session != HAND)
		look(x);
}

static void on_look(void *arg, uint64_t number)
{
	(void)arg, (void)number;
	for (size_t i = 0; i < NOTED_MAX && !sim.stop; i++)
		if (noted[i].id[0] && sim.now - noted[i].since > WAITS_US)
			sim_violation("event %s (%s of %s) waits for somebody to be told",
				      noted[i].id, notice_event_name(noted[i].event),
				      noted[i].task);
	for (size_t i = 0; i < BACKS_MAX && !sim.stop; i++)
		if (backs[i].since > 0 && sim.now - backs[i].since > WAITS_US)
			sim_violation("nobody is told that a node is back: %s",
				      path_text(backs[i].path));
	event_at(sim.now + LOOK_US, on_look, NULL, 0);
}

void notices_judge_forget(void)
{
	last_zxid = 0;
	first_leaders = 0;
	memset(rows, 0, sizeof(rows));
	memset(backs, 0, sizeof(backs));
	memset(noted, 0, sizeof(noted));
}

void notices_reset(void)
{
	notices_judge_forget();
	n_tolds = 0;
	memset(tolds, 0, sizeof(tolds));
	if (!sim.options.notices)
		return;
	next_commit = servers_commit;
	servers_commit = on_commit;
	event_at(LOOK_US, on_look, NULL, 0);
}
