/* Which events a channel wants. */
#include <criterion/criterion.h>

#include <string.h>

#include "base/text/notice.h"

Test(notice, names_are_parsed_back_and_others_are_refused)
{
	static const char *const bad[] = {"", "fail", "faileds", "Failed", "lead"};
	enum notice_event event;

	for (enum notice_event e = 0; e < NOTICE_EVENTS; e++) {
		const char *name = notice_event_name(e);

		cr_assert(notice_event_parse(name, strlen(name), &event), "%s", name);
		cr_expect_eq(event, e);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_not(notice_event_parse(bad[i], strlen(bad[i]), &event), "%s", bad[i]);
}

Test(notice, goes_by_event_and_pattern)
{
	static const char *const patterns[] = {"night*", "scan:3", "q"};
	const struct notice_rule some = {1U << NOTICE_FAILED | 1U << NOTICE_ROLLOUT, patterns, 3},
				 all = {1U << NOTICE_LOST, NULL, 0};
	static const struct {
		const char *task;
		bool wanted;
	} cases[] = {{"nightly", true}, {"nightly:7", true}, {"scan:3", true}, {"scan:4", false},
		     {"scan", false},	{"q", true},	     {"qq", false},    {"", true}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_expect_eq(notice_rule_matches(&some, NOTICE_FAILED, cases[i].task),
			     cases[i].wanted, "%s", cases[i].task);
		cr_expect_not(notice_rule_matches(&some, NOTICE_LOST, cases[i].task));
		cr_expect(notice_rule_matches(&all, NOTICE_LOST, cases[i].task));
	}
	cr_expect(notice_rule_matches(&some, NOTICE_ROLLOUT, ""));
}
