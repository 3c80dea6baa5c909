/* Pages, from answers that are written down here. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "web/page/home_tasks.h"
#include "web/page/html.h"
#include "web/page/page.h"

static struct query query;
static char *page;

static void show(char *drawn)
{
	free(page);
	page = drawn;
}

static void forget(void)
{
	show(NULL);
}

TestSuite(page, .fini = forget);

static const char *get(void *arg, const char *name)
{
	const char *const *given = arg;

	return strcmp(given[0], name) == 0 ? given[1] : NULL;
}

static void ask_for(enum query_page which, const char *name, const char *value)
{
	const char *given[] = {name, value};
	char why[QUERY_WHY_SIZE];

	cr_assert(query_take(&query, which, clock_wall_ms(), get, given, why), "%s", why);
}

static json_t *json(const char *text)
{
	json_t *parsed = json_loads(text, 0, NULL);

	cr_assert_not_null(parsed, "%s", text);
	return parsed;
}

static size_t count(const char *needle)
{
	size_t n = 0;

	for (const char *at = page; (at = strstr(at, needle)); at += strlen(needle))
		n++;
	return n;
}

static bool has(const char *needle)
{
	return count(needle) > 0;
}

/* Whether the first comes before the second, and both are there. */
static bool before(const char *a, const char *b)
{
	const char *x = strstr(page, a), *y = strstr(page, b);

	return x && y && x < y;
}

/* An RFC 3339 time so many seconds ago, in one of a few buffers. */
static const char *ago(int64_t s)
{
	static char texts[8][CLOCK_TEXT_SIZE];
	static size_t next;
	char *text = texts[next++ % 8];

	clock_format(clock_wall_ms() - s * 1000, text);
	return text;
}

/* --- texts ------------------------------------------------------------------------ */

