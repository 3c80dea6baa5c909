#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/fleet/fleet.h"
#include "core/fleet/rank.h"
#include "core/fleet/version.h"

#define MANY 24

static uint64_t state; /* of the random numbers; each test seeds it */

/* splitmix64 (Steele, Lea and Flood, 2014) */
static uint64_t next_random(void)
{
	uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* The description of a worker: a row of a table in the tests. */
struct spec {
	const char *id, *version, *ip;
	int32_t random_ints[WORKER_RANDOM_INTS];
	bool drained;
	bool unlisted;
	bool resigned;
	bool sick;
};

/* id, version, ip (NULL: one that all have) and random ints */
#define SPEC(i, v, a, ...)                                                           \
	{                                                                            \
		.id = (i), .version = (v), .ip = (a), .random_ints = { __VA_ARGS__ } \
	}
#define WORKER(...) ((struct spec)SPEC(__VA_ARGS__))

static const char *const one_task[] = {"job"};
static const struct contest job = {.task = "job", .rank_position = -1};

static struct worker *make_worker(const struct spec *s, const char *const *tasks, size_t n_tasks)
{
	struct worker *w = worker_new();

	snprintf(w->id, sizeof(w->id), "%s", s->id);
	snprintf(w->version, sizeof(w->version), "%s", s->version);
	snprintf(w->ip, sizeof(w->ip), "%s", s->ip ? s->ip : "10.0.0.1");
	memcpy(w->random_ints, s->random_ints, sizeof(w->random_ints));
	w->sick = s->sick;
	worker_set_tasks(w, tasks, n_tasks);
	return w;
}

static struct member *add(struct fleet *f, const struct spec *s)
{
	struct worker *w = make_worker(s, one_task, s->unlisted ? 0 : 1);
	struct member *m = fleet_add(f, w, 1, 0);

	if (m)
		m->drained = s->drained;
	if (m && s->resigned)
		fleet_resign(f, m, 0);
	return m;
}

static void begin(struct fleet *f)
{
	fleet_init(f);
	fleet_set_tasks(f, one_task, 1);
}

static void shuffle(size_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)(next_random() % i), swap = order[i - 1];
		order[i - 1] = order[j];
		order[j] = swap;
	}
}

static const char *best_of(const struct fleet *f, const struct contest *c)
{
	struct standing s = fleet_stand(f, c, 0, "");
	return s.best ? s.best->worker->id : "nobody";
}

/* ids of the whole ranking, each with a mark of its why */
static void ranking_text(const struct fleet *f, const struct contest *c, char *text, size_t size)
{
	struct ranked ranked[MANY];
	size_t n = fleet_rank(f, c, 0, ranked);
	size_t len = 0;

	cr_assert_eq(n, f->n_members);
	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		cr_expect_eq(ranked[i].candidate, ranked[i].why < WHY_NOT_LISTED);
		len += (size_t)snprintf(text + len, size - len, "%s%s:%c", i ? " " : "",
					ranked[i].member->worker->id, "*vrinLDUmPR"[ranked[i].why]);
	}
}

Test(fleet, empty)
{
	struct fleet f;
	struct ranked none;

	begin(&f);
	struct standing s = fleet_stand(&f, &job, 0, "a");
	cr_expect_null(s.best);
	cr_expect_null(s.self);
	cr_expect_not(s.self_candidate);
	cr_expect_not(s.best_is_newer);
	cr_expect_eq(fleet_rank(&f, &job, 0, &none), 0);
	cr_expect_null(fleet_find(&f, "a"));
	cr_expect_null(fleet_find_session(&f, 1));
	cr_expect_not(fleet_remove(&f, "a"));
	fleet_clear(&f);
	fleet_done(&f);
}

