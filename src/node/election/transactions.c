#include "node/election/transactions.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/election/leaders.h"
#include "node/election/task.h"
#include "node/fleet/registry.h"
#include "node/notices/notices.h"
#include "node/session/session.h"
#include "node/tree/paths.h"
#include "node/tree/reads.h"

/* An outstanding transaction. */
struct sent {
	struct transactions *transactions;
	bool claims;
	size_t first; /* of its operations, that is about a task */
	size_t n;
	struct task *tasks[];
};

static void send_releases(struct transactions *b, struct task *const *tasks, size_t n);

/* --- answers -------------------------------------------------------------- */

static void answered(const struct sent *s, struct task *t, const struct store_reply *reply)
{
	t->transaction.pending--;
	if (s->claims)
		s->transactions->handlers.claimed(t, reply);
	else
		s->transactions->handlers.released(t, reply);
}

/* The index of the task whose operation did not hold, n if it is about all of them. */
static size_t culprit(const struct sent *s, const struct store_reply *reply)
{
	size_t op = (size_t)reply->failed_op, per_task = s->claims ? 1 : 2;

	if (reply->failed_op < 0 || op < s->first)
		return s->n;
	size_t i = (op - s->first) / per_task;
	return i < s->n ? i : s->n;
}

/* Passes on what the answer to a claim tells of our registration. */
static void heard(const struct transactions *b, const struct sent *s,
		  const struct store_reply *reply)
{
	bool splits = reply->failed_op >= 2 && (size_t)reply->failed_op < s->first;

	clocks_heard(&b->registry->clocks, reply);
	if (reply->code == STORE_OK)
		session_confirmed(b->session, reply->sent_ms);
	else if (reply->code == STORE_NO_NODE && reply->failed_op == 0)
		session_confirm(b->session);
	else if (reply->code == STORE_NO_NODE && splits)
		partitions_refresh(s->tasks[0]->leaders); /* another number is in force */
	else if (reply->code == STORE_NO_NODE)
		registry_make_parents(b->registry);
}

static void on_reply(void *arg, const struct store_reply *reply)
{
	struct sent *s = arg;
	size_t guilty = reply->code == STORE_OK || store_is_lost(reply->code) ||
					reply->code == STORE_NO_AUTH
				? s->n
				: culprit(s, reply);

	if (s->claims)
		heard(s->transactions, s, reply);
	if (s->claims && reply->failed_op > (int)s->first && renames_has(s->tasks[0]))
		renames_refused(s->tasks[0], reply);
	for (size_t i = 0; i < s->n; i++) {
		struct task *t = s->tasks[i];
		if (guilty == s->n || guilty == i) {
			answered(s, t, reply);
			continue;
		}
		/* This task failed only because of another one in the transaction. */
		t->transaction.pending--;
		if (s->claims)
			s->transactions->handlers.left_out(t);
		else
			send_releases(s->transactions, &t, 1);
	}
	free(s);
}

/* --- sending -------------------------------------------------------------- */

static struct sent *sent_new(struct transactions *b, bool claims, size_t first,
			     struct task *const *tasks, size_t n)
{
	struct sent *s = mem_alloc(sizeof(*s) + n * sizeof(s->tasks[0]));

	*s = (struct sent){.transactions = b, .claims = claims, .first = first, .n = n};
	for (size_t i = 0; i < n; i++) {
		s->tasks[i] = tasks[i];
		tasks[i]->transaction.pending++;
	}
	return s;
}

static void pack_leader(const struct transactions *b, struct buffer *data)
{
	struct leader_record record = {.since = host_wall_ms(b->session->host)};
	const struct worker *self = registry_coming(b->registry);

	if (self) {
		memcpy(record.id, self->id, sizeof(record.id));
		memcpy(record.ip, self->ip, sizeof(record.ip));
		memcpy(record.hostname, self->hostname, sizeof(record.hostname));
		memcpy(record.version, self->version, sizeof(record.version));
	}
	int error = record_pack_leader(data, &record);
	assert(error == 0);
	(void)error;
}

/* The znode that puts its number of partitions in force; false: the task is not a partition. */
static bool split_path(const struct task *t, char path[STORE_PATH_MAX])
{
	char name[NAME_ELECTION_MAX + 1];

	if (!t->listed)
		return false;
	snprintf(name, sizeof(name), "%s:%u", t->listed, t->settings->partitions);
	path_of(t->leaders->registry->settings, PATH_SPLITS, name, path);
	return true;
}

/*
 * A worker that has read an earlier leader's record, or led before, knows that it is not the first
 * leader.
 */
static size_t make_events(const struct registry *r, struct task *const *tasks, size_t n,
			  struct notice_record *events)
{
	size_t n_events = 0;

