/*
 * The jobs of a queue, newest first, whatever has become of them: a page of them for each request.
 * Minute by minute; within a minute by the zxid that created the record, which a look at its Stat
 * tells without its payload.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/names.h"
#include "node/queue/queue_op.h"
#include "node/tree/paths.h"

#define AT_A_TIME 16   /* outstanding requests */
#define PAGE_MAX  500  /* jobs of an answer */
#define TIME_MS	  3000 /* no record is read after so long: clients wait 10 s for an answer */

static const char digits[] = "0123456789abcdef";

struct found {
	char uuid[37];
	int64_t zxid; /* the zxid of its creation; 0: the job has gone */
};

/* An entry of `at`. */
struct assigned {
	struct job_pointer pointer;
	size_t node; /* its index in `nodes` */
};

struct jobs_list {
	struct queue_op op;
	char state[JOB_STATE_MAX + 1]; /* "": all states */
	size_t most;
	struct queue_cursor after; /* the page begins behind this job: all are older */
	int64_t until_ms;	   /* CLOCK_BOOTTIME: no record is read from then on */
	bool full;		   /* the page is full, or its time is over */

	char **nodes; /* nodes with a folder in `at`; owned, as is each */
	size_t n_nodes, node;
	struct assigned *assigned; /* owned */
	size_t n_assigned;

	int64_t *minutes; /* newest first; owned */
	size_t n_minutes, minute;
	unsigned listing;    /* outstanding listings of the minute's folders */
	struct found *found; /* the jobs of that minute; owned */
	size_t n_found, asked, answered;
	bool reads; /* reads records; false: their Stats */

	struct job_record **records; /* owned, as is each */
	size_t n_records, n_read;    /* n_read: a whole minute counts for AT_A_TIME */
	queue_list_fn fn;
	void *arg;
};

static struct jobs_list *of(struct queue_op *op)
{
	return (struct jobs_list *)op; /* its first member */
}

static const struct node_settings *paths_of(const struct jobs_list *l)
{
	return l->op.queues->registry->settings;
}

static void forget(struct jobs_list *l)
{
	names_free(l->nodes, l->n_nodes);
	free(l->assigned);
	free(l->minutes);
	free(l->found);
	for (size_t i = 0; i < l->n_records; i++)
		free(l->records[i]);
	free(l->records);
	l->nodes = NULL;
	l->assigned = NULL;
	l->minutes = NULL;
	l->found = NULL;
	l->records = NULL;
	l->n_nodes = l->node = l->n_assigned = l->n_minutes = l->minute = 0;
	l->n_found = l->n_records = l->n_read = 0;
	l->listing = 0;
	l->full = false;
}

static void list_free(struct queue_op *op)
{
	forget(of(op));
	free(op);
}

static void list_fail(struct queue_op *op, enum job_outcome outcome, const char *why)
{
	(void)outcome, (void)why;
	of(op)->fn(of(op)->arg, NULL, 0, NULL);
}

static void done(struct jobs_list *l)
{
	const struct job_record *const *records = (const struct job_record *const *)l->records;
	static const struct job_record *const none[1];

	l->fn(l->arg, records ? records : none, l->n_records, l->full ? &l->after : NULL);
	op_end(&l->op);
}

static void begin_minute(struct jobs_list *l);

/* --- the records of a minute ---------------------------------------------- */

/* A record does not say that its job is assigned. */
static void find_node(const struct jobs_list *l, const struct job_id *id, struct job_record *j)
{
	if (strcmp(j->state, "queued") != 0)
		return;
	for (size_t i = 0; i < l->n_assigned; i++) {
		const struct assigned *a = &l->assigned[i];
		if (a->pointer.callback || a->pointer.minute != id->minute ||
		    strcmp(a->pointer.uuid, id->uuid) != 0)
			continue;
		snprintf(j->state, sizeof(j->state), "assigned");
		(void)path_is_node(l->nodes[a->node], j->node);
		return;
	}
}

/* Copies the record without payload and output. */
static void take(struct jobs_list *l, const struct job_id *id, const struct store_reply *reply)
{
	struct job_record j;
	const char *why;

	if (reply->code != STORE_OK || record_parse_job(reply->data, reply->len, &j, &why) != 0 ||
	    j.purged)
		return;
	find_node(l, id, &j);
	if (l->state[0] && strcmp(l->state, j.state) != 0)
		return;
	j.payload = j.output = NULL;
	j.payload_len = j.output_len = 0;
	l->records = mem_resize(l->records, l->n_records + 1, sizeof(struct job_record *));
	l->records[l->n_records] = mem_alloc(sizeof(j));
	*l->records[l->n_records++] = j;
}

