#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api/call.h"
#include "api/json.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text/name.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"
#include "cli/ui/outcome.h"
#include "cli/ui/table.h"
#include "wire/pack.h"

#define SHOWN	   5 /* best entries of the ranking that are shown in any case */
#define HIDDEN_MIN 3 /* if fewer entries would be hidden, all are shown */
#define GROUPS_MAX 16

enum { OPTION_ALL, OPTION_VERBOSE, OPTION_TICK };

static const struct option_spec options[] = {
	{'a', "all", NULL, "the whole ranking, however long it is"},
	{'v', "verbose", NULL, "the number that ranks each as well"},
	{300, "tick", "T", "what became of its tick T, such as 2026-11-20T02:00:00Z"},
	{0, NULL, NULL, NULL},
};

static const struct table_column columns[] = {
	{"", 0}, {"#", TABLE_RIGHT}, {"NODE", TABLE_HOST}, {"VERSION", TABLE_CUT_LAST}, {"WHY", 0},
};

/* The columns with -v. */
static const struct table_column columns_verbose[] = {
	{"", 0},
	{"#", TABLE_RIGHT},
	{"NODE", TABLE_HOST},
	{"VERSION", TABLE_CUT_LAST},
	{"RANK", TABLE_RIGHT},
	{"WHY", 0},
};

#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void add_ranked(struct table *t, const json_t *ranked, size_t place, bool verbose)
{
	bool candidate = json_flag(ranked, "candidate");
	char number[24], rank[24];
	const char *cells[N_COLUMNS + 1] = {
		json_flag(ranked, "self") ? "*" : "",
		candidate ? number : NULL,
		json_worker_name(ranked),
		json_text(ranked, "version", NULL),
		verbose ? rank : json_text(ranked, "why", NULL),
		json_text(ranked, "why", NULL),
	};

	snprintf(number, sizeof(number), "%zu", place);
	snprintf(rank, sizeof(rank), "%" PRId64, json_number(ranked, "rank", 0));
	table_row(t, cells, candidate ? place == 1 ? COLOR_BOLD : COLOR_NONE : COLOR_DIM);
}

/* Whether the entry at this place of the ranking is shown even if others are hidden. */
static bool is_shown(const json_t *explained, const json_t *ranked, size_t at)
{
	const json_t *leader = json_object_get(explained, "leader");

	return at < SHOWN || json_flag(ranked, "self") ||
	       (json_is_object(leader) &&
		strcmp(json_text(leader, "id", ""), json_text(ranked, "id", "-")) == 0);
}

/* Hidden workers that have the same reason for their place in the ranking. */
struct group {
	const char *cause, *why;
	size_t n;
};

static size_t count_hidden(const json_t *explained, struct group groups[GROUPS_MAX])
{
	const json_t *ranked;
	size_t at, n = 0;

	json_array_foreach(json_object_get(explained, "ranking"), at, ranked)
	{
		const char *why = json_text(ranked, "why", "-");
		const char *cause = json_text(ranked, "cause", why);
		size_t i = 0;

		if (is_shown(explained, ranked, at))
			continue;
		while (i < n && strcmp(groups[i].cause, cause) != 0)
			i++;
		if (i == GROUPS_MAX)
			continue;
		if (i == n)
			groups[n++] = (struct group){cause, why, 0};
		groups[i].n++;
	}
	return n;
}

static void print_hidden(const struct output *o, const json_t *explained, size_t hidden)
{
	struct group groups[GROUPS_MAX];
	size_t n = count_hidden(explained, groups), len;
	mem_auto char *text = NULL;
	FILE *f = mem_stream(&text, &len);

	for (size_t i = 0; i < n; i++) {
		/* this part differs between workers */
		const char *by = strstr(groups[i].why, " by ");

		fprintf(f, "%s%zu %.*s", i > 0 ? ", " : "", groups[i].n,
			(int)(by ? by - groups[i].why : (ptrdiff_t)strlen(groups[i].why)),
			groups[i].why);
	}
	mem_stream_end(f);
	output_line(o, COLOR_NONE, "and %zu more: %s (--all shows them)", hidden, text);
}

static void print_ranking(const struct context *c, const json_t *explained)
{
	const json_t *ranking = json_object_get(explained, "ranking"), *ranked;
	bool verbose = c->values[OPTION_VERBOSE], all = c->values[OPTION_ALL];
	size_t i, candidates = 0, hidden = 0;
	struct table *t;

	json_array_foreach(ranking, i, ranked) hidden += !is_shown(explained, ranked, i);
	all = all || hidden < HIDDEN_MIN;
	t = verbose ? table_new(&c->output, columns_verbose, N_COLUMNS + 1)
		    : table_new(&c->output, columns, N_COLUMNS);
	json_array_foreach(ranking, i, ranked)
	{
		candidates += json_flag(ranked, "candidate");
		if (all || is_shown(explained, ranked, i))
			add_ranked(t, ranked, candidates, verbose);
	}
	table_print(t);
	if (!all)
		print_hidden(&c->output, explained, hidden);
}

