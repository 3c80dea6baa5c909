/* The workers that serve a queue: those that may get its jobs. */
#include "node/queue/queue_parts.h"

bool queue_is_fit(const struct queue *queue, const struct task *t, const struct member *m)
{
	return worker_slots(m->worker, queue->name) > 0 && !m->twin && !m->drained &&
	       fleet_fitness(m, &t->contest, t->index) == WHY_BEST;
}

bool queue_is_served(const struct queue *queue)
{
	const struct fleet *f = &queue->queues->registry->fleet;
	const struct task *t = queue_task(queue);

	for (size_t i = 0; i < f->n_members; i++)
		if (t ? queue_is_fit(queue, t, f->by_id[i])
		      : worker_slots(f->by_id[i]->worker, queue->name) > 0)
			return true;
	return false;
}

void queue_note_served(struct queue *queue, int64_t now)
{
	if (queue_is_served(queue)) {
		queue->was_served = true;
		queue->unserved_ms = 0;
	} else if (queue->unserved_ms == 0) {
		queue->unserved_ms = now;
	}
}
