#include "node/recipes/counter/counter.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/tree/paths.h"
#include "wire/records/recipe_record.h"

#define NO_VERSION (-1) /* a counter that does not exist yet */
#define RETRY_MS   100	/* while the registration is being renewed */

static const char in_time[] = "the ZooKeeper servers did not answer in time";

struct counter_op {
	struct counters *counters;
	TAILQ_ENTRY(counter_op) link;
	char name[NAME_TASK_MAX + 1];
	bool adds;
	int64_t delta;
	int64_t number; /* identifies the addition in the record, from 1 on */
	int64_t deadline_ms;
	int64_t retry_ms; /* CLOCK_BOOTTIME; 0: no retry by time */
	bool asking;	  /* a request is outstanding; its answer frees an op that has ended */
	bool sending;	  /* the outstanding request is the addition */
	bool ended;	  /* the requester was answered */
	bool made_folder; /* the folder was made, or its creation was tried */
	bool unknown;	  /* an answer was lost: the addition may have been made */
	int32_t version;  /* the version that the addition replaces */
	int64_t value;	  /* the value behind the addition */
	counter_fn fn;
	void *arg;
};

static void go_on(struct counters *c);

/* --- the end of one ------------------------------------------------------- */

/* Ends the op. One with an outstanding request is freed behind its answer. */
static void tell(struct counter_op *op, const struct counter_answer *answer)
{
	TAILQ_REMOVE(&op->counters->ops, op, link);
	op->counters->n--;
	op->ended = true;
	op->fn(op->arg, answer);
	if (!op->asking)
		free(op);
}

static void tell_done(struct counter_op *op, int64_t value)
{
	struct counters *c = op->counters;

	tell(op, &(struct counter_answer){.outcome = COUNTER_DONE, .value = value});
	go_on(c);
}

static void tell_failed(struct counter_op *op, const char *why)
{
	bool unknown = op->adds && (op->unknown || op->sending);

	tell(op, &(struct counter_answer){.outcome = unknown ? COUNTER_UNKNOWN : COUNTER_NOT_DONE,
					  .why = why});
}

static void give_up(struct counter_op *op, const char *why)
{
	struct counters *c = op->counters;

	tell_failed(op, why);
	go_on(c);
}

/* --- the record ----------------------------------------------------------- */

static bool is_own(const struct registry *r, const struct counter_last *l)
{
	return strcmp(l->node, r->node) == 0 && strcmp(l->machine, r->machine) == 0;
}

/*
 * Puts this node's addition first, in place of its previous one, or of the oldest if all places are
 * taken.
 */
static void put_own(const struct counter_op *op, struct counter_record *record)
{
	const struct registry *r = op->counters->registry;
	size_t at = 0;

	while (at < record->n && !is_own(r, &record->last[at]))
		at++;
	if (at == record->n && record->n < COUNTER_NODES_MAX)
		record->n++;
	else if (at == record->n)
		at--;
	memmove(record->last + 1, record->last, at * sizeof(record->last[0]));
	struct counter_last *own = &record->last[0];
	memset(own, 0, sizeof(*own));
	memcpy(own->node, r->node, sizeof(own->node));
	memcpy(own->machine, r->machine, sizeof(own->machine));
	own->op = op->number;
	own->value = op->value;
	record->value = op->value;
}

/*
 * Whether an addition whose answer was lost was surely never made, and never will be. The version
 * that it was to replace has passed. Had it been made, too few additions have followed for it to be
 * forgotten.
 */
static bool is_refuted(const struct counter_op *op, int32_t version)
{
	return version > op->version && version - op->version < COUNTER_NODES_MAX;
}

/* --- asking --------------------------------------------------------------- */

static void look(struct counter_op *op);

/* Handles the end of a request. False: the op has ended. */
static bool answered(struct counter_op *op)
{
	op->asking = op->sending = false;
	if (!op->ended)
		return true;
	free(op);
	return false;
}

static void retry_later(struct counter_op *op)
{
	op->retry_ms = host_now_ms(op->counters->session->host) + RETRY_MS;
	go_on(op->counters);
}

