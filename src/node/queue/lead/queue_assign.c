/* Assigns due jobs, several in one transaction, to workers of the newest version. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/queue/lead/queue_lead.h"
#include "node/tree/paths.h"

#define UNKNOWN_MS 100 /* between two looks whether the time is known */

/* A worker that may be given something. */
struct candidate {
	const struct member *member;
};

/* A job or a callback in a batch, and the worker that gets it. */
struct assignment {
	struct due_item item;
	char node[WORKER_NODE_MAX + 1];
	char worker[NAME_ID_MAX + 1];
	int64_t session, timeout_ms;
};

struct assign_batch {
	struct queue_lead *lead;
	LIST_ENTRY(assign_batch) link;
	size_t n_workers; /* workers whose records are checked */
	size_t n;
	struct assignment list[LEAD_BATCH];
};

/* --- the workers ---------------------------------------------------------- */

/* The newest version of workers that may get jobs, compared in the order of the elections. */
static const char *newest(const struct queue_lead *lead, const struct task *t)
{
	const struct fleet *f = &lead_queues(lead)->registry->fleet;
	const char *best = NULL;

	for (size_t i = 0; i < f->n_members; i++) {
		const struct member *m = f->by_version[i];
		if (queue_is_fit(lead->queue, t, m) &&
		    (!best || fleet_compare_versions(&t->contest, m->worker->version, best) > 0))
			best = m->worker->version;
	}
	return best;
}

/* Number of jobs, or callbacks, in outstanding batches for that node. */
static unsigned coming(const struct queue_lead *lead, const char *node, bool callbacks)
{
	unsigned n = 0;

	for (const struct assign_batch *b = LIST_FIRST(&lead->assigns.batches); b;
	     b = LIST_NEXT(b, link))
		for (size_t i = 0; i < b->n; i++)
			n += b->list[i].item.pointer.callback == callbacks &&
			     strcmp(b->list[i].node, node) == 0;
	return n;
}

/* Whether a is the newer registration. A restarted sidecar's previous one may still be there. */
static bool is_later(const struct member *a, const struct member *b)
{
	if (a->worker->started_at != b->worker->started_at)
		return a->worker->started_at > b->worker->started_at;
	return a->serial > b->serial;
}

/* Index of the candidate with the same node; n: none. */
static size_t place_of(const struct candidate *candidates, size_t n, const struct member *m)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(candidates[i].member->worker->node, m->worker->node) == 0)
			return i;
	return n;
}

/*
 * Lists the workers that may get jobs, or callbacks. Callbacks have slots of their own, so that a
 * receiver that hangs keeps no job waiting.
 */
static size_t find_workers(const struct queue_lead *lead, bool callbacks,
			   struct candidate **ret_candidates, struct assign_worker **ret_workers)
{
	const struct fleet *f = &lead_queues(lead)->registry->fleet;
	const struct task *t = queue_task(lead->queue);
	const char *best = t ? newest(lead, t) : NULL;
	struct candidate *candidates = mem_calloc(f->n_members + 1, sizeof(*candidates));
	struct assign_worker *workers = mem_calloc(f->n_members + 1, sizeof(*workers));
	char path[STORE_PATH_MAX];
	size_t n = 0;

	for (size_t i = 0; best && i < f->n_members; i++) {
		const struct member *m = f->by_id[i];
		if (!queue_is_fit(lead->queue, t, m) ||
		    fleet_compare_versions(&t->contest, m->worker->version, best) != 0 ||
		    !path_of_at(lead_paths(lead), lead_name(lead), m->worker->node, NULL, path))
			continue;
		size_t at = place_of(candidates, n, m);
		if (at < n && is_later(candidates[at].member, m))
			continue;
		candidates[at].member = m;
		workers[at] = (struct assign_worker){
			.slots = callbacks ? QUEUE_CALLBACKS
					   : worker_slots(m->worker, lead_name(lead)),
			.running = (unsigned)given_to(lead, m->worker->node, callbacks) +
				   coming(lead, m->worker->node, callbacks)};
		n += at == n;
	}
	*ret_candidates = candidates;
	*ret_workers = workers;
	return n;
}

/* --- the answer ----------------------------------------------------------- */

static void unlink_batch(struct assign_batch *b)
{
	LIST_REMOVE(b, link);
	b->lead->assigns.n--;
}

static void given_away(struct assign_batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct assignment *a = &b->list[i];
		struct given_node *n = given_node_of(b->lead, a->node, true);
		n->there = true;
		given_add(n, &a->item.pointer, a->session, a->timeout_ms);
		due_forget(b->lead, &a->item);
	}
}

/* Puts the batch's items back into `due`. The guilty one is due again in in_ms; -1: never. */
static void put_back(struct assign_batch *b, size_t guilty, int64_t in_ms)
{
	struct queue_lead *lead = b->lead;

	for (size_t i = 0; i < b->n; i++) {
		if (!b->list[i].item.pointer.callback)
			rate_give_back(&lead->rate);
		if (i != guilty)
			due_put_back(lead, &b->list[i].item, 0);
		else if (in_ms >= 0)
			due_put_back(lead, &b->list[i].item, in_ms);
	}
}

