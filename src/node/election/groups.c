#include "node/election/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/fleet/draft.h"
#include "node/election/leaders.h"
#include "node/election/tasks.h"

/* A task of ours that is in the group, NULL: none is. */
static const struct listing *listing_in(const struct leaders *l, const char *group)
{
	for (size_t i = 0; i < l->n_listings; i++)
		if (l->listings[i]->settings.spread &&
		    strcmp(l->listings[i]->settings.spread, group) == 0)
			return l->listings[i];
	return NULL;
}

static int by_key(const void *name, const void *guest)
{
	return strcmp(name, (*(struct guest *const *)guest)->name);
}

struct guest *groups_find(const struct leaders *l, const char *name)
{
	struct guest **at =
		l->n_guests > 0 ? bsearch(name, l->guests, l->n_guests, sizeof(*l->guests), by_key)
				: NULL;

	return at ? *at : NULL;
}

/* If the worker's i-th task is not known: a task of ours in the same group, else NULL. */
static const struct listing *is_news(const struct leaders *l, const struct worker *w, size_t i)
{
	if (!w->groups[i][0] || tasks_find_any(l, w->tasks[i]) || groups_find(l, w->tasks[i]))
		return NULL;
	return listing_in(l, w->groups[i]);
}

bool groups_has_news(const struct leaders *l, const struct member *m)
{
	const struct worker *w = m->worker;

	for (size_t i = 0; i < w->n_groups; i++)
		if (is_news(l, w, i) != NULL)
			return true;
	return false;
}

/* A guest has no min-version, as its file is not here. */
static struct guest *guest_new(const struct listing *ours, const char *name, const char *group)
{
	struct guest *g = mem_calloc(1, sizeof(*g));

	g->name = mem_strdup(name);
	g->group = mem_strdup(group);
	g->contest = (struct contest){.task = g->name,
				      .rank_position = -1,
				      .version_policy = ours->settings.version_policy,
				      .draft = g->group};
	return g;
}

static void add(struct leaders *l, struct guest *g)
{
	size_t at = l->n_guests;

	l->guests = mem_resize(l->guests, l->n_guests + 1, sizeof(struct guest *));
	for (; at > 0 && strcmp(l->guests[at - 1]->name, g->name) > 0; at--)
		l->guests[at] = l->guests[at - 1];
	l->guests[at] = g;
	l->n_guests++;
}

void groups_collect(struct leaders *l)
{
	const struct fleet *f = &l->registry->fleet;
	size_t most = 0;

	groups_done(l);
	for (size_t i = 0; i < l->n_listings; i++)
		most += l->listings[i]->settings.spread ? DRAFT_ITEMS_MAX : 0;
	for (size_t i = 0; most > 0 && i < f->n_members; i++) {
		const struct worker *w = f->by_id[i]->worker;
		for (size_t j = 0; j < w->n_groups && l->n_guests < most; j++) {
			const struct listing *ours = is_news(l, w, j);
			if (ours)
				add(l, guest_new(ours, w->tasks[j], w->groups[j]));
		}
	}
}

void groups_take_decisions(struct leaders *l)
{
	for (size_t i = 0; i < l->n_guests; i++) {
		struct guest *g = l->guests[i];
		const struct policy_item *pin = policy_find(l->policy, POLICY_PIN, g->name, "");
		free(g->pinned);
		g->pinned = pin ? mem_strdup(pin->record.version) : NULL;
		g->contest.pinned = g->pinned;
		fleet_contest_changed(&l->registry->fleet, g->index);
	}
}

void groups_done(struct leaders *l)
{
	for (size_t i = 0; i < l->n_guests; i++) {
		free(l->guests[i]->name);
		free(l->guests[i]->group);
		free(l->guests[i]->pinned);
		free(l->guests[i]);
	}
	free(l->guests);
	l->guests = NULL;
	l->n_guests = 0;
}
