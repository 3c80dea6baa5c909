/*
 * The leader of a queue: raises its epoch, then reads its state: what was assigned and what is due
 * is read behind the epoch, so that slots and `concurrency` hold over a handover.
 */
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
	ops[1] = (struct store_op){
		.type = STORE_OP_CHECK, .path = path, .version = lead->epoch.version};
}

static bool happens(struct queue_lead *lead, const struct epoch_event *event);

static enum epoch_event_type kind_of(const struct store_reply *reply)
{
	if (queue_is_cut(reply))
		return EPOCH_CUT;
	if (store_is_refusal(reply->code))
		return EPOCH_REFUSED;
	if (reply->code == STORE_OK)
		return EPOCH_DONE;
	return reply->failed_op == 0   ? EPOCH_UNREGISTERED
	       : reply->failed_op == 1 ? EPOCH_ANOTHER
				       : EPOCH_FAILED;
}

bool lead_took(struct queue_lead *lead, const struct store_reply *reply)
{
	const struct epoch_event event = {.type = kind_of(reply)};

	if (event.type == EPOCH_REFUSED)
		log_warning("queue refused by the server", LOG_STR("queue", lead_name(lead)),
			    LOG_STR("why", reply->text));
	else if (event.type == EPOCH_UNREGISTERED)
		session_confirm(lead_queues(lead)->session);
	else if (event.type == EPOCH_ANOTHER)
		log_info("another leads the queue", LOG_STR("queue", lead_name(lead)));
	return happens(lead, &event);
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

static void note_above(struct queue_lead *lead)
{
	bool late = epoch_is_above(&lead->epoch, queues_now(lead_queues(lead)));

	if (late && !lead->told_above)
		log_warning("epoch above the token", LOG_STR("queue", lead_name(lead)),
			    LOG_INT("epoch", lead->epoch.above),
			    LOG_INT("token", lead->epoch.token));
	lead->told_above = late;
}

static void on_read(void *arg, const struct store_reply *reply)
{
	struct queue_lead *lead = arg;
	const struct epoch_event event = {
		.type = reply->code == STORE_OK	       ? EPOCH_FOUND
			: reply->code == STORE_NO_NODE ? EPOCH_MISSING
						       : EPOCH_FAILED,
		.now_ms = queues_now(lead_queues(lead)),
		.token = reply->code == STORE_OK ? token_of(reply) : 0,
		.version = reply->stat.version,
	};

	happens(lead, &event);
	if (event.type != EPOCH_FOUND)
		return;
	note_above(lead);
	if (lead->epoch.state == EPOCH_BEGINS)
		return;
	/* The previous sidecar led with the same token: its burst is used up. */
	if (lead->fresh && event.token == lead->epoch.token)
		rate_use_up(&lead->rate, event.now_ms);
	lead->fresh = false;
}

static void on_raised(void *arg, const struct store_reply *reply)
{
	lead_took(arg, reply);
}

static void read_epoch(struct queue_lead *lead)
{
	char path[STORE_PATH_MAX];

	path_of_queue(lead_paths(lead), lead_name(lead), NULL, NULL, path);
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
	snprintf(token, sizeof(token), "%" PRId64, lead->epoch.token);
	struct store_op ops[] = {
		queue_check_me(lead_queues(lead)),
		{.type = STORE_OP_SET,
		 .path = queue,
		 .version = lead->epoch.version,
		 .data = token,
		 .len = strlen(token)},
		{.type = STORE_OP_CHECK, .path = leader, .version = -1},
	};
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
}

static void restart(struct queue_lead *lead, int64_t in_ms)
{
	forget(lead);
	lead->retry_ms = queues_now(lead_queues(lead)) + in_ms;
	queues_wake(lead_queues(lead), in_ms);
}

/* False: nothing follows from it for the epoch. */
static bool happens(struct queue_lead *lead, const struct epoch_event *event)
{
	const struct queue_folders folders = {.job_minute = -1, .due_minute = -1};

	switch (epoch_step(&lead->epoch, event)) {
	case EPOCH_NONE: return false;
	case EPOCH_SEND_READ: read_epoch(lead); return true;
	case EPOCH_SEND_RAISE: raise_epoch(lead); return true;
	case EPOCH_RESTART: restart(lead, 0); return true;
	case EPOCH_RESTART_LATE: restart(lead, QUEUE_AGAIN_MS); return true;
	case EPOCH_MAKE_FOLDERS: queue_make_folders(lead->queue, &folders); break;
	case EPOCH_LEAD:
		log_info("queue is led", LOG_STR("queue", lead_name(lead)),
			 LOG_INT("token", lead->epoch.token));
		break;
	case EPOCH_GO_ON: break;
	}
	queues_wake(lead_queues(lead), 0);
	return true;
}

void queue_lead_done(struct queue *queue)
{
	if (queue->lead) {
		queue->rate = queue->lead->rate;
		queue->rate_token = queue->lead->epoch.token;
		forget(queue->lead);
	}
	free(queue->lead);
	queue->lead = NULL;
}

void queue_lead_cut(struct queue *queue)
{
	if (queue->lead)
		happens(queue->lead, &(struct epoch_event){.type = EPOCH_CUT});
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
	lead->epoch.token = token;
	lead->tidy.open = -1;
	lead->fresh = queue->rate_token != token;
	if (!lead->fresh)
		lead->rate = queue->rate;
	else
		rate_set(&lead->rate, queue->settings.rate, queue->settings.rate_ms, now);
}

static void set_rate(struct queue_lead *lead, int64_t now)
{
	const struct queue_settings *s = &lead->queue->settings;

	if (lead->rate.most != s->rate || lead->rate.period_ms != s->rate_ms)
		rate_change(&lead->rate, s->rate, s->rate_ms, now);
}

void queue_lead_pump(struct queue *queue, int64_t now)
{
	int64_t token = own_token(queue);

	if (queue->lead && queue->lead->epoch.token != token && queues_ready(queue->queues))
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
	if (queue->making > 0)
		return;
	set_rate(lead, now);
	if (lead->epoch.state != EPOCH_ON) {
		happens(lead, &(struct epoch_event){.type = EPOCH_READY});
		return;
	}
	given_pump(lead, now);
	due_pump(lead, now);
	assign_pump(lead, now);
	tidy_pump(lead, now);
	if (queues_may_delete(queue->queues))
		prune_pump(lead, now);
}

void queue_lead_watch(struct queue *queue, enum store_watch type, const char *rest)
{
	(void)type;
	if (!queue->lead || queue->lead->epoch.state != EPOCH_ON)
		return;
	due_watch(queue->lead, rest);
	given_watch(queue->lead, rest);
}
