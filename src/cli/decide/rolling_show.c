/* zkleader rolling --status: prints the slots, the waiting nodes, and the reason for a halt. */
#include <inttypes.h>
#include <stdio.h>

#include "api/json.h"
#include "cli/decide/rolling.h"
#include "cli/ui/table.h"

static const struct table_column columns[] = {
	{"NODE", TABLE_CUT},	 {"STATE", 0},	     {"SINCE", 0}, {"AGE", 0},
	{"STATUS", TABLE_RIGHT}, {"BY", TABLE_DROP},
};

#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void add(struct table *t, const struct output *o, const json_t *entry, const char *state)
{
	const char *since = json_text(entry, "since", NULL);
	char age[OUTPUT_AGE_SIZE], status[24];
	const char *cells[N_COLUMNS] = {json_text(entry, "node", NULL), state, since, age, NULL,
					json_text(entry, "by", NULL)};

	age_text(since, o->now_ms, age);
	if (json_is_integer(json_object_get(entry, "exit_status"))) {
		snprintf(status, sizeof(status), "%" PRId64, json_number(entry, "exit_status", 0));
		cells[4] = status;
	}
	table_row(t, cells, COLOR_NONE);
}

void rolling_show(const struct output *o, const json_t *group)
{
	const json_t *slots = json_object_get(group, "slots");
	const json_t *waiting = json_object_get(group, "waiting");
	const json_t *halted = json_object_get(group, "halted");
	const char *name = json_text(group, "group", "-");
	size_t n = json_array_size(slots), n_waiting = json_array_size(waiting);

	if (!json_is_integer(json_object_get(group, "max_unavailable"))) {
		output_line(o, COLOR_NONE, "%s: there has been no rolling restart of it", name);
		return;
	}
	output_line(o, COLOR_NONE, "%s: %zu of %" PRId64 " slots taken, %zu waiting", name, n,
		    json_number(group, "max_unavailable", 0), n_waiting);
	if (json_is_object(halted))
		output_line(o, COLOR_RED, "halted by %s since %s: %s",
			    json_text(halted, "node", "-"), json_text(halted, "since", "-"),
			    json_text(halted, "why", "-"));
	if (n + n_waiting == 0)
		return;
	struct table *t = table_new(o, columns, N_COLUMNS);
	for (size_t i = 0; i < n; i++) {
		const json_t *slot = json_array_get(slots, i);
		add(t, o, slot, json_text(slot, "state", NULL));
	}
	for (size_t i = 0; i < n_waiting; i++)
		add(t, o, json_array_get(waiting, i), "waiting");
	table_print(t);
}