Test(page, urls_of_http_alone_become_links)
{
	static const struct {
		const char *text, *links;
	} cases[] = {
		{"see https://a.example/x?y=1&z.",
		 "see <a rel=\"noopener noreferrer\" href=\"https://a.example/x?y=1&amp;z\">"
		 "https://a.example/x?y=1&amp;z</a>."},
		{"HTTP://A/ (b)",
		 "<a rel=\"noopener noreferrer\" href=\"HTTP://A/\">HTTP://A/</a> (b)"},
		{"(https://a/b_(c))",
		 "(<a rel=\"noopener noreferrer\" href=\"https://a/b_(c))\">https://a/b_(c))</a>"},
		{"javascript:alert(1) ftp://a data:x", "javascript:alert(1) ftp://a data:x"},
		{"https://", "https://"},
		{"https://a\"onclick=b",
		 "<a rel=\"noopener noreferrer\" href=\"https://a\">https://a</a>&quot;onclick=b"},
		{"<b>http://x</b>", "&lt;b&gt;<a rel=\"noopener noreferrer\" "
				    "href=\"http://x\">http://x</a>&lt;/b&gt;"},
		{"", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct html h = {.now_ms = 0};

		h.out = mem_stream(&h.text, &h.len);
		html_linked(&h, cases[i].text);
		mem_stream_end(h.out);
		cr_expect_str_eq(h.text, cases[i].links, "%s: %s", cases[i].text, h.text);
		free(h.text);
	}
}

/* --- the first page --------------------------------------------------------------- */

static const char fleet_tasks[] =
	"[{\"task\":\"fine\",\"leader\":{\"node\":\"host1\",\"version\":\"1.4\"},\"state\":"
	"\"leading\",\"last\":"
	"{\"tick\":\"2026-11-20T02:00:00Z\",\"state\":\"ok\",\"ended_at\":\"2026-11-20T02:00:07Z\"}"
	","
	"\"due\":\"2100-01-01T00:00:00Z\",\"description\":\"of <all>\"},"
	"{\"task\":\"broken\",\"leader\":{\"node\":\"host2\",\"version\":\"1.4\"},\"state\":"
	"\"following\",\"last\":"
	"{\"tick\":\"2026-11-21T02:00:00Z\",\"state\":\"timeout\"}},"
	"{\"task\":\"alone\",\"leader\":null,\"state\":\"following\"},"
	"{\"task\":\"halts\",\"leader\":null,\"state\":\"paused\",\"decisions\":[{\"kind\":"
	"\"pause\",\"by\":\"root\",\"host\":\"h\"}]},"
	"{\"task\":\"late\",\"leader\":{\"node\":\"host2\",\"version\":\"1.4\"},\"overdue\":true},"
	"{\"task\":\"odd\",\"leader\":{\"node\":\"host1\",\"version\":\"1.4\"}},"
	"{\"task\":\"gone\",\"leader\":{\"node\":\"host1\",\"version\":\"1.4\"},\"last\":{\"tick\":"
	"\"2026-11-21T02:00:00Z\",\"state\":\"lost\"}},"
	"{\"task\":\"part\",\"leader\":null,\"partitions\":3,\"led\":2,\"last\":{\"tick\":\"2026-"
	"11-21T02:00:00Z\",\"state\":\"missed\"},"
	"\"owners\":[{\"leader\":{\"node\":\"host3\"}}]}]";

static void draw_fleet(const char *name, const char *value)
{
	json_auto_t *tasks = json(fleet_tasks),
		    *workers = json("[{\"node\":\"host1\",\"version\":\"1.4\"}]");
	json_auto_t *status = json("{\"node\":\"host1\",\"problems\":[{\"file\":\"odd\",\"line\":0,"
				   "\"message\":\"it is odd\"}],"
				   "\"halted\":[{\"group\":\"kernel\",\"node\":\"host9\","
				   "\"reason\":\"CMD failed\"}]}");
	json_auto_t *runs = json("[{\"task\":\"fine\",\"tick\":\"2026-11-20T02:00:00Z\",\"state\":"
				 "\"ok\",\"started_at\":\"2026-11-20T02:00:01Z\","
				 "\"ended_at\":\"2026-11-20T02:00:42Z\"},"
				 "{\"task\":\"part:1\",\"tick\":\"2026-11-20T02:00:00Z\",\"state\":"
				 "\"missed\",\"started_at\":\"2026-11-20T05:00:00Z\","
				 "\"ended_at\":\"2026-11-20T05:00:00Z\"}]");
	struct page_home p = {.tasks = tasks,
			      .workers = workers,
			      .status = status,
			      .runs = runs,
			      .query = &query};
	size_t len;

	ask_for(QUERY_HOME, name, value);
	show(page_fleet(&p, &len));
	cr_expect_eq(len, strlen(page));
}

Test(page, what_needs_attention_comes_first_and_each_tile_is_a_filter)
{
	static const struct {
		const char *state, *label;
		const char *tasks[3]; /* those that it shows */
		int n;
	} tiles[] = {
		{"nobody", "nobody leads", {"alone", "part"}, 2},
		{"overdue", "overdue", {"late"}, 1},
		{"failed", "last run failed", {"broken"}, 1},
		{"lost", "last run lost", {"gone"}, 1},
		{"missed", "last run missed", {"part"}, 1},
		{"halted", "rolling halted", {NULL}, 1},
		{"paused", "paused", {"halts"}, 1},
		{"problems", "problems", {"odd"}, 1},
	};
	char text[200];

	draw_fleet("", "");
	cr_expect(before("What needs attention", "id=\"tasks\""));
	cr_expect(before("/task/alone", "/task/late") && before("/task/late", "/task/broken") &&
		  before("/task/broken", "/task/gone") && before("/task/halts", "/task/odd") &&
		  before("/task/odd", "/task/fine"));
	for (size_t i = 0; i < sizeof(tiles) / sizeof(tiles[0]); i++) {
		draw_fleet("", "");
		snprintf(text, sizeof(text), "<a href=\"/?state=%s\"><b>%d</b> %s</a>",
			 tiles[i].state, tiles[i].n, tiles[i].label);
		cr_expect(has(text), "%s", text);
		draw_fleet("state", tiles[i].state);
		cr_expect_eq(count("<th scope=\"row\"><a href=\"/task/"),
			     tiles[i].tasks[0] ? (size_t)tiles[i].n : 0, "%s", tiles[i].state);
		for (size_t k = 0; tiles[i].tasks[k]; k++) {
			snprintf(text, sizeof(text), "/task/%s\"", tiles[i].tasks[k]);
			cr_expect(has(text), "%s: %s", tiles[i].state, text);
		}
		cr_expect(has("aria-current=\"true\""), "the tile that is chosen says so");
	}
}

Test(page, the_fleet_is_filtered_and_sorted_as_its_address_says)
{
	draw_fleet("leader", "host2");
	cr_expect(has("/task/broken") && has("/task/late") && !has("/task/fine") &&
		  has(">2 of 8<"));
	cr_expect(has("<option value=\"host2\" selected>"),
		  "it is in the menu, although no such worker is there");
	draw_fleet("leader", "host3");
	cr_expect(has("/task/part") && has(">1 of 8<"));
	draw_fleet("q", "ALL of");
	cr_expect(has("/task/fine") && has(">1 of 8<") && has("value=\"ALL of\""));
	draw_fleet("q", "\"><script>");
	cr_expect(!has("<script>") && has("value=\"&quot;&gt;&lt;script&gt;\"") &&
		  has("No task is like that"));
	draw_fleet("sort", "name");
	cr_expect(before("/task/alone", "/task/broken") && before("/task/broken", "/task/fine"));
	cr_expect(has("aria-sort=\"ascending\"><a tabindex=\"-1\" href=\"/?sort=-name\">"));
	draw_fleet("sort", "-name");
	cr_expect(before("/task/part", "/task/odd"));
	draw_fleet("sort", "next");
	cr_expect(before("/task/fine", "/task/alone"));
	draw_fleet("sort", "last");
	cr_expect(before("/task/broken", "/task/fine") && before("/task/fine", "/task/odd"));
}

Test(page, the_fleet_says_when_a_task_is_due_and_how_its_last_runs_went)
{
	draw_fleet("", "");
	cr_expect(has("<time datetime=\"2100-01-01T00:00:00Z\">in "));
	cr_expect(has("<li title=\"ok 20 Nov 02:00, 41s\">") ||
		  has("<li title=\"ok 02:00, 41s\">") ||
		  has("<li title=\"ok 20 Nov 2026 02:00, 41s\">"));
	cr_expect(has("<li title=\"missed 20 Nov 02:00\">") || has("<li title=\"missed 02:00\">") ||
			  has("<li title=\"missed 20 Nov 2026 02:00\">"),
		  "a run of a partition is its task's; one that was missed is told by its tick");
	cr_expect(before("href=\"#queues-part\"", "id=\"main\"") &&
		  before("href=\"#workers-part\"", "id=\"main\""));
	cr_expect(has("rolling kernel --resume") && has("halted by host9: CMD failed"));
	cr_expect(!has("of <all>") && has("of &lt;all&gt;"));
}

/* A fleet of so many tasks with all that a task has. */
static size_t draw_many(size_t n, size_t runs_each)
{
	json_auto_t *tasks = json_array(), *runs = json_array(), *queues = json_array(),
		    *workers = json_array();
	json_auto_t *status = json("{\"node\":\"host1.example.org\",\"problems\":[]}");
	struct page_home p = {.tasks = tasks,
			      .workers = workers,
			      .status = status,
			      .runs = runs,
			      .queues = queues,
			      .query = &query};
	char name[40], text[100], node[40];
	size_t len;

	for (size_t i = 0; i < 4; i++) {
		snprintf(node, sizeof(node), "host%zu.example.org", i);
		json_array_append_new(workers,
				      json_pack("{s:s,s:s,s:s,s:i,s:b,s:s}", "node", node,
						"version", "1.10.2", "ip", "192.0.2.7", "leads", 75,
						"healthy", 1, "since", ago(100000)));
		json_array_append_new(queues, json_pack("{s:s,s:s,s:i,s:i}", "queue", node, "state",
							"active", "queued", 10000, "running", 8));
	}
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "nightly-report-%zu", i);
		snprintf(text, sizeof(text), "Sums up the day of shop %zu for its owners", i);
		snprintf(node, sizeof(node), "host%zu.example.org", i % 4);
		json_array_append_new(
			tasks, json_pack("{s:s,s:s,s:b,s:s,s:{s:s,s:s},s:{s:s,s:s,s:s},s:s}",
					 "task", name, "description", text, "self", i % 4 == 0,
					 "state", "following", "leader", "node", node, "version",
					 "1.10.2", "last", "tick", ago(50000), "state", "ok",
					 "ended_at", ago(40000), "due", ago(-40000)));
		for (size_t k = 0; k < runs_each; k++)
			json_array_append_new(
				runs, json_pack("{s:s,s:s,s:s,s:s,s:s}", "task", name, "tick",
						ago((int64_t)(k + 1) * 86400), "state",
						k == 2 ? "failed" : "ok", "started_at",
						ago((int64_t)(k + 1) * 86400), "ended_at",
						ago((int64_t)(k + 1) * 86400 - 100)));
	}
	ask_for(QUERY_HOME, "", "");
	show(page_fleet(&p, &len));
	return len;
}

