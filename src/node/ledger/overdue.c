#include "node/ledger/overdue.h"
#include "node/ledger/counts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "node/election/leaders.h"
#include "node/election/tasks.h"
#include "node/ledger/ledger.h"
#include "node/notices/notices.h"
#include "node/tree/paths.h"

#define CREATE_AT 2 /* the operation in its place below */

/* A leader's look at a task, found by name as the task may be removed meanwhile. */
struct look {
	struct overdues *overdues;
	char task[NAME_ELECTION_MAX + 1];
	int64_t token;		 /* of the leadership */
	struct seen_record seen; /* the record that is there, or is to be */
	bool good;		 /* the record is there and readable */
	bool whole;		 /* the ledger was read as well */
	int32_t version;	 /* of the node, -1: there is none */
};

/* --- what is known -------------------------------------------------------- */

/* Allocated on first use: only a task with an alert-after has it. */
static struct task_overdue *of(struct task *t)
{
	if (!t->overdue)
		t->overdue = mem_calloc(1, sizeof(*t->overdue));
	return t->overdue;
}

static const struct task_overdue *known_of(const struct task *t)
{
	static const struct task_overdue none;

	return t->overdue ? t->overdue : &none;
}

void overdue_forget(struct task *t)
{
	free(t->overdue);
	t->overdue = NULL;
}

int64_t overdue_last_ok(const struct task *t)
{
	const struct task_overdue *d = known_of(t);
	int64_t ok_ms = counts_last_ok(t);

	return d->known && d->seen.ok && d->seen.since > ok_ms ? d->seen.since : ok_ms;
}

/* The time at which the task is overdue, ms since the epoch; 0: not known. */
static int64_t due_at(const struct task *t)
{
	const struct task_overdue *d = known_of(t);
	int64_t since = overdue_last_ok(t);

	if (!d->known || t->settings->alert_after_ms == 0)
		return 0;
	if (d->seen.since > since)
		since = d->seen.since;
	return since + t->settings->alert_after_ms;
}

bool overdue_is(const struct task *t)
{
	int64_t at = due_at(t);

	return at > 0 && host_wall_ms(t->leaders->session->host) >= at;
}

static bool parse(const struct task *t, const struct store_reply *reply, struct seen_record *seen)
{
	char path[STORE_PATH_MAX];
	const char *why;

	if (record_parse_seen(reply->data, reply->len, seen, &why) == 0)
		return true;
	path_of(t->leaders->session->settings, PATH_SEEN, t->name, path);
	log_warning("seen record refused", LOG_STR("znode", path), LOG_STR("why", why));
	return false;
}

static void adopt(struct task *t, const struct seen_record *seen)
{
	of(t)->seen = *seen;
	of(t)->known = true;
}

void overdue_read(struct task *t, const struct store_reply *reply)
{
	struct seen_record seen;

	if (reply->code == STORE_OK && parse(t, reply, &seen))
		adopt(t, &seen);
	else if (reply->code == STORE_NO_NODE)
		of(t)->known = false;
}

/* --- a leader's look ------------------------------------------------------ */

/* The task, if it is still led as it was when the look began. */
static struct task *task_of(const struct look *k)
{
	struct task *t = tasks_find_any(k->overdues->leaders, k->task);

	return t && election_leads(&t->election) && t->election.node.token == k->token ? t : NULL;
}

/*
 * The look had no result, and the next one is due anyway. Tasks may be gone, and the node may be
 * ending.
 */
static void give_up(struct look *k)
{
	k->overdues->looks--;
	free(k);
}

static void end(struct look *k)
{
	struct overdues *o = k->overdues;
	struct task *t = task_of(k);

	if (t) {
		adopt(t, &k->seen);
		of(t)->token = k->token;
		of(t)->retry_ms = 0;
		of(t)->verified_ms = k->whole && overdue_is(t) ? due_at(t) : 0;
	}
	give_up(k);
	overdues_changed(o);
}

