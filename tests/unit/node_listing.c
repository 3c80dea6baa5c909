/* The tasks as the configuration has them: found by their names, due by their schedules, listed or not. */
#include "node_site.h"

#include "core/time/schedule.h"
#include "node/election/listing.h"

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS	  (60 * MINUTE_MS)

static void begin(void)
{
	site_begin();
}

TestSuite(listing, .init = begin);

static struct listing *listing_of(const char *name)
{
	return listings_find(&leaders, name, strlen(name));
}

static void applies(const struct task_settings *s, size_t n)
{
	tasks_apply(&leaders, &site_timing, s, n);
	turn();
}

/* --- which there are ------------------------------------------------------------------------------------- */

Test(listing, they_are_sorted_whatever_the_order_of_the_files)
{
	configures("scan", "a", "scan-2", "b", NULL);
	cr_assert_eq(leaders.n_listings, 4);
	for (size_t i = 0; i < 4; i++) {
		static const char *const sorted[] = {"a", "b", "scan", "scan-2"};
		cr_expect_str_eq(leaders.listings[i]->name, sorted[i]);
	}
}

Test(listing, what_is_said_of_them_is_copied)
{
	char name[] = "scan", description[] = "scans", least[] = "1.5", group[] = "even";
	struct task_settings s = settings_of(name);

	s.description = description;
	s.min_version = least;
	s.spread = group;
	applies(&s, 1);
	name[0] = description[0] = least[0] = group[0] = 'X';
	const struct listing *listing = listing_of("scan");
	cr_assert(listing);
	cr_expect_str_eq(listing->settings.name, "scan");
	cr_expect_str_eq(listing->settings.description, "scans");
	cr_expect_str_eq(listing->settings.min_version, "1.5");
	cr_expect_str_eq(listing->settings.spread, "even");
}

Test(listing, what_was_not_said_is_not_made_up)
{
	configures("scan", NULL);
	cr_expect_null(listing_of("scan")->settings.description);
	cr_expect_null(listing_of("scan")->settings.min_version);
	cr_expect_null(listing_of("scan")->settings.spread);
}

Test(listing, the_next_configuration_takes_the_place_of_the_last)
{
	configures("a", "b", NULL);
	configures("b", "c", NULL);
	cr_expect_null(listing_of("a"));
	cr_expect(listing_of("b") && listing_of("c"));
	cr_expect_eq(leaders.n_old_listings, 0);
	applies(NULL, 0);
	cr_expect_null(listing_of("b"));
}

/* Until the registry has taken the new ones, it still points to the names of the old. */
Test(listing, the_replaced_ones_are_kept_until_they_are_dropped)
{
	const struct task_settings s = settings_of("b");

	configures("a", NULL);
	const struct listing *old = listing_of("a");
	listings_set(&leaders, &s, 1);
	cr_assert_eq(leaders.n_old_listings, 1);
	cr_expect_eq(leaders.old_listings[0], old);
	cr_expect_str_eq(old->name, "a");
	listings_drop_old(&leaders);
	cr_expect_eq(leaders.n_old_listings, 0);
	listings_drop_old(&leaders);
}

/* --- found by a name ------------------------------------------------------------------------------------- */

Test(listing, each_is_found_among_many_and_nothing_else)
{
	char text[40][8];
	struct task_settings list[40];

	for (size_t i = 0; i < 40; i++) {
		snprintf(text[i], sizeof(text[i]), "t%zu", 2 * i);
		list[i] = settings_of(text[i]);
	}
	applies(list, 40);
	for (size_t i = 0; i < 80; i++) {
		char name[8];
		snprintf(name, sizeof(name), "t%zu", i);
		const struct listing *found = listing_of(name);
		cr_expect_eq(found != NULL, i % 2 == 0, "%s", name);
		if (found)
			cr_expect_str_eq(found->name, name);
	}
}

Test(listing, a_name_is_as_long_as_is_said)
{
	static char too_long[NAME_TASK_MAX + 2];
	const struct {
		const char *text;
		size_t len;
		const char *found; /* NULL: none */
	} cases[] = {{"scan", 4, "scan"},  {"scan-2", 6, "scan-2"}, {"scan-2", 4, "scan"},
		     {"scan-2", 5, NULL},  {"sca", 3, NULL},	    {"scanner", 7, NULL},
		     {"", 0, NULL},	   {"scan\0-2", 7, NULL},   {"scan\0", 5, NULL},
		     {"scan:1", 6, NULL},  {"z", 1, NULL},	    {"a", 1, NULL},
		     {too_long, 101, NULL}};

	memset(too_long, 's', sizeof(too_long) - 1);
	configures("scan", "scan-2", "m", NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct listing *found = listings_find(&leaders, cases[i].text, cases[i].len);
		cr_expect_eq(found, cases[i].found ? listing_of(cases[i].found) : NULL,
			     "case %zu: %s", i, cases[i].text);
	}
}

Test(listing, that_of_a_partition_is_that_of_its_task)
{
	configures("scan", NULL);
	struct listing *scan = listing_of("scan");
	cr_assert(scan);
	cr_expect_eq(listings_find_of(&leaders, "scan"), scan);
	cr_expect_eq(listings_find_of(&leaders, "scan:0"), scan);
	cr_expect_eq(listings_find_of(&leaders, "scan:255"), scan);
	cr_expect_null(listings_find_of(&leaders, "scan:256"));
	cr_expect_null(listings_find_of(&leaders, "scan:01"));
	cr_expect_null(listings_find_of(&leaders, "other:0"));
}

/* --- when it is due -------------------------------------------------------------------------------------- */

static struct schedule hourly, minutely;
static struct task_schedule times = {.schedule = &hourly};

