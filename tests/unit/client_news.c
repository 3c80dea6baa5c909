#include <criterion/criterion.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ui/host.h"
#include "cli/ui/news.h"
#include "cli/ui/rollout.h"

#define T "\"time\":\"2026-11-21T02:00:00Z\""
#define LED(task, host, version)                                                            \
	"{" T ",\"task\":\"" task "\",\"leader\":{\"id\":\"" host "\",\"hostname\":\"" host \
	"\",\"version\":\"" version "\"}"
#define FROM(host, version)                                                                        \
	",\"previous\":{\"id\":\"" host "\",\"hostname\":\"" host "\",\"version\":\"" version "\"" \
	"}"
#define WORKER(event, host, version)                          \
	"{" T ",\"event\":\"" event "\",\"hostname\":\"" host \
	"\",\"ip\":\"::1\",\"version\":\"" version "\"}"

/* A kind of notification, when it comes and what it says; the lines by then, or by the end for kind 0. */
struct step {
	char kind;
	int64_t at_ms;
	const char *json;
};

static void expect_lines(const struct step *steps, const char *suffix, const char *lines)
{
	char *text = NULL;
	size_t len;
	struct output o = {.out = open_memstream(&text, &len)};
	struct news n;

	cr_assert_not_null(setlocale(LC_CTYPE, "C.UTF-8"));
	news_init(&n, &o);
	n.suffix = suffix;
	for (; steps->kind; steps++) {
		json_t *change = json_loads(steps->json, 0, NULL);

		cr_assert_not_null(change, "%s", steps->json);
		if (news_due(&n) <= steps->at_ms)
			news_tell(&n, steps->at_ms);
		switch (steps->kind) {
		case 'l': news_leadership(&n, change, steps->at_ms); break;
		case 'm': news_membership(&n, change, steps->at_ms); break;
		case 'd': news_decision(&n, change); break;
		default: news_connection(&n, change); break;
		}
		json_decref(change);
	}
	news_tell(&n, steps->at_ms);
	fclose(o.out);
	cr_expect_str_eq(text, lines, "%s", text);
	free(text);
	news_done(&n);
}

#define NOBODY(task, more) "{" T ",\"task\":\"" task "\",\"leader\":null" more "}"
#define AT		   "2026-11-21T02:00:00Z "
#define LATER                      \
	{                          \
		0, INT64_MAX, NULL \
	}

