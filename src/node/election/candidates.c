#include "node/election/candidates.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/election/leaders.h"
#include "node/election/tasks.h"
#include "node/fleet/disagreement.h"

static void view(struct task *t, const struct member *self)
{
	struct registry *r = t->leaders->registry;
	struct election_event event = {.type = ELECTION_VIEW};
	if (!registry_ready(r) || !t->leaders->policy->folder.ready)
		return; /* the candidates are not known yet */
	struct standing s = fleet_standing(&r->fleet, t->index, self);

	bool barred = t->standing.paused || renames_bar(t);

	event.view.candidate = s.self_candidate && !t->withdrawn && !barred;
	event.view.next = s.next;
	event.view.newer = s.best_is_newer;
	event.view.place = s.place > UINT32_MAX ? UINT32_MAX : (uint32_t)s.place;
	if (s.best && s.best != s.self && !barred) {
		event.view.best = s.best->serial;
		event.view.best_seen_ms =
			s.best->seen_ms > r->read_ms ? s.best->seen_ms : r->read_ms;
		event.view.best_returned = s.best->worker->returned;
		event.view.best_disagrees =
			t->listing && disagreement_about(&t->listing->settings, s.best);
		ids_set(&t->leaders->ids, &t->standing.best_id, s.best->worker->id);
	} else {
		ids_set(&t->leaders->ids, &t->standing.best_id, "");
	}
	/*
	 * A withdrawn task of a spread group: until our record omits it, the others take us for its
	 * owner, and none of them knows that it is the next.
	 */
	if (t->withdrawn && !t->leaders->leaving && t->contest.draft && s.best && s.best == s.self)
		event.view.best = s.self->serial;
	leaders_step(t, &event);
}

/* The name for the draft: that of the whole task for a partition, else that of the spread group. */
static const char *draft_name(const struct task *t)
{
	return t->listed ? t->listed : t->spread;
}

void candidates_configure(struct task *t, bool is_new)
{
	const struct task_settings *s = t->settings;

	t->contest = (struct contest){.task = t->name,
				      .listed = t->listed,
				      .partitions = s->partitions,
				      .min_version = t->min_version,
				      .rank_position = s->rank_position,
				      .version_policy = s->version_policy,
				      .pinned = t->standing.pinned,
				      .draft = t->listing ? draft_name(t) : NULL,
				      .item = t->partition,
				      .limit = s->partition_limit};
	if (is_new)
		ids_set(&t->leaders->ids, &t->standing.best_id, "");
	else
		fleet_contest_changed(&t->leaders->registry->fleet, t->index);
}

void candidates_forget(struct task *t)
{
	ids_set(&t->leaders->ids, &t->standing.best_id, "");
	free(t->standing.pinned);
}

static void take_decision(struct task *t)
{
	const struct policy *p = t->leaders->policy;
	const struct policy_item *pin = policy_find(p, POLICY_PIN, t->name, "");

	t->standing.paused = policy_find(p, POLICY_PAUSE, t->name, "") != NULL;
	if (pin || t->standing.pinned)
		fleet_contest_changed(&t->leaders->registry->fleet, t->index);
	free(t->standing.pinned);
	t->standing.pinned = pin ? mem_strdup(pin->record.version) : NULL;
	t->contest.pinned = t->standing.pinned;
}

void candidates_joined(struct leaders *l, struct member *m)
{
	disagreement_count(l->published, l->digests, l->n_published, m,
			   fleet_twin(&l->registry->fleet, m));
	l->guests_due |= groups_has_news(l, m);
}

static void mark_clocks(struct leaders *l)
{
	struct fleet *f = &l->registry->fleet;
	bool *off = mem_calloc(f->n_members + 1, sizeof(*off));

	if (clocks_judge(&l->registry->clocks, off)) {
		for (size_t i = 0; i < f->n_members; i++)
			fleet_set_clock_off(f, f->by_id[i], off[i]);
	}
	free(off);
}

static void resign(struct leaders *l, const struct policy_item *item, size_t index)
{
	struct fleet *f = &l->registry->fleet;

	for (size_t i = 0; i < f->n_members; i++)
		if (policy_concerns(l->policy, item, f->by_id[i]->worker))
			fleet_resign(f, f->by_id[i], index);
}

/* Marks drained and resigned members. A sidecar usually has one registered worker. */
static void mark_members(struct leaders *l)
{
	struct fleet *f = &l->registry->fleet;

	for (size_t j = 0; j < f->n_members; j++) {
		struct member *m = f->by_id[j];
		const struct policy_item *drain = policy_find_node(
			l->policy, POLICY_DRAIN, "", m->worker->node, m->worker->machine);
		fleet_set_drained(f, m, drain != NULL);
	}
	fleet_clear_resigned(f);
	for (size_t i = 0; i < l->policy->n; i++) {
		const struct policy_item *item = l->policy->items[i];
		if (item->kind != POLICY_RESIGN)
			continue;
		const struct listing *whole =
			listings_find(l, item->record.task, strlen(item->record.task));
		struct task *t = tasks_find_any(l, item->record.task);
		const struct guest *guest = groups_find(l, item->record.task);
		if (t)
			resign(l, item, t->index);
		else if (guest)
			resign(l, item, guest->index);
		for (size_t j = 0; !t && whole && j < whole->n; j++)
			resign(l, item, whole->tasks[j]->index);
	}
}

/* If a candidate stands by for a lost run, the others lead only if it cannot. */
static void prefer_standbys(struct leaders *l)
{
	struct fleet *f = &l->registry->fleet;

	for (size_t i = 0; i < l->policy->n; i++) {
		const struct policy_item *item = l->policy->items[i];
		struct task *t =
			item->kind == POLICY_RERUN ? tasks_find_any(l, item->record.task) : NULL;
		bool there = false;
		if (t)
			for (size_t j = 0; t && !there && j < f->n_members; j++) {
				const struct worker *w = f->by_id[j]->worker;
				there = policy_concerns(l->policy, item, w) &&
					fleet_why(f, &t->contest, t->index, w->id) == WHY_BEST;
			}
		for (size_t j = 0; there && j < f->n_members; j++) {
			const struct worker *w = f->by_id[j]->worker;
			if (!policy_find_node(l->policy, POLICY_RERUN, t->name, w->node,
					      w->machine))
				fleet_resign(f, f->by_id[j], t->index);
		}
	}
}

void candidates_changed(struct leaders *l)
{
	const struct member *self = registry_self(l->registry);

	if (l->guests_due)
		tasks_index(l);
	l->guests_due = false;
	mark_clocks(l);
	renames_look(&l->renames);
	/* A new member may be the subject of an existing decision. */
	if (l->policy->n > 0 || l->edition != l->policy->edition) {
		mark_members(l);
		for (size_t i = 0; i < l->n_tasks; i++)
			take_decision(l->tasks[i]);
		groups_take_decisions(l);
		prefer_standbys(l);
		l->edition = l->policy->edition;
	}
	for (size_t i = 0; i < l->n_tasks; i++)
		view(l->tasks[i], self);
}
