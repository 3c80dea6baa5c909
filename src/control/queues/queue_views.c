/* queue: the jobs that wait, and the workers that run others. */
#include <stdlib.h>
#include <string.h>

#include "control/ask/nodes.h"
#include "control/queues/queue_asks.h"
#include "control/queues/queues.h"
#include "node/node.h"

#define LED_MS 2000 /* how long an answer waits for the queues that are led here */

static void ask_next(struct queue_ask *a);

static void pack_view(struct pack *p, const struct node *n, const char *name,
		      const struct task_config *config, const struct queue_view *v)
{
	const struct queue_config *q = config ? config->queue : NULL;
	char node[WORKER_NODE_MAX + 1];

	pack_map(p, 9);
	pack_kv_str(p, "queue", name);
	pack_kv_str(p, "state", v->state);
	pack_kv_int(p, "queued", v->queued);
	pack_kv_int(p, "oldest_ms", v->oldest_ms);
	pack_kv_int(p, "running", v->running);
	pack_kv_int(p, "dead", v->dead);
	pack_kv_str(p, "rate", q ? q->rate : NULL);
	if (q && q->told.concurrency > 0)
		pack_kv_uint(p, "concurrency", q->told.concurrency);
	else
		pack_kv_nil(p, "concurrency");
	pack_str(p, "workers");
	pack_array(p, v->n_workers);
	for (size_t i = 0; i < v->n_workers; i++) {
		nodes_name(n, v->workers[i].node, node);
		pack_map(p, 3);
		pack_kv_str(p, "node", node);
		pack_kv_int(p, "slots", v->workers[i].slots);
		pack_kv_int(p, "running", v->workers[i].running);
	}
}

static void answer(struct queue_ask *a)
{
	if (a->client && a->finish) {
		a->finish(a);
	} else if (a->client) {
		struct pack *p = peer_begin(a->client);
		rpc_pack_result(p, a->msgid);
		if (!a->one)
			pack_array(p, a->n_views);
		if (a->views.len > 0)
			pack_raw(p, a->views.data, a->views.len);
		peer_end(a->client, a->msgid);
	}
	queue_ask_free(a);
}

static void on_view(void *arg, const struct queue_view *view)
{
	struct queue_ask *a = arg;
	struct pack p;

	if (!view && a->finish) {
		ask_next(a); /* the answer is made without this queue */
		return;
	}
	if (!view) {
		queue_ask_fail(a, JOB_NO_SESSION,
			       "no confirmed session with ZooKeeper, or its servers do not answer");
		queue_ask_free(a);
		return;
	}
	pack_init(&p, &a->views);
	pack_view(&p, a->methods->node, a->id.queue,
		  task_files_find(a->methods->process->tasks, a->id.queue), view);
	if (p.failed < 0) {
		queue_ask_fail(a, JOB_MISUSE, "the answer is too large: name one queue");
		queue_ask_free(a);
		return;
	}
	a->n_views++;
	if (a->one)
		answer(a);
	else
		ask_next(a);
}

static bool is_wanted(const struct queue_ask *a, const struct listing *l)
{
	return l->settings.queue && strcmp(l->name, a->id.queue) > 0 &&
	       (!a->finish || (l->n == 1 && leaders_lease_left(l->tasks[0]) > 0));
}

/* Asks for one queue after the other, by name, as the queues may change meanwhile. */
static void ask_next(struct queue_ask *a)
{
	const struct leaders *l = &a->methods->node->leaders;
	const struct listing *next = NULL;

	for (size_t i = 0; i < l->n_listings; i++) {
		const struct listing *one = l->listings[i];

		if (is_wanted(a, one) && (!next || strcmp(one->name, next->name) < 0))
			next = one;
	}
	if (!next || !a->client) {
		answer(a);
		return;
	}
	memcpy(a->id.queue, next->name, strlen(next->name) + 1);
	queues_view(&a->methods->node->queues, a->id.queue, on_view, a);
}

void queue_views_of_led(const struct call *call, void (*finish)(struct queue_ask *a))
{
	struct queue_ask *a = queue_ask_new(call, true, 0);

	a->finish = finish;
	a->until_ms = host_now_ms(call->m->node->host) + LED_MS;
	host_timer_start(&call->m->views_due, LED_MS);
	ask_next(a);
}

/*
 * If ZooKeeper does not answer in time, the answer is sent without the queues that are missing: the
 * rest of the metrics matters most just then.
 */
static void on_views_due(void *arg)
{
	struct methods *m = arg;
	int64_t now = host_now_ms(m->node->host), next = INT64_MAX;

	for (struct queue_ask *a = m->queue_asks; a; a = a->next) {
		if (!a->finish || !a->client)
			continue;
		if (now >= a->until_ms) {
			a->finish(a);
			queue_ask_release(a);
		} else if (a->until_ms < next) {
			next = a->until_ms;
		}
	}
	if (next < INT64_MAX)
		host_timer_start(&m->views_due, next - now);
}

void queue_views_init(struct methods *m)
{
	host_timer_init(&m->views_due, m->node->host, on_views_due, m);
}

void method_queue(struct call *call)
{
	struct queue_ask *a;
	struct listing *l;

	if (call->n_params > 1) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "queue takes the name of a queue, or nothing");
		return;
	}
	l = call->n_params == 1 ? queue_ask_take(call) : NULL;
	if (call->n_params == 1 && !l)
		return;
	a = queue_ask_new(call, true, 0);
	a->one = l != NULL;
	if (!l) {
		ask_next(a);
		return;
	}
	memcpy(a->id.queue, l->name, strlen(l->name) + 1);
	queues_view(&call->m->node->queues, a->id.queue, on_view, a);
}