Test(page, three_hundred_tasks_with_all_that_they_have_are_150_kB)
{
	size_t len = draw_many(300, 10);

	cr_expect_leq(len, HOME_BYTES, "%zu bytes", len);
	cr_expect_geq(count("<li title=\""), 300 * 3, "each has some of its runs: %zu",
		      count("<li title=\""));
	cr_expect_eq(count("<th scope=\"row\"><a href=\"/task/nightly"), 300);
	draw_many(4, 10);
	cr_expect_eq(count("<li title=\""), 4 * 10);
}

/* --- runs and the night ----------------------------------------------------------- */

static json_t *some_runs(void)
{
	return json_pack("[{s:s,s:s,s:s,s:s,s:s,s:i,s:i,s:s,s:s,s:s},{s:s,s:s,s:s,s:n,s:n,s:i},{s:"
			 "s,s:s,s:s,s:s,s:n}]",
			 "task", "nightly", "tick", ago(7200), "state", "failed", "started_at",
			 ago(7200), "ended_at", ago(7100), "exit_status", 3, "attempt", 2, "why",
			 "status", "detail", "exit status <3>", "node", "host1", "task", "nightly",
			 "tick", ago(3600), "state", "missed", "started_at", "ended_at", "attempt",
			 1, "task", "other", "tick", ago(60), "state", "running", "started_at",
			 ago(60), "ended_at");
}

