/*
 * Reads what a leadership begins with: the schedule in force, and since when; the newest decided
 * tick; and how its run went.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "node/election/leaders.h"
#include "node/ledger/ledger.h"
#include "node/schedule/schedules.h"
#include "node/tree/paths.h"
#include "node/tree/tick_folder.h"
#include "wire/records/schedule_record.h"

struct load {
	struct schedules *schedules;
	char task[NAME_ELECTION_MAX + 1];
	const void *watcher; /* the task: its address alone */
	unsigned edition;
	bool made;		   /* ROOT/schedules has been made */
	bool look;		   /* only one record is read again */
	char tick[TICK_NAME_SIZE]; /* of the record that is read */
	int64_t since_ms;	   /* in force since; then the newest tick that was decided */
	/* The ticks that have records, sorted, up to that one; how many runs are to be read yet. */
	char (*names)[TICK_NAME_SIZE];
	size_t n_names;
	unsigned n_runs;
	bool newest;		    /* has been read */
	char floor[TICK_NAME_SIZE]; /* as tick_folder_floor() says */
};

#define AHEAD_MS  60000 /* of the time: what is less is soon over, and not worth a word */
#define RUNS_READ 16	/* of the newest: one before them may have been lost */

static void read_schedule(struct load *l);

static void load_free(struct load *l)
{
	free(l->names);
	free(l);
}

static const struct node_settings *settings_of(const struct load *l)
{
	return l->schedules->leaders->session->settings;
}

static struct store *store_of(const struct load *l)
{
	return l->schedules->leaders->session->store;
}

/* The task of the answer; NULL: the answer is not needed any more. */
static struct task *task_of(const struct load *l)
{
	return schedule_task(l->schedules, l->task, l->edition);
}

static void fail(struct load *l, const struct store_reply *reply)
{
	struct task *t = task_of(l);

	if (store_is_refusal(reply->code))
		log_error("schedule not read", LOG_STR("task", l->task),
			  LOG_STR("why", reply->text));
	if (t)
		schedule_again(l->schedules, t);
	load_free(l);
}

/* --- the ledger ----------------------------------------------------------- */

static struct due_run parse(const char *tick, const struct store_reply *reply)
{
	struct run_record r;
	const char *why;

	if (reply->code != STORE_OK || record_parse_run(reply->data, reply->len, &r, &why) != 0)
		return (struct due_run){.tick = ""};
	return schedule_run(tick, &r);
}

static void ready(struct load *l, struct task *t)
{
	struct task_due *d = schedule_state(t);
	char since[TICK_NAME_SIZE] = "";

	if (l->since_ms > host_wall_ms(l->schedules->host) + AHEAD_MS) {
		tick_name(l->since_ms, since);
		log_warning("ticks are decided ahead of the time", LOG_STR("task", t->name),
			    LOG_STR("until", since));
	}
	d->phase = DUE_READY;
	d->since_ms = l->since_ms;
	d->active_ms = host_wall_ms(l->schedules->host);
	schedules_task_changed(l->schedules, t);
}

/* Takes a record read again. A run of ours may have written a newer one meanwhile. */
static void take_again(struct load *l, struct task *t, const struct store_reply *reply)
{
	struct task_due *d = schedule_state(t);

	if (strcmp(d->newest.tick, l->tick) == 0)
		d->newest = parse(l->tick, reply);
	else if (strcmp(d->open.tick, l->tick) == 0)
		d->open = parse(l->tick, reply);
	schedules_task_changed(l->schedules, t);
}

static void take(struct load *l, struct task *t, const struct store_reply *reply)
{
	struct task_due *d = schedule_state(t);
	struct due_run run = parse(l->tick, reply);

	if (!l->newest) {
		d->newest = run;
	} else if (schedule_is_open(&run) && !schedule_is_past(&run, schedule_floor(t))) {
		schedule_unwatch(t, &d->open);
		d->open = run;
	}
	l->newest = true;
	if (l->n_runs > 0 && strcmp(run.state, "missed") != 0)
		l->n_runs--;
}

