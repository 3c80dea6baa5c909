/* The leader of a queue: raises its epoch, then reads its state. */
#include "node/queue/lead/queue_lead.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/tree/paths.h"

#define TOKEN_DIGITS_MAX 18

struct queue_calls *lead_calls(const struct queue_lead *lead)
{
	return &lead->queue->queues->calls;
}

struct queues *lead_queues(const struct queue_lead *lead)
{
	return lead->queue->queues;
}

const char *lead_name(const struct queue_lead *lead)
{
	return lead->queue->name;
}

const struct node_settings *lead_paths(const struct queue_lead *lead)
{
	return queue_paths(lead->queue);
}

/* --- checks of each transaction ------------------------------------------- */

void lead_checks(const struct queue_lead *lead, char path[STORE_PATH_MAX],
		 struct store_op ops[LEAD_CHECKS])
{
	path_of_queue(lead_paths(lead), lead_name(lead), NULL, NULL, path);
	ops[0] = queue_check_me(lead_queues(lead));
	ops[1] = (struct store_op){.type = STORE_OP_CHECK, .path = path, .version = lead->version};
}

bool lead_took(struct queue_lead *lead, const struct store_reply *reply)
{
	if (queue_is_cut(reply)) {
		lead_restart(lead, 0);
	} else if (store_is_refusal(reply->code)) {
		log_warning("queue refused by the server", LOG_STR("queue", lead_name(lead)),
			    LOG_STR("why", reply->text));
		lead_restart(lead, QUEUE_AGAIN_MS);
	} else if (reply->code != STORE_OK && reply->failed_op == 0) {
		session_confirm(lead_queues(lead)->session);
		lead_restart(lead, QUEUE_AGAIN_MS);
	} else if (reply->code != STORE_OK && reply->failed_op == 1) {
		log_info("another leads the queue", LOG_STR("queue", lead_name(lead)));
		lead_restart(lead, QUEUE_AGAIN_MS);
	} else {
		return false;
	}
	return true;
}

/* --- the epoch ------------------------------------------------------------ */

/* The token of the leader that raised the epoch last; 0: none, or garbage. */
static int64_t token_of(const struct store_reply *reply)
{
	const char *text = reply->data;
	int64_t token = 0;

	if (reply->len > TOKEN_DIGITS_MAX)
		return 0;
	for (size_t i = 0; i < reply->len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		token = token * 10 + (text[i] - '0');
	}
	return token;
}

/*
 * The epoch has a larger token than ours. Usually another node leads by now, and the news is on its
 * way. If no such news comes, the token is from another ensemble's data.
 */
static void note_above(struct queue_lead *lead, int64_t token)
{
	int64_t now = queues_now(lead_queues(lead));
	bool late = lead->above == token && now >= lead->above_ms + LEAD_ABOVE_MS;

	if (lead->above != token)
		lead->above_ms = now;
	lead->above = token;
	if (late && !lead->told_above)
		log_warning("epoch above the token", LOG_STR("queue", lead_name(lead)),
			    LOG_INT("epoch", token), LOG_INT("token", lead->token));
	lead->told_above = late;
}

static void on_read(void *arg, const struct store_reply *reply)
{
	struct queue_lead *lead = arg;
	const struct queue_folders folders = {.job_minute = -1, .due_minute = -1};

	lead->flying = false;
	if (reply->code == STORE_NO_NODE) {
		queue_make_folders(lead->queue, &folders);
	} else if (reply->code != STORE_OK) {
		lead_restart(lead, QUEUE_AGAIN_MS);
	} else if (token_of(reply) > lead->token) {
		note_above(lead, token_of(reply));
		lead_restart(lead, QUEUE_AGAIN_MS);
	} else {
		/* The previous sidecar led with the same token: its burst is used up. */
		if (lead->fresh && token_of(reply) == lead->token)
			bucket_drain(&lead->bucket, queues_now(lead_queues(lead)));
		lead->fresh = lead->told_above = false;
		lead->above = 0;
		lead->version = reply->stat.version;
		lead->phase = LEAD_RAISE;
	}
	queues_wake(lead_queues(lead), 0);
}

static void on_raised(void *arg, const struct store_reply *reply)
{
	struct queue_lead *lead = arg;

	lead->flying = false;
	if (lead_took(lead, reply))
		return;
	if (reply->code != STORE_OK) {
		lead_restart(lead, QUEUE_AGAIN_MS);
		return;
	}
	lead->version++;
	lead->phase = LEAD_ON;
	log_info("queue is led", LOG_STR("queue", lead_name(lead)), LOG_INT("token", lead->token));
	queues_wake(lead_queues(lead), 0);
}

