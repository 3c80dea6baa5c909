/* The jobs of a queue that are assigned to this node, and their supervisors. */
#include "node/queue/work/queue_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "core/fleet/fleet.h"
#include "node/tree/paths.h"

#define TELL_AGAIN_MS 1000 /* between offers to the runner of a job that has not begun */
#define UNTOLD_MS     5000 /* a job whose begin nobody was told of waits so long for a supervisor */

static struct queues *queues_of(const struct work *w)
{
	return w->queue->queues;
}

/* --- answers to supervisors ----------------------------------------------- */

static void refuse_begin(struct work *w, const char *why)
{
	job_begun_fn fn = w->begun;

	w->begun = NULL;
	if (fn)
		fn(w->arg, &(struct job_begun){.why = why});
}

static void tell_ended(struct work *w, bool recorded)
{
	job_ended_fn fn = w->ended;

	w->ended = NULL;
	if (fn)
		fn(w->arg, recorded);
}

static void tell_begun(struct work *w)
{
	struct holders *holders = &queues_of(w)->holders;
	job_begun_fn fn = w->begun;

	if (!fn || w->state != WORK_RUNNING || !holder_tells(holders, &w->held))
		return;
	w->begun = NULL;
	(void)holder_renew(holders, &w->held, true);
	fn(w->arg,
	   &(struct job_begun){.yours = true,
			       .number = w->held.number,
			       .token = w->token,
			       .attempt = w->pointer.callback ? w->at.attempt : w->record.attempt,
			       .timeout_ms = w->pointer.callback ? QUEUE_CALLBACK_MS
								 : w->queue->settings.timeout_ms,
			       .record = &w->record,
			       .payload = w->pointer.callback ? NULL : w->record.payload,
			       .len = w->pointer.callback ? 0 : w->record.payload_len,
			       .callback = w->pointer.callback ? w->record.callback : NULL});
}

static void tell_record(const struct work *w, const struct job_record *record)
{
	const struct queues *q = queues_of(w);

	if (q->handlers.told && !w->pointer.callback)
		q->handlers.told(q->handlers.arg, record);
}

/* --- from its steps ------------------------------------------------------- */

void work_has_begun(struct work *w, bool inherited)
{
	struct queues *q = queues_of(w);

	w->state = WORK_RUNNING;
	w->told_ms = queues_now(q);
	w->untold_ms = w->told_ms + UNTOLD_MS;
	if (inherited) {
		holder_is_told(&w->held);
		holder_inherit(&q->holders, &w->held);
		log_info("job goes on", LOG_STR("queue", w->queue->name),
			 LOG_STR("job", w->pointer.uuid));
	} else {
		tell_record(w, &w->record);
	}
	tell_begun(w);
}

void work_is_over(struct work *w, bool recorded)
{
	if (w->state == WORK_ENDING && recorded)
		tell_record(w, &w->end);
	w->state = WORK_GONE;
	refuse_begin(w, "it is not given to this node any more");
	tell_ended(w, recorded);
}

void work_is_cancelled(struct work *w)
{
	struct queues *q = queues_of(w);

	if (w->state == WORK_RUNNING && w->held.owner && q->handlers.cancel)
		q->handlers.cancel(q->handlers.arg, w->held.owner, w->held.number);
}

/* --- the list ------------------------------------------------------------- */

static struct work *work_new(struct queue *queue, const struct job_pointer *p)
{
	struct work *w = mem_calloc(1, sizeof(*w));

	w->queue = queue;
	holder_init(&queue->queues->holders, &w->held, NULL);
	w->since_ms = queues_now(queue->queues);
	w->pointer = *p;
	TAILQ_INSERT_TAIL(&queue->works.list, w, link);
	queue->works.n++;
	return w;
}

static void work_free(struct work *w)
{
	char path[STORE_PATH_MAX];

	work_path(w, path);
	queue_unwatch(&queues_of(w)->calls, path, WATCH_NODE, w);
	queue_calls_forget(&queues_of(w)->calls, w);
	free(w->seen.data);
	free(w->data);
	free(w->output);
	free(w);
}

