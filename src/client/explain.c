#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/ask.h"
#include "client/command.h"
#include "client/json.h"
#include "client/table.h"

static const struct table_column columns[] = {
	{"#", TABLE_RIGHT},
	{"HOSTNAME", TABLE_CUT},
	{"VERSION", TABLE_CUT_LAST},
	{"RANK", TABLE_RIGHT},
	{"WHY", 0},
};

#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void add_ranked(struct table *t, const json_t *ranked, size_t place)
{
	bool candidate = json_flag(ranked, "candidate");
	char number[24], rank[24];
	const char *cells[N_COLUMNS] = {
		candidate ? number : NULL,	    json_text(ranked, "hostname", NULL),
		json_text(ranked, "version", NULL), rank,
		json_text(ranked, "why", NULL),
	};

	snprintf(number, sizeof(number), "%zu", place);
	snprintf(rank, sizeof(rank), "%" PRId64, json_number(ranked, "rank", 0));
	table_row(t, cells, candidate ? place == 1 ? COLOR_BOLD : COLOR_NONE : COLOR_DIM);
}

static void print_ranking(const struct output *o, const json_t *explained)
{
	const json_t *ranking = json_object_get(explained, "ranking");
	struct table *t;
	size_t candidates = 0;

	output_line(o, COLOR_NONE, "%s", json_text(explained, "reason", "-"));
	if (json_array_size(ranking) == 0) {
		output_line(o, COLOR_NONE, "nobody is in the fleet, so there is no ranking");
		return;
	}
	fputc('\n', o->out);
	t = table_new(o, columns, N_COLUMNS);
	for (size_t i = 0; i < json_array_size(ranking); i++) {
		const json_t *ranked = json_array_get(ranking, i);

		if (json_flag(ranked, "candidate"))
			candidates++;
		add_ranked(t, ranked, candidates);
	}
	table_print(t);
	table_free(t);
}

/* What the ranking cannot show: workers that are none, and such as go by other keys. */
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
				    json_text(ranked, "hostname", "-"));
	}
	for (size_t i = 0; i < json_array_size(refused); i++) {
		const json_t *one = json_array_get(refused, i);
		output_line(o, COLOR_YELLOW, "worker %s is refused: %s", json_text(one, "id", "-"),
			    json_text(one, "why", "-"));
	}
}

static int run(struct context *c)
{
	json_auto_t *explained = NULL;
	int code = ask(c, "explain", JSON_OBJECT, &explained);

	if (code != 0)
		return code;
	code = ask_stale(c);
	if (c->output.json) {
		output_json(&c->output, explained);
	} else {
		print_ranking(&c->output, explained);
		print_oddities(&c->output, explained);
	}
	return code;
}

const struct command command_explain = {
	.name = "explain",
	.args = "TASK",
	.help = "why this node leads TASK or does not, and who is next",
	.more = "The candidates are numbered, best first; the others say why they are none.\n",
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
