/* zkleader locks: who holds locks, and who waits for them. */
#include <inttypes.h>
#include <stdio.h>

#include "api/json.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"
#include "cli/ui/table.h"

static const struct table_column columns[] = {
	{"LOCK", TABLE_CUT},	 {"SLOTS", TABLE_RIGHT}, {"STATE", 0},
	{"FOR", TABLE_RIGHT},	 {"NODE", TABLE_HOST},	 {"PID", TABLE_RIGHT},
	{"COMMAND", TABLE_REST},
};

#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void add_entry(struct table *t, const struct output *o, const json_t *lock,
		      const json_t *entry)
{
	const char *held = json_text(entry, "held", NULL);
	char slots[24], pid[24], age[OUTPUT_AGE_SIZE];
	const char *cells[N_COLUMNS] = {
		json_text(lock, "name", NULL),	slots, held ? "holds" : "waits",	 age,
		json_text(entry, "node", NULL), pid,   json_text(entry, "command", NULL)};

	snprintf(slots, sizeof(slots), "%" PRId64, json_number(lock, "slots", 0));
	snprintf(pid, sizeof(pid), "%" PRId64, json_number(entry, "pid", 0));
	age_text(held ? held : json_text(entry, "since", NULL), o->now_ms, age);
	table_row(t, cells, held ? COLOR_NONE : COLOR_DIM);
}

static void show(const struct context *c, const json_t *locks)
{
	const struct output *o = &c->output;
	const json_t *lock, *entry;
	size_t i, k;

	if (json_array_size(locks) == 0) {
		output_line(o, COLOR_NONE, "nobody holds a lock");
		return;
	}
	struct table *t = table_new(o, columns, N_COLUMNS);
	json_array_foreach(locks, i, lock)
	{
		json_array_foreach(json_object_get(lock, "entries"), k, entry)
		{
			add_entry(t, o, lock, entry);
		}
	}
	table_print(t);
}

static int run(struct context *c)
{
	return ask_and_show(c, "locks", JSON_ARRAY, show);
}

const struct command command_locks = {
	.name = "locks",
	.args = "[NAME]",
	.help = "who holds which lock, and who waits",
	.more = "Of the whole fleet, or of NAME alone: the holders first, then who waits, in\n"
		"their order. FOR is since it holds, or has waited.\n",
	.max_args = 1,
	.run = run,
};