static void collect(struct queue_works *works)
{
	for (struct work *w = TAILQ_FIRST(&works->list), *next; w; w = next) {
		next = TAILQ_NEXT(w, link);
		if (w->state != WORK_GONE)
			continue;
		TAILQ_REMOVE(&works->list, w, link);
		works->n--;
		work_free(w);
	}
}

static struct work *find_pointer(const struct queue_works *works, const struct job_pointer *p)
{
	for (struct work *w = TAILQ_FIRST(&works->list); w; w = TAILQ_NEXT(w, link))
		if (w->state != WORK_GONE && job_pointer_same(&w->pointer, p))
			return w;
	return NULL;
}

/* The assignment is no longer in the folder. */
static void not_listed(struct work *w)
{
	if (w->flying > 0)
		w->doubt = true; /* the outstanding answer tells */
	else if (w->state == WORK_STRANGE || w->state == WORK_GIVEN || w->state == WORK_READING)
		work_is_over(w, false);
	else
		w->doubt = true;
}

static void on_listed(void *arg, const struct store_reply *reply)
{
	struct queue *queue = arg;
	struct queue_works *works = &queue->works;
	struct job_pointer p;
	bool made = works->made;

	works->listing = false;
	works->list_ms = queues_now(queue->queues) + queue_list_every(reply->n_names);
	works->made = reply->code == STORE_NO_NODE;
	if (works->made)
		queue_make_folders(queue,
				   &(struct queue_folders){.job_minute = -1,
							   .due_minute = -1,
							   .node = queue->queues->registry->node});
	works->known |= works->made || reply->code == STORE_OK;
	if (reply->code != STORE_OK) {
		works->dirty = true;
		works->list_ms += works->made && !made ? 0 : QUEUE_AGAIN_MS;
		return;
	}
	for (struct work *w = TAILQ_FIRST(&works->list); w; w = TAILQ_NEXT(w, link))
		w->listed = false;
	for (size_t i = 0; i < reply->n_names; i++) {
		if (!job_pointer_parse(reply->names[i], strlen(reply->names[i]), false, &p))
			continue;
		struct work *w = find_pointer(works, &p);
		if (!w && works->n < QUEUE_WORKS_MAX)
			w = work_new(queue, &p);
		if (w)
			w->listed = true;
	}
	for (struct work *w = TAILQ_FIRST(&works->list); w; w = TAILQ_NEXT(w, link))
		if (!w->listed)
			not_listed(w);
	queues_wake(queue->queues, 0);
}

static void list(struct queue *queue, int64_t now)
{
	struct queue_works *works = &queue->works;
	char path[STORE_PATH_MAX];

	if (!works->dirty || works->listing || !queue_is_answered_for(queue) || queue->making > 0)
		return;
	if (now < works->list_ms) {
		queues_wake(queue->queues, works->list_ms - now);
		return;
	}
	if (!path_of_at(queue_paths(queue), queue->name, queue->queues->registry->node, NULL, path))
		return; /* a node with so long a name is given nothing */
	works->dirty = false;
	works->listing = true;
	queue_watch_children(&queue->queues->calls, path, WATCH_QUEUE, on_listed, queue);
}

/* --- steps of a job ------------------------------------------------------- */

/* Whether this node begins no more jobs of the queue. */
static bool is_leaving(const struct queue *queue)
{
	const struct queues *q = queue->queues;
	const struct member *self = registry_self(q->registry);

	return q->stopping || !queue->configured || queue->settings.slots == 0 ||
	       (self && (self->drained || worker_is_unhealthy(self->worker, queue->name)));
}

/* Whether there is a runner that may begin it. */
static bool tell_runner(struct work *w, int64_t now)
{
	struct queues *q = queues_of(w);
	struct job_id id;

	w->told_ms = now > 0 ? now : 1;
	queues_wake(q, TELL_AGAIN_MS);
	job_pointer_id(&w->pointer, w->queue->name, &id);
	return !q->handlers.job || q->handlers.job(q->handlers.arg, w->queue->name, &id);
}