static struct job_id id_of(const struct jobs_list *l, const struct found *f)
{
	struct job_id id = {.minute = l->minutes[l->minute]};

	memcpy(id.queue, l->op.queue, sizeof(id.queue));
	memcpy(id.uuid, f->uuid, sizeof(id.uuid));
	return id;
}

static void go_on(struct jobs_list *l);

static void on_record(void *arg, const struct store_reply *reply)
{
	struct jobs_list *l = arg;

	if (op_took(&l->op, reply))
		return;
	/* Reads are answered in the order in which they were sent. */
	const struct found *f = &l->found[l->answered++];
	struct job_id id = id_of(l, f);
	take(l, &id, reply);
	l->after = (struct queue_cursor){id.minute, f->zxid};
	l->n_read++;
	go_on(l);
}

/* Whether another read may be sent now: each list may have one, and more if few are outstanding. */
static bool has_room(const struct jobs_list *l)
{
	size_t outstanding = l->asked - l->answered;

	return l->asked < l->n_found && outstanding < AT_A_TIME &&
	       (outstanding == 0 || op_calls(&l->op)->n < QUEUE_CALLS_PEOPLE);
}

/* The first jobs are always read, so that a client that repeats the request gets on. */
static bool is_over(const struct jobs_list *l)
{
	return l->n_records + (l->asked - l->answered) >= l->most ||
	       (l->n_read >= AT_A_TIME && queues_now(l->op.queues) >= l->until_ms);
}

static void read_some(struct jobs_list *l)
{
	char path[STORE_PATH_MAX];

	while (has_room(l) && !is_over(l)) {
		struct job_id id = id_of(l, &l->found[l->asked++]);
		path_of_job(paths_of(l), &id, path);
		queue_get(op_calls(&l->op), path, on_record, l);
	}
	if (l->asked > l->answered)
		return;
	if (l->asked < l->n_found) {
		l->full = true;
		done(l);
		return;
	}
	l->after = (struct queue_cursor){l->minutes[l->minute], 0};
	l->minute++;
	l->n_read += AT_A_TIME;
	l->full = is_over(l);
	begin_minute(l);
}

/* --- their order ---------------------------------------------------------- */

static int newest_first(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->zxid > y->zxid ? -1 : x->zxid < y->zxid;
}

static void on_stat(void *arg, const struct store_reply *reply)
{
	struct jobs_list *l = arg;

	if (op_took(&l->op, reply))
		return;
	l->found[l->answered++].zxid = reply->code == STORE_OK ? reply->stat.czxid : 0;
	go_on(l);
}

/* Sorts the newest first; drops jobs that have gone, and skips those of an earlier page. */
static void sort_found(struct jobs_list *l)
{
	size_t first = 0;

	if (l->n_found > 0)
		qsort(l->found, l->n_found, sizeof(*l->found), newest_first);
	while (l->n_found > 0 && l->found[l->n_found - 1].zxid == 0)
		l->n_found--;
	if (l->minutes[l->minute] == l->after.minute)
		while (first < l->n_found && l->found[first].zxid >= l->after.zxid)
			first++;
	l->asked = l->answered = first;
	l->reads = true;
}

static void look_at_some(struct jobs_list *l)
{
	char path[STORE_PATH_MAX];

	while (has_room(l)) {
		struct job_id id = id_of(l, &l->found[l->asked++]);
		path_of_job(paths_of(l), &id, path);
		queue_exists(op_calls(&l->op), path, on_stat, l);
	}
	if (l->asked > l->answered)
		return;
	sort_found(l);
	read_some(l);
}

static void go_on(struct jobs_list *l)
{
	if (l->reads)
		read_some(l);
	else
		look_at_some(l);
}

/* --- the minutes ---------------------------------------------------------- */

static void on_names(void *arg, const struct store_reply *reply)
{
	struct jobs_list *l = arg;
	size_t n = reply->code == STORE_OK ? reply->n_names : 0;

	if (op_took(&l->op, reply))
		return;
	l->found = mem_resize(l->found, l->n_found + n + 1, sizeof(*l->found));
	for (size_t i = 0; i < n; i++)
		if (strlen(reply->names[i]) == sizeof(l->found->uuid) - 1)
			memcpy(l->found[l->n_found++].uuid, reply->names[i],
			       sizeof(l->found->uuid));
	if (--l->listing == 0)
		go_on(l);
}

