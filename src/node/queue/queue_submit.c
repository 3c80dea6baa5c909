/* Submits a job: creates its record and its pointer in one transaction. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/queue/queue_op.h"
#include "node/tree/paths.h"

#define EARLY_MS	  60000 /* the caller's clock may be ahead by so much */
#define UNOPENED_MS	  5000	/* a submit waits so long for the first leader of a queue */
#define UNOPENED_AGAIN_MS 200
#define UNKNOWN_AGAIN_MS  100  /* while the time is not known */
#define UNSERVED_MS	  5000 /* a worker may be away for so long before submits are refused */

/* The operations of the transaction, by index. */
enum { OP_OPEN, OP_ROUND, OP_JOB, OP_DUE, OP_KEY };

struct submit {
	struct queue_op op;
	struct job_id id;
	char *payload, *key, *callback, *by;
	size_t len;
	bool drawn;	      /* the sidecar draws the id when the job is made */
	bool timed;	      /* due_ms and only_looks are set, as the time was known */
	int64_t at_ms, in_ms; /* as requested */
	int64_t due_ms;
	int32_t round; /* the round in which room was taken */
	bool looks;    /* looks whether the record exists */
	/* The job that has the key has ended, and is followed by this one. */
	bool replaces, old_kept;
	struct job_id old;
	int32_t key_version, old_version;
	bool while_open; /* as struct job_submit has it */
	bool only_looks; /* makes no job: the id is too old, or from the future */
	/* The answer if no earlier call was committed, which is checked first; NULL: none. */
	const char *refusal;
	job_fn fn;
	void *arg;
};

static struct submit *of(struct queue_op *op)
{
	return (struct submit *)op; /* its first member */
}

static void submit_free(struct queue_op *op)
{
	struct submit *s = of(op);

	free(s->payload);
	free(s->key);
	free(s->callback);
	free(s->by);
	free(s);
}

static void tell(struct submit *s, enum job_outcome outcome, const char *why,
		 const struct job_id *id)
{
	s->fn(s->arg, &(struct job_answer){.outcome = outcome, .why = why, .id = *id});
}

static void submit_fail(struct queue_op *op, enum job_outcome outcome, const char *why)
{
	tell(of(op), outcome, why, &of(op)->id);
}

static void done(struct submit *s, const struct job_id *id)
{
	tell(s, JOB_DONE, NULL, id);
	op_end(&s->op);
}

static void fail(struct submit *s, enum job_outcome outcome, const char *why)
{
	op_fail(&s->op, outcome, why);
}

static void look(struct submit *s);

/*
 * A client may repeat a submit that was committed but whose answer was lost. So the record is
 * looked for before anything is refused.
 */
static void refuse(struct submit *s, const char *why)
{
	s->refusal = why;
	look(s);
}

/* --- the key -------------------------------------------------------------- */

static void make_in_room(struct submit *s, struct queue *queue);

/*
 * A job whose record has gone, by whatever means, has no key any more. With `while_open` nor has
 * one that has ended; the transaction checks that it has not been requeued meanwhile.
 */
static void on_old(void *arg, const struct store_reply *reply)
{
	struct submit *s = arg;
	struct queue *queue = op_queue(&s->op);
	struct job_record j;
	const char *why;

	if (op_took(&s->op, reply))
		return;
	s->old_kept = reply->code == STORE_OK;
	s->old_version = reply->stat.version;
	if (s->old_kept &&
	    (!s->while_open || record_parse_job(reply->data, reply->len, &j, &why) != 0 ||
	     j.ended == 0)) {
		done(s, &s->old);
	} else if (s->refusal || !queue) {
		fail(s, JOB_NOT_NOW,
		     s->refusal ? s->refusal : "the queue is not configured here any more");
	} else {
		s->replaces = true;
		make_in_room(s, queue);
	}
}

static void read_old(struct submit *s)
{
	char path[STORE_PATH_MAX];

	path_of_job(s->op.queues->registry->settings, &s->old, path);
	if (s->while_open)
		queue_get(op_calls(&s->op), path, on_old, s);
	else
		queue_exists(op_calls(&s->op), path, on_old, s);
}

