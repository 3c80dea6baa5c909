/*
 * Ends temporary decisions. A node that saw the decision being made counts its length, whatever the
 * clocks say since. Others use the present wall clock, which may have been set since; a node whose
 * clock is off leaves it to nodes whose clock is right.
 */
#include <string.h>

#include "node/fleet/policy.h"
#include "node/tree/paths.h"

#define AGAIN_MS 10000 /* after a try */
#define TURN_MS	 20    /* between the tries of two sidecars to end the same thing */
#define LATER_MS 1000  /* if it cannot be ended now */
#define LOOK_MS	 60000 /* period of checks of the wall clock */

static void on_ended(void *arg, const struct store_reply *reply)
{
	/* The result does not matter: another node was first, or this is tried again. */
	(void)arg, (void)reply;
}

/* All nodes try, staggered: the first one saves the others the attempt. */
static int64_t turn(const struct policy *p)
{
	const struct fleet *f = &p->registry->fleet;
	size_t place = 0;

	while (place < f->n_members && strcmp(f->by_id[place]->worker->id, p->registry->id) != 0)
		place++;
	return (int64_t)place * TURN_MS;
}

/* Milliseconds until a temporary decision ends, negative if it is over. */
static int64_t left_of(const struct policy *p, const struct policy_item *item)
{
	const struct policy_record *r = &item->record;

	if (item->seen_ms == POLICY_UNSEEN)
		return r->until - host_wall_ms(p->session->host);
	return item->seen_ms + (r->until - r->since) - host_now_ms(p->session->host);
}

/* Whether to go by our clock: it is right, or nobody's is. */
static bool goes_by_clock(const struct policy *p)
{
	const struct fleet *f = &p->registry->fleet;
	const struct clocks *clocks = &p->registry->clocks;

	if (clocks_is_unsure(clocks))
		return false;
	if (!clocks_is_off(clocks))
		return true;
	for (size_t i = 0; i < f->n_members; i++)
		if (!f->by_id[i]->clock_off &&
		    strcmp(f->by_id[i]->worker->id, p->registry->id) != 0)
			return false;
	return true;
}

static void end(struct policy *p, struct policy_item *item)
{
	char path[STORE_PATH_MAX];

	path_of(p->registry->settings, PATH_POLICY, item->name, path);
	struct store_op ops[1 + POLICY_END_OPS] = {
		{.type = STORE_OP_DELETE, .path = path, .version = -1}};
	struct policy_end e;
	size_t n = 1;

	if (item->kind == POLICY_PAUSE)
		n += policy_end_ops(p, item->record.task, item->record.until, &e, ops + 1);
	item->tried_ms = host_now_ms(p->session->host);
	store_multi(p->session->store, ops, n, on_ended, p);
}

void policy_end_due(struct policy *p)
{
	int64_t now = host_now_ms(p->session->host), after = turn(p), next = LOOK_MS;
	bool any = false, up = session_is_up(p->session), by_clock = goes_by_clock(p);

	for (size_t i = 0; i < p->n; i++) {
		struct policy_item *item = p->items[i];
		if (item->record.until == 0)
			continue;
		int64_t left = left_of(p, item) + after;
		if (item->tried_ms > 0 && left < item->tried_ms + AGAIN_MS - now)
			left = item->tried_ms + AGAIN_MS - now;
		if (left <= 0 && up && (by_clock || item->seen_ms != POLICY_UNSEEN)) {
			end(p, item);
			left = AGAIN_MS;
		} else if (left <= 0) {
			left = LATER_MS;
		}
		next = left < next ? left : next;
		any = true;
	}
	if (any)
		host_timer_start(&p->due, next);
	else
		host_timer_stop(&p->due);
}