Test(fleet, members)
{
	struct fleet f;

	begin(&f);
	struct member *b =
		fleet_add(&f, make_worker(&WORKER("b", "1", NULL, 0), one_task, 1), 7, 100);
	struct member *a =
		fleet_add(&f, make_worker(&WORKER("a", "2", NULL, 0), one_task, 1), 7, 200);
	cr_assert(a && b);
	cr_expect_eq(b->session, 7);
	cr_expect_eq(b->seen_ms, 100);
	cr_expect(b->serial != 0 && a->serial != b->serial);
	cr_expect_eq(fleet_find(&f, "a"), a);
	cr_expect_eq(fleet_find(&f, "b"), b);
	cr_expect_null(fleet_find(&f, "aa"));
	cr_expect_eq(fleet_find_session(&f, 7), b, "the last by id");
	cr_expect_null(fleet_find_session(&f, 8));
	cr_expect_null(add(&f, &WORKER("a", "3", NULL, 0)), "the id is known");
	cr_expect_eq(f.n_members, 2);

	uint64_t last = a->serial;
	cr_expect(fleet_remove(&f, "b"));
	cr_expect_not(fleet_remove(&f, "b"));
	cr_expect_eq(fleet_find_session(&f, 7), a);
	cr_expect(add(&f, &WORKER("b", "1", NULL, 0))->serial > last);
	last = fleet_find(&f, "b")->serial;
	fleet_clear(&f);
	cr_expect_eq(f.n_members, 0);
	cr_expect(add(&f, &WORKER("b", "1", NULL, 0))->serial > last, "not even after a clear");
	fleet_done(&f);
}

Test(fleet, limit)
{
	struct fleet f;
	char id[16];

	begin(&f);
	state = 1;
	for (size_t i = 0; i < FLEET_MEMBERS_MAX; i++) {
		snprintf(id, sizeof(id), "w%zu", (i * 2741) % FLEET_MEMBERS_MAX);
		cr_assert(add(&f, &WORKER(id, i % 2 ? "1" : "2", NULL, (int32_t)i)));
	}
	cr_expect_null(add(&f, &WORKER("one-more", "1", NULL, 0)));
	cr_expect_eq(f.n_members, FLEET_MEMBERS_MAX);
	for (size_t i = 1; i < f.n_members; i++)
		cr_expect(strcmp(f.by_id[i - 1]->worker->id, f.by_id[i]->worker->id) < 0);
	cr_expect_str_eq(fleet_stand(&f, &job, 0, "w1").best->worker->version, "2");

	struct ranked *ranked = mem_calloc(f.n_members, sizeof(*ranked));
	cr_expect_eq(fleet_rank(&f, &job, 0, ranked), FLEET_MEMBERS_MAX);
	cr_expect_eq(ranked[0].member, fleet_stand(&f, &job, 0, "w1").best);
	free(ranked);

	cr_expect(fleet_remove(&f, "w17"));
	cr_expect(add(&f, &WORKER("one-more", "1", NULL, 0)));
	fleet_done(&f);
}

/* Which of two is better and why; every row differs from its partner in one thing. */
static const struct {
	struct spec better, worse;
	int rank_position;
	char why; /* as ranking_text() marks it */
} ties[] = {
	{SPEC("a", "2", "10.0.0.1", 1), SPEC("b", "1", "10.0.0.2", 2), 0, 'v'},
	{SPEC("a", "1", "10.0.0.1", 2), SPEC("b", "1.0", "10.0.0.2", 1), 0, 'r'},
	{SPEC("a", "1", "10.0.0.1", -1), SPEC("b", "1", "10.0.0.2", -2), 0, 'r'},
	{SPEC("a", "1", "10.0.0.1", 0), SPEC("b", "1", "10.0.0.2", -1), 0, 'r'},
	{SPEC("a", "1", "10.0.0.1", INT32_MAX), SPEC("b", "1", "10.0.0.2", INT32_MIN), 0, 'r'},
	{SPEC("a", "1", "10.0.0.1", 0, 0, 0, 0, 5), SPEC("b", "1", "10.0.0.2", 9, 9, 9, 9, 4), 4,
	 'r'},
	{SPEC("a", "1", "10.0.0.10", 7), SPEC("b", "1.0.0", "10.0.0.9", 7), 0, 'i'},
	{SPEC("a", "1", "::1", 7), SPEC("b", "1", "255.0.0.1", 7), 0, 'i'},
	{SPEC("b", "1", "10.0.0.1", 7), SPEC("a", "1", "10.0.0.1", 7), 0, 'n'},
	{SPEC("b", "1", "::1", 7), SPEC("a", "1-ga", "0::1", 7), 0, 'n'},
	/* The same random ints give the same score. */
	{SPEC("a", "1", "10.0.0.10", 1, 2, 3, 4, 5), SPEC("b", "1", "10.0.0.9", 1, 2, 3, 4, 5), -1,
	 'i'},
	{SPEC("b", "1", "10.0.0.9", 1, 2, 3, 4, 5), SPEC("a", "1", "10.0.0.9", 1, 2, 3, 4, 5), -1,
	 'n'},
};

