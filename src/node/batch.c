#include "node/batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/leaders.h"

/* One transaction on its way. */
struct sent {
	struct batch *batch;
	bool claims;
	size_t first; /* of its operations, that is about a task */
	size_t n;
	struct task *tasks[];
};

static void send_releases(struct batch *b, struct task *const *tasks, size_t n);

/* --- answers --------------------------------------------------------------------------------------- */

static void answered(const struct sent *s, struct task *t, const struct store_reply *reply)
{
	t->pending--;
	if (s->claims)
		s->batch->handlers.claimed(t, reply);
	else
		s->batch->handlers.released(t, reply);
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

/* What the answer to a claim tells of our registration. */
static void heard(const struct leaders *l, const struct store_reply *reply)
{
	if (reply->code == STORE_OK)
		session_confirmed(l->session, reply->sent_ms);
	else if (reply->code == STORE_NO_NODE && reply->failed_op == 0)
		session_confirm(l->session);
	else if (reply->code == STORE_NO_NODE)
		registry_make_parents(l->registry);
}

static void on_reply(void *arg, const struct store_reply *reply)
{
	struct sent *s = arg;
	size_t guilty = reply->code == STORE_OK || reply->code == STORE_UNKNOWN ||
					reply->code == STORE_ABANDONED ||
					reply->code == STORE_NO_AUTH
				? s->n
				: culprit(s, reply);

	if (s->claims)
		heard(s->batch->leaders, reply);
	for (size_t i = 0; i < s->n; i++) {
		struct task *t = s->tasks[i];
		if (guilty == s->n || guilty == i) {
			answered(s, t, reply);
			continue;
		}
		/* Not done for another's sake. */
		t->pending--;
		if (s->claims)
			s->batch->handlers.left_out(t);
		else
			send_releases(s->batch, &t, 1);
	}
	free(s);
}

/* --- sending --------------------------------------------------------------------------------------- */

static struct sent *sent_new(struct batch *b, bool claims, size_t first, struct task *const *tasks,
			     size_t n)
{
	struct sent *s = mem_alloc(sizeof(*s) + n * sizeof(s->tasks[0]));

	*s = (struct sent){.batch = b, .claims = claims, .first = first, .n = n};
	for (size_t i = 0; i < n; i++) {
		s->tasks[i] = tasks[i];
		tasks[i]->pending++;
	}
	return s;
}

static void pack_leader(const struct leaders *l, struct buffer *data)
{
	struct leader_record record = {.since = host_wall_ms(l->session->host)};
	const struct worker *self = registry_coming(l->registry);

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

/*
 * Claim only while registered. The folder is written as well, so that the answer tells the number of
 * this transaction, which is the creation number of all the nodes made in it: the token. The reads
 * that set the watches go behind the last of the turn: who leads need not wait for them.
 */
static void send_claims(struct batch *b, struct task *const *tasks, size_t n)
{
	struct leaders *l = b->leaders;
	const struct worker *self = registry_coming(l->registry);
	char paths[BATCH_MAX][STORE_PATH_MAX], folder[STORE_PATH_MAX], me[STORE_PATH_MAX];
	struct store_op ops[BATCH_MAX + 2];
	struct buffer data;

	buffer_init(&data, RECORD_LEADER_MAX);
	pack_leader(l, &data);
	registry_path(l->registry, "workers", self ? self->id : "none", me);
	ops[0] = (struct store_op){.type = STORE_OP_CHECK, .path = me, .version = -1};
	registry_path(l->registry, "leaders", NULL, folder);
	ops[1] = (struct store_op){.type = STORE_OP_SET, .path = folder, .version = -1};
	for (size_t i = 0; i < n; i++) {
		registry_path(l->registry, "leaders", tasks[i]->name, paths[i]);
		ops[i + 2] = (struct store_op){.type = STORE_OP_CREATE_EPHEMERAL,
					       .path = paths[i],
					       .data = data.data,
					       .len = data.len};
	}
	store_multi(l->session->store, ops, n + 2, on_reply, sent_new(b, true, 2, tasks, n));
	buffer_done(&data);
}

/*
 * Yield only to somebody who is there: all of these tasks go to the same. The node is written before
 * it is deleted, in one transaction: a watcher hears CHANGED and knows that it was given up, while
 * expiry or another's hand is DELETED.
 */
static void send_releases(struct batch *b, struct task *const *tasks, size_t n)
{
	struct leaders *l = b->leaders;
	char paths[BATCH_MAX][STORE_PATH_MAX], check[STORE_PATH_MAX];
	struct store_op ops[2 * BATCH_MAX + 1];
	size_t k = 0;

	/* Without a successor nothing is to be checked, our own record least of all: it may be about to
	 * be replaced. */
	bool checked = tasks[0]->release.to[0] != '\0';
	registry_path(l->registry, "workers", tasks[0]->release.to, check);
	if (checked)
		ops[k++] = (struct store_op){.type = STORE_OP_CHECK, .path = check, .version = -1};
	for (size_t i = 0; i < n; i++) {
		int32_t version = tasks[i]->release.version;
		registry_path(l->registry, "leaders", tasks[i]->name, paths[i]);
		ops[k++] = (struct store_op){
			.type = STORE_OP_SET, .path = paths[i], .version = version};
		ops[k++] = (struct store_op){
			.type = STORE_OP_DELETE, .path = paths[i], .version = version + 1};
	}
	store_multi(l->session->store, ops, k, on_reply,
		    sent_new(b, false, checked ? 1 : 0, tasks, n));
}

static int by_successor(const void *a, const void *b)
{
	const struct task *x = *(struct task *const *)a, *y = *(struct task *const *)b;

	return strcmp(x->release.to, y->release.to);
}

/* How many of the claims are to be sent now: a turn of the loop often brings two or three. */
static size_t ripe_claims(const struct batch *b)
{
	bool wait = b->leaders->look.reads > 0 &&
		    host_now_ms(b->leaders->session->host) - b->since_ms < BATCH_WAIT_MS;

	return wait ? b->n_claims / BATCH_MAX * BATCH_MAX : b->n_claims;
}

/* At the end of a turn. */
static void flush(void *arg)
{
	struct batch *b = arg;
	size_t n;

	if (b->n_releases > 1)
		qsort(b->releases, b->n_releases, sizeof(*b->releases), by_successor);
	for (size_t i = 0; i < b->n_releases; i += n) {
		for (n = 1; n < BATCH_MAX && i + n < b->n_releases &&
			    by_successor(&b->releases[i], &b->releases[i + n]) == 0;
		     n++)
			;
		send_releases(b, b->releases + i, n);
	}
	b->n_releases = 0;
	size_t ripe = ripe_claims(b);
	for (size_t i = 0; i < ripe; i += n) {
		n = ripe - i < BATCH_MAX ? ripe - i : BATCH_MAX;
		send_claims(b, b->claims + i, n);
	}
	for (size_t i = 0; i < ripe; i++)
		b->handlers.read(b->claims[i]);
	b->n_claims -= ripe;
	memmove(b->claims, b->claims + ripe, b->n_claims * sizeof(*b->claims));
}

/* --- from outside ---------------------------------------------------------------------------------- */

void batch_claim(struct batch *b, struct task *t)
{
	assert(b->n_claims < b->room);
	if (b->n_claims == 0)
		b->since_ms = host_now_ms(b->leaders->session->host);
	b->claims[b->n_claims++] = t;
}

void batch_release(struct batch *b, struct task *t)
{
	assert(b->n_releases < b->room);
	b->releases[b->n_releases++] = t;
}

void batch_forget(struct batch *b)
{
	b->n_claims = b->n_releases = 0;
}

void batch_reserve(struct batch *b, size_t n_tasks)
{
	assert(b->n_claims <= n_tasks && b->n_releases <= n_tasks);
	b->room = n_tasks;
	b->claims = mem_resize(b->claims, n_tasks + 1, sizeof(struct task *));
	b->releases = mem_resize(b->releases, n_tasks + 1, sizeof(struct task *));
}

void batch_init(struct batch *b, struct leaders *leaders, const struct batch_handlers *handlers)
{
	memset(b, 0, sizeof(*b));
	b->leaders = leaders;
	b->handlers = *handlers;
	host_turn_init(&b->turn, leaders->session->host, flush, b);
}

void batch_done(struct batch *b)
{
	host_turn_done(&b->turn);
	free(b->claims);
	free(b->releases);
}