	for (size_t i = 0; i < n; i++) {
		struct notice_record *event = &events[n_events];

		if (!notices_wanted(r, NOTICE_LEADER, tasks[i]->name))
			continue;
		notice_init(r, event, NOTICE_LEADER, tasks[i]->name);
		event->led = tasks[i]->leader.id[0] != '\0';
		snprintf(event->text, sizeof(event->text), "%s is led by %.200s now",
			 tasks[i]->name, event->node);
		n_events++;
	}
	return n_events;
}

/*
 * Claims only while registered, and a partition only while that number is in force. Also writes the
 * folder, so that the answer tells the number of this transaction: the creation number of all nodes
 * made in it, and so the token. The reads that set the watches are sent after the last transaction
 * of the turn: a leader need not wait for them. A task that has another name is claimed alone: what
 * its claim has to prove holds up no other.
 */
static void send_claims(struct transactions *b, struct task *const *tasks, size_t n)
{
	const struct worker *self = registry_coming(b->registry);
	char folder[STORE_PATH_MAX], me[STORE_PATH_MAX];
	/* The heap, not the stack: stack pages stay resident for ever once they were used. */
	char(*paths)[STORE_PATH_MAX] = mem_calloc(n, sizeof(*paths));
	char(*splits)[STORE_PATH_MAX] = mem_calloc(n, sizeof(*splits));
	struct store_op *ops = mem_calloc(2 * n + 2 + RENAMES_OPS, sizeof(*ops));
	char others[2][STORE_PATH_MAX];
	bool alone = n == 1 && renames_has(tasks[0]);
	size_t first = 2;
	struct buffer data;

	buffer_init(&data, RECORD_LEADER_MAX);
	pack_leader(b, &data);
	path_of(b->registry->settings, PATH_WORKERS, self ? self->id : "none", me);
	ops[0] = (struct store_op){.type = STORE_OP_CHECK, .path = me, .version = -1};
	path_of(b->registry->settings, PATH_LEADERS, NULL, folder);
	ops[1] = (struct store_op){.type = STORE_OP_SET, .path = folder, .version = -1};
	/* The partitions of one task are neighbours, except when a claim is made again. */
	for (size_t i = 0; i < n; i++) {
		if (!split_path(tasks[i], splits[first - 2]) ||
		    (first > 2 && strcmp(splits[first - 2], splits[first - 3]) == 0))
			continue;
		ops[first] = (struct store_op){
			.type = STORE_OP_CHECK, .path = splits[first - 2], .version = -1};
		first++;
	}
	for (size_t i = 0; i < n; i++) {
		path_of(b->registry->settings, PATH_LEADERS, tasks[i]->name, paths[i]);
		ops[i + first] = (struct store_op){.type = STORE_OP_CREATE_EPHEMERAL,
						   .path = paths[i],
						   .data = data.data,
						   .len = data.len};
	}
	if (alone)
		renames_prove(tasks[0], others, &ops[n + first]);
	struct notice_record *events = mem_calloc(n, sizeof(*events));
	notices_claim(b->registry, ops, n + first + (alone ? RENAMES_OPS : 0), events,
		      make_events(b->registry, tasks, n, events), on_reply,
		      sent_new(b, true, first, tasks, n));
	free(events);
	free(ops);
	free(splits);
	free(paths);
	buffer_done(&data);
}

/*
 * Yields only to a registered worker: all of these tasks go to the same one. The node is written
 * before it is deleted, in one transaction: a watcher hears CHANGED and knows that it was released,
 * while expiry or another's hand is DELETED.
 */
static void send_releases(struct transactions *b, struct task *const *tasks, size_t n)
{
	char(*paths)[STORE_PATH_MAX] = mem_calloc(n, sizeof(*paths)), check[STORE_PATH_MAX];
	struct store_op *ops = mem_calloc(2 * n + 1, sizeof(*ops));
	size_t k = 0;

	/*
	 * A release without a successor checks nothing, and least of all our own record, which may
	 * be about to be replaced.
	 */
	bool checked = tasks[0]->transaction.to[0] != '\0';
	path_of(b->registry->settings, PATH_WORKERS, tasks[0]->transaction.to, check);
	if (checked)
		ops[k++] = (struct store_op){.type = STORE_OP_CHECK, .path = check, .version = -1};
	for (size_t i = 0; i < n; i++) {
		int32_t version = tasks[i]->transaction.version;
		path_of(b->registry->settings, PATH_LEADERS, tasks[i]->name, paths[i]);
		ops[k++] = (struct store_op){
			.type = STORE_OP_SET, .path = paths[i], .version = version};
		ops[k++] = (struct store_op){
			.type = STORE_OP_DELETE, .path = paths[i], .version = version + 1};
	}
	store_multi(b->session->store, ops, k, on_reply,
		    sent_new(b, false, checked ? 1 : 0, tasks, n));
	free(ops);
	free(paths);
}