/* --- a task with partitions ------------------------------------------------ */

/*
 * Replaces each partition in the answer by the answer about it alone. The sidecar's answer about
 * the task leaves out the rankings of its partitions, and JSON output has to have them.
 */
static int ask_partitions(struct context *c, json_t *explained)
{
	json_t *partitions = json_object_get(explained, "partitions");
	const char **args = c->args;
	int code = 0;

	for (size_t k = 0; k < json_array_size(partitions) && code == 0; k++) {
		json_t *known = json_array_get(partitions, k), *whole = NULL;
		const char *name = json_text(known, "task", "-");

		c->args = &name;
		code = ask(c, "explain", JSON_OBJECT, &whole);
		c->args = args;
		if (code != 0)
			break;
		json_object_set(whole, "partition", json_object_get(known, "partition"));
		json_array_set_new(partitions, k, whole);
	}
	return code;
}

/* Prints the reason for each partition that has no leader. */
static void print_partitions(const struct output *o, const json_t *partitions)
{
	const json_t *partition;
	size_t i;

	json_array_foreach(partitions, i, partition)
	{
		if (!json_is_object(json_object_get(partition, "leader")))
			output_line(o, COLOR_YELLOW, "%s", json_text(partition, "reason", "-"));
	}
}

/* --- in words -------------------------------------------------------------- */

static void print_due(const struct output *o, const char *due)
{
	char until[OUTPUT_AGE_SIZE];

	until_text(due, o->now_ms, until);
	if (due)
		output_line(o, COLOR_NONE, "due next at %s, in %s", due, until);
}

static void print_explained(const struct context *c, const json_t *explained)
{
	const char *description = json_text(explained, "description", NULL);
	const struct output *o = &c->output;

	if (description)
		output_line(o, COLOR_NONE, "%s: %s", json_text(explained, "task", "-"),
			    description);
	output_line(o, COLOR_NONE, "%s", json_text(explained, "reason", "-"));
	print_due(o, json_text(explained, "due", NULL));
	if (json_array_size(json_object_get(explained, "ranking")) == 0) {
		output_line(o, COLOR_NONE, "nobody is a candidate, so there is no ranking");
		return;
	}
	print_partitions(o, json_object_get(explained, "partitions"));
	fputc('\n', o->out);
	print_ranking(c, explained);
}

/*
 * Prints what the ranking does not show: workers whose record was refused, and workers that have
 * other settings for the task.
 */
static void print_oddities(const struct output *o, const json_t *explained)
{
	const json_t *refused = json_object_get(explained, "refused");
	const json_t *ranking = json_object_get(explained, "ranking");

	for (size_t i = 0; i < json_array_size(ranking); i++) {
		const json_t *ranked = json_array_get(ranking, i);
		if (json_flag(ranked, "disagrees"))
			output_line(o, COLOR_YELLOW,
				    "%s goes by another rank-position, min-version or "
				    "version-policy for this task: they have to be the same",
				    json_worker_name(ranked));
	}
	for (size_t i = 0; i < json_array_size(refused); i++) {
		const json_t *one = json_array_get(refused, i);
		output_line(o, COLOR_YELLOW, "worker %s is refused: %s", json_text(one, "id", "-"),
			    json_text(one, "why", "-"));
	}
}

/* --- what became of a tick ------------------------------------------------- */

static int ask_tick(struct context *c, json_t **ret_told)
{
	char tick[CLOCK_TEXT_SIZE];
	struct request request;
	int64_t ms;

	if (clock_parse(c->values[OPTION_TICK], &ms) < 0 || ms < 0) {
		output_error(&c->output, "--tick: \"%s\" is no time such as 2026-11-20T02:00:00Z",
			     c->values[OPTION_TICK]);
		return ZKLEADER_MISUSE;
	}
	clock_format(ms, tick);
	struct pack *p = request_begin(&request, 2);
	pack_str(p, c->args[0]);
	pack_map(p, 1);
	pack_kv_str(p, "tick", tick);
	return ask_packed(c, "explain", &request, JSON_OBJECT, ret_told);
}