/* A folder may exist although this node may not create it: the next addition tells. */
static void on_folder(void *arg, const struct store_reply *reply)
{
	struct counters *c = arg;

	if (reply->code != STORE_ABANDONED) /* which may be our end */
		c->no_folder = store_refusal(reply->code);
}

/* The folder, the counter or the registration is missing. */
static void on_missing(struct counter_op *op, const struct store_reply *reply)
{
	struct session *s = op->counters->session;
	char path[STORE_PATH_MAX];

	if (reply->failed_op != 1) {
		session_confirm(s);
		retry_later(op);
		return;
	}
	if (op->version == NO_VERSION && op->made_folder && op->counters->no_folder != STORE_OK) {
		give_up(op, store_no_folder_why(op->counters->no_folder));
		return;
	}
	if (op->version == NO_VERSION) {
		op->made_folder = true;
		path_of(op->counters->registry->settings, PATH_COUNTERS, NULL, path);
		store_create(s->store, path, on_folder, op->counters);
	}
	look(op);
}

static void on_added(void *arg, const struct store_reply *reply)
{
	struct counter_op *op = arg;

	if (!answered(op))
		return;
	switch (reply->code) {
	case STORE_OK: tell_done(op, op->value); break;
	case STORE_BAD_VERSION:
	case STORE_NODE_EXISTS: look(op); break;
	case STORE_NO_NODE: on_missing(op, reply); break;
	case STORE_UNKNOWN:
	case STORE_ABANDONED: op->unknown = true; break; /* continues once the session is up */
	case STORE_NO_AUTH:
	case STORE_FULL:
	case STORE_FAILED:
		log_warning("counter refused by the server", LOG_STR("counter", op->name),
			    LOG_STR("why", reply->text));
		give_up(op, store_refused_why(reply->code));
		break;
	}
}

static void send(struct counter_op *op, struct counter_record *record)
{
	struct counters *c = op->counters;
	char path[STORE_PATH_MAX];
	struct buffer data;

	path_of(c->registry->settings, PATH_COUNTERS, op->name, path);
	put_own(op, record);
	buffer_init(&data, RECORD_COUNTER_MAX);
	int error = record_pack_counter(&data, record);
	assert(error == 0); /* its texts are bounded */
	(void)error;
	struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = c->session->registration, .version = -1},
		{.type = op->version == NO_VERSION ? STORE_OP_CREATE : STORE_OP_SET,
		 .path = path,
		 .data = data.data,
		 .len = data.len,
		 .version = op->version},
	};
	op->asking = op->sending = true;
	store_multi(c->session->store, ops, 2, on_added, op);
	buffer_done(&data);
}

/* Adds to the value that was read, unless this was done already. */
static void decide(struct counter_op *op, struct counter_record *record, int32_t version)
{
	const struct registry *r = op->counters->registry;

	if (!op->adds) {
		tell_done(op, record->value);
		return;
	}
	for (size_t i = 0; i < record->n; i++) {
		if (!is_own(r, &record->last[i]) || record->last[i].op != op->number)
			continue;
		tell_done(op, record->last[i].value);
		return;
	}
	if (op->unknown && is_refuted(op, version))
		op->unknown = false;
	else if (op->unknown && version != op->version) {
		give_up(op, "the answer was lost, and the counter has forgotten");
		return;
	}
	op->version = version;
	if (__builtin_add_overflow(record->value, op->delta, &op->value))
		give_up(op, "the value would not fit an int64");
	else
		send(op, record);
}

static void on_read(void *arg, const struct store_reply *reply)
{
	struct counter_op *op = arg;
	char path[STORE_PATH_MAX];
	const char *why;

	if (!answered(op) || store_is_lost(reply->code))
		return;
	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE) {
		give_up(op, "refused by the ZooKeeper server");
		return;
	}
	struct counter_record *record = mem_calloc(1, sizeof(*record));
	if (reply->code == STORE_NO_NODE) {
		decide(op, record, NO_VERSION);
	} else if (record_parse_counter(reply->data, reply->len, record, &why) == 0) {
		decide(op, record, reply->stat.version);
	} else {
		path_of(op->counters->registry->settings, PATH_COUNTERS, op->name, path);
		log_warning("counter not understood", LOG_STR("znode", path), LOG_STR("why", why));
		give_up(op, "there is something else in the counter's place");
	}
	free(record);
}