static void read_epoch(struct queue_lead *lead)
{
	char path[STORE_PATH_MAX];

	path_of_queue(lead_paths(lead), lead_name(lead), NULL, NULL, path);
	lead->flying = true;
	session_confirm(lead_queues(lead)->session);
	queue_get(lead_calls(lead), path, on_read, lead);
}

/*
 * Raises the epoch, but never above a later leader, whose token is larger. From then on
 * transactions of earlier leaders fail.
 */
static void raise_epoch(struct queue_lead *lead)
{
	char queue[STORE_PATH_MAX], leader[STORE_PATH_MAX], token[24];

	path_of_queue(lead_paths(lead), lead_name(lead), NULL, NULL, queue);
	path_of(lead_paths(lead), PATH_LEADERS, lead_name(lead), leader);
	snprintf(token, sizeof(token), "%" PRId64, lead->token);
	struct store_op ops[] = {
		queue_check_me(lead_queues(lead)),
		{.type = STORE_OP_SET,
		 .path = queue,
		 .version = lead->version,
		 .data = token,
		 .len = strlen(token)},
		{.type = STORE_OP_CHECK, .path = leader, .version = -1},
	};
	lead->flying = true;
	queue_multi(lead_calls(lead), ops, 3, on_raised, lead);
}

/* --- begin and end -------------------------------------------------------- */

static void forget(struct queue_lead *lead)
{
	queue_calls_forget(lead_calls(lead), lead);
	due_done(lead);
	given_done(lead);
	assign_done(lead);
	tidy_done(lead);
	prune_done(lead);
	lead->flying = false;
	lead->phase = LEAD_READ;
}

void lead_restart(struct queue_lead *lead, int64_t in_ms)
{
	forget(lead);
	lead->retry_ms = queues_now(lead_queues(lead)) + in_ms;
	queues_wake(lead_queues(lead), in_ms);
}

void queue_lead_done(struct queue *queue)
{
	if (queue->lead) {
		queue->bucket = queue->lead->bucket;
		queue->bucket_token = queue->lead->token;
		forget(queue->lead);
	}
	free(queue->lead);
	queue->lead = NULL;
}

void queue_lead_cut(struct queue *queue)
{
	if (queue->lead)
		lead_restart(queue->lead, 0);
}

/* The token of this node's leadership; 0: it does not lead the queue. */
static int64_t own_token(const struct queue *queue)
{
	const struct task *t = queue_task(queue);

	if (!t || !queue->configured || !queues_ready(queue->queues) ||
	    t->election.state != ELECTION_LEADING)
		return 0;
	return t->election.node.token;
}

static void begin(struct queue *queue, int64_t token, int64_t now)
{
	struct queue_lead *lead = queue->lead = mem_calloc(1, sizeof(*lead));

	lead->queue = queue;
	lead->token = token;
	lead->tidy.open = -1;
	lead->fresh = queue->bucket_token != token;
	if (!lead->fresh)
		lead->bucket = queue->bucket;
	else
		bucket_fill(&lead->bucket, queue->settings.rate, queue->settings.rate_ms, now);
}

static void set_rate(struct queue_lead *lead, int64_t now)
{
	const struct queue_settings *s = &lead->queue->settings;

	if (lead->bucket.most != s->rate || lead->bucket.period_ms != s->rate_ms)
		bucket_resize(&lead->bucket, s->rate, s->rate_ms, now);
}

void queue_lead_pump(struct queue *queue, int64_t now)
{
	int64_t token = own_token(queue);

	if (queue->lead && queue->lead->token != token && queues_ready(queue->queues))
		queue_lead_done(queue);
	if (token == 0 || queue->queues->stopping)
		return;
	if (!queue->lead)
		begin(queue, token, now);
	struct queue_lead *lead = queue->lead;
	if (now < lead->retry_ms) {
		queues_wake(queue->queues, lead->retry_ms - now);
		return;
	}
	if (lead->flying || queue->making > 0)
		return;
	set_rate(lead, now);
	switch (lead->phase) {
	case LEAD_READ: read_epoch(lead); break;
	case LEAD_RAISE: raise_epoch(lead); break;
	case LEAD_ON:
		given_pump(lead, now);
		due_pump(lead, now);
		assign_pump(lead, now);
		tidy_pump(lead, now);
		if (queues_may_delete(queue->queues))
			prune_pump(lead, now);
		break;
	}
}

void queue_lead_watch(struct queue *queue, enum store_watch type, const char *rest)
{
	(void)type;
	if (!queue->lead || queue->lead->phase != LEAD_ON)
		return;
	due_watch(queue->lead, rest);
	given_watch(queue->lead, rest);
}
