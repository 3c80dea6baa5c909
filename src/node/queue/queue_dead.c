/* Dead letters: listed, requeued, deleted; one, or all of a queue. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "core/fleet/rank.h"
#include "node/queue/queue_ending.h"
#include "node/queue/queue_op.h"
#include "node/tree/paths.h"

#define AT_A_TIME 16   /* requests of a bulk operation */
#define PAGE_MAX  500  /* in one answer */
#define MANY_MS	  3000 /* no more are begun after this: clients wait 10 s for an answer */

/* --- a single dead letter ------------------------------------------------- */

struct one {
	struct queue_op op;
	struct job_id id;
	bool purges; /* deletes the job, else requeues it */
	int32_t job_version;
	uint8_t *data; /* the record's bytes */
	struct job_record record;
	job_fn fn;
	void *arg;
};

static struct one *of(struct queue_op *op)
{
	return (struct one *)op; /* its first member */
}

static void one_free(struct queue_op *op)
{
	free(of(op)->data);
	free(op);
}

static void one_fail(struct queue_op *op, enum job_outcome outcome, const char *why)
{
	struct one *o = of(op);

	o->fn(o->arg,
	      &(struct job_answer){
		      .outcome = outcome, .why = why, .id = o->id, .n = outcome == JOB_DONE});
}

static void done(struct one *o)
{
	one_fail(&o->op, JOB_DONE, NULL);
	op_end(&o->op);
}

static void on_changed(void *arg, const struct store_reply *reply)
{
	struct one *o = arg;
	struct queue *queue = op_queue(&o->op);

	if (op_took(&o->op, reply))
		return;
	if (reply->code == STORE_OK) {
		done(o);
	} else if (queue && !o->purges && reply->code == STORE_NO_NODE && reply->failed_op == 2) {
		struct job_pointer p = job_pointer_to(&o->id, o->record.due, false);
		op_make_folders(&o->op,
				&(struct queue_folders){.job_minute = -1,
							.due_minute = queue_due_minute(queue, &p)});
	} else if (++o->op.tries > QUEUE_TRIES_MAX) {
		op_fail(&o->op, JOB_NOT_NOW, "others change it all the time");
	} else {
		op_again(&o->op, 0);
	}
}

static void path_of_dead(const struct one *o, char path[STORE_PATH_MAX])
{
	char name[JOB_NAME_MAX + 1];

	job_name_format(&o->id, name);
	path_of_queue(o->op.queues->registry->settings, o->id.queue, "dead", name, path);
}

/* The job gets all its attempts again; the attempt numbers continue. */
static void requeue(struct one *o, struct queue *queue)
{
	struct store_op ops[ENDING_OPS];
	struct job_ending e = {.queue = queue,
			       .pointer = job_pointer_to(&o->id, 0, false),
			       .next = JOB_NEXT_AGAIN,
			       .record = &o->record,
			       .job_version = o->job_version,
			       .from_version = -1};

	job_ending_fill(&o->record, JOB_NEXT_AGAIN, queues_server_ms(o->op.queues), 0);
	o->record.base = o->record.attempt;
	o->record.ended = 0;
	o->record.exit_status = -1;
	o->record.output_len = 0;
	o->record.why[0] = o->record.detail[0] = '\0';
	path_of_dead(o, e.from);
	size_t n = job_ending_ops(&e, ops);
	queue_multi(op_calls(&o->op), ops, n, on_changed, o);
	job_ending_done(&e);
}

/*
 * A stub of the record stays, so that a repeated submit of the same id makes no new job. Earlier
 * releases show the stub as a cancelled job. The key is deleted if this job has it.
 */
static void purge(struct one *o, const char *key, int32_t key_version)
{
	char job[STORE_PATH_MAX], dead[STORE_PATH_MAX];
	struct job_record trace = o->record;
	struct buffer bytes;

	job_ending_fill(&trace, JOB_NEXT_CANCELLED, queues_server_ms(o->op.queues), 0);
	trace.purged = true;
	trace.key[0] = trace.callback[0] = '\0';
	trace.output_len = 0;
	buffer_init(&bytes, RECORD_JOB_MAX);
	int error = record_pack_job(&bytes, &trace);
	assert(error == 0); /* all of it is bounded */
	(void)error;
	path_of_job(o->op.queues->registry->settings, &o->id, job);
	path_of_dead(o, dead);
	struct store_op ops[] = {
		{.type = STORE_OP_SET,
		 .path = job,
		 .version = o->job_version,
		 .data = bytes.data,
		 .len = bytes.len},
		{.type = STORE_OP_DELETE, .path = dead, .version = -1},
		{.type = STORE_OP_DELETE, .path = key, .version = key_version},
	};
	queue_multi(op_calls(&o->op), ops, key ? 3 : 2, on_changed, o);
	buffer_done(&bytes);
}

static void on_key(void *arg, const struct store_reply *reply)
{
	struct one *o = arg;
	char path[STORE_PATH_MAX];

	if (op_took(&o->op, reply))
		return;
	queue_path_of_key(o->op.queues, o->id.queue, o->record.key, path);
	purge(o, queue_key_is_of(reply, &o->id) ? path : NULL, reply->stat.version);
}

