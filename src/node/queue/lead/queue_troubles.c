/* Problems of queues on this node, as texts for people. */
#include "node/queue/lead/queue_lead.h"
#include "node/queue/work/queue_work.h"
#include "node/tree/paths.h"

#include <inttypes.h>
#include <stdio.h>

#define GIVEN_UP_MS 3600000 /* a callback that was given up is shown for so long */
#define UNSERVED_MS 30000
#define BEGIN_MS    30000 /* a job that is assigned has begun by then */

/* Whether the job should have begun. */
static bool is_late(const struct work *w, int64_t now)
{
	switch (w->state) {
	case WORK_READING:
	case WORK_GIVEN:
	case WORK_BEGINNING: return now >= w->since_ms + BEGIN_MS;
	case WORK_RUNNING:
	case WORK_ENDING:
	case WORK_RETURNING:
	case WORK_STRANGE:
	case WORK_GONE: break;
	}
	return false;
}

static bool find_late(const struct queue *queue, char text[QUEUE_TROUBLE_MAX])
{
	int64_t now = queues_now(queue->queues);
	const struct work *first = NULL;
	char name[JOB_ID_MAX + 1];
	struct job_id id;
	size_t n = 0;

	for (const struct work *w = TAILQ_FIRST(&queue->works.list); w; w = TAILQ_NEXT(w, link)) {
		if (!is_late(w, now))
			continue;
		n++;
		first = first ? first : w;
	}
	if (!first)
		return false;
	job_pointer_id(&first->pointer, queue->name, &id);
	job_id_format(&id, name);
	snprintf(text, QUEUE_TROUBLE_MAX,
		 "%zu of its jobs were assigned to this node more than 30 s ago and have not "
		 "begun, the first is %s: the log of its runner says why; zkleader drain has them "
		 "done elsewhere",
		 n, name);
	return true;
}

static bool find_above(const struct queue *queue, char text[QUEUE_TROUBLE_MAX])
{
	const struct queue_lead *lead = queue->lead;
	char path[STORE_PATH_MAX];

	if (!lead || !epoch_is_above(&lead->epoch, queues_now(queue->queues)))
		return false;
	path_of_queue(queue_paths(queue), queue->name, NULL, NULL, path);
	snprintf(text, QUEUE_TROUBLE_MAX,
		 "none of its jobs is assigned: its last leader had the token %" PRId64
		 ", above that of this one (%" PRId64
		 "), as in a copy of another ensemble's data; if no other fleet does these jobs, "
		 "zkCli.sh set %s 0 has this one go on (with an auth-file behind addauth)",
		 lead->epoch.above, lead->epoch.token, path);
	return true;
}

/* Shown for a limited time, as nobody can take it back. */
static bool find_given_up(const struct queue *queue, char text[QUEUE_TROUBLE_MAX])
{
	char name[JOB_ID_MAX + 1];
	struct job_id id;

	if (queue->given_up.n == 0 ||
	    queues_now(queue->queues) >= queue->given_up.last_ms + GIVEN_UP_MS)
		return false;
	job_pointer_id(&queue->given_up.last, queue->name, &id);
	job_id_format(&id, name);
	snprintf(text, QUEUE_TROUBLE_MAX,
		 "this node has given up %zu of its callbacks, the last within the hour, of the "
		 "job %s: their receivers do not know how those jobs have ended; zkleader job "
		 "tells, the log of the runner says what they answered",
		 queue->given_up.n, name);
	return true;
}

/* A worker that only restarts is no trouble. */
static bool find_unserved(const struct queue *queue, char text[QUEUE_TROUBLE_MAX])
{
	const struct task *t = queue_task(queue);

	if (queue->unserved_ms == 0 || (t && t->standing.paused) ||
	    queues_now(queue->queues) < queue->unserved_ms + UNSERVED_MS)
		return false;
	snprintf(text, QUEUE_TROUBLE_MAX,
		 "no healthy worker has served it for 30 s, so it takes nothing and no job of it "
		 "is done: start a runner of its user on a node that has its file (systemctl "
		 "enable --now zkleader-runner@USER), or undrain one");
	return true;
}

void queues_troubles(const struct queues *q, queue_trouble_fn fn, void *arg)
{
	char text[QUEUE_TROUBLE_MAX];

	for (size_t i = 0; i < q->n; i++) {
		if (find_late(q->list[i], text))
			fn(arg, q->list[i]->name, text);
		if (find_unserved(q->list[i], text))
			fn(arg, q->list[i]->name, text);
		if (find_above(q->list[i], text))
			fn(arg, q->list[i]->name, text);
		if (find_given_up(q->list[i], text))
			fn(arg, q->list[i]->name, text);
	}
}
