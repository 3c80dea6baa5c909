/* A queue for display: numbers of waiting, running and dead jobs, and its workers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/names.h"
#include "node/queue/queue_op.h"
#include "node/tree/paths.h"

#define FOLDERS_MAX 2000 /* folders of `due` that are counted one by one */

struct view {
	struct queue_op op;
	struct queue_view view;
	bool open;
	int64_t *minutes; /* minutes of the folders of `due`, sorted; owned */
	size_t n_minutes, next;
	char **nodes; /* nodes with a folder in `at`; owned, as is each */
	size_t n_nodes;
	struct queue_view_worker *workers; /* owned, as are the names */
	queue_view_fn fn;
	void *arg;
};

static struct view *of(struct queue_op *op)
{
	return (struct view *)op; /* its first member */
}

static void forget(struct view *v)
{
	for (size_t i = 0; i < v->view.n_workers; i++)
		free((void *)(uintptr_t)v->workers[i].node);
	free(v->workers);
	free(v->minutes);
	names_free(v->nodes, v->n_nodes);
	memset(&v->view, 0, sizeof(v->view));
	v->workers = NULL;
	v->minutes = NULL;
	v->nodes = NULL;
	v->n_nodes = v->n_minutes = v->next = 0;
}

static void view_free(struct queue_op *op)
{
	forget(of(op));
	free(op);
}

static void view_fail(struct queue_op *op, enum job_outcome outcome, const char *why)
{
	(void)outcome, (void)why;
	of(op)->fn(of(op)->arg, NULL);
}

static const struct node_settings *paths_of(const struct view *v)
{
	return v->op.queues->registry->settings;
}

/* --- the workers ---------------------------------------------------------- */

static struct queue_view_worker *worker_of(struct view *v, const char *node)
{
	for (size_t i = 0; i < v->view.n_workers; i++)
		if (strcmp(v->workers[i].node, node) == 0)
			return &v->workers[i];
	v->workers = mem_resize(v->workers, v->view.n_workers + 1, sizeof(*v->workers));
	struct queue_view_worker *w = &v->workers[v->view.n_workers++];
	*w = (struct queue_view_worker){.node = mem_strdup(node)};
	return w;
}

static void done(struct view *v)
{
	const struct fleet *f = &v->op.queues->registry->fleet;
	const struct policy *p = v->op.queues->leaders->policy;
	const struct queue *queue = op_queue(&v->op);
	bool full = !v->open || (queue && v->view.queued >= queue->settings.max_queued);

	for (size_t i = 0; i < f->n_members; i++) {
		unsigned slots = worker_slots(f->by_id[i]->worker, v->op.queue);
		if (slots > 0)
			worker_of(v, f->by_id[i]->worker->node)->slots = slots;
	}
	if (policy_find(p, POLICY_PAUSE, v->op.queue, ""))
		v->view.state = "paused";
	else if (!queue || !queue_is_served(queue))
		v->view.state = "unserved";
	else
		v->view.state = full ? "full" : "active";
	v->view.workers = v->workers;
	v->fn(v->arg, &v->view);
	op_end(&v->op);
}

static void count_next_node(struct view *v);

static void on_node(void *arg, const struct store_reply *reply)
{
	struct view *v = arg;
	char node[WORKER_NODE_MAX + 1];
	struct job_pointer p;
	int64_t n = 0;

	if (op_took(&v->op, reply))
		return;
	for (size_t i = 0; reply->code == STORE_OK && i < reply->n_names; i++)
		n += job_pointer_parse(reply->names[i], strlen(reply->names[i]), false, &p) &&
		     !p.callback;
	if (n > 0 && path_is_node(v->nodes[v->next], node)) {
		worker_of(v, node)->running = n;
		v->view.running += n;
	}
	v->next++;
	count_next_node(v);
}

static void count_next_node(struct view *v)
{
	char path[STORE_PATH_MAX], node[WORKER_NODE_MAX + 1];

	while (v->next < v->n_nodes && (!path_is_node(v->nodes[v->next], node) ||
					!path_of_at(paths_of(v), v->op.queue, node, NULL, path)))
		v->next++;
	if (v->next == v->n_nodes)
		done(v);
	else
		queue_children(op_calls(&v->op), path, on_node, v);
}

static void on_nodes(void *arg, const struct store_reply *reply)
{
	struct view *v = arg;

	if (op_took(&v->op, reply))
		return;
	v->nodes = mem_calloc(reply->n_names + 1, sizeof(*v->nodes));
	for (size_t i = 0; i < reply->n_names; i++)
		v->nodes[v->n_nodes++] = mem_strdup(reply->names[i]);
	v->next = 0;
	count_next_node(v);
}

