/* Opens the queue for submits and closes it. */
#include "node/queue/lead/queue_lead.h"

#include "base/log/log.h"
#include "node/tree/paths.h"

#define REOPEN_PERCENT 80
#define SEEN_EVERY_MS  20000

/* --- open ----------------------------------------------------------------- */

static void on_opened(void *arg, const struct store_reply *reply)
{
	struct queue_lead *lead = arg;

	lead->tidy.opening = false;
	if (lead_took(lead, reply))
		return;
	/* NODE_EXISTS and NO_NODE count as success: `open` was already as wanted. */
	lead->tidy.open = lead->tidy.wanted;
	if (lead->tidy.open)
		log_info("queue takes jobs", LOG_STR("queue", lead_name(lead)));
	else
		log_warning("queue is full", LOG_STR("queue", lead_name(lead)));
	queues_wake(lead_queues(lead), 0);
}

static void set_open(struct queue_lead *lead, bool open)
{
	char queue[STORE_PATH_MAX], path[STORE_PATH_MAX];
	struct store_op ops[LEAD_CHECKS + 1];

	lead_checks(lead, queue, ops);
	path_of_queue(lead_paths(lead), lead_name(lead), "open", NULL, path);
	ops[2] = (struct store_op){
		.type = open ? STORE_OP_CREATE : STORE_OP_DELETE, .path = path, .version = -1};
	lead->tidy.opening = true;
	lead->tidy.wanted = open;
	queue_multi(lead_calls(lead), ops, LEAD_CHECKS + 1, on_opened, lead);
}

static void look_at_open(struct queue_lead *lead)
{
	struct tidy *t = &lead->tidy;
	size_t most = lead->queue->settings.max_queued, n = due_count(lead);

	if (t->opening || !due_is_known(lead))
		return;
	if (t->open != 0 && n >= most)
		set_open(lead, false);
	else if (t->open < 0 || (t->open == 0 && n * 100 < most * REOPEN_PERCENT))
		set_open(lead, true);
}

static void on_seen(void *arg, const struct store_reply *reply)
{
	struct queue_lead *lead = arg;

	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE)
		(void)lead_took(lead, reply);
	else if (!lead->tidy.opening)
		lead->tidy.open = reply->code == STORE_OK;
}

/* An operator may have created or deleted `open` by hand. */
static void look_whether_it_is_there(struct queue_lead *lead, int64_t now)
{
	char path[STORE_PATH_MAX];

	if (now < lead->tidy.seen_ms) {
		queues_wake(lead_queues(lead), lead->tidy.seen_ms - now);
		return;
	}
	lead->tidy.seen_ms = now + SEEN_EVERY_MS;
	queues_wake(lead_queues(lead), SEEN_EVERY_MS);
	path_of_queue(lead_paths(lead), lead_name(lead), "open", NULL, path);
	queue_exists(lead_calls(lead), path, on_seen, lead);
}

void tidy_pump(struct queue_lead *lead, int64_t now)
{
	look_at_open(lead);
	if (lead->tidy.open >= 0 && !lead->tidy.opening)
		look_whether_it_is_there(lead, now);
}

void tidy_done(struct queue_lead *lead)
{
	lead->tidy = (struct tidy){.open = -1};
}