Test(fleet, ties)
{
	for (size_t i = 0; i < sizeof(ties) / sizeof(ties[0]); i++) {
		const struct spec *better = &ties[i].better, *worse = &ties[i].worse;
		const struct contest c = {.task = "job", .rank_position = ties[i].rank_position};
		char expected[64], text[64];
		struct fleet f;

		begin(&f);
		add(&f, i % 2 ? better : worse);
		add(&f, i % 2 ? worse : better);
		struct standing s = fleet_stand(&f, &c, 0, worse->id);
		cr_expect_str_eq(s.best->worker->id, better->id, "row %zu", i);
		cr_expect_str_eq(s.self->worker->id, worse->id, "row %zu", i);
		cr_expect(s.self_candidate, "row %zu", i);
		cr_expect_eq(s.place, 1, "row %zu", i);
		cr_expect_eq(s.best_is_newer, ties[i].why == 'v', "row %zu", i);

		s = fleet_stand(&f, &c, 0, better->id);
		cr_expect_eq(s.place, 0, "row %zu", i);
		cr_expect_eq(s.best, s.self, "row %zu", i);
		cr_expect_not(s.best_is_newer, "row %zu", i);

		snprintf(expected, sizeof(expected), "%s:* %s:%c", better->id, worse->id,
			 ties[i].why);
		ranking_text(&f, &c, text, sizeof(text));
		cr_expect_str_eq(text, expected, "row %zu", i);
		fleet_done(&f);
	}
}

Test(fleet, who_is_a_candidate)
{
	static const struct spec specs[] = {
		{.id = "new-unlisted", .version = "9", .random_ints = {9}, .unlisted = true},
		{.id = "new-drained", .version = "8", .random_ints = {8}, .drained = true},
		{.id = "both",
		 .version = "8",
		 .random_ints = {8},
		 .drained = true,
		 .unlisted = true},
		SPEC("good", "2.0", NULL, 1),
		SPEC("better", "2", NULL, 2),
		SPEC("least", "1.5.0", NULL, 3),
		SPEC("old", "1.5-rc1", NULL, 4),
		{.id = "older-drained", .version = "1", .random_ints = {5}, .drained = true},
	};
	const struct contest c = {.task = "job", .min_version = "1.5", .rank_position = 0};
	struct fleet f;
	char text[256];

	begin(&f);
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
		add(&f, &specs[i]);
	ranking_text(&f, &c, text, sizeof(text));
	cr_expect_str_eq(text, "better:* good:r least:v both:L new-drained:D new-unlisted:L old:m "
			       "older-drained:D");

	struct standing s = fleet_stand(&f, &c, 0, "new-drained");
	cr_expect_str_eq(s.best->worker->id, "better");
	cr_expect_not_null(s.self);
	cr_expect_not(s.self_candidate);
	cr_expect_not(s.best_is_newer);
	cr_expect_eq(s.place, SIZE_MAX);

	s = fleet_stand(&f, &c, 0, "old");
	cr_expect_not(s.self_candidate);
	cr_expect(s.best_is_newer);
	s = fleet_stand(&f, &c, 0, "least");
	cr_expect(s.self_candidate);
	cr_expect_eq(s.place, 2);
	s = fleet_stand(&f, &c, 0, "stranger");
	cr_expect_null(s.self);
	cr_expect_eq(s.place, SIZE_MAX);

	fleet_find(&f, "new-drained")->drained = false;
	cr_expect_str_eq(best_of(&f, &c), "new-drained");

	const struct contest high = {.task = "job", .min_version = "10", .rank_position = 0};
	cr_expect_str_eq(best_of(&f, &high), "nobody");
	fleet_done(&f);
}