static bool is_awaited(const struct task_due *d, const char *tick)
{
	return (schedule_is_open(&d->newest) && strcmp(d->newest.tick, tick) == 0) ||
	       (schedule_is_open(&d->open) && strcmp(d->open.tick, tick) == 0);
}

static void on_record(void *arg, const struct store_reply *reply);

static void read_record(struct load *l)
{
	char path[STORE_PATH_MAX];

	path_of_tick(settings_of(l), l->task, l->tick, path);
	watches_get(&l->schedules->leaders->session->watches, path, WATCH_RUN, l->watcher,
		    on_record, l);
}

/* Reads the record before; false: there is none, or enough is known. */
static bool read_before(struct load *l)
{
	if (l->n_runs == 0 || l->n_names < 2)
		return false;
	l->n_names--;
	memcpy(l->tick, l->names[l->n_names - 1], sizeof(l->tick));
	read_record(l);
	return true;
}

static void on_record(void *arg, const struct store_reply *reply)
{
	struct load *l = arg;
	struct task *t = task_of(l);

	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE) {
		fail(l, reply);
		return;
	}
	if (t && l->look)
		take_again(l, t, reply);
	else if (t)
		take(l, t, reply);
	/*
	 * The record of an ended run stays as it is: only records of runs in progress are watched.
	 */
	if (!t || !is_awaited(schedule_state(t), l->tick))
		ledger_unwatch(l->schedules->leaders, l->task, l->tick, l->watcher);
	if (t && !l->look) {
		if (read_before(l))
			return;
		ready(l, t);
	}
	load_free(l);
}

/*
 * A lost run that is to be begun again may be older than the newest record: ticks were missed while
 * it went on, or others were run between its attempts. Missed ticks do not count as runs.
 */
static void keep_names(struct load *l, const struct task *t, const struct store_reply *reply)
{
	if (t->settings->on_crash != TASK_ON_CRASH_RERUN)
		return;
	l->n_runs = RUNS_READ;
	l->names = tick_folder_names(reply, &l->n_names);
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct load *l = arg;
	struct task *t = task_of(l);

	if (!t || !t->settings->schedule ||
	    (reply->code != STORE_OK && reply->code != STORE_NO_NODE)) {
		fail(l, reply);
		return;
	}
	l->since_ms = schedule_decided(t->settings->schedule, reply, l->floor, l->since_ms);
	for (size_t i = 0; reply->code == STORE_OK && i < reply->n_names; i++) {
		const char *name = reply->names[i];

		if (tick_is_name(name) && strcmp(name, l->tick) > 0)
			memcpy(l->tick, name, sizeof(l->tick));
	}
	if (reply->code == STORE_OK)
		keep_names(l, t, reply);
	if (l->tick[0]) {
		read_record(l);
		return;
	}
	ready(l, t);
	load_free(l);
}

static void on_floor(void *arg, const struct store_reply *reply)
{
	struct load *l = arg;
	char path[STORE_PATH_MAX];

	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE) {
		fail(l, reply);
		return;
	}
	tick_folder_floor(reply, l->floor);
	path_of_tick(settings_of(l), l->task, NULL, path);
	store_children(store_of(l), path, false, on_names, l);
}

static void read_ledger(struct load *l)
{
	char path[STORE_PATH_MAX];

	path_of_tick(settings_of(l), l->task, NULL, path);
	store_get(store_of(l), path, false, on_floor, l);
}

/* --- what is in force ----------------------------------------------------- */

static void on_folder(void *arg, const struct store_reply *reply)
{
	struct load *l = arg;

	if (reply->code != STORE_OK && reply->code != STORE_NODE_EXISTS) {
		fail(l, reply);
		return;
	}
	l->made = true;
	read_schedule(l);
}

static void on_put(void *arg, const struct store_reply *reply)
{
	struct load *l = arg;
	char path[STORE_PATH_MAX];

	if (reply->code == STORE_OK) {
		session_confirmed(l->schedules->leaders->session, reply->sent_ms);
		read_ledger(l);
	} else if (reply->code == STORE_NO_NODE && reply->failed_op == 2 && !l->made) {
		path_of(settings_of(l), PATH_SCHEDULES, NULL, path);
		store_create(store_of(l), path, on_folder, l);
	} else {
		fail(l, reply);
	}
}