static void look_at_given(struct work *w, int64_t now)
{
	struct queues *q = queues_of(w);
	bool due = w->told_ms == 0 || now >= w->told_ms + TELL_AGAIN_MS;

	if (is_leaving(w->queue)) {
		w->state = WORK_RETURNING;
		return;
	}
	if (!due) {
		queues_wake(q, w->told_ms + TELL_AGAIN_MS - now);
		return;
	}
	if (!tell_runner(w, now))
		w->state = WORK_RETURNING;
}

/* A job whose supervisor has gone has crashed, once its processes must be dead. */
static void look_at_running(struct work *w, int64_t now)
{
	const struct job_end crashed = {.what = ATTEMPT_CRASHED, .retry_ms = -1};
	int64_t until_ms = w->held.told ? w->held.lease_ms : w->untold_ms;

	tell_begun(w);
	if (w->held.lost && !w->held.told)
		work_is_over(w, false); /* no process runs */
	if (w->held.owner || w->state == WORK_GONE)
		return;
	if (!w->held.told && !w->held.lost && now >= w->told_ms + TELL_AGAIN_MS)
		tell_runner(w, now); /* another supervisor may begin it */
	if (now < until_ms) {
		queues_wake(queues_of(w), until_ms - now);
		return;
	}
	if (w->held.lost) {
		work_is_over(w, false);
		return;
	}
	log_warning("job has crashed", LOG_STR("queue", w->queue->name),
		    LOG_STR("job", w->pointer.uuid), LOG_INT("attempt", w->record.attempt));
	work_set_end(w, &crashed);
}

static void look_at(struct work *w, int64_t now)
{
	if (w->state == WORK_GIVEN && !w->doubt)
		look_at_given(w, now);
	else if (w->state == WORK_RUNNING)
		look_at_running(w, now);
	work_step(w, now);
}

void queue_works_init(struct queue *queue)
{
	TAILQ_INIT(&queue->works.list);
	queue->works.dirty = true; /* the session may be up for long */
}

void queue_works_pump(struct queue *queue, int64_t now)
{
	list(queue, now);
	for (struct work *w = TAILQ_FIRST(&queue->works.list); w; w = TAILQ_NEXT(w, link))
		if (w->state != WORK_GONE)
			look_at(w, now);
	collect(&queue->works);
}

/* --- from the session ----------------------------------------------------- */

void queue_works_up(struct queue *queue)
{
	queue->works.dirty = true;
	queue->works.list_ms = 0;
}

void queue_works_expired(struct queue *queue)
{
	for (struct work *w = TAILQ_FIRST(&queue->works.list); w; w = TAILQ_NEXT(w, link)) {
		queue_calls_forget(&queue->queues->calls, w);
		w->flying = 0;
		if (w->state == WORK_RUNNING && (w->held.owner || w->held.told))
			holder_lose(&w->held);
		else
			work_is_over(w, false);
	}
	queue->works.listing = queue->works.known = false;
	queue->works.dirty = true;
}

void queue_works_watch(struct queue *queue, const char *path, const char *rest)
{
	char own[STORE_PATH_MAX];
	size_t len;

	if (strncmp(rest, "at/", 3) != 0 ||
	    !path_of_at(queue_paths(queue), queue->name, queue->queues->registry->node, NULL, own))
		return;
	len = strlen(own);
	if (strncmp(path, own, len) != 0)
		return;
	queue->works.dirty = true;
	if (path[len] != '/')
		return;
	for (struct work *w = TAILQ_FIRST(&queue->works.list); w; w = TAILQ_NEXT(w, link)) {
		char name[JOB_POINTER_MAX + 1];
		job_pointer_format(&w->pointer, false, name);
		if (strcmp(name, path + len + 1) == 0)
			w->doubt = true;
	}
}

void queue_works_done(struct queue *queue)
{
	for (struct work *w = TAILQ_FIRST(&queue->works.list); w; w = TAILQ_NEXT(w, link))
		if (w->state != WORK_GONE)
			work_is_over(w, false);
	collect(&queue->works);
}

/* Whether processes may be alive, or an end is yet to be recorded. */
static bool is_going(const struct work *w)
{
	switch (w->state) {
	case WORK_BEGINNING:
	case WORK_RUNNING:
	case WORK_ENDING:
	case WORK_RETURNING: return true;
	case WORK_READING:
	case WORK_GIVEN:
	case WORK_STRANGE:
	case WORK_GONE: break;
	}
	return false;
}