Test(fleet, the_oldest_is_best_where_the_policy_says_so)
{
	const struct contest c = {
		.task = "job", .rank_position = 0, .version_policy = VERSION_OLDEST};
	struct fleet f;
	char text[256];

	begin(&f);
	add(&f, &WORKER("new", "3", NULL, 9));
	add(&f, &WORKER("old", "1.0", NULL, 1));
	add(&f, &WORKER("same", "1", NULL, 2));
	add(&f, &WORKER("middle", "2", NULL, 5));
	ranking_text(&f, &c, text, sizeof(text));
	cr_expect_str_eq(text, "same:* old:r middle:v new:v");
	struct standing s = fleet_stand(&f, &c, 0, "new");
	cr_expect_str_eq(s.best->worker->id, "same");
	cr_expect(s.best_is_newer, "the better version");
	cr_expect_eq(s.place, 3);
	cr_expect_not(fleet_stand(&f, &c, 0, "old").best_is_newer);
	fleet_done(&f);
}

Test(fleet, only_the_pinned_version_leads)
{
	struct contest c = {.task = "job", .rank_position = 0, .pinned = "2.0"};
	struct fleet f;
	char text[256];

	begin(&f);
	add(&f, &WORKER("new", "3", NULL, 9));
	add(&f, &WORKER("two", "2", NULL, 1));
	add(&f, &WORKER("too", "2.0.0", NULL, 2));
	ranking_text(&f, &c, text, sizeof(text));
	cr_expect_str_eq(text, "too:* two:r new:P");
	cr_expect_not(fleet_stand(&f, &c, 0, "new").self_candidate);
	c.pinned = "4";
	cr_expect_str_eq(best_of(&f, &c), "nobody");
	fleet_done(&f);
}

/* A worker that has resigned leads only while nobody else can, and then by the usual order. */
Test(fleet, who_has_resigned_comes_last)
{
	const struct contest c = {.task = "job", .min_version = "2", .rank_position = 0};
	struct spec best = SPEC("best", "9", NULL, 9), next = SPEC("next", "8", NULL, 8);
	struct fleet f;
	char text[256];

	best.resigned = true;
	begin(&f);
	add(&f, &best);
	add(&f, &next);
	add(&f, &WORKER("old", "1", NULL, 7));
	ranking_text(&f, &c, text, sizeof(text));
	cr_expect_str_eq(text, "next:* best:R old:m");
	cr_expect_not(fleet_stand(&f, &c, 0, "best").self_candidate);
	cr_expect_eq(fleet_stand(&f, &c, 0, "next").place, 0);

	fleet_resign(&f, fleet_find(&f, "next"), 0);
	ranking_text(&f, &c, text, sizeof(text));
	cr_expect_str_eq(text, "best:* next:v old:m", "both: as if neither had");
	cr_expect_eq(fleet_stand(&f, &c, 0, "next").place, 1);

	fleet_set_drained(&f, fleet_find(&f, "best"), true);
	fleet_set_drained(&f, fleet_find(&f, "best"), false);
	fleet_clear_resigned(&f);
	ranking_text(&f, &c, text, sizeof(text));
	cr_expect_str_eq(text, "best:* next:v old:m");
	fleet_done(&f);
}

Test(fleet, who_is_not_healthy_is_no_candidate)
{
	struct spec sick = SPEC("sick", "9", NULL, 9);
	struct worker *w = make_worker(&WORKER("partly", "8", NULL, 8), one_task, 1);
	char **unhealthy = mem_calloc(2, sizeof(*unhealthy));
	struct fleet f;
	char text[256];

	sick.sick = true;
	unhealthy[0] = mem_strdup("other");
	unhealthy[1] = mem_strdup("job");
	worker_take_unhealthy(w, unhealthy, 2);
	begin(&f);
	add(&f, &sick);
	cr_assert(fleet_add(&f, w, 1, 0));
	add(&f, &WORKER("well", "1", NULL, 1));
	ranking_text(&f, &job, text, sizeof(text));
	cr_expect_str_eq(text, "well:* partly:U sick:U");
	fleet_done(&f);
}

static bool beats(const struct ranked *a, const struct ranked *b)
{
	const struct worker *v = a->member->worker, *w = b->member->worker;
	int order = version_compare(v->version, w->version);

	if (order == 0)
		order = ((int64_t)a->rank > (int64_t)b->rank) -
			((int64_t)a->rank < (int64_t)b->rank);
	if (order == 0)
		order = rank_compare_ip(v->ip, w->ip);
	return order ? order > 0 : strcmp(v->id, w->id) > 0;
}