static void begin_minute(struct jobs_list *l)
{
	char path[STORE_PATH_MAX];

	if (l->minute == l->n_minutes)
		l->full = false;
	if (l->minute == l->n_minutes || l->full) {
		done(l);
		return;
	}
	l->n_found = l->asked = l->answered = 0;
	l->reads = false;
	for (const char *x = digits; *x; x++) {
		path_of_job_folder(paths_of(l), l->op.queue, l->minutes[l->minute], *x, path);
		l->listing++;
		queue_children(op_calls(&l->op), path, on_names, l);
	}
}

static int latest_first(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x > y ? -1 : x < y;
}

static bool is_left(const struct jobs_list *l, int64_t minute)
{
	return minute < l->after.minute || (minute == l->after.minute && l->after.zxid > 0);
}

static void on_minutes(void *arg, const struct store_reply *reply)
{
	struct jobs_list *l = arg;
	int64_t minute;

	if (op_took(&l->op, reply))
		return;
	l->minutes = mem_calloc(reply->n_names + 1, sizeof(*l->minutes));
	for (size_t i = 0; reply->code == STORE_OK && i < reply->n_names; i++)
		if (job_minute_parse(reply->names[i], strlen(reply->names[i]), &minute) &&
		    is_left(l, minute))
			l->minutes[l->n_minutes++] = minute;
	qsort(l->minutes, l->n_minutes, sizeof(*l->minutes), latest_first);
	begin_minute(l);
}

/* --- assigned jobs -------------------------------------------------------- */

static void list_next_node(struct jobs_list *l);

static void on_at(void *arg, const struct store_reply *reply)
{
	struct jobs_list *l = arg;
	size_t n = reply->code == STORE_OK ? reply->n_names : 0;

	if (op_took(&l->op, reply))
		return;
	l->assigned = mem_resize(l->assigned, l->n_assigned + n + 1, sizeof(*l->assigned));
	for (size_t i = 0; i < n; i++) {
		struct assigned *a = &l->assigned[l->n_assigned];
		a->node = l->node;
		l->n_assigned += job_pointer_parse(reply->names[i], strlen(reply->names[i]), false,
						   &a->pointer);
	}
	l->node++;
	list_next_node(l);
}

static void list_next_node(struct jobs_list *l)
{
	char path[STORE_PATH_MAX], node[WORKER_NODE_MAX + 1];

	while (l->node < l->n_nodes && (!path_is_node(l->nodes[l->node], node) ||
					!path_of_at(paths_of(l), l->op.queue, node, NULL, path)))
		l->node++;
	if (l->node < l->n_nodes) {
		queue_children(op_calls(&l->op), path, on_at, l);
		return;
	}
	path_of_queue(paths_of(l), l->op.queue, "job", NULL, path);
	queue_children(op_calls(&l->op), path, on_minutes, l);
}

static void on_nodes(void *arg, const struct store_reply *reply)
{
	struct jobs_list *l = arg;

	if (op_took(&l->op, reply))
		return;
	l->nodes = mem_calloc(reply->n_names + 1, sizeof(*l->nodes));
	for (size_t i = 0; reply->code == STORE_OK && i < reply->n_names; i++)
		l->nodes[l->n_nodes++] = mem_strdup(reply->names[i]);
	list_next_node(l);
}

/* --- from outside --------------------------------------------------------- */

static void list_step(struct queue_op *op)
{
	char path[STORE_PATH_MAX];

	forget(of(op));
	path_of_queue(paths_of(of(op)), op->queue, "at", NULL, path);
	op_confirm(op);
	queue_children(op_calls(op), path, on_nodes, op);
}

void queues_list(struct queues *q, const char *queue, const char *state, size_t most,
		 const struct queue_cursor *after, queue_list_fn fn, void *arg)
{
	struct jobs_list *l = mem_calloc(1, sizeof(*l));

	l->op.step = list_step;
	l->op.fail = list_fail;
	l->op.free = list_free;
	snprintf(l->state, sizeof(l->state), "%s", state);
	l->most = most > 0 && most < PAGE_MAX ? most : PAGE_MAX;
	l->after = after ? *after : (struct queue_cursor){INT64_MAX, 0};
	l->until_ms = queues_now(q) + TIME_MS;
	l->fn = fn;
	l->arg = arg;
	op_begin(q, &l->op, queue);
}