static void draw_runs(char *(*draw)(const struct page_runs *, size_t *), enum query_page which,
		      const char *name, const char *value)
{
	json_auto_t *runs = some_runs(), *status = json("{}");
	json_auto_t *tasks =
		json("[{\"task\":\"nightly\"},{\"task\":\"other\"},{\"task\":\"quiet\"}]");
	struct page_runs p = {.tasks = tasks, .status = status, .runs = runs, .query = &query};
	size_t len;

	ask_for(which, name, value);
	show(draw(&p, &len));
}

Test(page, the_runs_of_all_tasks_with_their_reasons)
{
	draw_runs(page_runs, QUERY_RUNS, "", "");
	cr_expect_eq(count("<th scope=\"row\""), 3);
	cr_expect(before("/task/other", "/task/nightly"), "the newest first");
	cr_expect(has("<b>status</b> <span class=\"why\">exit status &lt;3&gt;</span>") &&
		  has("<td class=\"num\">1m40s</td>"));
	draw_runs(page_runs, QUERY_RUNS, "state", "missed");
	cr_expect_eq(count("<th scope=\"row\""), 1);
	cr_expect_eq(count("<td class=\"num\">–</td>"), 4,
		     "it has no start, duration, status and attempt");
	draw_runs(page_runs, QUERY_RUNS, "state", "trouble");
	cr_expect_eq(count("<th scope=\"row\""), 2);
	draw_runs(page_runs, QUERY_RUNS, "task", "oth*");
	cr_expect_eq(count("<th scope=\"row\""), 1);
	draw_runs(page_runs, QUERY_RUNS, "since", "90m");
	cr_expect_eq(count("<th scope=\"row\""), 2);
	draw_runs(page_runs, QUERY_RUNS, "state", "lost");
	cr_expect(has("No run is like that"));
}

