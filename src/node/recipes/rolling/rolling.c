#include "node/recipes/rolling/rolling.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/min.h"
#include "base/text/names.h"
#include "node/recipes/rolling/rolling_op.h"
#include "node/session/id.h"

void rolling_session_name(const struct session *s, char name[ROLLING_SESSION_SIZE])
{
	snprintf(name, ROLLING_SESSION_SIZE, "%016" PRIx64 ".", (uint64_t)s->id);
}

bool rolling_is_queued(const struct rolling_op *op, const char *name)
{
	size_t session = strcspn(name, "."), len = strlen(op->id);

	return name[session] == '.' && strncmp(name + session + 1, op->id, len) == 0 &&
	       name[session + 1 + len] == '-';
}

/* --- the end of one ------------------------------------------------------- */

static void free_op(struct rolling_op *op)
{
	rolling_view_done(&op->view);
	names_free(op->unmade, op->n_unmade);
	free(op);
}

void rolling_unwatch(struct rolling_op *op)
{
	if (op->watched[0])
		watches_drop(&op->rolling->session->watches, op->watched, WATCH_NODE, op);
	op->watched[0] = '\0';
}

/* Takes the op out of the list. One with outstanding requests is freed behind the last answer. */
static void end(struct rolling_op *op)
{
	struct rolling *r = op->rolling;

	rolling_unwatch(op);
	LIST_REMOVE(op, link);
	r->n--;
	op->ended = true;
	if (op->pending == 0)
		free_op(op);
}

/* Sets the timer for the next deadline. */
static void wake(struct rolling *r)
{
	int64_t now = host_now_ms(r->session->host), first = INT64_MAX;

	for (const struct rolling_op *op = LIST_FIRST(&r->ops); op; op = LIST_NEXT(op, link)) {
		first = min64(first, op->deadline_ms);
		/* An op with outstanding requests continues with their answers. */
		if (op->retry_ms > 0 && op->pending == 0)
			first = min64(first, op->retry_ms);
		if (op->ask.order == ROLLING_FREE)
			first = min64(first, now + ROLLING_LOOK_MS);
	}
	if (first == INT64_MAX)
		host_timer_stop(&r->due);
	else
		host_timer_start(&r->due, first > now ? first - now : 0);
}

/* Whether the order may leave something in ZooKeeper that nothing would remove. */
static bool leaves_behind(const struct rolling_op *op)
{
	return op->ask.order == ROLLING_TAKE && !op->leaving && !op->taken;
}

/* The order ends once all that it may have made is removed. */
static void leave(struct rolling_op *op)
{
	op->fn = NULL;
	op->leaving = true;
	op->deadline_ms = INT64_MAX;
	rolling_unwatch(op);
	rolling_retry(op, 0);
}

void rolling_tell(struct rolling_op *op, enum rolling_result result, const char *why,
		  const struct rolling_slot *slot)
{
	struct rolling_answer answer = {
		.result = result, .why = why, .slot = slot, .view = &op->view};
	struct rolling *r = op->rolling;
	rolling_fn fn = op->fn;

	op->fn = NULL;
	if (result == ROLLING_BUSY)
		r->handlers.idle(r->handlers.arg, slot->drain, &answer.leads, &answer.jobs);
	if (fn)
		fn(op->arg, &answer);
	if (leaves_behind(op))
		leave(op);
	else
		end(op);
	wake(r);
}

void rolling_cancel(struct rolling_op *op)
{
	struct rolling *r = op->rolling;

	op->fn = NULL;
	if (op->ask.order == ROLLING_TAKE)
		leave(op);
	else
		end(op);
	wake(r);
}

bool rolling_answered(struct rolling_op *op)
{
	op->pending--;
	if (!op->ended && op->pending == 0 && op->retry_ms > 0)
		wake(op->rolling);
	if (!op->ended)
		return true;
	if (op->pending == 0)
		free_op(op);
	return false;
}

/* --- health --------------------------------------------------------------- */

/* Whether this node is ready: a confirmed session, registered, no check of its health fails. */
static bool is_healthy(const struct rolling *r)
{
	const struct registry *reg = r->registry;
	const struct member *self = registry_self(reg);

	return session_is_up(r->session) && r->session->registration[0] && reg->health_known &&
	       !reg->sick && reg->n_unhealthy == 0 && self && !self->twin && !self->worker->sick &&
	       self->worker->n_unhealthy == 0;
}

bool rolling_is_soaked(struct rolling_op *op)
{
	int64_t now = host_now_ms(op->rolling->session->host);

	if (!is_healthy(op->rolling))
		op->healthy_ms = 0;
	else if (op->healthy_ms == 0)
		op->healthy_ms = now;
	return op->healthy_ms > 0 && now - op->healthy_ms >= op->ask.soak_ms;
}

/* --- all ops -------------------------------------------------------------- */

void rolling_retry(struct rolling_op *op, int64_t ms)
{
	op->retry_ms = host_now_ms(op->rolling->session->host) + ms;
	if (op->retry_ms == 0)
		op->retry_ms = 1;
	wake(op->rolling);
}

