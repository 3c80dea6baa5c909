/* The drafts of a fleet: whatever comes and goes, what is kept is what a fresh look says. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/fleet/fleet.h"
#include "core/fleet/fleet_draft.h"

#define PARTS	12
#define TASKS	(PARTS + 5) /* two tasks of a group, and three of their own */
#define WORKERS 40
#define STEPS	4000

static uint64_t state; /* of the random numbers; each test seeds it */

static unsigned draw(unsigned n)
{
	uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (unsigned)((z ^ (z >> 31)) % n);
}

static const char *const usual[] = {"1.0", "1.0.0", "1.1", "2.0-rc1"};
/* These three beat each other in a circle. */
static const char *const odd[] = {"1", "01.sp-x", "1b2_0", "1.0"};

struct world {
	struct fleet fleet;
	struct contest contests[TASKS];
	const struct contest *list[TASKS];
	char names[TASKS][NAME_ELECTION_MAX + 1];
	const char *const *versions;
};

static int by_task(const void *a, const void *b)
{
	const struct contest *x = a, *y = b;

	return strcmp(x->task, y->task);
}

static void build(struct world *w, size_t limit, enum version_policy policy)
{
	static const char *const others[] = {"scan-x", "scan1", "scanner", "feed-a", "feed-b"};
	const char *names[TASKS];

	fleet_init(&w->fleet);
	for (unsigned i = 0; i < TASKS; i++) {
		struct contest *c = &w->contests[i];
		*c = (struct contest){.rank_position = -1, .version_policy = policy};
		if (i < PARTS) {
			snprintf(w->names[i], sizeof(w->names[i]), "scan:%u", i);
			c->listed = "scan";
			c->partitions = PARTS;
			c->draft = "scan";
			c->item = i;
			c->limit = limit;
		} else {
			snprintf(w->names[i], sizeof(w->names[i]), "%s", others[i - PARTS]);
			c->draft = i >= TASKS - 2 ? "feeds" : NULL;
		}
		c->task = w->names[i];
	}
	qsort(w->contests, TASKS, sizeof(w->contests[0]), by_task);
	for (unsigned i = 0; i < TASKS; i++) {
		names[i] = w->contests[i].task;
		w->list[i] = &w->contests[i];
	}
	fleet_set_tasks(&w->fleet, names, TASKS);
	fleet_set_contests(&w->fleet, w->list);
}

static struct worker *make_worker(const struct world *w, unsigned number)
{
	static const char *const all[] = {"feed-a", "feed-b", "scan", "scan-x", "scan1", "scanner"};
	struct worker *made = worker_new();
	const char *names[6];
	size_t n = 0;

	snprintf(made->id, sizeof(made->id), "w%02u", number);
	snprintf(made->version, sizeof(made->version), "%s", w->versions[draw(4)]);
	snprintf(made->ip, sizeof(made->ip), "10.0.0.%u", draw(3));
	for (unsigned i = 0; i < WORKER_RANDOM_INTS; i++)
		made->random_ints[i] = (int32_t)draw(1000);
	made->sick = draw(12) == 0;
	for (unsigned i = 0; i < 6; i++)
		if (draw(9) > 0)
			names[n++] = all[i];
	worker_set_tasks(made, names, n);
	made->n_splits = draw(9) > 0;
	made->splits = mem_calloc(1, sizeof(*made->splits));
	snprintf(made->splits[0].task, sizeof(made->splits[0].task), "scan");
	made->splits[0].partitions = draw(9) > 0 ? PARTS : PARTS + 1;
	made->groups = mem_calloc(n + 1, sizeof(*made->groups));
	made->n_groups = n;
	for (size_t i = 0; i < n; i++)
		made->groups[i] = mem_strdup(names[i][0] == 'f' ? "feeds" : "");
	return made;
}

static size_t index_of(const struct world *w, const char *name)
{
	for (size_t i = 0; i < TASKS; i++)
		if (strcmp(w->contests[i].task, name) == 0)
			return i;
	cr_assert(false, "%s", name);
	return 0;
}

static void step(struct world *w)
{
	unsigned number = draw(WORKERS);
	char id[8];
	snprintf(id, sizeof(id), "w%02u", number);
	struct member *m = fleet_find(&w->fleet, id);

	if (!m)
		fleet_add(&w->fleet, make_worker(w, number), 100 - number, 0);
	else if (draw(3) > 0)
		fleet_remove(&w->fleet, id);
	else if (draw(2) > 0)
		fleet_set_drained(&w->fleet, m, !m->drained);
	else if (draw(3) == 0)
		fleet_set_clock_off(&w->fleet, m, !m->clock_off);
	else if (draw(8) == 0)
		fleet_clear_resigned(&w->fleet);
	else
		fleet_resign(&w->fleet, m, draw(TASKS));
}