static void on_key(void *arg, const struct store_reply *reply)
{
	struct submit *s = arg;
	struct job_id id;
	const char *key;
	size_t len;

	if (op_took(&s->op, reply))
		return;
	if (reply->code != STORE_OK && s->refusal) {
		fail(s, JOB_NOT_NOW, s->refusal);
		return;
	}
	if (reply->code != STORE_OK) {
		op_again(&s->op, 0); /* the key's znode has gone again: its job has been deleted */
		return;
	}
	if (!queue_key_parse(reply, s->id.queue, &id, &key, &len)) {
		fail(s, JOB_NOT_NOW, "what the key's znode holds is not understood");
		return;
	}
	if (len != strlen(s->key) || memcmp(key, s->key, len) != 0) {
		fail(s, JOB_NOT_NOW, "another key has the same hash");
		return;
	}
	s->old = id;
	s->key_version = reply->stat.version;
	read_old(s);
}

/* This read follows a transaction on the same connection, so it is no older than that. */
static void read_key(struct submit *s)
{
	char path[STORE_PATH_MAX];

	queue_path_of_key(s->op.queues, s->id.queue, s->key, path);
	queue_get(op_calls(&s->op), path, on_key, s);
}

/* --- whether submits are taken -------------------------------------------- */

static void on_queue(void *arg, const struct store_reply *reply)
{
	struct submit *s = arg;

	if (op_took(&s->op, reply))
		return;
	/* A queue without an epoch has had no leader yet. Its first leader will open it. */
	if (reply->code == STORE_OK && reply->len > 0)
		refuse(s, "the queue is full");
	else if (queues_now(s->op.queues) < s->op.asked_ms + UNOPENED_MS)
		op_again(&s->op, UNOPENED_AGAIN_MS);
	else
		refuse(s, "nobody serves the queue");
}

/* A closed queue is full, or has had no leader yet. Its epoch tells which. */
static void not_open(struct submit *s)
{
	struct queue *queue = op_queue(&s->op);
	char path[STORE_PATH_MAX];

	path_of_queue(queue_paths(queue), queue->name, NULL, NULL, path);
	queue_get(op_calls(&s->op), path, on_queue, s);
}

/* --- the transaction ------------------------------------------------------ */

static void on_made(void *arg, const struct store_reply *reply)
{
	struct submit *s = arg;
	struct queue *queue = op_queue(&s->op);
	struct job_pointer p = job_pointer_to(&s->id, s->due_ms, false);

	if (queue_is_cut(reply))
		s->looks = true; /* the transaction may have used the room */
	else if (reply->code != STORE_OK && queue)
		queue_room_give_back(queue, s->round);
	if (op_took(&s->op, reply))
		return;
	if (reply->code == STORE_OK ||
	    (reply->code == STORE_NODE_EXISTS && reply->failed_op == OP_JOB)) {
		done(s, &s->id);
	} else if (!queue) {
		refuse(s, "the queue is not configured here any more");
	} else if (reply->code == STORE_NO_NODE && reply->failed_op == OP_OPEN) {
		not_open(s);
	} else if (s->replaces && reply->failed_op >= OP_KEY) {
		op_again(&s->op, 0); /* another job has followed, or the old one was requeued */
	} else if (reply->code == STORE_BAD_VERSION) {
		queue_room_is_over(queue, s->round);
		op_again(&s->op, 0);
	} else if (reply->code == STORE_NODE_EXISTS && reply->failed_op == OP_KEY) {
		read_key(s);
	} else {
		op_make_folders(&s->op,
				&(struct queue_folders){.job_minute = s->id.minute,
							.due_minute = queue_due_minute(queue, &p)});
	}
}

