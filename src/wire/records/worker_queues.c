#include "wire/records/worker_queues.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/keys.h"

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct worker_queue *)a)->queue,
		      ((const struct worker_queue *)b)->queue);
}

/* Of a queue that is there twice the record would not say how many slots it has. */
static bool is_distinct(const struct worker_queue *queues, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (strcmp(queues[i - 1].queue, queues[i].queue) == 0)
			return false;
	return true;
}

static int parse_one(struct reader *r, struct worker_queue *q)
{
	struct reader_text t;
	int64_t slots;
	int e = reader_str(r, &t);

	if (e < 0)
		return e;
	if (!name_is_task(t.data, t.len))
		return -EBADMSG;
	memcpy(q->queue, t.data, t.len);
	e = keys_parse_int(r, 1, WORKER_SLOTS_MAX, &slots);
	if (e < 0)
		return e;
	q->slots = (unsigned)slots;
	return 0;
}

int worker_queues_parse(struct reader *r, void *worker)
{
	struct worker *w = worker;
	size_t n;
	int e = reader_map(r, &n);

	if (e < 0)
		return e;
	if (n > WORKER_QUEUES_MAX)
		return -EBADMSG;
	w->queues = mem_calloc(n + 1, sizeof(w->queues[0]));
	for (w->n_queues = 0; w->n_queues < n; w->n_queues++) {
		e = parse_one(r, &w->queues[w->n_queues]);
		if (e < 0)
			return e;
	}
	qsort(w->queues, n, sizeof(w->queues[0]), by_name);
	return is_distinct(w->queues, n) ? 0 : -EBADMSG;
}

void worker_queues_pack(struct pack *p, const struct worker *w)
{
	pack_str(p, "queues");
	pack_map(p, w->n_queues);
	for (size_t i = 0; i < w->n_queues; i++)
		pack_kv_int(p, w->queues[i].queue, w->queues[i].slots);
}