static void begin_purge(struct one *o)
{
	char path[STORE_PATH_MAX];

	if (!o->record.key[0]) {
		purge(o, NULL, -1);
		return;
	}
	queue_path_of_key(o->op.queues, o->id.queue, o->record.key, path);
	queue_get(op_calls(&o->op), path, on_key, o);
}

static bool is_dead(const struct job_record *j)
{
	return strcmp(j->state, "dead") == 0 || strcmp(j->state, "lost") == 0;
}

static void on_record(void *arg, const struct store_reply *reply)
{
	struct one *o = arg;
	struct queue *queue = op_queue(&o->op);
	const char *why;

	if (op_took(&o->op, reply))
		return;
	if (reply->code != STORE_OK) {
		if (o->purges)
			done(o);
		else
			op_fail(&o->op, JOB_NOT_THERE, QUEUE_NO_JOB);
		return;
	}
	free(o->data);
	o->data = mem_alloc(reply->len + 1);
	memcpy(o->data, reply->data ? reply->data : "", reply->len);
	o->job_version = reply->stat.version;
	if (record_parse_job(o->data, reply->len, &o->record, &why) != 0)
		op_fail(&o->op, JOB_NOT_SO, why);
	else if (o->record.purged && !o->purges)
		op_fail(&o->op, JOB_NOT_THERE, QUEUE_NO_JOB);
	else if (o->record.purged)
		done(o); /* perhaps by ourselves, and the answer was lost */
	else if (!is_dead(&o->record) && o->op.doubt)
		done(o); /* the answer was lost */
	else if (!is_dead(&o->record))
		op_fail(&o->op, JOB_NOT_SO, "it is no dead letter");
	else if (!queue)
		op_fail(&o->op, JOB_NOT_NOW, "the queue is not configured here any more");
	else if (o->purges)
		begin_purge(o);
	else
		requeue(o, queue);
}

static void one_step(struct queue_op *op)
{
	char path[STORE_PATH_MAX];

	path_of_job(op->queues->registry->settings, &of(op)->id, path);
	op_confirm(op);
	queue_get(op_calls(op), path, on_record, op);
}

static void begin_one(struct queues *q, const struct job_id *id, bool purges, job_fn fn, void *arg)
{
	struct one *o = mem_calloc(1, sizeof(*o));

	o->op.step = one_step;
	o->op.fail = one_fail;
	o->op.free = one_free;
	o->id = *id;
	o->purges = purges;
	o->fn = fn;
	o->arg = arg;
	op_begin(q, &o->op, id->queue);
}

void queues_requeue(struct queues *q, const struct job_id *id, job_fn fn, void *arg)
{
	begin_one(q, id, false, fn, arg);
}

/* --- all dead letters of a queue ------------------------------------------ */

enum many_kind { MANY_REQUEUE, MANY_PURGE, MANY_LIST };

struct many {
	struct queues *queues;
	enum many_kind kind;
	bool has_after; /* starts behind `after` */
	struct job_id after;
	struct job_id *ids; /* owned; the oldest first */
	size_t n, next, flying, done;
	int64_t until_ms; /* CLOCK_BOOTTIME: begins no more then; lists have no such limit */
	bool busy;
	enum job_outcome outcome; /* the first failure */
	const char *why;
	struct job_record **records; /* MANY_LIST: the page; owned, as is each */
	size_t n_records;
	job_fn fn;
	job_list_fn list_fn;
	void *arg;
};

struct listing_op {
	struct queue_op op;
	struct many *many;
};

/* Order by minute of submission. */
static int by_id(const void *a, const void *b)
{
	const struct job_id *x = a, *y = b;

	if (x->minute != y->minute)
		return x->minute < y->minute ? -1 : 1;
	return strcmp(x->uuid, y->uuid);
}

static int by_id_of(const void *a, const void *b)
{
	struct job_id x, y;
	const struct job_record *const *j = a, *const *k = b;

	if (!job_id_parse((*j)->id, strlen((*j)->id), &x) ||
	    !job_id_parse((*k)->id, strlen((*k)->id), &y))
		return strcmp((*j)->id, (*k)->id);
	return by_id(&x, &y);
}

static void many_end(struct many *m)
{
	const struct job_record *const *records = (const struct job_record *const *)m->records;

	if (m->n_records > 0) /* read several at a time */
		sort_pointers(m->records, m->n_records, by_id_of);
	if (m->kind == MANY_LIST)
		m->list_fn(m->arg, m->outcome == JOB_DONE ? records : NULL, m->n_records);
	else
		m->fn(m->arg,
		      &(struct job_answer){.outcome = m->outcome,
					   .why = m->why,
					   .n = m->done,
					   .id = m->next > 0 ? m->ids[m->next - 1] : m->after,
					   .more = m->next < m->n});
	for (size_t i = 0; i < m->n_records; i++) {
		free((void *)(uintptr_t)m->records[i]->output);
		free(m->records[i]);
	}
	free(m->records);
	free(m->ids);
	free(m);
}