static void on_folder(void *arg, const struct store_reply *reply)
{
	struct look *k = arg;

	/* The next look is made at once, and finds the folder. */
	if (reply->code != STORE_ABANDONED) {
		struct task *t = task_of(k);
		if (t)
			of(t)->retry_ms = 0;
		overdues_changed(k->overdues);
	}
	give_up(k);
}

static void on_written(void *arg, const struct store_reply *reply)
{
	struct look *k = arg;
	struct session *s = k->overdues->leaders->session;
	char path[STORE_PATH_MAX];

	if (reply->code == STORE_NO_NODE && reply->failed_op == CREATE_AT && k->version == -1) {
		path_of(s->settings, PATH_SEEN, NULL, path);
		store_create(s->store, path, on_folder, k);
		return;
	}
	if (store_is_refusal(reply->code))
		log_warning("seen record not written", LOG_STR("task", k->task),
			    LOG_STR("why", reply->text));
	if (reply->code == STORE_OK)
		end(k);
	else
		give_up(k);
}

/* Only the leader writes the first sight. event: noted with it; NULL: none. */
static void write_seen(struct look *k, const struct notice_record *event)
{
	const struct leaders *l = k->overdues->leaders;
	char leader[STORE_PATH_MAX], path[STORE_PATH_MAX];
	struct buffer data;

	path_of(l->registry->settings, PATH_LEADERS, k->task, leader);
	path_of(l->registry->settings, PATH_SEEN, k->task, path);
	buffer_init(&data, RECORD_SEEN_MAX);
	int error = record_pack_seen(&data, &k->seen);
	assert(error == 0);
	(void)error;
	const struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = l->session->registration, .version = -1},
		{.type = STORE_OP_CHECK, .path = leader, .version = -1},
		{.type = k->version == -1 ? STORE_OP_CREATE : STORE_OP_SET,
		 .path = path,
		 .data = data.data,
		 .len = data.len,
		 .version = k->version},
	};
	notices_multi(l->registry, ops, 3, event, on_written, k);
	buffer_done(&data);
}

/* Whether people are to be told now; the record then says so. */
static bool make_event(struct look *k, const struct task *t, int64_t now_ms,
		       struct notice_record *event)
{
	const struct registry *r = k->overdues->leaders->registry;
	char since[CLOCK_TEXT_SIZE];

	if (k->seen.told || now_ms < k->seen.since + t->settings->alert_after_ms ||
	    !notices_wanted(r, NOTICE_OVERDUE, t->name))
		return false;
	k->seen.told = true;
	clock_format(k->seen.since, since);
	notice_init(r, event, NOTICE_OVERDUE, t->name);
	event->token = k->token;
	snprintf(event->text, sizeof(event->text),
		 k->seen.ok ? "%s is overdue: no run has ended well since %s"
			    : "%s is overdue: no run has ended well since it was first seen, %s",
		 t->name, since);
	return true;
}

static void on_history(void *arg, bool ok, const struct ledger_entry *entries, size_t n)
{
	struct look *k = arg;
	struct task *t = ok ? task_of(k) : NULL; /* else the tasks may be gone */
	int64_t now_ms = host_wall_ms(k->overdues->leaders->session->host), ok_ms = 0;
	struct notice_record event;

	if (!t) {
		give_up(k);
		return;
	}
	k->whole = true;
	/* An end in the future, by a clock that is or was ahead, says nothing. */
	for (size_t i = 0; i < n; i++)
		if (strcmp(entries[i].record.state, "ok") == 0 &&
		    entries[i].record.ended_at > ok_ms && entries[i].record.ended_at <= now_ms)
			ok_ms = entries[i].record.ended_at;
	bool same = k->good && ok_ms <= k->seen.since;
	if (!same)
		k->seen =
			(struct seen_record){.since = ok_ms > 0 ? ok_ms : now_ms, .ok = ok_ms > 0};
	bool tells = make_event(k, t, now_ms, &event);
	if (same && !tells)
		end(k);
	else
		write_seen(k, tells ? &event : NULL);
}