/* Checks the place of each worker against the definition. */
static void check_places(const struct fleet *f, const struct contest *c)
{
	struct ranked ranked[MANY];
	size_t n = fleet_rank(f, c, 0, ranked);

	for (size_t i = 0; i < n; i++) {
		struct standing s = fleet_stand(f, c, 0, ranked[i].member->worker->id);
		size_t ahead = 0;

		for (size_t j = 0; j < n; j++)
			ahead += j != i && ranked[j].candidate && beats(&ranked[j], &ranked[i]);
		cr_assert_eq(s.self, ranked[i].member);
		cr_assert_eq(s.self_candidate, ranked[i].candidate);
		cr_assert_eq(s.best, ranked[0].candidate ? ranked[0].member : NULL);
		if (!s.self_candidate)
			cr_assert_eq(s.place, SIZE_MAX);
		else if (i == 0)
			cr_assert_eq(s.place, 0);
		else
			cr_assert_eq(s.place, ahead ? ahead : 1);
		cr_assert_eq(s.best_is_newer,
			     s.best && version_compare(s.best->worker->version,
						       s.self->worker->version) > 0);
	}
}

/* In whatever order members came, and whoever came and went between, the outcome is the same. */
static void check_orders(const struct spec *specs, size_t n, const struct contest *c)
{
	char first[1024], text[1024], first_best[NAME_ID_MAX + 1];

	for (size_t round = 0; round < 200; round++) {
		size_t order[MANY];
		struct fleet f;

		begin(&f);
		shuffle(order, n);
		for (size_t i = 0; i < n; i++)
			cr_assert(add(&f, &specs[order[i]]));
		for (size_t i = 0; i < n; i++) { /* some leave and come back */
			if (next_random() % 2) {
				cr_assert(fleet_remove(&f, specs[i].id));
				cr_assert(add(&f, &specs[i]));
			}
		}
		ranking_text(&f, c, text, sizeof(text));
		if (round == 0) {
			strcpy(first, text);
			strcpy(first_best, best_of(&f, c));
		}
		cr_assert_str_eq(text, first);
		cr_assert_str_eq(best_of(&f, c), first_best);
		if (strcmp(first_best, "nobody") != 0)
			cr_assert_eq(strncmp(text, first_best, strlen(first_best)), 0);
		for (size_t i = 1; i < n; i++) {
			const struct member *a = f.by_version[i - 1], *b = f.by_version[i];
			int sorted = strcmp(a->worker->version, b->worker->version);
			cr_assert(sorted < 0 ||
				  (sorted == 0 && strcmp(a->worker->id, b->worker->id) < 0));
		}
		if (round % 20 == 0)
			check_places(&f, c);
		fleet_done(&f);
	}
}

static const char *const odd_versions[] = {"1",	    "01.sp-x", "1b2_0", "1.0",	    "1-ga",  "2",
					   "2-rc1", "2.0",     "0",	"1b2_0.ga", "1.sp-x"};

Test(fleet, order_of_arrival_is_nothing)
{
	const size_t n_versions = sizeof(odd_versions) / sizeof(odd_versions[0]);
	struct spec specs[MANY];
	char ids[MANY][8];

	/* The three of which each is older than the next, and the last older than the first. */
	cr_assert(version_compare("1", "01.sp-x") < 0 && version_compare("01.sp-x", "1b2_0") < 0 &&
		  version_compare("1b2_0", "1") < 0);

	state = 20;
	for (size_t set = 0; set < 20; set++) {
		size_t n = set == 0 ? 3 : 2 + (size_t)(next_random() % (MANY - 2));
		size_t versions = set < 5 ? 3 : n_versions;
		for (size_t i = 0; i < n; i++) {
			snprintf(ids[i], sizeof(ids[i]), "w%zu", i);
			specs[i] = (struct spec){.id = ids[i]};
			specs[i].version = odd_versions[set == 0 ? i : next_random() % versions];
			specs[i].ip = next_random() % 2 ? "10.0.0.9" : "10.0.0.10";
			specs[i].random_ints[0] = (int32_t)(next_random() % 3);
			specs[i].drained = set > 5 && next_random() % 5 == 0;
			specs[i].resigned = set > 7 && next_random() % 3 == 0;
			specs[i].unlisted = set > 5 && next_random() % 5 == 0;
		}
		for (int position = -1; position < 2; position++) {
			const struct contest c = {.task = "job",
						  .rank_position = position,
						  .min_version = set % 3 == 2 ? "1-rc" : NULL};
			check_orders(specs, n, &c);
		}
	}
}