static void many_go_on(struct many *m);

/* Copies the record without its payload. */
static void keep(struct many *m, const struct job_record *j)
{
	struct job_record *copy = mem_alloc(sizeof(*copy));
	char *output = mem_alloc(j->output_len + 1);

	*copy = *j;
	if (j->output_len > 0)
		memcpy(output, j->output, j->output_len);
	copy->output = output;
	copy->payload = NULL;
	copy->payload_len = 0;
	m->records[m->n_records++] = copy;
}

/* A job that has gone or changed meanwhile is not an error. */
static void on_one(void *arg, const struct job_answer *answer)
{
	struct many *m = arg;
	bool over = answer->outcome == JOB_NOT_THERE || answer->outcome == JOB_NOT_SO;

	m->flying--;
	if (answer->outcome == JOB_DONE)
		m->done++;
	else if (!over && m->outcome == JOB_DONE) {
		m->outcome = answer->outcome;
		m->why = answer->why;
	}
	if (answer->record && is_dead(answer->record))
		keep(m, answer->record);
	many_go_on(m);
}

/* Whether the next job is taken. A page is filled up for jobs that were gone meanwhile. */
static bool takes_more(const struct many *m)
{
	if (m->next == m->n || m->flying == AT_A_TIME || m->outcome != JOB_DONE)
		return false;
	if (m->kind == MANY_LIST)
		return m->n_records + m->flying < PAGE_MAX;
	/* The first jobs are always taken, so that a client that repeats the request gets on. */
	return m->next < AT_A_TIME || queues_now(m->queues) < m->until_ms;
}

static void many_go_on(struct many *m)
{
	if (m->busy)
		return;
	m->busy = true;
	while (takes_more(m)) {
		const struct job_id *id = &m->ids[m->next++];
		m->flying++;
		if (m->kind == MANY_LIST)
			queues_read(m->queues, id, 0, NULL, on_one, m);
		else
			begin_one(m->queues, id, m->kind == MANY_PURGE, on_one, m);
	}
	m->busy = false;
	if (m->flying == 0)
		many_end(m);
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct listing_op *l = arg;
	struct many *m = l->many;
	struct job_id id = {.minute = 0};

	if (op_took(&l->op, reply))
		return;
	memcpy(id.queue, l->op.queue, sizeof(id.queue));
	m->ids = mem_calloc(reply->n_names + 1, sizeof(*m->ids));
	for (size_t i = 0; reply->code == STORE_OK && i < reply->n_names; i++)
		if (job_name_parse(reply->names[i], strlen(reply->names[i]), &id) &&
		    (!m->has_after || by_id(&id, &m->after) > 0))
			m->ids[m->n++] = id;
	qsort(m->ids, m->n, sizeof(*m->ids), by_id);
	m->records = mem_calloc(PAGE_MAX, sizeof(*m->records));
	l->many = NULL;
	op_end(&l->op);
	many_go_on(m);
}

static void listing_step(struct queue_op *op)
{
	char path[STORE_PATH_MAX];

	path_of_queue(op->queues->registry->settings, op->queue, "dead", NULL, path);
	op_confirm(op);
	queue_children(op_calls(op), path, on_names, op);
}

static void listing_fail(struct queue_op *op, enum job_outcome outcome, const char *why)
{
	struct many *m = ((struct listing_op *)op)->many;

	m->outcome = outcome == JOB_UNKNOWN ? JOB_NO_SESSION : outcome; /* nothing was done yet */
	m->why = why;
	many_end(m);
}

static void listing_free(struct queue_op *op)
{
	free(op);
}

static void begin_many(struct queues *q, const char *queue, const struct job_id *after,
		       const struct many *m)
{
	struct listing_op *l = mem_calloc(1, sizeof(*l));

	l->op.step = listing_step;
	l->op.fail = listing_fail;
	l->op.free = listing_free;
	l->many = mem_alloc(sizeof(*m));
	*l->many = *m;
	l->many->queues = q;
	l->many->until_ms = queues_now(q) + MANY_MS;
	l->many->has_after = after != NULL;
	if (after)
		l->many->after = *after;
	op_begin(q, &l->op, queue);
}

void queues_requeue_all(struct queues *q, const char *queue, const struct job_id *after, job_fn fn,
			void *arg)
{
	begin_many(q, queue, after, &(struct many){.kind = MANY_REQUEUE, .fn = fn, .arg = arg});
}

void queues_purge(struct queues *q, const char *queue, const struct job_id *after, job_fn fn,
		  void *arg)
{
	begin_many(q, queue, after, &(struct many){.kind = MANY_PURGE, .fn = fn, .arg = arg});
}

void queues_dead(struct queues *q, const char *queue, const struct job_id *after, job_list_fn fn,
		 void *arg)
{
	begin_many(q, queue, after, &(struct many){.kind = MANY_LIST, .list_fn = fn, .arg = arg});
}