static void describe(const struct submit *s, struct job_record *j)
{
	const struct registry *r = s->op.queues->registry;

	*j = (struct job_record){.exit_status = -1,
				 .submitted = queues_server_ms(s->op.queues),
				 .due = s->due_ms,
				 .payload = s->payload,
				 .payload_len = s->len};
	job_id_format(&s->id, j->id);
	memcpy(j->queue, s->id.queue, sizeof(j->queue));
	snprintf(j->state, sizeof(j->state), "queued");
	snprintf(j->key, sizeof(j->key), "%s", s->key ? s->key : "");
	snprintf(j->callback, sizeof(j->callback), "%s", s->callback ? s->callback : "");
	snprintf(j->by, sizeof(j->by), "%s", s->by);
	snprintf(j->host, sizeof(j->host), "%s", r->hostname);
}

static void make(struct submit *s, struct queue *queue)
{
	const struct node_settings *paths = queue_paths(queue);
	char open[STORE_PATH_MAX], round[STORE_PATH_MAX], job[STORE_PATH_MAX], due[STORE_PATH_MAX],
		key[STORE_PATH_MAX], old[STORE_PATH_MAX];
	char name[JOB_NAME_MAX + 1], data[JOB_NAME_MAX + 1 + JOB_KEY_MAX + 1];
	struct job_pointer p = job_pointer_to(&s->id, s->due_ms, false);
	struct job_record record;
	struct buffer bytes;

	describe(s, &record);
	buffer_init(&bytes, RECORD_JOB_MAX);
	int error = record_pack_job(&bytes, &record);
	assert(error == 0); /* all of it is bounded */
	(void)error;
	path_of_queue(paths, queue->name, "open", NULL, open);
	path_of_queue(paths, queue->name, "due", NULL, round);
	path_of_job(paths, &s->id, job);
	path_of_due(paths, queue->name, queue_due_minute(queue, &p), &p, due);
	job_name_format(&s->id, name);
	snprintf(data, sizeof(data), "%s %s", name, s->key ? s->key : "");
	queue_path_of_key(s->op.queues, queue->name, s->key ? s->key : "", key);
	struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = open, .version = -1},
		{.type = STORE_OP_CHECK, .path = round, .version = s->round},
		{.type = STORE_OP_CREATE,
		 .path = job,
		 .data = bytes.data,
		 .len = bytes.len,
		 .closed = true},
		{.type = STORE_OP_CREATE, .path = due},
		{.type = s->replaces ? STORE_OP_SET : STORE_OP_CREATE,
		 .path = key,
		 .version = s->key_version,
		 .data = data,
		 .len = strlen(data),
		 .closed = true},
		{.type = STORE_OP_CHECK, .path = old, .version = s->old_version},
	};
	path_of_job(paths, &s->old, old);
	size_t n = !s->key ? 4 : s->replaces && s->old_kept ? 6 : 5;
	queue_multi(op_calls(&s->op), ops, n, on_made, s);
	buffer_done(&bytes);
}

/* --- whether the record is there ------------------------------------------ */

static void on_looked(void *arg, const struct store_reply *reply)
{
	struct submit *s = arg;

	if (op_took(&s->op, reply))
		return;
	if (reply->code == STORE_OK) {
		done(s, &s->id);
	} else if (s->only_looks) {
		fail(s, JOB_MISUSE,
		     "an id may be used for the first time within 10 minutes of its own time");
	} else if (s->looks) {
		/* A later transaction of the lost connection cannot be done any more. */
		s->looks = s->op.doubt = false;
		op_again(&s->op, 0);
	} else if (s->key) {
		read_key(s); /* an earlier call may have been answered with another's id */
	} else {
		fail(s, JOB_NOT_NOW, s->refusal);
	}
}

/*
 * Looks for the record with a transaction, which the quorum's leader answers. A plain read may be
 * older than what was committed through another server.
 */
static void look(struct submit *s)
{
	char path[STORE_PATH_MAX];
	struct store_op check = {.type = STORE_OP_CHECK, .path = path, .version = -1};

	path_of_job(s->op.queues->registry->settings, &s->id, path);
	queue_multi(op_calls(&s->op), &check, 1, on_looked, s);
}