static void on_seen(void *arg, const struct store_reply *reply)
{
	struct look *k = arg;
	struct leaders *l = k->overdues->leaders;
	struct task *t = reply->code == STORE_ABANDONED ? NULL : task_of(k);

	if (!t || (reply->code != STORE_OK && reply->code != STORE_NO_NODE)) {
		give_up(k);
		return;
	}
	k->version = reply->code == STORE_OK ? reply->stat.version : -1;
	k->good = reply->code == STORE_OK && parse(t, reply, &k->seen);
	if (k->good && host_wall_ms(l->session->host) < k->seen.since + t->settings->alert_after_ms)
		end(k);
	else
		ledger_history(l, k->task, NULL, on_history, k);
}

static void look(struct overdues *o, struct task *t)
{
	struct look *k = mem_calloc(1, sizeof(*k));
	char path[STORE_PATH_MAX];

	k->overdues = o;
	k->token = t->election.node.token;
	snprintf(k->task, sizeof(k->task), "%s", t->name);
	of(t)->retry_ms = host_now_ms(o->leaders->session->host) + OVERDUE_RETRY_MS;
	o->looks++;
	path_of(o->leaders->registry->settings, PATH_SEEN, t->name, path);
	store_get(o->leaders->session->store, path, false, on_seen, k);
}

/* --- all of them ---------------------------------------------------------- */

static void tell(struct task *t)
{
	char since[CLOCK_TEXT_SIZE];

	of(t)->told_ms = due_at(t);
	clock_format(due_at(t) - t->settings->alert_after_ms, since);
	log_warning("task overdue", LOG_STR("task", t->name), LOG_STR("since", since),
		    LOG_STR("last_ok", overdue_last_ok(t) > 0 ? since : NULL));
}

/* The next step for one task that is led here. Returns the milliseconds until the next check. */
static int64_t advance(struct overdues *o, struct task *t, int64_t now_ms, int64_t wall_ms)
{
	const struct task_overdue *d = known_of(t);
	bool fresh = d->known && d->token == t->election.node.token;
	int64_t at = due_at(t);

	if (fresh && wall_ms < at)
		return at - wall_ms;
	if (fresh && d->verified_ms == at) {
		if (d->told_ms != at)
			tell(t);
		return OVERDUE_LATEST_MS;
	}
	if (d->retry_ms > now_ms)
		return d->retry_ms - now_ms;
	if (o->looks < OVERDUE_LOOKS_MAX)
		look(o, t);
	return OVERDUE_RETRY_MS; /* or at once, when a look has ended */
}

static void on_due(void *arg)
{
	struct overdues *o = arg;
	struct leaders *l = o->leaders;
	int64_t now_ms = host_now_ms(l->session->host), wall_ms = host_wall_ms(l->session->host);
	int64_t first = INT64_MAX;

	for (size_t i = 0; session_is_up(l->session) && i < l->n_tasks; i++) {
		struct task *t = l->tasks[i];
		if (t->settings->alert_after_ms == 0 || t->withdrawn ||
		    !election_leads(&t->election))
			continue;
		int64_t left = advance(o, t, now_ms, wall_ms);
		if (left < first)
			first = left;
	}
	if (first != INT64_MAX)
		host_timer_start(&o->due, first < OVERDUE_LATEST_MS ? first : OVERDUE_LATEST_MS);
}

void overdues_changed(struct overdues *o)
{
	host_timer_start(&o->due, 0);
}

void overdues_init(struct overdues *o, struct leaders *leaders)
{
	*o = (struct overdues){.leaders = leaders};
	host_timer_init(&o->due, leaders->session->host, on_due, o);
}

void overdues_done(struct overdues *o)
{
	host_timer_done(&o->due);
}