/* Our file's schedule comes into force now; version -1: there is no record yet. */
static void put(struct load *l, const struct task *t, int32_t version)
{
	const struct task_schedule *c = t->settings->schedule;
	struct schedule_record r = {.since = host_wall_ms(l->schedules->host)};
	char leader[STORE_PATH_MAX], path[STORE_PATH_MAX];
	struct buffer data;

	snprintf(r.text, sizeof(r.text), "%s", c->text);
	snprintf(r.timezone, sizeof(r.timezone), "%s", c->timezone);
	l->since_ms = r.since;
	path_of(settings_of(l), PATH_LEADERS, l->task, leader);
	path_of(settings_of(l), PATH_SCHEDULES, l->task, path);
	buffer_init(&data, RECORD_SCHEDULE_MAX);
	int error = record_pack_schedule(&data, &r);
	assert(error == 0);
	(void)error;
	const struct store_op ops[] = {
		{.type = STORE_OP_CHECK,
		 .path = l->schedules->leaders->session->registration,
		 .version = -1},
		{.type = STORE_OP_CHECK, .path = leader, .version = -1},
		{.type = version < 0 ? STORE_OP_CREATE : STORE_OP_SET,
		 .path = path,
		 .data = data.data,
		 .len = data.len,
		 .version = version},
	};
	log_info("schedule in force", LOG_STR("task", l->task), LOG_STR("schedule", c->text),
		 LOG_STR("timezone", c->timezone));
	store_multi(store_of(l), ops, 3, on_put, l);
	buffer_done(&data);
}

static void on_schedule(void *arg, const struct store_reply *reply)
{
	struct load *l = arg;
	struct task *t = task_of(l);
	struct schedule_record r;
	const char *why = "";
	char path[STORE_PATH_MAX];

	/* No schedule is put in force behind the transaction that gives the task up. */
	if (!t || !t->settings->schedule || !election_leads(&t->election) ||
	    (reply->code != STORE_OK && reply->code != STORE_NO_NODE)) {
		fail(l, reply);
		return;
	}
	if (reply->code == STORE_NO_NODE) {
		put(l, t, -1);
		return;
	}
	if (record_parse_schedule(reply->data, reply->len, &r, &why) != 0) {
		path_of(settings_of(l), PATH_SCHEDULES, l->task, path);
		log_warning("schedule record refused", LOG_STR("znode", path), LOG_STR("why", why));
		put(l, t, reply->stat.version);
	} else if (strcmp(r.text, t->settings->schedule->text) != 0 ||
		   strcmp(r.timezone, t->settings->schedule->timezone) != 0) {
		put(l, t, reply->stat.version);
	} else {
		l->since_ms = r.since;
		read_ledger(l);
	}
}

static void read_schedule(struct load *l)
{
	char path[STORE_PATH_MAX];

	path_of(settings_of(l), PATH_SCHEDULES, l->task, path);
	store_get(store_of(l), path, false, on_schedule, l);
}

/* --- from outside --------------------------------------------------------- */

static struct load *begin(struct schedules *s, struct task *t)
{
	struct load *l = mem_calloc(1, sizeof(*l));

	l->schedules = s;
	l->watcher = t;
	l->edition = t->due->edition;
	snprintf(l->task, sizeof(l->task), "%s", t->name);
	return l;
}

void schedule_load(struct schedules *s, struct task *t)
{
	struct task_due *d = schedule_state(t);

	d->phase = DUE_LOADING;
	d->edition++;
	d->token = t->election.node.token;
	d->busy_ms = OWED_NEVER;
	schedule_unwatch(t, &d->newest);
	schedule_unwatch(t, &d->open);
	memset(&d->newest, 0, sizeof(d->newest));
	memset(&d->open, 0, sizeof(d->open));
	d->lost_ms = 0;
	memset(&d->trigger, 0, sizeof(d->trigger));
	read_schedule(begin(s, t));
}

void schedule_look(struct schedules *s, struct task *t, const char *tick)
{
	struct load *l = begin(s, t);

	l->look = true;
	memcpy(l->tick, tick, sizeof(l->tick));
	read_record(l);
}