size_t queue_works_going(const struct queue *queue)
{
	size_t n = 0;

	for (const struct work *w = TAILQ_FIRST(&queue->works.list); w; w = TAILQ_NEXT(w, link))
		n += is_going(w);
	return n;
}

/* --- supervisors ---------------------------------------------------------- */

static struct work *find(const struct queues *q, const void *owner, uint64_t number)
{
	for (size_t i = 0; i < q->n; i++)
		for (struct work *w = TAILQ_FIRST(&q->list[i]->works.list); w;
		     w = TAILQ_NEXT(w, link))
			if (w->state == WORK_RUNNING && holder_is(&w->held, owner, number))
				return w;
	return NULL;
}

/* Finds a job that waits to be begun, or has begun without a supervisor knowing. */
static struct work *find_to_begin(const struct queues *q, const struct job_id *id)
{
	const struct queue *queue = queue_find(q, id->queue);

	for (struct work *w = queue ? TAILQ_FIRST(&queue->works.list) : NULL; w;
	     w = TAILQ_NEXT(w, link))
		if (w->pointer.minute == id->minute && strcmp(w->pointer.uuid, id->uuid) == 0 &&
		    !w->held.owner &&
		    (w->state == WORK_GIVEN ||
		     (w->state == WORK_RUNNING && !w->held.told && !w->held.lost)))
			return w;
	return NULL;
}

void queues_begin(struct queues *q, void *owner, const struct job_id *id, job_begun_fn fn,
		  void *arg)
{
	struct work *w = q->stopping ? NULL : find_to_begin(q, id);

	if (!w) {
		fn(arg, &(struct job_begun){.why = q->stopping ? "the sidecar is being stopped"
							       : "it is not given to this node"});
		return;
	}
	holder_take(&w->held, owner);
	w->begun = fn;
	w->arg = arg;
	if (w->state == WORK_GIVEN)
		w->state = WORK_BEGINNING;
	queues_wake(q, 0);
}

void queues_attach(struct queues *q, void *owner, const struct job_id *id, int64_t attempt,
		   job_begun_fn fn, void *arg)
{
	const struct queue *queue = queue_find(q, id->queue);

	for (struct work *w = queue ? TAILQ_FIRST(&queue->works.list) : NULL; w;
	     w = TAILQ_NEXT(w, link)) {
		int64_t own = w->pointer.callback ? w->at.attempt : w->record.attempt;
		if (w->pointer.minute != id->minute || strcmp(w->pointer.uuid, id->uuid) != 0 ||
		    w->state != WORK_RUNNING || w->held.owner || !w->held.told || w->held.lost ||
		    own != attempt)
			continue;
		holder_attach(&w->held, owner);
		w->begun = fn;
		w->arg = arg;
		queues_wake(q, 0);
		return;
	}
	fn(arg, &(struct job_begun){.why = "it does not go on here"});
}

int64_t queues_renew(struct queues *q, const void *owner, uint64_t number)
{
	struct work *w = find(q, owner, number);

	if (!w)
		return -1;
	return holder_renew(&q->holders, &w->held, !w->cancelled);
}

bool queues_finish(struct queues *q, const void *owner, uint64_t number, const struct job_end *end,
		   job_ended_fn fn, void *arg)
{
	struct work *w = find(q, owner, number);

	if (!w)
		return false;
	if (w->held.lost) {
		work_is_over(w, false);
		fn(arg, false);
		return true;
	}
	work_set_end(w, end);
	w->ended = fn;
	w->arg = arg;
	queues_wake(q, 0);
	return true;
}

void queue_works_owner_gone(struct queue *queue, const void *owner)
{
	for (struct work *w = TAILQ_FIRST(&queue->works.list); w; w = TAILQ_NEXT(w, link)) {
		if (w->held.owner != owner)
			continue;
		holder_owner_gone(&queue->queues->holders, &w->held);
		w->begun = NULL;
		w->ended = NULL;
		w->told_ms = 0;
		w->untold_ms = queues_now(queue->queues) + UNTOLD_MS;
	}
}