/*
 * The order's deadline has passed. Who wants a slot has one look at the group all the same, if the
 * servers answer in time.
 */
static void late(struct rolling_op *op, int64_t now)
{
	if (op->ask.order == ROLLING_TAKE && !op->looked && !op->late &&
	    session_is_up(op->rolling->session)) {
		op->late = true;
		op->deadline_ms = now + ROLLING_WAIT_MS;
		return;
	}
	rolling_tell(
		op, op->ask.order == ROLLING_TAKE && !op->late ? ROLLING_LATE : ROLLING_UNKNOWN,
		session_is_up(op->rolling->session) ? "the ZooKeeper servers did not answer in time"
						    : SESSION_NONE,
		NULL);
}

static void go_on(struct rolling_op *op, int64_t now)
{
	bool soaked = op->ask.order == ROLLING_FREE && rolling_is_soaked(op);

	if (op->pending > 0)
		return;
	if (soaked || (op->retry_ms > 0 && op->retry_ms <= now))
		rolling_look(op);
}

static void on_due(void *arg)
{
	struct rolling *r = arg;
	struct rolling_op *op, *next;
	int64_t now = host_now_ms(r->session->host);

	for (op = LIST_FIRST(&r->ops); op; op = next) {
		next = LIST_NEXT(op, link);
		if (op->deadline_ms <= now)
			late(op, now);
	}
	/* A new pass over the list, as orders that have ended have left it. */
	for (op = LIST_FIRST(&r->ops); op; op = next) {
		next = LIST_NEXT(op, link);
		go_on(op, now);
	}
	wake(r);
}

/* A session is confirmed again: events may have been missed. */
void rolling_up(struct rolling *r)
{
	rolling_sweep(r);
	for (struct rolling_op *op = LIST_FIRST(&r->ops); op; op = LIST_NEXT(op, link)) {
		op->again = true;
		if (op->pending == 0)
			rolling_retry(op, 0);
	}
}

void rolling_watch(struct rolling *r, const char *path)
{
	for (struct rolling_op *op = LIST_FIRST(&r->ops); op; op = LIST_NEXT(op, link)) {
		if (strcmp(op->watched, path) != 0)
			continue;
		op->again = true;
		if (op->pending == 0)
			rolling_retry(op, 0);
	}
}

static int64_t deadline_of(const struct rolling *r, const struct rolling_request *request)
{
	int64_t now = host_now_ms(r->session->host);

	if (request->order == ROLLING_FREE)
		return INT64_MAX;
	if (request->order != ROLLING_TAKE)
		return now + ROLLING_WAIT_MS;
	return request->wait_ms < 0 ? INT64_MAX : now + request->wait_ms;
}

struct rolling_op *rolling_ask(struct rolling *r, const struct rolling_request *request,
			       rolling_fn fn, void *arg)
{
	struct rolling_answer no = {.result = ROLLING_UNKNOWN, .why = SESSION_NONE};
	bool waits = request->order == ROLLING_FREE ||
		     (request->order == ROLLING_TAKE && request->wait_ms != 0);

	if (r->n >= ROLLING_OPS_MAX)
		no.why = "too many orders at a time";
	if (r->n >= ROLLING_OPS_MAX || (!session_is_up(r->session) && !waits)) {
		fn(arg, &no);
		return NULL;
	}
	struct rolling_op *op = mem_calloc(1, sizeof(*op));
	op->rolling = r;
	op->ask = *request;
	id_new(r->session->host, op->id);
	id_new(r->session->host, op->drain);
	op->fn = fn;
	op->arg = arg;
	op->deadline_ms = deadline_of(r, request);
	if (request->order == ROLLING_RELEASE)
		op->policy_due = policy_refresh(r->handlers.policy);
	LIST_INSERT_HEAD(&r->ops, op, link);
	r->n++;
	rolling_retry(op, 0);
	return op;
}

void rolling_init(struct rolling *r, struct session *session, struct registry *registry,
		  const struct rolling_handlers *handlers)
{
	*r = (struct rolling){.session = session, .registry = registry, .handlers = *handlers};
	host_timer_init(&r->due, session->host, on_due, r);
	rolling_audit_init(r);
}

void rolling_done(struct rolling *r)
{
	while (!LIST_EMPTY(&r->ops)) {
		struct rolling_op *op = LIST_FIRST(&r->ops);
		rolling_fn fn = op->fn; /* NOLINT: the one before has taken itself out */
		struct rolling_answer no = {.result = ROLLING_UNKNOWN,
					    .why = "the sidecar has ended"};
		void *arg = op->arg;
		end(op);
		if (fn)
			fn(arg, &no);
	}
	names_free(r->sweep.groups, r->sweep.n);
	r->sweep = (struct rolling_sweep){.pending = r->sweep.pending, .broken = true};
	host_timer_done(&r->due);
	rolling_audit_done(r);
}