static void check(struct world *w, size_t index, const struct member *self)
{
	struct ranked list[WORKERS];
	struct standing kept = fleet_standing(&w->fleet, index, self);

	fleet_drafts_forget(&w->fleet);
	struct standing whole =
		fleet_stand(&w->fleet, &w->contests[index], index, self ? self->worker->id : "");
	cr_assert_eq(kept.best, whole.best);
	cr_assert_eq(kept.self_candidate, whole.self_candidate);
	cr_assert_eq(kept.best_is_newer, whole.best_is_newer);
	cr_assert_eq(kept.place, whole.place, "%zu and not %zu", kept.place, whole.place);
	size_t n = fleet_rank(&w->fleet, &w->contests[index], index, list);
	cr_assert_eq(whole.best, n > 0 && list[0].candidate ? list[0].member : NULL);
	if (whole.best)
		cr_assert_eq(fleet_fitness(whole.best, &w->contests[index], index), WHY_BEST);
	for (size_t i = 0; i < n; i++) {
		cr_assert_eq(list[i].why == WHY_BEST, i == 0 && whole.best);
		if (list[i].member == self && whole.self_candidate && w->fleet.orderly)
			cr_assert_eq(whole.place, i, "%zu", whole.place);
	}
}

static void live(const char *const *versions, size_t limit, enum version_policy policy)
{
	struct world w = {.versions = versions};

	state = limit * 7 + (uint64_t)policy;
	build(&w, limit, policy);
	for (unsigned i = 0; i < STEPS; i++) {
		step(&w);
		size_t index = draw(TASKS);
		const struct member *self =
			w.fleet.n_members > 0 ? w.fleet.by_id[draw((unsigned)w.fleet.n_members)]
					      : NULL;
		check(&w, index, self);
		/* Drafts that are kept have to outlive several steps without a look. */
		for (unsigned j = draw(4); j > 0; j--)
			step(&w);
		fleet_standing(&w.fleet, index_of(&w, "scan:0"), NULL);
	}
	fleet_done(&w.fleet);
}

Test(fleet_draft, what_is_kept_is_what_a_fresh_look_says)
{
	live(usual, 0, VERSION_NEWEST);
	live(usual, 2, VERSION_NEWEST);
	live(usual, 0, VERSION_OLDEST);
	live(usual, 3, VERSION_ANY);
	live(odd, 0, VERSION_NEWEST);
}

static struct worker *plain_worker(unsigned number, const char *version, unsigned partitions)
{
	struct worker *made = worker_new();
	const char *name = "scan";

	snprintf(made->id, sizeof(made->id), "w%02u", number);
	snprintf(made->version, sizeof(made->version), "%s", version);
	snprintf(made->ip, sizeof(made->ip), "10.0.0.1");
	made->random_ints[0] = (int32_t)number;
	worker_set_tasks(made, &name, 1);
	made->splits = mem_calloc(1, sizeof(*made->splits));
	made->n_splits = partitions > 0;
	snprintf(made->splits[0].task, sizeof(made->splits[0].task), "scan");
	made->splits[0].partitions = partitions;
	return made;
}

static size_t count(struct world *w, unsigned number)
{
	char id[8];
	size_t n = 0;

	snprintf(id, sizeof(id), "w%02u", number);
	for (size_t i = 0; i < w->fleet.n_tasks; i++)
		n += strncmp(w->fleet.tasks[i], "scan:", 5) == 0 &&
		     fleet_draft_owner(&w->fleet, i) == fleet_find(&w->fleet, id);
	return n;
}

Test(fleet_draft, partitions_are_spread_evenly_over_those_who_have_as_many)
{
	struct world w = {.versions = usual};

	build(&w, 0, VERSION_NEWEST);
	for (unsigned i = 0; i < 4; i++)
		fleet_add(&w.fleet, plain_worker(i, "1.0", PARTS), i, 0);
	fleet_add(&w.fleet, plain_worker(4, "2.0", 0), 4, 0);
	fleet_add(&w.fleet, plain_worker(5, "2.0", PARTS - 1), 5, 0);
	for (unsigned i = 0; i < 4; i++)
		cr_expect_eq(count(&w, i), PARTS / 4);
	cr_expect_eq(count(&w, 4), 0);
	cr_expect_eq(count(&w, 5), 0);
	fleet_done(&w.fleet);
}

Test(fleet_draft, a_limit_leaves_the_rest_to_the_next_version)
{
	struct world w = {.versions = usual};

	build(&w, 2, VERSION_NEWEST);
	for (unsigned i = 0; i < 5; i++)
		fleet_add(&w.fleet, plain_worker(i, "1.0", PARTS), i, 0);
	fleet_add(&w.fleet, plain_worker(5, "2.0", PARTS), 5, 0);
	for (unsigned i = 0; i < 6; i++)
		cr_expect_eq(count(&w, i), 2);
	fleet_done(&w.fleet);
}

/* Newcomers to a big fleet hardly ever come before the first 12 in order. */
Test(fleet_draft, who_comes_too_late_changes_nothing)
{
	struct world w = {.versions = usual};
	unsigned kept = 0;

	build(&w, 0, VERSION_NEWEST);
	for (unsigned i = 0; i < 90; i++) {
		fleet_add(&w.fleet, plain_worker(i, "1.0", PARTS), i, 0);
		if (i >= 60)
			kept += w.fleet.drafts[w.fleet.draft_of[index_of(&w, "scan:0")]].known;
		(void)fleet_draft_owner(&w.fleet, index_of(&w, "scan:0"));
	}
	cr_expect_gt(kept, 15);
	fleet_done(&w.fleet);
}