static void on_assigned(void *arg, const struct store_reply *reply)
{
	struct assign_batch *b = arg;
	struct queue_lead *lead = b->lead;

	if (lead_took(lead, reply))
		return; /* lead_took() has freed it */
	unlink_batch(b);
	size_t op = reply->failed_op < LEAD_CHECKS ? 0 : (size_t)reply->failed_op - LEAD_CHECKS;
	if (reply->code == STORE_OK) {
		given_away(b);
	} else if (op < b->n_workers) {
		/* A worker has gone, as we are about to hear. */
		put_back(b, SIZE_MAX, 0);
		lead->assigns.retry_ms = queues_now(lead_queues(lead)) + QUEUE_AGAIN_MS / 5;
	} else {
		size_t i = (op - b->n_workers) / 2;
		bool deletes = (op - b->n_workers) % 2 == 0;
		/* The job was cancelled meanwhile, or has an assignment that was made by hand. */
		put_back(b, i, deletes ? -1 : reply->code == STORE_NO_NODE ? 0 : QUEUE_AGAIN_MS);
		if (!deletes && reply->code == STORE_NO_NODE && i < b->n) {
			const struct queue_folders folders = {
				.job_minute = -1, .due_minute = -1, .node = b->list[i].node};
			queue_make_folders(lead->queue, &folders);
		}
	}
	free(b);
	queues_wake(lead_queues(lead), 0);
}

/* --- the transaction ------------------------------------------------------ */

struct paths {
	char worker[STORE_PATH_MAX], due[STORE_PATH_MAX], at[STORE_PATH_MAX];
};

static bool is_checked(const struct assign_batch *b, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(b->list[k].worker, b->list[i].worker) == 0)
			return true;
	return false;
}

static void pack_at(const struct assignment *a, struct buffer *bytes)
{
	struct at_record record = {.session = a->session,
				   .attempt = a->item.pointer.callback ? a->item.tries : 0};

	memcpy(record.worker, a->worker, sizeof(record.worker));
	buffer_init(bytes, RECORD_AT_MAX);
	int error = record_pack_at(bytes, &record);
	assert(error == 0);
	(void)error;
}

static void send(struct assign_batch *b)
{
	struct queue_lead *lead = b->lead;
	struct store_op ops[LEAD_CHECKS + 3 * LEAD_BATCH];
	struct paths *paths = mem_calloc(b->n, sizeof(*paths));
	struct buffer data[LEAD_BATCH];
	char queue[STORE_PATH_MAX];
	size_t n = LEAD_CHECKS;

	lead_checks(lead, queue, ops);
	for (size_t i = 0; i < b->n; i++) {
		path_of(lead_paths(lead), PATH_WORKERS, b->list[i].worker, paths[i].worker);
		if (!is_checked(b, i))
			ops[n++] = (struct store_op){
				.type = STORE_OP_CHECK, .path = paths[i].worker, .version = -1};
	}
	b->n_workers = n - LEAD_CHECKS;
	for (size_t i = 0; i < b->n; i++) {
		const struct assignment *a = &b->list[i];
		path_of_due(lead_paths(lead), lead_name(lead), a->item.minute, &a->item.pointer,
			    paths[i].due);
		(void)path_of_at(lead_paths(lead), lead_name(lead), a->node, &a->item.pointer,
				 paths[i].at);
		pack_at(a, &data[i]);
		ops[n++] = (struct store_op){
			.type = STORE_OP_DELETE, .path = paths[i].due, .version = -1};
		ops[n++] = (struct store_op){.type = STORE_OP_CREATE,
					     .path = paths[i].at,
					     .data = data[i].data,
					     .len = data[i].len};
	}
	queue_multi(lead_calls(lead), ops, n, on_assigned, b);
	for (size_t i = 0; i < b->n; i++)
		buffer_done(&data[i]);
	free(paths);
}

/* --- number of tries of a callback ---------------------------------------- */

struct tries_read {
	struct queue_lead *lead;
	struct due_item item;
	LIST_ENTRY(tries_read) link;
};

static void on_tries(void *arg, const struct store_reply *reply)
{
	struct tries_read *r = arg;
	struct queue_lead *lead = r->lead;
	struct at_record tries;
	const char *why;

	LIST_REMOVE(r, link);
	if (reply->code == STORE_OK) {
		bool good = record_parse_at(reply->data, reply->len, &tries, &why) == 0;
		r->item.tries = good ? (int32_t)tries.attempt : 0;
		due_put_back(lead, &r->item, 0);
	}
	free(r);
	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE)
		(void)lead_took(lead, reply);
	queues_wake(lead_queues(lead), 0);
}

static void read_tries(struct queue_lead *lead, const struct due_item *item)
{
	struct tries_read *r = mem_calloc(1, sizeof(*r));
	char path[STORE_PATH_MAX];

	*r = (struct tries_read){.lead = lead, .item = *item};
	LIST_INSERT_HEAD(&lead->assigns.tries, r, link);
	path_of_due(lead_paths(lead), lead_name(lead), item->minute, &item->pointer, path);
	queue_get(lead_calls(lead), path, on_tries, r);
}

