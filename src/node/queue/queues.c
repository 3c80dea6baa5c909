#include "node/queue/queues.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "node/election/tasks.h"
#include "node/queue/queue_parts.h"
#include "node/tree/paths.h"

#define WARM_MS 60000 /* the lease is kept up so long behind the last job */

int64_t queues_now(const struct queues *q)
{
	return host_now_ms(q->session->host);
}

int64_t queues_server_ms(const struct queues *q)
{
	int64_t now;

	(void)clocks_jobs(&q->registry->clocks, &now);
	return now > 0 ? now : 0;
}

int64_t queues_passed_ms(const struct queues *q)
{
	int64_t now = queues_server_ms(q), error = clocks_jobs_error(&q->registry->clocks);
	return now > error ? now - error : 0;
}

bool queues_may_begin(const struct queues *q)
{
	int64_t now;

	return clocks_jobs(&q->registry->clocks, &now);
}

bool queues_may_delete(const struct queues *q)
{
	return queues_may_begin(q) && clocks_jobs_offset(&q->registry->clocks) == 0;
}

bool queues_ready(const struct queues *q)
{
	return session_is_up(q->session) && q->session->registration[0] != '\0' && !q->kept;
}

/*
 * A leader takes away what a worker does not answer for, in a transaction that checks the record
 * which says so. So nothing is begun or goes on here before another record is there.
 */
bool queue_is_answered_for(const struct queue *queue)
{
	const struct member *self = registry_self(queue->queues->registry);

	return queues_ready(queue->queues) &&
	       (!self || worker_answers_for(self->worker, self->worker->node, queue->name));
}

const struct node_settings *queue_paths(const struct queue *queue)
{
	return queue->queues->registry->settings;
}

struct store_op queue_check_me(const struct queues *q)
{
	return (struct store_op){
		.type = STORE_OP_CHECK, .path = q->session->registration, .version = -1};
}

struct task *queue_task(const struct queue *queue)
{
	return tasks_find_any(queue->queues->leaders, queue->name);
}

static int by_key(const void *name, const void *queue)
{
	return strcmp(name, (*(struct queue *const *)queue)->name);
}

struct queue *queue_find(const struct queues *q, const char *name)
{
	struct queue **at =
		q->n > 0 ? bsearch(name, q->list, q->n, sizeof(*q->list), by_key) : NULL;

	return at ? *at : NULL;
}

/*
 * A folder for each minute of 90 days would be more than one znode may hold. A job's folder follows
 * from its name alone, so that every reader finds it.
 */
int64_t queue_due_first(const struct job_pointer *p, int64_t *ret_step)
{
	int64_t minute = p->due_ms / JOB_MINUTE_MS;

	*ret_step = minute > p->minute + QUEUE_FAR_MINUTES ? QUEUE_FAR_STEP : 1;
	return minute / *ret_step * *ret_step;
}

/* A queue with a large max-queued spreads the jobs of one minute over several folders. */
int64_t queue_due_minute(const struct queue *queue, const struct job_pointer *p)
{
	unsigned folders = (queue->settings.max_queued + QUEUE_SPREAD_PER - 1) / QUEUE_SPREAD_PER;
	int64_t step, minute = queue_due_first(p, &step);

	if (folders <= 1)
		return minute;
	return minute + step * (int64_t)(hash_bytes(p->uuid, strlen(p->uuid), 0) % folders);
}

int64_t queue_list_every(size_t names)
{
	int64_t ms = (int64_t)(names / FOLDER_LIST_NAMES_PER_MS);

	return ms > QUEUE_LIST_LEAST_MS ? ms : QUEUE_LIST_LEAST_MS;
}

void queue_given_up(struct queue *queue, const struct job_pointer *p, int64_t attempt)
{
	queue->given_up.n++;
	queue->given_up.last = *p;
	queue->given_up.last_ms = queues_now(queue->queues);
	log_warning("callback given up", LOG_STR("queue", queue->name), LOG_STR("job", p->uuid),
		    LOG_INT("attempt", attempt));
}

/* --- folders -------------------------------------------------------------- */

static void on_made(void *arg, const struct store_reply *reply)
{
	struct queue *queue = arg;

	if (store_is_refusal(reply->code)) {
		queue->refused = reply->code;
		log_warning("folder of a queue refused by the server",
			    LOG_STR("queue", queue->name), LOG_STR("why", reply->text));
	}
	if (--queue->making > 0)
		return;
	queue->queues->look_ms = 0;
	queues_wake(queue->queues, 0);
}

static void make(struct queue *queue, const char *path)
{
	queue->making++;
	queue_create(&queue->queues->calls, path, on_made, queue);
}

static void make_job_folders(struct queue *queue, int64_t minute)
{
	char path[STORE_PATH_MAX];

	path_of_job_folder(queue_paths(queue), queue->name, minute, 0, path);
	make(queue, path);
	for (const char *x = "0123456789abcdef"; *x; x++) {
		path_of_job_folder(queue_paths(queue), queue->name, minute, *x, path);
		make(queue, path);
	}
}