/* Whether the id is of about now. */
static bool is_fresh(const struct job_id *id, int64_t now)
{
	int64_t minute_ms;

	if (id->minute > INT64_MAX / JOB_MINUTE_MS - QUEUE_REPEAT_MS)
		return false;
	minute_ms = id->minute * JOB_MINUTE_MS;
	return minute_ms <= now + EARLY_MS && now < minute_ms + EARLY_MS + QUEUE_REPEAT_MS;
}

/* The due time is computed once, as all attempts of the submit have to agree. */
static void take_time(struct submit *s)
{
	int64_t now = queues_server_ms(s->op.queues), at = s->at_ms > now ? s->at_ms : now;

	if (s->drawn)
		s->id.minute = now / JOB_MINUTE_MS;
	/* The clock may be ahead of ours already: by as much as it may be behind. */
	if (s->at_ms == 0 && s->in_ms > 0)
		at = now + s->in_ms + (now - queues_passed_ms(s->op.queues));
	s->due_ms = at;
	s->only_looks = !is_fresh(&s->id, now);
	s->timed = true;
}

/* Whether the clock of jobs can be read; a delay waits until its end cannot come early either. */
static bool may_take_time(const struct submit *s)
{
	const struct queues *q = s->op.queues;

	return queues_may_begin(q) && (s->in_ms <= 0 || !clocks_jobs_doubted(&q->registry->clocks));
}

/* Whether the queue has been without workers for too long; *ret_wait: not known yet. */
static bool is_unserved(const struct queue *queue, bool *ret_wait)
{
	bool late = queues_now(queue->queues) >= queue->unserved_ms + UNSERVED_MS;

	*ret_wait = queue->unserved_ms > 0 && !late && !queue->was_served;
	return queue->unserved_ms > 0 && late;
}

/* Makes the job if the queue has room for it. */
static void make_in_room(struct submit *s, struct queue *queue)
{
	switch (queue_room_take(queue, &s->round)) {
	case ROOM_TAKEN: make(s, queue); break;
	case ROOM_WAIT: op_stall(&s->op); break;
	case ROOM_FULL: refuse(s, "the queue is full"); break;
	case ROOM_CLOSED: not_open(s); break;
	case ROOM_REFUSED:
		if (queue->room.refused == STORE_FULL)
			refuse(s, store_refused_why(queue->room.refused));
		else
			fail(s, JOB_NO_SESSION, store_refused_why(queue->room.refused));
		break;
	}
}

static void submit_step(struct queue_op *op)
{
	bool wait = false;

	struct submit *s = of(op);
	struct queue *queue = op_queue(op);
	const struct policy *policy = op->queues->leaders->policy;

	s->refusal = NULL;
	s->replaces = false;
	if (!s->timed && !may_take_time(s)) {
		op_again(op, UNKNOWN_AGAIN_MS);
		return;
	}
	if (!s->timed)
		take_time(s);
	if (s->looks || s->only_looks)
		look(s);
	else if (!queue || !queue->configured)
		refuse(s, "the queue is not configured here any more");
	else if (policy_find(policy, POLICY_PAUSE, queue->name, ""))
		refuse(s, "the queue is paused");
	else if (is_unserved(queue, &wait))
		refuse(s, "nobody serves the queue");
	else if (wait)
		op_again(op, UNOPENED_AGAIN_MS);
	else
		make_in_room(s, queue);
}

/* --- from outside --------------------------------------------------------- */

static char *copy(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

void queues_submit(struct queues *q, const struct job_submit *j, job_fn fn, void *arg)
{
	struct submit *s = mem_calloc(1, sizeof(*s));

	s->op.step = submit_step;
	s->op.fail = submit_fail;
	s->op.free = submit_free;
	s->id = *j->id;
	s->payload = mem_alloc(j->len + 1);
	if (j->len > 0)
		memcpy(s->payload, j->payload, j->len);
	s->len = j->len;
	s->key = copy(j->key);
	s->while_open = j->while_open;
	s->callback = copy(j->callback);
	s->by = mem_strdup(j->by);
	s->drawn = j->drawn;
	s->at_ms = j->at_ms;
	s->in_ms = j->in_ms;
	s->fn = fn;
	s->arg = arg;
	op_begin(q, &s->op, j->id->queue);
}