/* The line of a run: where, when, and how it ended. */
static void print_run(const struct output *o, const json_t *record)
{
	const char *started = json_text(record, "started_at", NULL);
	const char *ended = json_text(record, "ended_at", NULL);
	const char *by = json_text(record, "by", NULL);
	int64_t status = json_number(record, "exit_status", -1), end_ms = o->now_ms;
	char duration[OUTPUT_AGE_SIZE];

	if (ended)
		clock_parse(ended, &end_ms);
	age_text(started, end_ms, duration);
	output_line(o, COLOR_NONE, "on %s, attempt %" PRId64 ", begun at %s, %s%s%s%s%s",
		    json_worker_name(record), json_number(record, "attempt", 0),
		    started ? started : "-", ended ? "took " : "", duration, ended ? "" : " ago",
		    by ? ", triggered by " : "", by ? by : "");
	if (status >= 0)
		output_line(o, COLOR_NONE, "exit status %" PRId64, status);
}

static void print_tick(const struct output *o, const json_t *told)
{
	const char *state = json_text(told, "state", "-"), *why = json_text(told, "why", NULL);
	const char *detail = json_text(told, "detail", NULL);
	const json_t *record = json_object_get(told, "record");

	output_line(o, outcome_color(state), "%s %s: %s%s%s%s%s%s", json_text(told, "task", "-"),
		    json_text(told, "tick", "-"), state, why ? " (" : "", why ? why : "",
		    why ? ")" : "", detail ? ": " : "", detail ? detail : "");
	if (json_is_object(record) && strcmp(state, "missed") != 0)
		print_run(o, record);
}

/* The number of partitions of the command's task; 0: it has none. */
static int64_t count_partitions(struct context *c)
{
	json_auto_t *split = NULL;
	struct request request;
	struct reader result;

	ask_begin(c, &request);
	if (ask_call(c, "partitions", &request, CONTEXT_TIMEOUT_MS, &result) != 0 ||
	    json_from_msgpack(result.p, (size_t)(result.end - result.p), &split) < 0)
		return 0;
	return json_number(split, "partitions", 0);
}

/* Each partition has a record of its own of each tick. */
static int ask_tick_of_each(struct context *c, int64_t n, json_t *ret_partitions)
{
	const char **args = c->args, *task = args[0];
	char partition[NAME_ELECTION_MAX + 1];
	const char *name = partition;
	int code = 0;

	c->args = &name;
	for (int64_t k = 0; k < n && code == 0; k++) {
		json_t *told = NULL;

		snprintf(partition, sizeof(partition), "%s:%" PRId64, task, k);
		code = ask_tick(c, &told);
		json_array_append_new(ret_partitions, told);
	}
	c->args = args;
	return code;
}

static int explain_tick(struct context *c)
{
	int64_t n = count_partitions(c);
	json_auto_t *told = NULL, *each = json_array();
	const json_t *one;
	size_t i;
	int code = n > 0 ? ask_tick_of_each(c, n, each) : ask_tick(c, &told);

	if (code != 0)
		return code;
	if (n > 0)
		told = json_pack("{s:s, s:O, s:O}", "task", c->args[0], "tick",
				 json_object_get(json_array_get(each, 0), "tick"), "partitions",
				 each);
	if (c->output.json)
		output_json(&c->output, told);
	else if (n == 0)
		print_tick(&c->output, told);
	else
		json_array_foreach(each, i, one) print_tick(&c->output, one);
	return 0;
}

static int run(struct context *c)
{
	json_auto_t *explained = NULL;
	int code;

	if (c->values[OPTION_TICK])
		return explain_tick(c);
	code = ask(c, "explain", JSON_OBJECT, &explained);

	if (code != 0)
		return code;
	code = c->output.json ? ask_partitions(c, explained) : 0;
	if (code != 0)
		return code;
	code = ask_stale(c);
	if (c->output.json) {
		output_json(&c->output, explained);
	} else {
		print_explained(c, explained);
		print_oddities(&c->output, explained);
	}
	return code;
}

const struct command command_explain = {
	.name = "explain",
	.args = "TASK",
	.help = "why this node leads TASK or does not, and who is next",
	.more = "The candidates are numbered, best first; the others say why they are none. \"*\"\n"
		"marks this node. Of a long ranking the first five, this node and the leader are\n"
		"shown, and what the others have in common. Of a TASK with partitions: what the\n"
		"draft gives to each worker; TASK:3 explains one of them.\n"
		"With --tick: that it ran, where, when and how it ended; was missed, or passed\n"
		"over by its leader (unclaimed), and why; is owed, lies ahead, or is unknown.\n"
		"Of a TASK with partitions each is told.\n",
	.min_args = 1,
	.max_args = 1,
	.options = options,
	.run = run,
};
