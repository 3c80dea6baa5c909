/* Finds the place of a job that has not begun: tries each path that its pointer may have. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/names.h"
#include "node/queue/queue_op.h"
#include "node/tree/paths.h"

static const struct node_settings *paths_of(const struct queue_op *op)
{
	return op->queues->registry->settings;
}

static void look_at_next_node(struct queue_op *op);

static void on_at(void *arg, const struct store_reply *reply)
{
	struct queue_op *op = arg;
	struct job_place *place = &op->find.place;
	const char *why;

	if (op_took(op, reply))
		return;
	if (reply->code != STORE_OK ||
	    record_parse_at(reply->data, reply->len, &place->at, &why) != 0) {
		look_at_next_node(op);
		return;
	}
	place->at_version = reply->stat.version;
	op->find.fn(op, place);
}

static void look_at_next_node(struct queue_op *op)
{
	struct job_place *place = &op->find.place;
	char path[STORE_PATH_MAX];

	while (op->find.next < op->find.n) {
		const char *name = op->find.nodes[op->find.next++];
		if (!path_is_node(name, place->node) ||
		    !path_of_at(paths_of(op), op->queue, place->node, &op->find.pointer, path))
			continue;
		queue_get(op_calls(op), path, on_at, op);
		return;
	}
	place->node[0] = '\0';
	op->find.fn(op, place);
}

static void on_nodes(void *arg, const struct store_reply *reply)
{
	struct queue_op *op = arg;

	if (op_took(op, reply))
		return;
	if (reply->code == STORE_OK && reply->n_names > 0)
		op->find.nodes = mem_calloc(reply->n_names, sizeof(*op->find.nodes));
	for (size_t i = 0; reply->code == STORE_OK && i < reply->n_names; i++)
		op->find.nodes[op->find.n++] = mem_strdup(reply->names[i]);
	look_at_next_node(op);
}

static void look_at_due(struct queue_op *op);

static void on_due(void *arg, const struct store_reply *reply)
{
	struct queue_op *op = arg;
	char path[STORE_PATH_MAX];

	if (op_took(op, reply))
		return;
	if (reply->code == STORE_OK) {
		op->find.place.due = true;
		op->find.fn(op, &op->find.place);
	} else if (op->find.place.due_minute < op->find.last_minute) {
		op->find.place.due_minute += op->find.step;
		look_at_due(op);
	} else {
		path_of_queue(paths_of(op), op->queue, "at", NULL, path);
		queue_children(op_calls(op), path, on_nodes, op);
	}
}

static void look_at_due(struct queue_op *op)
{
	char path[STORE_PATH_MAX];

	path_of_due(paths_of(op), op->queue, op->find.place.due_minute, &op->find.pointer, path);
	queue_exists(op_calls(op), path, on_due, op);
}

void queue_places_forget(struct queue_op *op)
{
	names_free(op->find.nodes, op->find.n);
	op->find.nodes = NULL;
	op->find.n = op->find.next = 0;
}

/* Other hosts may spread the queue over fewer folders, or more. */
void queue_find_place(struct queue_op *op, const struct job_id *id, int64_t due_ms, job_place_fn fn)
{
	queue_places_forget(op);
	op->find.pointer = job_pointer_to(id, due_ms, false);
	memset(&op->find.place, 0, sizeof(op->find.place));
	op->find.place.due_minute = queue_due_first(&op->find.pointer, &op->find.step);
	op->find.last_minute = op->find.place.due_minute + op->find.step * QUEUE_SPREAD_MAX;
	op->find.fn = fn;
	look_at_due(op);
}