void queue_make_folders(struct queue *queue, const struct queue_folders *folders)
{
	static const char *const fixed[] = {"job", "due", "at", "dead", "key"};
	const struct node_settings *s = queue_paths(queue);
	char path[STORE_PATH_MAX];

	if (queue->making > 0)
		return; /* waiting requests are checked again, and may send others */
	queue->refused = STORE_OK;
	path_of(s, PATH_JOBS, NULL, path);
	make(queue, path);
	path_of_queue(s, queue->name, NULL, NULL, path);
	make(queue, path);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		path_of_queue(s, queue->name, fixed[i], NULL, path);
		make(queue, path);
	}
	if (folders->job_minute >= 0)
		make_job_folders(queue, folders->job_minute);
	if (folders->due_minute >= 0) {
		path_of_due_folder(s, queue->name, folders->due_minute, folders->callbacks, path);
		make(queue, path);
	}
	if (folders->node && path_of_at(s, queue->name, folders->node, NULL, path))
		make(queue, path);
}

/* --- which there are ------------------------------------------------------ */

static struct queue *queue_new(struct queues *q, const char *name)
{
	struct queue *queue = mem_calloc(1, sizeof(*queue));

	queue->queues = q;
	queue_works_init(queue);
	snprintf(queue->name, sizeof(queue->name), "%s", name);
	queue->unserved_ms = queues_now(q);
	queue_room_init(queue);
	return queue;
}

static void queue_free(struct queue *queue)
{
	char path[STORE_PATH_MAX];

	if (path_of_at(queue_paths(queue), queue->name, queue->queues->registry->node, NULL, path))
		queue_unwatch(&queue->queues->calls, path, WATCH_CHILDREN, queue);
	queue_lead_done(queue);
	queue_works_done(queue);
	queue_room_done(queue);
	queue_calls_forget(&queue->queues->calls, queue);
	free(queue);
}

/* Queues that are no longer configured are freed once none of their jobs is in progress. */
static void drop_gone(struct queues *q)
{
	size_t kept = 0;

	for (size_t i = 0; i < q->n; i++) {
		struct queue *queue = q->list[i];
		if (!queue->configured && queue_works_going(queue) == 0 && queue->making == 0)
			queue_free(queue);
		else
			q->list[kept++] = queue;
	}
	if (kept < q->n) {
		q->n = kept;
		registry_answers_changed(q->registry);
	}
}

static bool is_served(const struct registry *r, const char *name)
{
	for (size_t i = 0; i < r->tasks.n_queues; i++)
		if (strcmp(r->tasks.queues[i].queue, name) == 0)
			return true;
	return false;
}

/* Adds queues without slots here, and removed ones whose jobs still run here. */
static void add_answers(void *arg, struct worker *w)
{
	const struct queues *q = arg;
	char **names = mem_calloc(q->n + 1, sizeof(*names));
	size_t n = 0;

	for (size_t i = 0; i < q->n; i++)
		if (!is_served(q->registry, q->list[i]->name))
			names[n++] = mem_strdup(q->list[i]->name);
	worker_take_answers(w, names, n);
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct queue *const *)a)->name, (*(struct queue *const *)b)->name);
}

void queues_configured(struct queues *q)
{
	struct leaders *l = q->leaders;
	size_t n = q->n;

	for (size_t i = 0; i < q->n; i++)
		q->list[i]->configured = false;
	q->list = mem_resize(q->list, q->n + l->n_listings + 1, sizeof(struct queue *));
	for (size_t i = 0; i < l->n_listings; i++) {
		const struct listing *listing = l->listings[i];
		struct queue *queue = queue_find(q, listing->name);
		if (!listing->settings.queue)
			continue;
		if (!queue)
			queue = q->list[n++] = queue_new(q, listing->name);
		queue->settings = *listing->settings.queue;
		queue->configured = true;
	}
	q->n = n;
	qsort(q->list, q->n, sizeof(struct queue *), by_name);
	registry_answers_changed(q->registry);
	queues_changed(q);
}

/* --- timer and turns ------------------------------------------------------ */

void queues_wake(struct queues *q, int64_t in_ms)
{
	int64_t at = queues_now(q) + in_ms;

	if (in_ms <= 0) {
		q->again = true;
		return;
	}
	if (at >= q->wake_ms)
		return;
	q->wake_ms = at;
	host_timer_start(&q->due, in_ms);
}

static void on_due(void *arg)
{
	struct queues *q = arg;

	q->wake_ms = INT64_MAX;
	q->again = true;
}

/* Keeps the lease up between jobs, so that the next one finds a lease when it begins. */
static void keep_warm(struct queues *q, int64_t now)
{
	bool up = session_is_up(q->session) || session_lease_left(q->session) > 0;

	for (size_t i = 0; i < q->n; i++)
		if (!TAILQ_EMPTY(&q->list[i]->works.list))
			q->warm_ms = now + WARM_MS;
	if (now < q->warm_ms)
		queues_wake(q, q->warm_ms - now);
	session_set_working(q->session, now < q->warm_ms && up);
}