static void look_at_nodes(struct view *v)
{
	char path[STORE_PATH_MAX];

	path_of_queue(paths_of(v), v->op.queue, "at", NULL, path);
	queue_children(op_calls(&v->op), path, on_nodes, v);
}

/* --- due jobs ------------------------------------------------------------- */

static void count_next_minute(struct view *v);

/* Computes how long the oldest due job has waited. */
static void on_oldest(void *arg, const struct store_reply *reply)
{
	struct view *v = arg;
	int64_t now = queues_server_ms(v->op.queues), oldest = now;
	struct job_pointer p;

	if (op_took(&v->op, reply))
		return;
	for (size_t i = 0; i < reply->n_names; i++)
		if (job_pointer_parse(reply->names[i], strlen(reply->names[i]), true, &p) &&
		    p.due_ms < oldest)
			oldest = p.due_ms;
	if (now - oldest > v->view.oldest_ms)
		v->view.oldest_ms = now - oldest;
	v->next++;
	count_next_minute(v);
}

/* Whether the next folder may have an older job: folders of a spread minute overlap in time. */
static bool may_be_older(const struct view *v)
{
	int64_t minute = v->minutes[v->next];
	int64_t step = minute % QUEUE_FAR_STEP == 0 ? QUEUE_FAR_STEP : 1;
	int64_t first = minute - step * QUEUE_SPREAD_MAX;

	return first * JOB_MINUTE_MS < queues_server_ms(v->op.queues) - v->view.oldest_ms;
}

static void on_count(void *arg, const struct store_reply *reply)
{
	struct view *v = arg;
	char path[STORE_PATH_MAX];

	if (op_took(&v->op, reply))
		return;
	if (reply->code == STORE_OK)
		v->view.queued += reply->stat.children;
	if (reply->code == STORE_OK && reply->stat.children > 0 && may_be_older(v)) {
		path_of_due_folder(paths_of(v), v->op.queue, v->minutes[v->next], false, path);
		queue_children(op_calls(&v->op), path, on_oldest, v);
		return;
	}
	v->next++;
	count_next_minute(v);
}

static void count_next_minute(struct view *v)
{
	char path[STORE_PATH_MAX];

	if (v->next == v->n_minutes) {
		look_at_nodes(v);
		return;
	}
	path_of_due_folder(paths_of(v), v->op.queue, v->minutes[v->next], false, path);
	queue_exists(op_calls(&v->op), path, on_count, v);
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void on_minutes(void *arg, const struct store_reply *reply)
{
	struct view *v = arg;
	size_t n = 0;

	if (op_took(&v->op, reply))
		return;
	v->minutes = mem_calloc(reply->n_names + 1, sizeof(*v->minutes));
	for (size_t i = 0; i < reply->n_names; i++)
		n += job_minute_parse(reply->names[i], strlen(reply->names[i]), &v->minutes[n]);
	qsort(v->minutes, n, sizeof(*v->minutes), by_number);
	v->n_minutes = n < FOLDERS_MAX ? n : FOLDERS_MAX;
	count_next_minute(v);
}

static void on_open(void *arg, const struct store_reply *reply)
{
	struct view *v = arg;
	char path[STORE_PATH_MAX];

	if (op_took(&v->op, reply))
		return;
	v->open = reply->code == STORE_OK;
	path_of_queue(paths_of(v), v->op.queue, "due", NULL, path);
	queue_children(op_calls(&v->op), path, on_minutes, v);
}

static void on_dead(void *arg, const struct store_reply *reply)
{
	struct view *v = arg;
	char path[STORE_PATH_MAX];

	if (op_took(&v->op, reply))
		return;
	if (reply->code == STORE_OK)
		v->view.dead = reply->stat.children;
	path_of_queue(paths_of(v), v->op.queue, "open", NULL, path);
	queue_exists(op_calls(&v->op), path, on_open, v);
}

static void view_step(struct queue_op *op)
{
	char path[STORE_PATH_MAX];

	forget(of(op));
	path_of_queue(paths_of(of(op)), op->queue, "dead", NULL, path);
	op_confirm(op);
	queue_exists(op_calls(op), path, on_dead, op);
}

void queues_view(struct queues *q, const char *queue, queue_view_fn fn, void *arg)
{
	struct view *v = mem_calloc(1, sizeof(*v));

	v->op.step = view_step;
	v->op.fail = view_fail;
	v->op.free = view_free;
	v->fn = fn;
	v->arg = arg;
	op_begin(q, &v->op, queue);
}
