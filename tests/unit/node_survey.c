/* Leaders of the tasks that are not ours, for a table of workers. */
#include "node_site.h"

#include "node/fleet/survey.h"
#include "node/election/tasks.h"

static int calls;
static char owners[200];

static void on_done(void *arg)
{
	(void)arg;
	calls++;
}

static void on_owner(void *arg, const struct member *m)
{
	size_t used = strlen(owners);

	(void)arg;
	snprintf(owners + used, sizeof(owners) - used, "%s ", m->worker->id);
}

static void begin(void)
{
	site_begin();
	configures("ours", NULL);
	joins("b", "2.0", 9);
	joins("c", "2.0", 8);
}

TestSuite(survey, .init = begin);

Test(survey, leader_nodes_of_others_are_read_and_counted_by_owner)
{
	struct survey *s = survey_start(&registry, tasks_have, &leaders, on_done, NULL);

	asks("list leaders", names("ours", "x", "y", "z", "no task", NULL));
	asks("get leaders/x", led_by("b", 50));
	asks("get leaders/y", led_by("c", 51));
	cr_expect_not(survey_is_done(s));
	/* A record that cannot be read still has an owner. */
	asks("get leaders/z", holds("junk", 4, (struct store_stat){.owner = 'c'}));
	cr_expect(survey_is_done(s));
	cr_expect_eq(calls, 1);
	survey_each(s, on_owner, NULL);
	cr_expect_str_eq(owners, "b c c ");
	survey_free(s);
}

/* A leader that has registered anew: its record says another id than its session has now. */
Test(survey, the_owner_counts_and_not_what_the_record_says)
{
	struct survey *s = survey_start(&registry, tasks_have, &leaders, on_done, NULL);
	struct store_reply reply = led_by("b", 50);

	reply.stat.owner = 'c';
	asks("list leaders", names("x", NULL));
	asks("get leaders/x", reply);
	survey_each(s, on_owner, NULL);
	cr_expect_str_eq(owners, "c ");
	survey_free(s);
}

Test(survey, an_owner_that_is_no_member_is_not_counted)
{
	struct survey *s = survey_start(&registry, tasks_have, &leaders, on_done, NULL);

	asks("list leaders", names("x", "y", NULL));
	asks("get leaders/x", failed(STORE_NO_NODE));
	asks("get leaders/y", led_by("q", 50));
	cr_expect_eq(calls, 1);
	survey_each(s, on_owner, NULL);
	cr_expect_str_eq(owners, "");
	survey_free(s);
}

Test(survey, where_there_is_nothing_it_is_done)
{
	struct survey *s = survey_start(&registry, tasks_have, &leaders, on_done, NULL);

	asks("list leaders", failed(STORE_NO_NODE));
	cr_expect(survey_is_done(s));
	cr_expect_eq(calls, 1);
	survey_free(s);
}

Test(survey, one_that_is_given_up_calls_nobody)
{
	struct survey *s = survey_start(&registry, tasks_have, &leaders, on_done, NULL);

	asks("list leaders", names("x", "y", NULL));
	survey_free(s);
	asks("get leaders/x", led_by("b", 50));
	asks("get leaders/y", led_by("b", 50));
	cr_expect_eq(calls, 0);
	survey_free(NULL);
}