/* Runs at the end of each turn of the loop. */
static void on_turn(void *arg)
{
	struct queues *q = arg;
	int rounds = 0;

	if (!q->again || q->busy || q->kept)
		return;
	q->busy = true;
	while (q->again && rounds++ < 3) {
		int64_t now = queues_now(q);
		bool moved = q->moved;
		q->again = q->moved = false;
		for (size_t i = 0; i < q->n; i++) {
			if (moved)
				queue_note_served(q->list[i], now);
			queue_room_pump(q->list[i], now);
			queue_works_pump(q->list[i], now);
			queue_lead_pump(q->list[i], now);
		}
		queue_ops_pump(q, now);
		drop_gone(q);
		if (q->n > 0)
			keep_warm(q, now);
	}
	q->busy = false;
	if (q->again)
		host_timer_start(&q->due, 0);
}

/* An answer has come: there is room for another request. */
static void on_landed(void *arg)
{
	struct queues *q = arg;

	q->again |= !TAILQ_EMPTY(&q->waiting) || q->n > 0;
}

/* --- from the session and the elections ----------------------------------- */

void queues_up(struct queues *q)
{
	for (size_t i = 0; i < q->n; i++) {
		queue_works_up(q->list[i]);
		/* The fleet is read again: who served it may do so still. */
		if (q->list[i]->unserved_ms > 0)
			q->list[i]->unserved_ms = queues_now(q);
	}
	queue_ops_up(q);
	queues_wake(q, 0);
}

void queues_cut(struct queues *q)
{
	for (size_t i = 0; i < q->n; i++)
		queue_lead_cut(q->list[i]);
	q->cut_ms = queues_now(q);
	q->look_ms = 0;
	queues_wake(q, 0);
}

void queues_expired(struct queues *q)
{
	for (size_t i = 0; i < q->n; i++) {
		queue_lead_cut(q->list[i]);
		queue_works_expired(q->list[i]);
	}
	queues_wake(q, 0);
}

void queues_watch(struct queues *q, enum store_watch type, const char *path)
{
	char name[NAME_TASK_MAX + 1];
	const char *rest = path_in_queue(q->registry->settings, path, name);
	struct queue *queue = rest ? queue_find(q, name) : NULL;

	if (!rest)
		return;
	queue_ops_watch(q, path);
	if (queue) {
		queue_works_watch(queue, path, rest);
		queue_lead_watch(queue, type, rest);
	}
	queues_wake(q, 0);
}

void queues_changed(struct queues *q)
{
	q->moved = true;
	if (q->n > 0)
		queues_wake(q, 0);
}

void queues_owner_gone(struct queues *q, const void *owner)
{
	for (size_t i = 0; i < q->n; i++)
		queue_works_owner_gone(q->list[i], owner);
	queue_reads_owner_gone(q, owner);
	queues_wake(q, 0);
}

/* --- the end -------------------------------------------------------------- */

void queues_stop(struct queues *q)
{
	q->stopping = true;
	queues_wake(q, 0);
}

size_t queues_going(const struct queues *q)
{
	size_t n = 0;

	for (size_t i = 0; i < q->n; i++)
		n += queue_works_going(q->list[i]);
	return n;
}

bool queues_known(const struct queues *q)
{
	for (size_t i = 0; i < q->n; i++)
		if (!queue_works_known(q->list[i]))
			return false;
	return true;
}

bool queues_serve(const struct queues *q, const char *name)
{
	return queue_find(q, name) != NULL;
}

void queues_revoke(struct queues *q)
{
	q->holders.revoked = true;
}

void queues_keep(struct queues *q)
{
	q->kept = true;
}

void queues_init(struct queues *q, struct session *session, struct registry *registry,
		 struct leaders *leaders, const struct queues_handlers *handlers)
{
	*q = (struct queues){.session = session,
			     .registry = registry,
			     .leaders = leaders,
			     .holders = {.session = session},
			     .wake_ms = INT64_MAX};
	queue_ops_init(q);
	if (handlers)
		q->handlers = *handlers;
	registry->add_answers = add_answers;
	registry->answers_arg = q;
	queue_calls_init(&q->calls, session, on_landed, q);
	host_turn_init(&q->turn, session->host, on_turn, q);
	host_timer_init(&q->due, session->host, on_due, q);
}

void queues_done(struct queues *q)
{
	q->busy = true;
	q->registry->add_answers = NULL;
	queue_ops_done(q);
	for (size_t i = 0; i < q->n; i++)
		queue_free(q->list[i]);
	free(q->list);
	q->list = NULL;
	q->n = 0;
	queue_calls_done(&q->calls);
	host_turn_done(&q->turn);
	host_timer_done(&q->due);
}
