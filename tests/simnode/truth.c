#include "truth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/fleet/fleet.h"
#include "core/fleet/identity.h"
#include "core/time/skew.h"
#include "lists.h"
#include "renames.h"
#include "server.h"
#include "wall.h"
#include "wire/records/record.h"

#define SETTLED_US (2 * SECOND) /* until those who were to wait for that have looked at it */

/* A node that it goes by. */
struct source {
	path_id path;
	struct blob *data; /* kept, so that another one has another address */
	int64_t owner;
};

struct truth {
	/* what the rest was made of; it is made anew where one of them is another */
	struct source *sources;
	size_t n_sources, capacity;
	struct fleet fleet;
	struct {
		bool paused;
		char pinned[NAME_VERSION_MAX + 1];
	} orders[TASKS_MAX];
	struct contest contests[TASKS_MAX];
	bool ending; /* one of the decisions is to end by itself */
};

static struct truth truth;

static int64_t unknown_at; /* when what a worker had published of its clock was not true last */

static int64_t off_at[HOSTS_MAX]; /* since when its clock is off, 0: it is not */
static int64_t looked_at;	  /* when that was found out last */

static void forget(struct truth *t)
{
	fleet_done(&t->fleet);
	for (size_t i = 0; i < t->n_sources; i++)
		blob_drop(t->sources[i].data);
	free(t->sources);
	memset(t, 0, sizeof(*t));
}

void truth_reset(void)
{
	forget(&truth);
	looked_at = -2 * SECOND;
	unknown_at = -HOUR;
}

/* --- what the znodes say --------------------------------------------------------------------------- */

static const struct znode *folder(const struct tree *tree, const char *name)
{
	char path[STORE_PATH_MAX];

	snprintf(path, sizeof(path), SITE_ROOT "/%s", name);
	return tree_get(tree, path_intern(path));
}

/* How many of the first children are what the sources from this one on were made of. */
static size_t compare_sources(const struct truth *t, const struct tree *tree,
			      const struct znode *parent, size_t at)
{
	size_t i = 0;

	for (; parent && i < parent->n_children && at + i < t->n_sources; i++) {
		const struct znode *node = tree_get(tree, parent->children[i]);
		const struct source *s = &t->sources[at + i];
		if (s->path != parent->children[i] || s->data != node->data ||
		    s->owner != node->stat.owner)
			break;
	}
	return i;
}

static bool is_same(const struct truth *t, const struct znode *workers, const struct znode *policy,
		    const struct tree *tree)
{
	size_t n_workers = workers ? workers->n_children : 0;
	size_t n_policy = policy ? policy->n_children : 0;

	return t->fleet.contests && t->n_sources == n_workers + n_policy &&
	       compare_sources(t, tree, workers, 0) == n_workers &&
	       compare_sources(t, tree, policy, n_workers) == n_policy;
}

static void add_source(struct truth *t, path_id path, const struct znode *node)
{
	if (t->n_sources == t->capacity) {
		t->capacity = t->capacity ? 2 * t->capacity : 64;
		t->sources = mem_resize(t->sources, t->capacity, sizeof(*t->sources));
	}
	t->sources[t->n_sources++] = (struct source){path, blob_keep(node->data), node->stat.owner};
}

static void add_workers(struct truth *t, const struct tree *tree, const struct znode *workers)
{
	for (size_t i = 0; workers && i < workers->n_children; i++) {
		const struct znode *node = tree_get(tree, workers->children[i]);
		struct worker *w;
		const char *why;
		add_source(t, workers->children[i], node);
		if (node->data &&
		    record_parse_worker(node->data->bytes, node->data->len, &w, &why) == 0) {
			lists_adopt(w);
			fleet_add(&t->fleet, w, node->stat.owner, 0);
		}
	}
}

static void add_order(struct truth *t, const struct policy_record *r)
{
	unsigned k = task_number(r->task);
	struct fleet *f = &t->fleet;

	for (size_t i = 0; i < f->n_members; i++) {
		struct member *m = f->by_id[i];
		if (!identity_concerns(f, r->node, r->machine, m->worker->node, m->worker->machine))
			continue;
		if (strcmp(r->kind, "drain") == 0)
			m->drained = true;
		else if (strcmp(r->kind, "resign") == 0 && k < TASKS_MAX)
			fleet_resign(f, m, k);
	}
	if (strcmp(r->kind, "pause") == 0 && k < TASKS_MAX)
		t->orders[k].paused = true;
	if (strcmp(r->kind, "pin") == 0 && k < TASKS_MAX)
		memcpy(t->orders[k].pinned, r->version, sizeof(t->orders[k].pinned));
}

static void add_orders(struct truth *t, const struct tree *tree, const struct znode *policy)
{
	for (size_t i = 0; policy && i < policy->n_children; i++) {
		const struct znode *node = tree_get(tree, policy->children[i]);
		struct policy_record r;
		const char *why;
		add_source(t, policy->children[i], node);
		if (!node->data ||
		    record_parse_policy(node->data->bytes, node->data->len, &r, &why) != 0)
			continue;
		add_order(t, &r);
		t->ending |= r.until != 0 && strcmp(r.kind, policy_kind_name(POLICY_ENDED)) != 0;
	}
}

