/* queue: the jobs that wait, and the workers that run others. */
#include <string.h>

#include "control/answer/answers.h"
#include "control/ask/nodes.h"
#include "control/queues/queue_asks.h"
#include "control/queues/queues.h"
#include "node/node.h"

#define LED_MS 2000 /* an answer waits so long for the queues that are led here */

static void ask_next(struct queue_ask *a);

static void pack_view(struct pack *p, const struct node *n, const char *name,
		      const struct task_config *config, const struct queue_view *v)
{
	const struct queue_config *q = config ? config->queue : NULL;

	pack_map(p, 9);
	pack_kv_str(p, "queue", name);
	pack_kv_str(p, "state", v->state);
	pack_kv_int(p, "queued", v->queued);
	pack_kv_int(p, "oldest_ms", v->oldest_ms);
	pack_kv_int(p, "running", v->running);
	pack_kv_int(p, "dead", v->dead);
	pack_kv_str(p, "rate", q ? q->rate : NULL);
	pack_kv_known(p, "concurrency", q && q->told.concurrency > 0, q ? q->told.concurrency : 0);
	pack_str(p, "workers");
	pack_array(p, v->n_workers);
	for (size_t i = 0; i < v->n_workers; i++) {
		pack_map(p, 3);
		nodes_pack(p, n, "node", v->workers[i].node);
		pack_kv_int(p, "slots", v->workers[i].slots);
		pack_kv_int(p, "running", v->workers[i].running);
	}
}

static void pack_answer(struct queue_ask *a)
{
	struct pack *p = ask_result(&a->ask);

	if (a->finish) {
		a->finish(a, p);
		return;
	}
	if (!a->one)
		pack_array(p, a->n_views);
	if (a->views.len > 0)
		pack_raw(p, a->views.data, a->views.len);
}

static void answer(struct queue_ask *a)
{
	pack_answer(a);
	ask_end(&a->ask);
}

static void on_view(void *arg, const struct queue_view *view)
{
	struct queue_ask *a = arg;
	struct methods *m = a->ask.methods;
	struct pack p;

	if (!view && a->finish) {
		ask_next(a); /* the answer is made without this queue */
		return;
	}
	if (!view) {
		queue_ask_no_session(a);
		return;
	}
	pack_init(&p, &a->views);
	pack_view(&p, m->node, a->id.queue, task_files_find(m->process->tasks, a->id.queue), view);
	if (p.failed < 0) {
		queue_ask_fail(a, JOB_MISUSE, "the answer is too large: name one queue");
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
	const struct leaders *l = &a->ask.methods->node->leaders;
	const struct listing *next = NULL;

	for (size_t i = 0; i < l->n_listings; i++) {
		const struct listing *one = l->listings[i];

		if (is_wanted(a, one) && (!next || strcmp(one->name, next->name) < 0))
			next = one;
	}
	if (!next || !a->ask.client) {
		answer(a);
		return;
	}
	memcpy(a->id.queue, next->name, strlen(next->name) + 1);
	queues_view(&a->ask.methods->node->queues, a->id.queue, on_view, a);
}

/*
 * If ZooKeeper does not answer in time, the answer is sent without the queues that are missing: the
 * rest of the metrics matters most just then.
 */
static void on_due(struct ask *a)
{
	pack_answer((struct queue_ask *)a);
	ask_send(a);
}

static const struct ask_kind kind = {
	.size = sizeof(struct queue_ask), .asks = true, .due = on_due, .done = queue_ask_done};

static struct queue_ask *begin(const struct call *call)
{
	struct queue_ask *a = ask_new(call, &kind);

	buffer_init(&a->views, RPC_RESPONSE_MAX / 2);
	return a;
}

void queue_views_of_led(const struct call *call,
			void (*finish)(struct queue_ask *a, struct pack *p))
{
	struct queue_ask *a = begin(call);

	a->finish = finish;
	ask_until(&a->ask, host_now_ms(call->m->node->host) + LED_MS);
	ask_next(a);
}

void method_queue(struct call *call)
{
	struct listing *l = call->n_params == 1 ? queue_ask_take(call) : NULL;
	struct queue_ask *a;

	if (call->n_params == 1 && !l)
		return;
	a = begin(call);
	a->one = l != NULL;
	if (!l) {
		ask_next(a);
		return;
	}
	memcpy(a->id.queue, l->name, strlen(l->name) + 1);
	queues_view(&call->m->node->queues, a->id.queue, on_view, a);
}