/* Even in a circle of versions, everybody who is not best gets a turn of its own or a later one. */
Test(fleet, place_in_a_circle)
{
	struct fleet f;

	begin(&f);
	add(&f, &WORKER("a", "1", NULL, 0));
	add(&f, &WORKER("b", "01.sp-x", NULL, 0));
	add(&f, &WORKER("c", "1b2_0", NULL, 0));
	size_t best = 0;
	for (size_t i = 0; i < 3; i++) {
		struct standing s = fleet_stand(&f, &job, 0, f.by_id[i]->worker->id);
		best += s.place == 0;
		cr_expect(s.place <= 1);
		cr_expect_eq(s.place == 0, s.best == s.self);
	}
	cr_expect_eq(best, 1);
	fleet_done(&f);
}

Test(fleet, tasks_are_merged_by_name)
{
	static const char *const tasks[] = {"a", "b", "c", "d", "e"};
	static const char *const listed[] = {"b", "bb", "d", "e", "z"};
	struct fleet f;

	fleet_init(&f);
	struct member *m = fleet_add(&f, make_worker(&WORKER("w", "1", NULL, 0), listed, 5), 1, 0);
	fleet_set_tasks(&f, tasks, 5);
	cr_expect_eq(m->lists->bits[0], 0x1a);
	fleet_set_tasks(&f, tasks + 3, 2);
	cr_expect_eq(m->lists->bits[0], 0x3);
	fleet_set_tasks(&f, NULL, 0);
	cr_expect_eq(m->lists->bits[0], 0);
	fleet_done(&f);
}

/* The neighbours by version are looked at, which list the same as a rule. */
Test(fleet, whose_list_another_shares)
{
	static const char *const listed[] = {"a", "b"}, *const other[] = {"a"};
	static const struct {
		const char *id, *version;
		bool other;
	} cases[] = {{"w1", "1", false}, {"w2", "1", true}, {"w3", "2", false},
		     {"w4", "2", false}, {"w5", "2", true}, {"w6", "3", true}};
	struct member *m[6];
	struct fleet f;

	fleet_init(&f);
	fleet_set_tasks(&f, listed, 2);
	for (size_t i = 0; i < 6; i++)
		m[i] = fleet_add(&f,
				 make_worker(&WORKER(cases[i].id, cases[i].version, NULL, 0),
					     cases[i].other ? other : listed,
					     cases[i].other ? 1 : 2),
				 1, 0);
	cr_expect_null(fleet_twin(&f, m[0]), "the one behind it lists others");
	cr_expect_null(fleet_twin(&f, m[1]));
	cr_expect_eq(fleet_twin(&f, m[2]), m[3]);
	cr_expect_eq(fleet_twin(&f, m[3]), m[2]);
	cr_expect_eq(fleet_twin(&f, m[4]), m[5]);
	cr_expect_eq(fleet_twin(&f, m[5]), m[4]);
	fleet_done(&f);
}

/* --- many tasks over many workers --- */

#define TASKS	400
#define WORKERS 8

static char task_names[TASKS][16];
static const char *tasks[TASKS];

static void name_tasks(void)
{
	for (size_t i = 0; i < TASKS; i++) {
		snprintf(task_names[i], sizeof(task_names[i]), "task-%03zu", i);
		tasks[i] = task_names[i];
	}
}

static void add_random(struct fleet *f, size_t number, const char *version)
{
	char id[16];
	struct spec s = {.id = id, .version = version};

	snprintf(id, sizeof(id), "w%zu", number);
	for (size_t i = 0; i < WORKER_RANDOM_INTS; i++)
		s.random_ints[i] = (int32_t)next_random();
	cr_assert(fleet_add(f, make_worker(&s, tasks, TASKS), (int64_t)number, 0));
}

static void all_best(const struct fleet *f, char best[TASKS][NAME_ID_MAX + 1])
{
	for (size_t i = 0; i < TASKS; i++) {
		const struct contest c = {.task = tasks[i], .rank_position = -1};
		strcpy(best[i], fleet_stand(f, &c, i, "").best->worker->id);
	}
}

