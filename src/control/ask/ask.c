#include "control/ask/ask.h"

#include <stdlib.h>

#include "base/mem.h"
#include "control/ask/methods.h"

static void uncount(struct ask *a)
{
	a->client->parked--;
	a->client->asking -= a->asks;
	a->client->held -= a->held;
}

/* Sets the timer for the first deadline ahead. */
static void schedule(struct asks *all)
{
	int64_t now = host_now_ms(all->due.host);

	all->due_ms = INT64_MAX;
	for (const struct ask *a = TAILQ_FIRST(&all->list); a; a = TAILQ_NEXT(a, link))
		if (a->client && a->deadline_ms > now && a->deadline_ms < all->due_ms)
			all->due_ms = a->deadline_ms;
	if (all->due_ms < INT64_MAX)
		host_timer_start(&all->due, all->due_ms - now);
}

/* The next request is taken before each call, which may end the present one. */
static void on_due(void *arg)
{
	struct asks *all = arg;
	int64_t now = host_now_ms(all->due.host);

	for (struct ask *a = TAILQ_FIRST(&all->list), *next; a; a = next) {
		next = TAILQ_NEXT(a, link);
		if (a->client && a->deadline_ms <= now)
			a->kind->due(a);
	}
	schedule(all);
}

void asks_init(struct asks *all, struct host *host)
{
	TAILQ_INIT(&all->list);
	host_timer_init(&all->due, host, on_due, all);
	all->due_ms = INT64_MAX;
	buffer_init(&all->sink, 0);
}

void asks_done(struct asks *all)
{
	host_timer_done(&all->due);
}

static void tell_gone(struct ask *a)
{
	if (a->kind->gone)
		a->kind->gone(a);
}

/*
 * The client's runs, locks, members and jobs go on under their leases: the node stops calling the
 * client.
 */
static void disown(struct node *n, const struct peer *owner)
{
	parties_owner_gone(&n->recipes.barriers, owner);
	locks_owner_gone(&n->recipes.locks, owner);
	parties_owner_gone(&n->recipes.gangs, owner);
	queues_owner_gone(&n->queues, owner);
	runs_owner_gone(&n->runs, owner);
}

void asks_client_gone(struct methods *m, const struct peer *c)
{
	struct asks *all = &m->asks;

	for (struct ask *a = TAILQ_FIRST(&all->list), *next; a; a = next) {
		next = TAILQ_NEXT(a, link);
		if (a->client != c)
			continue;
		uncount(a);
		a->client = NULL;
		if (!a->offloaded)
			tell_gone(a);
	}
	disown(m->node, c);
}

void asks_each(struct asks *all, const struct ask_kind *kind, bool (*fn)(struct ask *a, void *arg),
	       void *arg)
{
	bool more = true;

	for (struct ask *a = TAILQ_FIRST(&all->list), *next; a && more; a = next) {
		next = TAILQ_NEXT(a, link);
		more = (kind && a->kind != kind) || fn(a, arg);
	}
}

void *ask_new(const struct call *call, const struct ask_kind *kind)
{
	struct ask *a = mem_calloc(1, kind->size);

	a->kind = kind;
	a->methods = call->m;
	a->client = call->c;
	a->msgid = call->msgid;
	a->asks = kind->asks;
	a->deadline_ms = INT64_MAX;
	a->uid = call->c->uid;
	a->client->parked++;
	a->client->asking += a->asks;
	TAILQ_INSERT_TAIL(&call->m->asks.list, a, link);
	return a;
}

void ask_takes_long(struct ask *a)
{
	a->client->asking -= a->asks;
	a->asks = false;
}

void ask_holds(struct ask *a, size_t bytes)
{
	a->held += bytes;
	a->client->held += bytes;
}

void ask_until(struct ask *a, int64_t deadline_ms)
{
	struct asks *all = &a->methods->asks;
	int64_t now = host_now_ms(all->due.host);

	a->deadline_ms = deadline_ms;
	if (deadline_ms >= all->due_ms)
		return;
	all->due_ms = deadline_ms;
	host_timer_start(&all->due, deadline_ms > now ? deadline_ms - now : 0);
}

/* --- other threads -------------------------------------------------------- */

static void work(void *arg)
{
	struct ask *a = arg;

	a->work(a);
}

static void then(void *arg)
{
	struct ask *a = arg;

	a->offloaded = false;
	if (a->client || !a->kind->gone)
		a->then(a);
	else
		tell_gone(a);
}

int ask_offload(struct ask *a, ask_fn work_fn, ask_fn then_fn)
{
	const struct process *process = a->methods->process;
	int e;

	a->work = work_fn;
	a->then = then_fn;
	a->offloaded = true;
	e = process->offload(process->arg, work, then, a);
	if (e != 0)
		a->offloaded = false;
	return e;
}

/* --- answers -------------------------------------------------------------- */

struct pack *ask_result(struct ask *a)
{
	struct asks *all = &a->methods->asks;
	struct pack *p = &all->nowhere;

	pack_init(p, &all->sink);
	a->packing = a->client != NULL;
	if (a->packing) {
		p = peer_begin(a->client);
		rpc_pack_result(p, a->msgid);
	}
	return p;
}

void ask_send(struct ask *a)
{
	struct peer *c = a->client;

	if (!c)
		return;
	uncount(a);
	a->client = NULL;
	if (a->packing)
		peer_end(c, a->msgid);
}

void ask_end(struct ask *a)
{
	ask_send(a);
	TAILQ_REMOVE(&a->methods->asks.list, a, link);
	if (a->kind->done)
		a->kind->done(a);
	free(a);
}

void ask_fail(struct ask *a, enum rpc_code code, const char *why)
{
	if (a->client)
		peer_error(a->client, a->msgid, code, why);
	ask_end(a);
}

void asks_hold(void *owner)
{
	((struct peer *)owner)->parked++;
}

void asks_released(void *owner)
{
	((struct peer *)owner)->parked--;
}