static int by_successor(const void *a, const void *b)
{
	const struct task *x = *(struct task *const *)a, *y = *(struct task *const *)b;

	return strcmp(x->transaction.to, y->transaction.to);
}

/* The number of claims to send now: a turn of the loop often brings two or three. */
static size_t ripe_claims(const struct transactions *b)
{
	bool wait = b->reads->reads > 0 &&
		    host_now_ms(b->session->host) - b->since_ms < TRANSACTION_WAIT_MS;

	return wait ? b->n_claims / TRANSACTION_MAX * TRANSACTION_MAX : b->n_claims;
}

/* Releases up to `most` tasks; returns how many are left. */
static size_t flush_releases(struct transactions *b, size_t most)
{
	size_t i = 0, n;

	if (b->n_releases == 0)
		return 0;
	if (b->n_releases > 1)
		qsort(b->releases, b->n_releases, sizeof(*b->releases), by_successor);
	for (; i < b->n_releases && i < most; i += n) {
		for (n = 1; n < TRANSACTION_MAX && i + n < b->n_releases &&
			    by_successor(&b->releases[i], &b->releases[i + n]) == 0;
		     n++)
			;
		send_releases(b, b->releases + i, n);
	}
	b->n_releases -= i;
	memmove(b->releases, b->releases + i, b->n_releases * sizeof(*b->releases));
	return b->n_releases;
}

/* The number of the first claims that go into one transaction. */
static size_t claims_together(struct task *const *tasks, size_t n)
{
	size_t i = 1;

	while (i < n && i < TRANSACTION_MAX && !renames_has(tasks[0]) && !renames_has(tasks[i]))
		i++;
	return i;
}

/* Claims up to `most` of the ripe ones; returns how many of these are left. */
static size_t flush_claims(struct transactions *b, size_t most)
{
	size_t ripe = ripe_claims(b), left = ripe > most ? ripe - most : 0, n;

	ripe -= left;
	if (ripe == 0)
		return 0;
	for (size_t i = 0; i < ripe; i += n) {
		n = claims_together(b->claims + i, ripe - i);
		send_claims(b, b->claims + i, n);
	}
	for (size_t i = 0; i < ripe; i++)
		b->handlers.read(b->claims[i]);
	b->n_claims -= ripe;
	memmove(b->claims, b->claims + ripe, b->n_claims * sizeof(*b->claims));
	return left;
}

/* The handler of the end of a turn. */
static void flush(void *arg)
{
	struct transactions *b = arg;
	size_t left = flush_releases(b, TRANSACTION_TURN_MAX);

	left += flush_claims(b, TRANSACTION_TURN_MAX);
	if (left > 0)
		host_timer_start(&b->more, 0);
}

/* The timer only causes another turn, at whose end flush() sends the rest. */
static void on_more(void *arg)
{
	(void)arg;
}

/* --- from outside --------------------------------------------------------- */

void transactions_claim(struct transactions *b, struct task *t)
{
	assert(b->n_claims < b->room);
	if (b->n_claims == 0)
		b->since_ms = host_now_ms(b->session->host);
	b->claims[b->n_claims++] = t;
}

void transactions_release(struct transactions *b, struct task *t, const char *to, int32_t version)
{
	assert(b->n_releases < b->room);
	ids_set(&t->leaders->ids, &t->transaction.to, to);
	t->transaction.version = version;
	b->releases[b->n_releases++] = t;
}

void transactions_task_gone(struct task *t)
{
	ids_set(&t->leaders->ids, &t->transaction.to, "");
}

void transactions_forget(struct transactions *b)
{
	b->n_claims = b->n_releases = 0;
}

void transactions_reserve(struct transactions *b, size_t n_tasks)
{
	assert(b->n_claims <= n_tasks && b->n_releases <= n_tasks);
	b->room = n_tasks;
	b->claims = mem_resize(b->claims, n_tasks + 1, sizeof(struct task *));
	b->releases = mem_resize(b->releases, n_tasks + 1, sizeof(struct task *));
}

void transactions_init(struct transactions *b, struct session *session, struct registry *registry,
		       const struct reads *reads, const struct transactions_handlers *handlers)
{
	memset(b, 0, sizeof(*b));
	b->session = session;
	b->registry = registry;
	b->reads = reads;
	b->handlers = *handlers;
	host_turn_init(&b->turn, session->host, flush, b);
	host_timer_init(&b->more, session->host, on_more, b);
}

void transactions_done(struct transactions *b)
{
	host_turn_done(&b->turn);
	host_timer_done(&b->more);
	free(b->claims);
	free(b->releases);
}