/* 50 each, give or take four times the square root of 50. */
Test(fleet, tasks_are_spread_evenly)
{
	static char best[TASKS][NAME_ID_MAX + 1];

	name_tasks();
	for (uint64_t seed = 1; seed <= 10; seed++) {
		size_t led[WORKERS] = {0};
		struct fleet f;

		state = seed;
		fleet_init(&f);
		fleet_set_tasks(&f, tasks, TASKS);
		for (size_t i = 0; i < WORKERS; i++)
			add_random(&f, i, i % 2 ? "1.0" : "1");
		all_best(&f, best);
		for (size_t i = 0; i < TASKS; i++)
			led[atoi(best[i] + 1)]++;
		for (size_t i = 0; i < WORKERS; i++)
			cr_expect(labs((long)led[i] - 50) <= 28, "seed %d: %zu", (int)seed, led[i]);
		fleet_done(&f);
	}
}

Test(fleet, a_join_or_a_leave_moves_only_what_it_must)
{
	static char before[TASKS][NAME_ID_MAX + 1], after[TASKS][NAME_ID_MAX + 1];
	struct fleet f;
	size_t won = 0, moved = 0;

	name_tasks();
	state = 7;
	fleet_init(&f);
	fleet_set_tasks(&f, tasks, TASKS);
	for (size_t i = 0; i < WORKERS; i++)
		add_random(&f, i, "1");
	all_best(&f, before);

	add_random(&f, WORKERS, "1");
	all_best(&f, after);
	for (size_t i = 0; i < TASKS; i++) {
		won += strcmp(after[i], "w8") == 0;
		cr_expect(strcmp(after[i], "w8") == 0 || strcmp(after[i], before[i]) == 0);
	}
	cr_expect(won > 20 && won < 70);

	fleet_remove(&f, "w8");
	all_best(&f, after);
	cr_expect_eq(memcmp(before, after, sizeof(before)), 0);

	/* A worker that is best nowhere comes and goes. */
	add_random(&f, 9, "0.9");
	all_best(&f, after);
	cr_expect_eq(memcmp(before, after, sizeof(before)), 0);
	fleet_remove(&f, "w9");
	all_best(&f, after);
	cr_expect_eq(memcmp(before, after, sizeof(before)), 0);

	fleet_remove(&f, "w3");
	all_best(&f, after);
	for (size_t i = 0; i < TASKS; i++) {
		moved += strcmp(before[i], "w3") == 0;
		cr_expect_eq(strcmp(after[i], before[i]) != 0, strcmp(before[i], "w3") == 0);
	}
	cr_expect(moved > 0);

	/* All go to the one with a newer version. */
	add_random(&f, 10, "1.0.1");
	all_best(&f, after);
	for (size_t i = 0; i < TASKS; i++)
		cr_expect_str_eq(after[i], "w10");
	fleet_done(&f);
}

/* Each task is resigned from alone, also beyond the first word of the bits. */
Test(fleet, resigning_is_from_one_task)
{
	enum { MORE_THAN_A_WORD = 70 };
	char names[MORE_THAN_A_WORD][8];
	const char *many[MORE_THAN_A_WORD];
	struct contest c = {.rank_position = 0};
	struct fleet f;

	fleet_init(&f);
	for (size_t i = 0; i < MORE_THAN_A_WORD; i++) {
		snprintf(names[i], sizeof(names[i]), "t%02zu", i);
		many[i] = names[i];
	}
	fleet_set_tasks(&f, many, MORE_THAN_A_WORD);
	fleet_add(&f, make_worker(&WORKER("best", "2", NULL, 9), many, MORE_THAN_A_WORD), 1, 0);
	fleet_add(&f, make_worker(&WORKER("next", "1", NULL, 9), many, MORE_THAN_A_WORD), 2, 0);
	fleet_resign(&f, fleet_find(&f, "best"), 3);
	fleet_resign(&f, fleet_find(&f, "best"), 69);
	for (size_t i = 0; i < MORE_THAN_A_WORD; i++) {
		c.task = many[i];
		cr_expect_str_eq(fleet_stand(&f, &c, i, "best").best->worker->id,
				 i == 3 || i == 69 ? "next" : "best");
	}
	/* Other many: what was decided about the old ones says nothing about them. */
	fleet_set_tasks(&f, many + 3, 1);
	c.task = many[3];
	cr_expect_str_eq(fleet_stand(&f, &c, 0, "best").best->worker->id, "best");
	fleet_done(&f);
}

