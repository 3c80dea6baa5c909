/* The parameters of the pages: what each takes, and what is refused, by its name. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "web/page/query.h"

#define NOW_MS INT64_C(1795305600000) /* 2026-11-22T00:00:00Z */

static struct parameter {
	const char *name, *value;
} given[4];
static struct query query;
static char why[QUERY_WHY_SIZE];

static const char *get(void *arg, const char *name)
{
	(void)arg;
	for (size_t i = 0; i < 4 && given[i].name; i++)
		if (strcmp(given[i].name, name) == 0)
			return given[i].value;
	return NULL;
}

static bool take(enum query_page page, const char *name, const char *value)
{
	given[0] = (struct parameter){name, value};
	why[0] = '\0';
	return query_take(&query, page, NOW_MS, get, NULL, why);
}

static int64_t ms_of(const char *time)
{
	int64_t ms = 0;

	cr_assert_eq(clock_parse(time, &ms), 0);
	return ms;
}

Test(query, what_each_parameter_takes)
{
	static const struct {
		enum query_page page;
		const char *name, *value;
	} good[] = {
		{QUERY_HOME, "state", "failed"},
		{QUERY_HOME, "state", "no-leader"},
		{QUERY_HOME, "state", ""},
		{QUERY_HOME, "state", "leading"},
		{QUERY_HOME, "leader", "host1:/run/s"},
		{QUERY_HOME, "q", "nächtlich <b>"},
		{QUERY_HOME, "sort", "-next"},
		{QUERY_HOME, "sort", "name"},
		{QUERY_RUNS, "state", "trouble"},
		{QUERY_RUNS, "task", "backup-*"},
		{QUERY_RUNS, "task", "scan:3"},
		{QUERY_RUNS, "since", "12h"},
		{QUERY_RUNS, "since", "2026-11-20T02:00:00+01:00"},
		{QUERY_RUNS, "before", "2026-11-20T02:00:00Z"},
		{QUERY_NIGHT, "from", "7d"},
		{QUERY_NIGHT, "to", "1h"},
		{QUERY_NIGHT, "token", "\x01"},
		{QUERY_HOME, "other", "anything"},
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		cr_expect(take(good[i].page, good[i].name, good[i].value), "%s=%s: %s",
			  good[i].name, good[i].value, why);
}

Test(query, what_is_bad_is_refused_by_its_name)
{
	static char long_text[QUERY_TEXT_MAX + 2];
	static const struct {
		enum query_page page;
		const char *name, *value, *takes;
	} bad[] = {
		{QUERY_HOME, "state", "fialed", "failed"},
		{QUERY_HOME, "state", "'\"><script>", "overdue"},
		{QUERY_HOME, "leader", "a\nb", "name of a node"},
		{QUERY_HOME, "leader", long_text, "200 bytes"},
		{QUERY_HOME, "q", "\xff", "UTF-8"},
		{QUERY_HOME, "q", long_text, "200 bytes"},
		{QUERY_HOME, "sort", "colour", "leader"},
		{QUERY_HOME, "sort", "--name", "leader"},
		{QUERY_HOME, "sort", long_text, "leader"},
		{QUERY_RUNS, "state", "paused", "missed"},
		{QUERY_RUNS, "task", "../etc", "name of a task"},
		{QUERY_RUNS, "task", "-x", "name of a task"},
		{QUERY_RUNS, "task", long_text, "name of a task"},
		{QUERY_RUNS, "since", "yesterday", "12h"},
		{QUERY_RUNS, "since", "9999999999999999999d", "12h"},
		{QUERY_RUNS, "before", "2026-02-30T00:00:00Z", "2026-11-20T02:00:00Z"},
		{QUERY_NIGHT, "from", "2026-11-23T00:00:00Z", "before to"},
		{QUERY_NIGHT, "from", "0s", "before to"},
		{QUERY_NIGHT, "from", "32d", "31 days"},
		{QUERY_NIGHT, "to", "12", "12h"},
	};
	char name[60];

	memset(long_text, 'x', sizeof(long_text) - 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_expect_not(take(bad[i].page, bad[i].name, bad[i].value), "%s=%s", bad[i].name,
			      bad[i].value);
		snprintf(name, sizeof(name), "The parameter %s takes ", bad[i].name);
		cr_expect_eq(strncmp(why, name, strlen(name)), 0, "%s", why);
		cr_expect(strstr(why, bad[i].takes), "%s: %s", bad[i].name, why);
		cr_expect_not(strchr(why, '<'), "what was given is not said again");
	}
}

Test(query, times_are_instants_or_so_long_ago)
{
	cr_assert(take(QUERY_RUNS, "since", "12h"));
	cr_expect_eq(query.since_ms, NOW_MS - INT64_C(12) * 3600 * 1000);
	cr_assert(take(QUERY_RUNS, "since", "2026-11-20T02:00:00+01:00"));
	cr_expect_eq(query.since_ms, ms_of("2026-11-20T01:00:00Z"));
	cr_assert(take(QUERY_NIGHT, "other", ""));
	cr_expect_eq(query.to_ms, NOW_MS);
	cr_expect_eq(query.from_ms, NOW_MS - INT64_C(24) * 3600 * 1000);
	cr_assert(take(QUERY_NIGHT, "to", "2026-11-20T02:00:00Z"));
	cr_expect_eq(query.to_ms, ms_of("2026-11-20T02:00:00Z"));
	cr_expect_eq(query.from_ms, ms_of("2026-11-19T02:00:00Z"));
}

Test(query, globs_and_words)
{
	static const struct {
		const char *glob, *name;
		bool is;
	} globs[] = {
		{"backup-*", "backup-db", true},
		{"backup-*", "backup", false},
		{"*", "", true},
		{"*-db", "a-db-db", true},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"a*b*c", "axxbxxc", true},
		{"a*b*c", "axxcxxb", false},
		{"scan:*", "scan:12", true},
	};

	for (size_t i = 0; i < sizeof(globs) / sizeof(globs[0]); i++)
		cr_expect_eq(query_glob(globs[i].glob, globs[i].name), globs[i].is, "%s %s",
			     globs[i].glob, globs[i].name);
	cr_expect(query_has_words("Nightly report of host1", "REPORT  night"));
	cr_expect_not(query_has_words("Nightly report of host1", "report host2"));
	cr_expect(query_has_words("", " "));
}