Test(news, leaders)
{
	static const struct {
		struct step steps[8];
		const char *lines;
	} cases[] = {
		{{{'l', 1, NOBODY("r", "")},
		  {'l', 42,
		   LED("r", "host4", "1.5.0") FROM("host2", "1.4.0") ",\"reason\":\"newer "
								     "version\",\"vacant_ms\":41}"},
		  LATER},
		 AT "r: host2 (1.4.0) → host4 (1.5.0), newer version, 41 ms\n"},
		{{{'l', 1,
		   LED("r", "b", "1") FROM("a", "1") ",\"reason\":null,\"vacant_ms\":null}"},
		  LATER},
		 AT "r: a (1) → b (1)\n"},
		{{{'l', 1,
		   "{" T
		   ",\"task\":\"r\",\"leader\":{\"hostname\":\"h\",\"node\":\"blue\",\"version\":"
		   "\"1\"},\"previous\":{\"hostname\":\"h\",\"node\":\"h:/s\",\"version\":\"1\"}}"},
		  LATER},
		 AT "r: h:/s (1) → blue (1)\n"},
		{{{'l', 1, LED("r", "a", "1") FROM("a", "1") ",\"vacant_ms\":3210}"}, LATER},
		 AT "r: a (1) again, led by nobody for 3.2 s\n"},
		{{{'l', 1, NOBODY("r", ",\"reason\":\"paused\"")}, {0, 2999, NULL}}, ""},
		{{{'l', 1, NOBODY("r", ",\"reason\":\"paused\"")}, {0, 3001, NULL}},
		 AT "r: nobody leads it, paused\n"},
		/* The first leaders: few one by one, many in one line, and what follows behind them. */
		{{{'l', 1, LED("r", "a", "1") "}"}, {'l', 2, LED("s", "b", "1") "}"}, LATER},
		 AT "r: led by a (1)\n" AT "s: led by b (1)\n"},
		{{{'l', 1, LED("r", "h10", "1") "}"},
		  {'l', 900, LED("s", "h9", "1") "}"},
		  {'l', 1800, LED("t", "h10", "1") "}"},
		  {'l', 2700, LED("u", "h10", "1") "}"},
		  LATER},
		 AT "4 tasks are led by h9 (1): 1, h10 (1): 3\n"},
		{{{'l', 1, LED("r", "a", "1") "}"},
		  {'l', 2, LED("s", "a", "1") "}"},
		  {'l', 3, LED("t", "a", "1") "}"},
		  {'l', 4, LED("u", "a", "1") "}"},
		  LATER},
		 AT "4 tasks are led by a (1)\n"},
		{{{'l', 1, LED("r", "a", "1") "}"},
		  {'l', 2, LED("r", "b", "1") FROM("a", "1") "}"},
		  LATER},
		 AT "r: led by a (1)\n" AT "r: a (1) → b (1)\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_lines(cases[i].steps, "", cases[i].lines);
}

Test(news, workers)
{
	static const struct {
		struct step steps[5];
		const char *lines;
	} cases[] = {
		{{{'m', 1, WORKER("left", "h3", "1.4")},
		  {'m', 900, WORKER("joined", "h3", "1.5")},
		  LATER},
		 AT "h3: 1.4 → 1.5\n"},
		{{{'m', 1, WORKER("joined", "h3", "1.5")},
		  {'m', 2, WORKER("left", "h3", "1.4")},
		  LATER},
		 AT "h3: 1.4 → 1.5\n"},
		{{{'m', 1, WORKER("left", "h3", "1")},
		  {'m', 2, WORKER("joined", "h3", "1")},
		  LATER},
		 AT "h3: registered anew (1)\n"},
		{{{'m', 1, WORKER("left", "h3", "1")},
		  {'m', 2, WORKER("joined", "h4", "1")},
		  LATER},
		 AT "h3 (::1, version 1) left\n" AT "h4 (::1, version 1) joined\n"},
		{{{'m', 1, WORKER("left", "h3", "1")}, {0, 3000, NULL}}, ""},
		{{{'m', 1, WORKER("left", "h3", "1")},
		  {'m', 3500, WORKER("joined", "h3", "2")},
		  LATER},
		 AT "h3 (::1, version 1) left\n" AT "h3 (::1, version 2) joined\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_lines(cases[i].steps, "", cases[i].lines);
}

Test(news, the_rest)
{
	static const struct step steps[] = {
		{'c', 1, "{" T ",\"confirmed\":false}"},
		{'c', 2, "{" T ",\"confirmed\":true}"},
		{'d', 3,
		 "{" T ",\"event\":\"decided\",\"kind\":\"drain\",\"node\":\"h2:/run/s\",\"by\":"
		 "\"eva\",\"host\":\"h1\",\"reason\":\"new\\u001bkernel\"}"},
		{'d', 3,
		 "{" T ",\"event\":\"ended\",\"kind\":\"drain\",\"node\":\"h2:/run/s\",\"name\":"
		 "\"h2:/run/s\"}"},
		{'d', 4,
		 "{" T ",\"event\":\"ended\",\"kind\":\"pause\",\"task\":\"r\",\"host\":\"h\"}"},
		LATER,
	};
	static const struct step difference[] = {
		{'l', 1, LED("r", "b", "2") FROM("a", "1") "}"},
		{'l', 1, NOBODY("s", "")},
		{'l', 1, LED("t", "b", "2") "}"},
		LATER,
	};

	expect_lines(steps, "",
		     AT "disconnected: this node has no confirmed session with ZooKeeper\n" AT
			"connected\n" AT "h2: drained by eva at h1: new\\x1bkernel\n" AT
			"h2:/run/s: no longer drained\n" AT "r: no longer paused\n");
	expect_lines(difference, " (while disconnected)",
		     AT "r: a (1) → b (2) (while disconnected)\n" AT
			"s: nobody leads it (while disconnected)\n" AT
			"t: led by b (2) (while disconnected)\n");
}

Test(news, many_leaders_that_have_become_others_are_one_line)
{
	static const struct step many[] = {
		{'m', 1, WORKER("left", "a", "1")},
		{'m', 1, WORKER("joined", "a", "1")},
		{'l', 1, LED("t1", "a", "1") FROM("b", "1") "}"},
		{'l', 1, LED("t2", "b", "1") FROM("a", "1") "}"},
		{'l', 1, LED("t3", "b", "1") FROM("a", "1") "}"},
		{'l', 1, LED("t4", "b", "1") FROM("a", "1") "}"},
		{'l', 1, LED("t5", "b", "1") FROM("a", "1") "}"},
		{'l', 1, LED("t6", "b", "1") FROM("a", "1") "}"},
		{'l', 1, LED("t7", "b", "1") FROM("a", "1") "}"},
		{'l', 1, LED("t8", "b", "1") FROM("a", "1") "}"},
		{'l', 1, LED("t9", "b", "1") FROM("a", "1") "}"},
		{'l', 1, LED("t10", "b", "1") "}"},
		{'l', 1, NOBODY("t11", "")},
		LATER,
	};

	expect_lines(many, " (while disconnected)",
		     AT "a: registered anew (1) (while disconnected)\n" AT
			"11 tasks have another leader now: a (1): 1, b (1): 9, nobody: 1 "
			"(while disconnected)\n");
}

Test(news, hosts_without_their_common_domain)
{
	char *text = NULL;
	size_t len;
	struct output o = {.out = open_memstream(&text, &len), .width = 80};
	json_t *workers = json_loads("[{\"hostname\":\"a.x.org\"},{\"hostname\":\"b.x.org\"},{},"
				     "{\"hostname\":\"d.x.org\",\"node\":\"d.x.org:/a.sock\"}]",
				     0, NULL);
	json_t *change = json_loads(LED("r", "b.x.org", "2") FROM("c.y.org", "1") "}", 0, NULL);
	struct news n;

	cr_assert_not_null(setlocale(LC_CTYPE, "C"));
	news_init(&n, &o);
	news_set_workers(&n, workers);
	news_leadership(&n, change, 1);
	fclose(o.out);
	cr_expect_str_eq(text, AT "r: c.y.org (1) -> b (2)\n", "%s", text);
	free(text);
	news_done(&n);
	json_decref(workers);
	json_decref(change);
}

Test(rollout, complete)
{
	static const struct {
		const char *workers, *text;
	} cases[] = {
		{"[{\"version\":\"2\",\"leads\":3,\"since\":\"2026-11-21T01:59:35Z\"},"
		 "{\"version\":\"2\",\"leads\":1,\"since\":\"2026-11-21T01:59:50Z\"}]",
		 "rollout of 2 complete: 2 of 2 workers, 4 tasks, 25 s"},
		{"[{\"version\":\"2\",\"leads\":1}]",
		 "rollout of 2 complete: 1 of 1 workers, 1 task, 0 ms"},
		{"[{\"version\":\"2\"},{\"version\":\"1\"}]", NULL},
		{"[]", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *workers = json_loads(cases[i].workers, 0, NULL);
		char *text = rollout_complete(workers, INT64_C(1795226400000));

		cr_expect((!text && !cases[i].text) ||
				  (text && cases[i].text && strcmp(text, cases[i].text) == 0),
			  "case %zu: %s", i, text ? text : "nothing");
		free(text);
		json_decref(workers);
	}
}
