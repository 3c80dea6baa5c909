/* Whatever comes and goes, a tally says what fleet_stand() says of the whole fleet. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fleet/fleet.h"
#include "core/fleet/tally.h"

#define TASKS	 3
#define CONTESTS 6 /* two for each task */
#define WORKERS	 12
#define STEPS	 30000

static uint64_t state; /* of the random numbers; each test seeds it */

static unsigned draw(unsigned n)
{
	uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (unsigned)((z ^ (z >> 31)) % n);
}

static const char *const task_names[TASKS] = {"daily", "hourly", "report"};
static const struct contest contests[CONTESTS] = {
	{.task = "daily", .rank_position = -1},
	{.task = "hourly", .rank_position = 2},
	{.task = "report", .rank_position = -1, .min_version = "1.0"},
	{.task = "daily", .rank_position = 0, .version_policy = VERSION_OLDEST},
	{.task = "hourly", .rank_position = -1, .pinned = "1.0.0"},
	{.task = "report",
	 .rank_position = 1,
	 .version_policy = VERSION_OLDEST,
	 .min_version = "0.9"},
};
static const char *const usual[] = {"1.0", "1.0.0", "1.1", "2.0-rc1"};
/* These three beat each other in a circle. */
static const char *const odd[] = {"1", "01.sp-x", "1b2_0", "1.0"};

struct world {
	struct fleet fleet;
	struct tally tallies[CONTESTS];
	const char *const *versions;
	const char *self;
	uint64_t moves; /* times that another was the best */
};

static struct worker *make_worker(const struct world *w, unsigned number)
{
	struct worker *made = worker_new();
	const char *names[TASKS];
	size_t n = 0;

	snprintf(made->id, sizeof(made->id), "%c", (char)('a' + number));
	snprintf(made->version, sizeof(made->version), "%s", w->versions[draw(4)]);
	snprintf(made->ip, sizeof(made->ip), "10.0.0.%u", draw(3));
	for (unsigned i = 0; i < WORKER_RANDOM_INTS; i++)
		made->random_ints[i] = (int32_t)draw(3);
	made->sick = draw(12) == 0;
	for (unsigned i = 0; i < TASKS; i++)
		if (draw(6) > 0)
			names[n++] = task_names[i];
	worker_set_tasks(made, names, n);
	return made;
}

static void tell(struct world *w, const struct member *m, bool joined)
{
	for (size_t i = 0; i < CONTESTS; i++) {
		if (joined)
			tally_joined(&w->tallies[i], &w->fleet, &contests[i], i % TASKS, m);
		else
			tally_left(&w->tallies[i], &w->fleet, &contests[i], i % TASKS, m);
	}
}

static void come_or_go(struct world *w)
{
	unsigned number = draw(WORKERS);
	char id[2] = {(char)('a' + number), '\0'};
	struct member *m = fleet_find(&w->fleet, id);

	if (!m) {
		m = fleet_add(&w->fleet, make_worker(w, number), 100 - number, 0);
		tell(w, m, true);
		return;
	}
	tell(w, m, false);
	fleet_remove(&w->fleet, id);
}

static void decide(struct world *w)
{
	char id[2] = {(char)('a' + draw(WORKERS)), '\0'};
	struct member *m = fleet_find(&w->fleet, id);

	if (m && draw(2) > 0) {
		tell(w, m, false);
		if (draw(2) > 0)
			fleet_set_drained(&w->fleet, m, !m->drained);
		else
			fleet_set_clock_off(&w->fleet, m, !m->clock_off);
		tell(w, m, true);
	} else if (m) {
		unsigned task = draw(TASKS);
		fleet_resign(&w->fleet, m, task);
		for (size_t i = task; i < CONTESTS; i += TASKS)
			tally_forget(&w->tallies[i]);
	} else {
		fleet_clear_resigned(&w->fleet);
		for (size_t i = 0; i < CONTESTS; i++)
			tally_forget(&w->tallies[i]);
	}
}