static void note_off(const struct fleet *f)
{
	/* Much may have happened between two quiet times. */
	if (sim.now > looked_at + SECOND)
		memset(off_at, 0, sizeof(off_at));
	looked_at = sim.now;
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		const struct member *m =
			sites[i].running ? fleet_find(f, sites[i].node.registry.id) : NULL;
		if (!m || !m->clock_off)
			off_at[i] = 0;
		else if (off_at[i] == 0)
			off_at[i] = sim.now;
	}
}

bool truth_clock_is_off(unsigned site)
{
	const char *pending;

	if (off_at[site] == 0 || sim.now > looked_at + SECOND || servers_leader() < 0)
		return false;
	truth_now(&pending); /* somebody may have left just now */
	return off_at[site] > 0 && sim.now > off_at[site] + SKEW_SETTLE_MS * MS + SETTLED_US &&
	       sim.now > unknown_at + SKEW_SETTLE_MS * MS + SETTLED_US;
}

int64_t truth_clocks_since(void)
{
	return unknown_at + SKEW_SETTLE_MS * MS + SETTLED_US;
}

/* The best worker for a partition follows from the contests of all. */
static void set_contests(struct truth *t)
{
	const struct contest *list[TASKS_MAX];
	const char *whole = sim.options.partitions ? PARTITIONED : NULL;

	for (unsigned k = 0; k < sim.n_tasks; k++) {
		const struct task_settings *s = &task_settings[k];
		unsigned item = 0;
		(void)name_partition_parse(s->name, strlen(s->name), NULL, &item);
		t->contests[k] = (struct contest){
			.task = s->name,
			.listed = whole,
			.partitions = s->partitions,
			.min_version = s->min_version,
			.rank_position = s->rank_position,
			.version_policy = s->version_policy,
			.pinned = t->orders[k].pinned[0] ? t->orders[k].pinned : NULL,
			.draft = whole ? whole : s->spread,
			.item = item,
			.limit = s->partition_limit};
		list[k] = &t->contests[k];
	}
	fleet_set_contests(&t->fleet, list);
}

static void make(struct truth *t, const struct tree *tree, const struct znode *workers,
		 const struct znode *policy)
{
	static const char *names[TASKS_MAX];

	for (unsigned k = 0; k < sim.n_tasks; k++)
		names[k] = task_settings[k].name;
	forget(t);
	fleet_init(&t->fleet);
	fleet_set_tasks(&t->fleet, names, sim.n_tasks);
	add_workers(t, tree, workers);
	add_orders(t, tree, policy);
}

const struct truth *truth_now(const char **ret_pending)
{
	const struct tree *tree = servers_tree();
	const struct znode *workers = folder(tree, "workers"), *policy = folder(tree, "policy");
	bool same = is_same(&truth, workers, policy, tree);

	if (!same)
		make(&truth, tree, workers, policy);
	if (wall_judge(&truth.fleet) || !same)
		set_contests(&truth);
	note_off(&truth.fleet);
	if (!wall_is_known(&truth.fleet))
		unknown_at = sim.now;
	/* Nobody ends it where no worker is left. */
	*ret_pending =
		truth.ending && truth.fleet.n_members > 0 ? "a decision has not ended" : NULL;
	if (sim.now < unknown_at + SKEW_SETTLE_MS * MS + SETTLED_US)
		*ret_pending = "a worker's clock is not what it has published, or was not just now";
	return &truth;
}

/* --- what follows ---------------------------------------------------------------------------------- */

/*
 * How the site stands by its record. It may not have heard yet that a record of its own has taken the place of
 * the one that it knows: the session tells both.
 */
static struct standing stand(const struct truth *t, unsigned task, const struct site *s)
{
	const char *id = s ? s->node.registry.id : "";
	const struct member *m =
		s && s->node.session.id ? fleet_find_session(&t->fleet, s->node.session.id) : NULL;

	if (m && !fleet_find(&t->fleet, id))
		id = m->worker->id;
	return fleet_stand(&t->fleet, &t->contests[task], task, id);
}

bool truth_has_candidate(const struct truth *t, unsigned task)
{
	return !t->orders[task].paused && !renames_barred(&t->fleet, task) &&
	       stand(t, task, NULL).best;
}

uint64_t truth_passed_over(const struct truth *t, unsigned task)
{
	uint64_t passed = 0;

	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (sites[i].running && !stand(t, task, &sites[i]).self_candidate)
			passed |= UINT64_C(1) << i;
	return passed;
}

uint64_t truth_behind(const struct truth *t, unsigned task)
{
	uint64_t behind = 0;

	for (unsigned i = 0; i < sim.n_hosts; i++) {
		struct standing s = stand(t, task, &sites[i]);
		if (sites[i].running && s.place >= 2 && !s.next)
			behind |= UINT64_C(1) << i;
	}
	return behind;
}

bool truth_may_lead(const struct truth *t, unsigned task, unsigned site)
{
	if (!sites[site].running || t->orders[task].paused || renames_barred(&t->fleet, task))
		return false;
	struct standing standing = stand(t, task, &sites[site]);
	if (!standing.self_candidate)
		return false;
	if (standing.best == standing.self)
		return true;
	switch (task_settings[task].yield) {
	case ELECTION_YIELD_RANK: return false;
	case ELECTION_YIELD_VERSION: return !standing.best_is_newer;
	case ELECTION_YIELD_NEVER: return true;
	}
	return false;
}