/*
 * Reads the counter as it is now. A server may lag behind, so a write on the same connection
 * precedes the read.
 */
static void look(struct counter_op *op)
{
	struct session *s = op->counters->session;
	char path[STORE_PATH_MAX];

	op->retry_ms = 0;
	if (!session_is_up(s))
		return;
	path_of(op->counters->registry->settings, PATH_COUNTERS, op->name, path);
	session_confirm(s);
	op->asking = true;
	store_get(s->store, path, false, on_read, op);
}

/* --- all ops -------------------------------------------------------------- */

/* Whether no older op is about the same counter: each counter has one at a time. */
static bool is_first(const struct counter_op *op)
{
	for (const struct counter_op *o = TAILQ_FIRST(&op->counters->ops); o != op;
	     o = TAILQ_NEXT(o, link))
		if (strcmp(o->name, op->name) == 0)
			return false;
	return true;
}

/* Begins the next steps, and sets the timer. */
static void go_on(struct counters *c)
{
	int64_t now = host_now_ms(c->session->host), first = INT64_MAX;

	for (struct counter_op *op = TAILQ_FIRST(&c->ops); op; op = TAILQ_NEXT(op, link)) {
		/* An op that is freed has left the list. */
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		if (!op->asking && op->retry_ms <= now && is_first(op))
			look(op);
		if (op->deadline_ms < first)
			first = op->deadline_ms;
		if (op->retry_ms > now && op->retry_ms < first)
			first = op->retry_ms;
	}
	if (first == INT64_MAX)
		host_timer_stop(&c->due);
	else
		host_timer_start(&c->due, first > now ? first - now : 0);
}

static void on_due(void *arg)
{
	struct counters *c = arg;
	int64_t now = host_now_ms(c->session->host);

	for (struct counter_op *op = TAILQ_FIRST(&c->ops), *next; op; op = next) {
		next = TAILQ_NEXT(op, link);
		if (op->deadline_ms <= now)
			tell_failed(op, in_time);
	}
	go_on(c);
}

void counters_up(struct counters *c)
{
	go_on(c);
}

static int64_t new_number(struct counters *c)
{
	uint64_t bits;

	host_random(c->session->host, &bits, sizeof(bits));
	bits &= INT64_MAX;
	return bits ? (int64_t)bits : 1;
}

void counters_add(struct counters *c, const char *name, bool adds, int64_t delta, counter_fn fn,
		  void *arg)
{
	struct counter_answer no = {.outcome = COUNTER_NOT_DONE, .why = SESSION_NONE};

	if (c->n >= COUNTER_QUEUE_MAX)
		no.why = "too many additions at a time";
	if (c->n >= COUNTER_QUEUE_MAX || !session_is_up(c->session)) {
		fn(arg, &no);
		return;
	}
	struct counter_op *op = mem_calloc(1, sizeof(*op));
	op->counters = c;
	memcpy(op->name, name, strlen(name));
	op->adds = adds;
	op->delta = delta;
	op->number = new_number(c);
	op->deadline_ms = host_now_ms(c->session->host) + COUNTER_WAIT_MS;
	op->fn = fn;
	op->arg = arg;
	TAILQ_INSERT_TAIL(&c->ops, op, link);
	c->n++;
	go_on(c);
}

void counters_init(struct counters *c, struct session *session, struct registry *registry)
{
	*c = (struct counters){.session = session, .registry = registry};
	TAILQ_INIT(&c->ops);
	host_timer_init(&c->due, session->host, on_due, c);
}

void counters_done(struct counters *c)
{
	while (!TAILQ_EMPTY(&c->ops))
		tell_failed(TAILQ_FIRST(&c->ops),
			    "the sidecar has ended"); /* NOLINT: it takes itself out */
	host_timer_done(&c->due);
}