Test(page, the_night_has_a_row_for_each_task_and_its_runs_on_an_axis)
{
	draw_runs(page_night, QUERY_NIGHT, "", "");
	cr_expect_eq(count("<th scope=\"row\">"), 3);
	cr_expect_eq(count("<rect "), 3);
	cr_expect_eq(count("<rect class=\"bad\""), 2);
	cr_expect(has("aria-label=\"Runs of quiet\"") && has(">2 bad<") && has(">none<"));
	cr_expect(has("<a href=\"/task/nightly#") && has(", 1m40s: status</title>"));
	cr_expect(!has("style="), "the policy forbids styles in the page");
	draw_runs(page_night, QUERY_NIGHT, "from", "90m");
	cr_expect_eq(count("<rect "), 2, "one ended before");
	draw_runs(page_night, QUERY_NIGHT, "from", "31d");
	cr_expect_leq(count("<rect "), 3);
	cr_expect_leq(count("<text "), 14);
}

Test(page, the_night_of_a_busy_fleet_is_bounded)
{
	json_auto_t *runs = json_array(), *tasks = json("[{\"task\":\"busy\"}]"),
		    *status = json("{}");
	struct page_runs p = {.tasks = tasks, .status = status, .runs = runs, .query = &query};
	size_t len;

	for (int64_t i = 0; i < 10000; i++)
		json_array_append_new(runs, json_pack("{s:s,s:s,s:s,s:s,s:s}", "task", "busy",
						      "tick", ago(86000 - 8 * i), "state",
						      i == 5000 ? "failed" : "ok", "started_at",
						      ago(86000 - 8 * i), "ended_at",
						      ago(86000 - 8 * i - 7)));
	ask_for(QUERY_NIGHT, "", "");
	show(page_night(&p, &len));
	cr_expect_leq(count("<rect "), 667);
	cr_expect_eq(count("<rect class=\"bad\""), 1, "what went wrong is seen among what did not");
	cr_expect(has(">1 bad, 9999 ok<"));
}

/* --- one task --------------------------------------------------------------------- */

Test(page, a_task_says_when_it_runs_and_how_before_who_ranks)
{
	json_auto_t *tasks =
		json("[{\"task\":\"nightly\",\"description\":\"https://wiki/x\",\"leader\":null}]");
	json_auto_t *explain = json(
		"{\"reason\":\"nobody "
		"leads\",\"alert_after_ms\":93600000,\"ranking\":[],\"schedule\":{\"text\":"
		"\"30 2 * * *\",\"words\":\"at 02:30 every day\",\"timezone\":\"Europe/Berlin\"}}");
	json_auto_t *status = json("{}"), *next = json_array();
	json_auto_t *runs = json("[{\"tick\":\"2026-11-20T01:30:00Z\",\"state\":\"failed\","
				 "\"started_at\":\"2026-11-20T01:30:02Z\",\"ended_at\":"
				 "\"2026-11-20T01:30:43Z\",\"exit_status\":3,\"attempt\":2,\"why\":"
				 "\"status\",\"output\":\"no <mail> host\"}]");
	struct page_task p = {
		.tasks = tasks, .explain = explain, .status = status, .runs = runs, .next = next};
	size_t len;

	for (int i = 0; i < 6; i++)
		json_array_append_new(next, json_pack("{s:s,s:s}", "tick", "2100-01-01T00:00:00Z",
						      "local", "2100-01-01T01:00:00+01:00"));
	show(page_task(&p, &len));
	cr_expect(has("at 02:30 every day") && has("Europe/Berlin") &&
		  has("<code>30 2 * * *</code>"));
	cr_expect_eq(count("2100-01-01 01:00:00<"), 5);
	cr_expect(has("after 1d2h without a good run") && has("href=\"https://wiki/x\""));
	cr_expect(
		has("<td class=\"num\">41s</td><td class=\"num\">3</td><td class=\"num\">2</td>") &&
		has("<b>status</b>"));
	cr_expect(has("no &lt;mail&gt; host") && before("Last runs", "Ranking") &&
		  before("Schedule", "Last runs"));
	p.next = NULL;
	json_object_set_new(explain, "schedule", json_null());
	show(page_task(&p, &len));
	cr_expect(!has("Schedule"));
}
