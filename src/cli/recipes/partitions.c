/* zkleader partitions: shows the leaders of partitions, or changes the number of partitions. */
#include <inttypes.h>
#include <stdio.h>

#include "api/call.h"
#include "api/json.h"
#include "base/text/name.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"
#include "cli/ui/table.h"
#include "wire/pack.h"

enum { OPTION_HERE, OPTION_REASON };

static const struct option_spec options[] = {
	{300, "here", NULL, "the numbers of those that this node leads, one a line"},
	{'r', "reason", "REASON", "why there are to be N, for whoever looks at it later"},
	{0, NULL, NULL, NULL},
};

static const struct table_column columns[] = {
	{"PARTITION", TABLE_RIGHT}, {"LEADER", TABLE_HOST}, {"VERSION", TABLE_CUT_LAST},
	{"SINCE", TABLE_RIGHT},	    {"TOKEN", TABLE_RIGHT},
};

#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* --- who leads which ------------------------------------------------------- */

static bool is_here(const json_t *answer, int64_t partition)
{
	const json_t *number;
	size_t i;

	json_array_foreach(json_object_get(answer, "here"), i, number)
	{
		if (json_is_integer(number) && json_integer_value(number) == partition)
			return true;
	}
	return false;
}

static int print_here(const struct output *o, const json_t *answer)
{
	const json_t *here = json_object_get(answer, "here"), *number;
	size_t i;

	json_array_foreach(here, i, number)
		output_line(o, COLOR_NONE, "%" PRId64, (int64_t)json_integer_value(number));
	return json_array_size(here) > 0 ? ZKLEADER_OK : ZKLEADER_NOT_LEADER;
}

static void add_owner(struct table *t, const struct output *o, const json_t *answer,
		      const json_t *owner)
{
	const json_t *leader = json_object_get(owner, "leader"),
		     *number = json_object_get(owner, "token");
	int64_t partition = json_number(owner, "partition", -1);
	char name[24], token[24], since[OUTPUT_AGE_SIZE];
	const char *cells[N_COLUMNS] = {name, json_worker_name(leader),
					json_text(leader, "version", NULL), since,
					json_is_integer(number) ? token : NULL};

	snprintf(name, sizeof(name), "%" PRId64, partition);
	snprintf(token, sizeof(token), "%" PRId64, (int64_t)json_integer_value(number));
	age_text(json_text(owner, "since", NULL), o->now_ms, since);
	table_row(t, cells, is_here(answer, partition) ? COLOR_BOLD : COLOR_NONE);
}

static void print_owners(const struct output *o, const json_t *answer)
{
	const json_t *owners = json_object_get(answer, "owners"), *owner;
	struct table *t = table_new(o, columns, N_COLUMNS);
	size_t i, led = 0;

	json_array_foreach(owners, i, owner)
	{
		add_owner(t, o, answer, owner);
		led += json_is_object(json_object_get(owner, "leader"));
	}
	output_line(o, led < i ? COLOR_YELLOW : COLOR_NONE,
		    "%s has %zu partitions: %zu led, %zu of them here",
		    json_text(answer, "task", "-"), i, led,
		    json_array_size(json_object_get(answer, "here")));
	table_print(t);
}

/* For JSON with --here: removes the partitions that are not led here. */
static void keep_here(json_t *answer)
{
	json_t *owners = json_object_get(answer, "owners");
	size_t i = 0;

	while (i < json_array_size(owners)) {
		const json_t *owner = json_array_get(owners, i);

		if (is_here(answer, json_number(owner, "partition", -1)))
			i++;
		else
			json_array_remove(owners, i);
	}
}

static int show(struct context *c)
{
	bool here = c->values[OPTION_HERE];
	json_auto_t *answer = NULL;
	int code = ask(c, "partitions", JSON_OBJECT, &answer), stale;

	if (code != 0)
		return code;
	stale = ask_stale(c);
	if (here && !c->output.json) {
		code = print_here(&c->output, answer);
	} else if (here) {
		keep_here(answer);
		code = json_array_size(json_object_get(answer, "here")) > 0 ? ZKLEADER_OK
									    : ZKLEADER_NOT_LEADER;
	}
	if (c->output.json)
		output_json(&c->output, answer);
	else if (!here)
		print_owners(&c->output, answer);
	return stale != 0 ? stale : code;
}

/* --- another number -------------------------------------------------------- */

static int change(struct context *c)
{
	const char *reason = c->values[OPTION_REASON];
	json_auto_t *answer = NULL;
	struct request request;
	int64_t number = options_number(c->args[1], NAME_PARTITIONS_MAX);
	int code;

	if (number < 1) {
		output_error(&c->output, "\"%s\" is no number of partitions: that is 1 to %d",
			     c->args[1], NAME_PARTITIONS_MAX);
		return ZKLEADER_MISUSE;
	}
	struct pack *p = request_begin(&request, reason ? 3 : 2);
	pack_str(p, c->args[0]);
	pack_int(p, number);
	if (reason) {
		pack_map(p, 1);
		pack_kv_str(p, "reason", reason);
	}
	code = ask_packed(c, "repartition", &request, JSON_OBJECT, &answer);
	if (code == 0 && c->output.json)
		output_json(&c->output, answer);
	else if (code == 0)
		output_line(&c->output, COLOR_NONE, "%s", json_text(answer, "message", "done"));
	return code;
}

static int run(struct context *c)
{
	if (c->n_args == 2 && c->values[OPTION_HERE]) {
		output_error(&c->output, "--here is for a look, not for another number");
		return ZKLEADER_MISUSE;
	}
	if (c->n_args == 1 && c->values[OPTION_REASON]) {
		output_error(&c->output, "--reason is for another number of partitions");
		return ZKLEADER_MISUSE;
	}
	return c->n_args == 2 ? change(c) : show(c);
}

const struct command command_partitions = {
	.name = "partitions",
	.args = "TASK [N]",
	.help = "who leads its partitions; with N: it has N from now on",
	.more = "N from 1, which makes it a plain task again, to 256. TASK has to be paused, and\n"
		"its jobs to have ended. Ticks up to then count as claimed. Hosts whose files say\n"
		"another number are no candidates for it until they say N.\n"
		"With N: only root, the sidecar's own user and the members of its socket-group\n"
		"may.\n",
	.exits = "0 done, 1 --here: it leads none, 2 no sidecar, no answer or not done,\n"
		 "      3 misuse, as TASK is not paused",
	.min_args = 1,
	.max_args = 2,
	.options = options,
	.run = run,
};
