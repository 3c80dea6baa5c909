#include "node/unclaimed.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/identity.h"
#include "node/leaders.h"

#define TELLERS	     2			    /* nodes that tell their callers */
#define LOG_EVERY_MS (INT64_C(3600) * 1000) /* where the row goes on and on */

/* Whether this node is one of the best two beside the leader: enough that say so aloud. */
static bool is_next_in_rank(const struct task *t)
{
	const struct fleet *f = &t->leaders->registry->fleet;
	const struct member *self = registry_self(t->leaders->registry);
	const struct member *leader = leaders_leader(t);
	struct ranked *list = mem_calloc(f->n_members + 1, sizeof(*list));
	size_t n = fleet_rank(f, &t->contest, t->index, list), before = 0;
	bool found = false;

	for (size_t i = 0; i < n && before < TELLERS && !found; i++) {
		found = list[i].member == self;
		before += list[i].member != leader && list[i].why != WHY_NOT_LISTED;
	}
	free(list);
	return found;
}

static struct unclaimed *of(struct task *t)
{
	if (!t->unclaimed)
		t->unclaimed = mem_calloc(1, sizeof(*t->unclaimed));
	return t->unclaimed;
}

void unclaimed_forget(struct task *t)
{
	free(t->unclaimed);
	t->unclaimed = NULL;
}

/* Of ticks in a row the 1st, 2nd, 4th, 8th, ... and one an hour. */
static bool is_for_the_log(struct unclaimed *u, const char *tick, int64_t now_ms)
{
	if (strcmp(u->tick, tick) == 0)
		return false;
	snprintf(u->tick, sizeof(u->tick), "%s", tick);
	u->row++;
	if ((u->row & (u->row - 1)) != 0 && now_ms - u->told_ms < LOG_EVERY_MS)
		return false;
	u->told_ms = now_ms;
	return true;
}

void unclaimed_tell(struct task *t, const char *tick, int64_t waited_ms,
		    char notice[UNCLAIMED_TEXT_MAX])
{
	const struct member *leader = leaders_leader(t);
	const char *name = leader ? identity_name(leader) : t->leader.id;

	if (is_for_the_log(of(t), tick, host_now_ms(t->leaders->session->host)))
		log_warning("tick not claimed", LOG_STR("task", t->name), LOG_STR("tick", tick),
			    LOG_STR("leader", name), LOG_INT("waited_ms", waited_ms),
			    LOG_INT("in_a_row", of(t)->row));
	notice[0] = '\0';
	if (is_next_in_rank(t))
		snprintf(notice, UNCLAIMED_TEXT_MAX,
			 "tick %s of %s was not run: %s leads it and did not claim the tick; is "
			 "cron running there, with the same line?",
			 tick, t->name, name);
}

void unclaimed_end(struct task *t)
{
	if (t->unclaimed)
		t->unclaimed->row = 0;
}
