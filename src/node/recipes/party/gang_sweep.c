/*
 * Gangs without any member: the first in rank of the fleet removes those that have ended or never
 * began, and notes in the others' records that they have been empty for long. Also deletes the
 * previous sidecar's nodes of our session, unless a client returns for them.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/text/name.h"
#include "node/recipes/party/gang_parts.h"
#include "node/tree/paths.h"

#include <string.h>

/* The previous sidecar may have had members whose clients have not returned yet. */
static bool recovers(const struct gangs *all)
{
	return all->former.until_ms > 0 && host_now_ms(all->session->host) >= all->former.until_ms;
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct gangs *all = arg;

	if (reply->code == STORE_ABANDONED)
		return; /* which may be our end */
	all->listing = false;
	bool orphans = recovers(all) && (reply->code == STORE_OK || reply->code == STORE_NO_NODE);
	for (size_t i = 0; reply->code == STORE_OK && i < reply->n_names; i++) {
		if (!name_is_task(reply->names[i], strlen(reply->names[i])))
			continue;
		struct gang *g = gang_get(all, reply->names[i]);
		g->orphans |= orphans;
		g->sweep |= roster_is_assigner(all->roster);
		g->dirty |= g->orphans || (g->sweep && !g->members);
		gang_go_on(g);
	}
	if (orphans)
		all->former.until_ms = 0;
	gangs_schedule(all);
}

static void on_sweep(void *arg)
{
	struct gangs *all = arg;
	struct session *s = all->session;
	char path[STORE_PATH_MAX];

	host_timer_start(&all->sweep, GANG_SWEEP_MS);
	if (all->listing || all->kept || !session_is_up(s) ||
	    (!roster_is_assigner(all->roster) && !recovers(all)))
		return;
	all->listing = true;
	path_of(all->registry->settings, PATH_GANGS, NULL, path);
	store_children(s->store, path, false, on_names, all);
}

void gang_sweep(struct gang *g)
{
	const struct gang_sight *s = g->sight;
	bool over = true;

	if (!g->there || g->refused || s->n_running + s->n_waiting > 0)
		return;
	for (size_t i = 0; i < g->record->n; i++)
		over &= s->marked[i];
	if (over && s->n_names == s->n_marked) {
		gang_dissolve(g);
	} else if (!over && g->record->empty != g->pzxid && gang_is_dead(g)) {
		mem_auto struct gang_record *r = mem_alloc(sizeof(*r));
		*r = *g->record;
		r->empty = g->pzxid;
		gang_write(g, r, s->n > 0 ? &s->tickets[0] : NULL);
	}
}

void gang_sweep_up(struct gangs *all)
{
	holder_former_up(&all->former, all->session);
	all->listing = false;
	if (!host_timer_is_set(&all->sweep))
		host_timer_start(&all->sweep, GANG_SWEEP_MS);
}

void gang_sweep_init(struct gangs *all)
{
	host_timer_init(&all->sweep, all->session->host, on_sweep, all);
}

void gang_sweep_done(struct gangs *all)
{
	host_timer_done(&all->sweep);
}