/* An older version is the reason for all workers that have one, and not their rank. */
Test(fleet, an_older_version_is_the_reason)
{
	const struct contest c = {.task = "job", .rank_position = 0};
	struct fleet f;
	char text[100];

	begin(&f);
	for (size_t i = 0; i < 2; i++) {
		add(&f, &WORKER(i ? "new1" : "new2", "2", NULL, (int32_t)i));
		add(&f, &WORKER(i ? "old1" : "old2", "1", NULL, (int32_t)i));
		add(&f, &WORKER(i ? "older1" : "older2", "0", NULL, (int32_t)i));
	}
	ranking_text(&f, &c, text, sizeof(text));
	cr_expect_str_eq(text, "new1:* new2:r old1:v old2:v older1:v older2:v");
	fleet_done(&f);
}

/* A worker that has resigned at least knows what time it is. */
Test(fleet, whose_clock_is_off_leads_behind_all_others)
{
	const struct contest c = {.task = "job", .rank_position = 0};
	static const char *const behind[] = {"both", "off", "resigned", "old"};
	struct fleet f;

	begin(&f);
	add(&f, &WORKER("both", "3", NULL, 9));
	fleet_find(&f, "both")->clock_off = true;
	fleet_resign(&f, fleet_find(&f, "both"), 0);
	for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
		cr_expect_str_eq(fleet_stand(&f, &c, 0, "").best->worker->id, behind[i]);
		cr_expect_eq(fleet_why(&f, &c, 0, behind[i]), WHY_BEST);
		if (i > 0)
			cr_expect_eq(fleet_why(&f, &c, 0, "both"), WHY_CLOCK_OFF);
		if (i > 1)
			cr_expect_eq(fleet_why(&f, &c, 0, "off"), WHY_CLOCK_OFF);
		if (i == 0)
			add(&f, &WORKER("off", "2", NULL, 1));
		if (i == 1)
			add(&f, &WORKER("resigned", "1", NULL, 1));
		if (i == 2)
			add(&f, &WORKER("old", "1", NULL, 0));
		if (i == 0)
			fleet_find(&f, "off")->clock_off = true;
		if (i == 1)
			fleet_resign(&f, fleet_find(&f, "resigned"), 0);
	}
	cr_expect_eq(fleet_why(&f, &c, 0, "resigned"), WHY_RESIGNED);
	fleet_done(&f);
}

Test(fleet, says_why_one_is_no_candidate)
{
	struct contest c = {.task = "job", .min_version = "2", .rank_position = 0};
	struct spec drained = SPEC("drained", "3", NULL, 1), sick = SPEC("sick", "3", NULL, 1);
	struct spec unlisted = SPEC("unlisted", "3", NULL, 1),
		    resigned = SPEC("resigned", "3", NULL, 1);
	struct fleet f;

	drained.drained = sick.sick = unlisted.unlisted = resigned.resigned = true;
	begin(&f);
	add(&f, &drained);
	add(&f, &sick);
	add(&f, &unlisted);
	add(&f, &resigned);
	add(&f, &WORKER("old", "1", NULL, 7));
	cr_expect_eq(fleet_why(&f, &c, 0, "resigned"), WHY_BEST, "there is nobody else");
	add(&f, &WORKER("fit", "2", NULL, 7));
	add(&f, &WORKER("best", "3", NULL, 7));
	cr_expect_eq(fleet_why(&f, &c, 0, "drained"), WHY_DRAINED);
	cr_expect_eq(fleet_why(&f, &c, 0, "sick"), WHY_UNHEALTHY);
	cr_expect_eq(fleet_why(&f, &c, 0, "unlisted"), WHY_NOT_LISTED);
	cr_expect_eq(fleet_why(&f, &c, 0, "old"), WHY_BELOW_MINIMUM);
	cr_expect_eq(fleet_why(&f, &c, 0, "resigned"), WHY_RESIGNED);
	cr_expect_eq(fleet_why(&f, &c, 0, "fit"), WHY_BEST, "a candidate, and not the best");
	cr_expect_eq(fleet_why(&f, &c, 0, "nobody"), WHY_BEST);
	c.pinned = "3";
	cr_expect_eq(fleet_why(&f, &c, 0, "fit"), WHY_NOT_PINNED);
	fleet_done(&f);
}