static struct listing *scheduled(void)
{
	struct task_settings s = settings_of("scan");
	struct schedule_error error;

	cr_assert_eq(schedule_parse("0 * * * *", "scan", &hourly, &error), 0);
	cr_assert_eq(schedule_parse("* * * * *", "scan", &minutely, &error), 0);
	times.schedule = &hourly;
	s.schedule = &times;
	applies(&s, 1);
	return listing_of("scan");
}

Test(listing, without_a_schedule_it_is_never_due)
{
	configures("scan", NULL);
	cr_expect_eq(listing_due_ms(listing_of("scan"), WALL_MS), 0);
}

Test(listing, it_is_due_at_the_next_time_and_then_at_the_one_behind_it)
{
	struct listing *scan = scheduled();
	int64_t first = 500000 * HOUR_MS;

	cr_expect_eq(listing_due_ms(scan, first - 1), first);
	cr_expect_eq(listing_due_ms(scan, first), first + HOUR_MS);
	cr_expect_eq(listing_due_ms(scan, first + HOUR_MS - 1), first + HOUR_MS);
	cr_expect_eq(listing_due_ms(scan, first + HOUR_MS), first + 2 * HOUR_MS);
}

Test(listing, it_is_worked_out_once_until_that_has_come)
{
	struct listing *scan = scheduled();
	int64_t at = 500000 * HOUR_MS + 5 * MINUTE_MS, due = 500001 * HOUR_MS;

	cr_expect_eq(listing_due_ms(scan, at), due);
	times.schedule = &minutely; /* shows whether it is worked out again */
	cr_expect_eq(listing_due_ms(scan, at), due);
	cr_expect_eq(listing_due_ms(scan, due - 1), due);
	cr_expect_eq(listing_due_ms(scan, due), due + MINUTE_MS);
}

Test(listing, a_clock_that_is_set_back_has_it_worked_out_again)
{
	struct listing *scan = scheduled();
	int64_t at = 500000 * HOUR_MS + 5 * MINUTE_MS;

	cr_expect_eq(listing_due_ms(scan, at), 500001 * HOUR_MS);
	cr_expect_eq(listing_due_ms(scan, at - HOUR_MS), 500000 * HOUR_MS);
}

Test(listing, a_schedule_without_another_time_is_not_due)
{
	int64_t year_10000 = INT64_C(253402300800000);

	cr_expect_eq(listing_due_ms(scheduled(), year_10000 - HOUR_MS - 1), year_10000 - HOUR_MS);
	cr_expect_eq(listing_due_ms(scheduled(), year_10000 - HOUR_MS), 0);
}

/* --- what our record says of it -------------------------------------------------------------------------- */

Test(listing, it_is_listed_unless_another_number_is_in_force)
{
	const struct {
		unsigned wanted, in_force; /* 0: none */
		bool listed;
	} cases[] = {{0, 0, true}, {0, 1, true},  {0, 4, false}, {4, 0, true},
		     {4, 4, true}, {4, 8, false}, {4, 1, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[8];
		snprintf(name, sizeof(name), "t%zu", i);
		struct task_settings s = settings_of(name);
		s.partitions = cases[i].wanted;
		if (cases[i].in_force > 0)
			splits_in_force(name, cases[i].in_force, 0);
		applies(&s, 1);
		cr_expect_eq(listing_is_published(listing_of(name)), cases[i].listed, "case %zu",
			     i);
		cr_expect_eq(leaders.n_published, cases[i].listed, "case %zu", i);
	}
}

Test(listing, a_queue_that_takes_submits_alone_is_not_listed)
{
	struct queue_settings queue = {.slots = 1};
	struct task_settings s = settings_of("scan");

	s.queue = &queue;
	applies(&s, 1);
	cr_expect(listing_is_published(listing_of("scan")));
	queue.slots = 0;
	cr_expect_not(listing_is_published(listing_of("scan")));
}

Test(listing, a_node_that_leaves_lists_only_what_a_job_holds_here)
{
	lead("scan");
	leaders_hold(task_of("scan"), true, host.now_ms + HOUR_MS);
	tasks_withdraw(&leaders);
	cr_expect(listing_is_published(listing_of("scan")));
	task_of("scan")->withdrawn = true;
	cr_expect_not(listing_is_published(listing_of("scan")));
}

/* --- the whole of it ------------------------------------------------------------------------------------- */

Test(listing, its_contest_is_that_of_the_whole)
{
	struct task_settings s = settings_of("scan");

	s.partitions = 4;
	s.min_version = "1.5";
	s.rank_position = 3;
	s.version_policy = VERSION_OLDEST;
	applies(&s, 1);
	struct contest c = listing_contest(listing_of("scan"));
	cr_expect_str_eq(c.task, "scan");
	cr_expect_eq(c.partitions, 4);
	cr_expect_str_eq(c.min_version, "1.5");
	cr_expect_eq(c.rank_position, 3);
	cr_expect_eq(c.version_policy, VERSION_OLDEST);
}

Test(listing, its_index_is_that_of_its_first_election)
{
	struct task_settings s[3] = {settings_of("a"), settings_of("scan"), settings_of("z")};

	s[1].partitions = 4;
	applies(s, 3);
	cr_expect_eq(listing_index(listing_of("a")), 0);
	cr_expect_eq(listing_index(listing_of("scan")), SIZE_MAX, "no number is in force yet");
	cr_expect_eq(listing_index(listing_of("z")), 1);
	splits_in_force("scan", 4, 0);
	applies(s, 3);
	cr_expect_eq(listing_index(listing_of("scan")), 1);
	cr_expect_eq(listing_index(listing_of("z")), 5);
}