/* --- batches -------------------------------------------------------------- */

static size_t jobs_coming(const struct queue_lead *lead)
{
	size_t n = 0;

	for (const struct assign_batch *b = LIST_FIRST(&lead->assigns.batches); b;
	     b = LIST_NEXT(b, link))
		for (size_t i = 0; i < b->n; i++)
			n += !b->list[i].item.pointer.callback;
	return n;
}

static void fill_in(struct assignment *a, const struct due_item *item, const struct member *m)
{
	*a = (struct assignment){
		.item = *item, .session = m->session, .timeout_ms = m->worker->timeout_ms};
	snprintf(a->node, sizeof(a->node), "%s", m->worker->node);
	snprintf(a->worker, sizeof(a->worker), "%s", m->worker->id);
}

/* Whether the limits of the fleet let another job begin. */
static bool is_allowed(struct queue_lead *lead, size_t jobs, int64_t now)
{
	const struct queue_settings *s = &lead->queue->settings;
	int64_t wait_ms = rate_wait_ms(&lead->rate, now);

	if (wait_ms > 0)
		queues_wake(lead_queues(lead), wait_ms);
	return wait_ms <= 0 && (s->concurrency == 0 || jobs < s->concurrency);
}

/* Up to LEAD_BATCH jobs, or callbacks, that may be given now. */
static void fill(struct assign_batch *b, bool callbacks, const struct candidate *candidates,
		 struct assign_worker *workers, size_t n, int64_t now)
{
	struct queue_lead *lead = b->lead;
	int64_t passed_ms = queues_passed_ms(lead_queues(lead));
	size_t jobs = given_count(lead) + jobs_coming(lead);
	struct due_item item;
	uint32_t draw;

	while (b->n < LEAD_BATCH && (callbacks || is_allowed(lead, jobs, now))) {
		size_t cursor = lead->assigns.cursor;
		host_random(lead_queues(lead)->session->host, &draw, sizeof(draw));
		size_t i = n > 0 ? assign_pick(lead->queue->settings.assign, workers, n,
					       &lead->assigns.cursor, draw)
				 : ASSIGN_NOBODY;
		if (callbacks)
			lead->assigns.cursor = cursor;
		if (i == ASSIGN_NOBODY || !due_take(lead, callbacks, passed_ms, now, &item)) {
			lead->assigns.cursor = cursor; /* no worker has used its turn */
			return;
		}
		if (callbacks && item.tries < 0) {
			read_tries(lead, &item);
			continue;
		}
		if (!callbacks) {
			(void)rate_take(&lead->rate, now);
			jobs++;
		}
		fill_in(&b->list[b->n++], &item, candidates[i].member);
		workers[i].running++;
	}
}

static void wake_for_next(struct queue_lead *lead)
{
	int64_t passed_ms = queues_passed_ms(lead_queues(lead));
	int64_t next = due_next_ms(lead, passed_ms);

	if (next != INT64_MAX)
		queues_wake(lead_queues(lead), next - passed_ms);
}

static void assign(struct queue_lead *lead, bool callbacks, int64_t now)
{
	struct assigns *a = &lead->assigns;
	struct candidate *candidates;
	struct assign_worker *workers;

	if (a->n >= LEAD_BATCHES_MAX || !due_is_any(lead, callbacks, now))
		return;
	size_t n = find_workers(lead, callbacks, &candidates, &workers);
	while (a->n < LEAD_BATCHES_MAX) {
		struct assign_batch *b = mem_calloc(1, sizeof(*b));
		b->lead = lead;
		fill(b, callbacks, candidates, workers, n, now);
		if (b->n == 0) {
			free(b);
			break;
		}
		LIST_INSERT_HEAD(&a->batches, b, link);
		a->n++;
		send(b);
	}
	free(candidates);
	free(workers);
}

void assign_pump(struct queue_lead *lead, int64_t now)
{
	struct assigns *a = &lead->assigns;

	if (!given_is_known(lead) || !lead->due.listed || lead->queue->making > 0)
		return;
	if (!queues_may_begin(lead_queues(lead))) {
		queues_wake(lead_queues(lead), UNKNOWN_MS);
		return;
	}
	if (now < a->retry_ms) {
		queues_wake(lead_queues(lead), a->retry_ms - now);
		return;
	}
	wake_for_next(lead);
	assign(lead, false, now);
	assign(lead, true, now);
}

void assign_done(struct queue_lead *lead)
{
	struct assigns *a = &lead->assigns;
	struct assign_batch *b;
	struct tries_read *r;

	while ((b = LIST_FIRST(&a->batches))) {
		LIST_REMOVE(b, link);
		queue_calls_forget(lead_calls(lead), b);
		free(b);
	}
	while ((r = LIST_FIRST(&a->tries))) {
		LIST_REMOVE(r, link);
		queue_calls_forget(lead_calls(lead), r);
		free(r);
	}
	*a = (struct assigns){.cursor = a->cursor};
}