static void expect_same(size_t i, const struct standing *kept, const struct standing *whole)
{
	cr_assert_eq(kept->best, whole->best);
	cr_assert_eq(kept->self, whole->self);
	cr_assert_eq(kept->self_candidate, whole->self_candidate);
	cr_assert_eq(kept->best_is_newer, whole->best_is_newer);
	cr_assert_eq(kept->place, whole->place, "contest %zu: %zu and not %zu", i, kept->place,
		     whole->place);
}

static void compare(struct world *w)
{
	const struct member *self = fleet_find(&w->fleet, w->self);

	for (size_t i = 0; i < CONTESTS; i++) {
		struct tally *t = &w->tallies[i];
		const struct member *before = t->best.member;
		struct standing whole = fleet_stand(&w->fleet, &contests[i], i % TASKS, w->self);
		struct standing kept = tally_stand(t, &w->fleet, &contests[i], i % TASKS, self);
		expect_same(i, &kept, &whole);
		w->moves += t->best.member != before;
		if (i >= TASKS)
			continue;
		/* The fleet tells its own by itself. */
		kept = fleet_standing(&w->fleet, i, self);
		expect_same(i, &kept, &whole);
	}
}

/* Returns in how many of the looks a tally had it at hand. */
static size_t live(const char *const *versions, const char *self, uint64_t seed)
{
	const struct contest *of_tasks[TASKS] = {&contests[0], &contests[1], &contests[2]};
	struct world *w = calloc(1, sizeof(*w));
	size_t known = 0;

	state = seed;
	w->versions = versions;
	w->self = self;
	fleet_init(&w->fleet);
	fleet_set_tasks(&w->fleet, task_names, TASKS);
	fleet_set_contests(&w->fleet, of_tasks);
	for (unsigned step = 0; step < STEPS; step++) {
		if (draw(8) == 0)
			decide(w);
		else
			come_or_go(w);
		if (draw(3) == 0)
			continue; /* several changes at once */
		for (size_t i = 0; i < CONTESTS; i++)
			known += w->tallies[i].known;
		compare(w);
	}
	cr_assert_gt(w->moves, 1000);
	fleet_done(&w->fleet);
	free(w);
	return known;
}

Test(tally, says_what_the_whole_fleet_says)
{
	cr_expect_gt(live(usual, "c", 1), STEPS);
	cr_expect_gt(live(usual, "d", 2), STEPS);
}

Test(tally, without_itself)
{
	cr_expect_gt(live(usual, "", 3), STEPS);
}

Test(tally, looks_at_the_whole_fleet_where_versions_beat_each_other_in_a_circle)
{
	live(odd, "c", 4);
}

Test(tally, more_versions_than_it_looks_at)
{
	static const char *const one[] = {"daily"};
	struct tally t = {0};
	struct fleet f;

	fleet_init(&f);
	fleet_set_tasks(&f, one, 1);
	for (int i = 0; i < 40; i++) {
		struct worker *w = worker_new();
		snprintf(w->id, sizeof(w->id), "w%02d", i);
		snprintf(w->version, sizeof(w->version), "1.%d", i);
		worker_set_tasks(w, one, 1);
		tally_joined(&t, &f, &contests[0], 0, fleet_add(&f, w, i, 0));
		struct standing s = tally_stand(&t, &f, &contests[0], 0, fleet_find(&f, "w03"));
		cr_expect_eq(s.place, i < 3 ? SIZE_MAX : (size_t)i - 3);
		cr_expect_str_eq(s.best->worker->id, w->id);
		cr_expect_eq(t.known, i < 32);
	}
	for (int i = 39; i > 3; i--) {
		char id[12];
		snprintf(id, sizeof(id), "w%02d", i);
		tally_left(&t, &f, &contests[0], 0, fleet_find(&f, id));
		cr_expect(fleet_remove(&f, id));
		struct standing s = tally_stand(&t, &f, &contests[0], 0, fleet_find(&f, "w03"));
		cr_expect_eq(s.place, (size_t)i - 4);
	}
	fleet_done(&f);
}
