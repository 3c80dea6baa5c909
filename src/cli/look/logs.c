/* zkleader logs: the end of a run's output, as its record keeps it, and where all of it is. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"

#define JOURNAL_SIZE 400

enum { OPTION_TICK };

static const struct option_spec options[] = {
	{300, "tick", "X", "of the run of this tick, as history shows it (the last)"},
	{0, NULL, NULL, NULL},
};

/* Whether the record is of a run. A missed tick has a record as well, but no run. */
static bool has_run(const json_t *record)
{
	return strcmp(json_text(record, "state", "missed"), "missed") != 0;
}

static int tick_of(const json_t *record, int64_t *ret_ms)
{
	return clock_parse(json_text(record, "tick", ""), ret_ms);
}

/* The run of that tick, or the last run; NULL: there is none. */
static json_t *find(const json_t *history, const int64_t *tick_ms)
{
	json_t *record, *found = NULL;
	size_t i;

	json_array_foreach(history, i, record)
	{
		int64_t ms;

		if (has_run(record) && (!tick_ms || (tick_of(record, &ms) == 0 && ms == *tick_ms)))
			found = record;
	}
	return found;
}

/*
 * Prints the shell command that shows the run's lines in the journal, by the fields that the runner
 * gives each line.
 */
static void say_journal(const char *task, const json_t *record, char text[JOURNAL_SIZE])
{
	snprintf(text, JOURNAL_SIZE, "journalctl -t %.110s ZKLEADER_TICK=%.40s",
		 json_text(record, "task", task), json_text(record, "tick", "-"));
}

static void print(const struct context *c, const json_t *record)
{
	const struct output *o = &c->output;
	mem_auto char *output = json_output(record);
	const json_t *status = json_object_get(record, "exit_status");
	char journal[JOURNAL_SIZE], ended[40] = "";

	if (json_is_integer(status))
		snprintf(ended, sizeof(ended), ", exit %" PRId64,
			 json_number(record, "exit_status", 0));
	say_journal(c->args[0], record, journal);
	output_line(o, COLOR_BOLD, "%s %s: %s%s, on %s", json_text(record, "task", c->args[0]),
		    json_text(record, "tick", "-"), json_text(record, "state", "-"), ended,
		    json_worker_name(record));
	if (output)
		fprintf(o->out, "%s\n", output);
	else
		output_line(o, COLOR_DIM,
			    "(nothing is kept: it has written nothing, goes on, was not started by "
			    "a schedule, or is not yours to read)");
	output_line(o, COLOR_DIM, "%s %s: %s", output ? "all of it, on" : "on",
		    json_worker_name(record), journal);
}

static int print_json(const struct context *c, json_t *record)
{
	char journal[JOURNAL_SIZE];

	say_journal(c->args[0], record, journal);
	if (!json_object_get(record, "task"))
		json_object_set_new(record, "task", json_string(c->args[0]));
	json_object_set_new(record, "journal", json_string(journal));
	output_json(&c->output, record);
	return ZKLEADER_OK;
}

static int run(struct context *c)
{
	const char *tick = c->values[OPTION_TICK];
	json_auto_t *history = NULL;
	json_t *record;
	int64_t ms = 0;
	int code;

	if (tick && clock_parse(tick, &ms) < 0) {
		output_error(&c->output, "--tick \"%s\": a time is needed, as 2026-03-29T00:00:00Z",
			     tick);
		return ZKLEADER_MISUSE;
	}
	code = ask(c, "history", JSON_ARRAY, &history);
	if (code != 0)
		return code;
	record = find(history, tick ? &ms : NULL);
	if (!record) {
		output_error(&c->output, "%s: no run is recorded%s%s", c->args[0],
			     tick ? " of " : "", tick ? tick : "");
		return ZKLEADER_MISUSE;
	}
	if (c->output.json)
		return print_json(c, record);
	print(c, record);
	return ZKLEADER_OK;
}

const struct command command_logs = {
	.name = "logs",
	.args = "TASK",
	.help = "what the last run has written",
	.more = "Of a run that a schedule started: the last 2,048 bytes, which its record has,\n"
		"for those who may run the task; and the command that shows all of it, to be\n"
		"given on its node.\n",
	.min_args = 1,
	.max_args = 1,
	.options = options,
	.run = run,
};
