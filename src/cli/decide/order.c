/*
 * zkleader drain, undrain, pause, resume, resign, unresign, pin, unpin: an operator's orders to the
 * fleet.
 */
#include <errno.h>
#include <stdio.h>

#include "api/call.h"
#include "api/json.h"
#include "base/text/duration.h"
#include "base/text/name.h"
#include "cli/decide/drained.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"
#include "wire/pack.h"

/* The places of options in the tables below; an option that a table lacks is not given. */
enum { OPTION_REASON, OPTION_FOR, OPTION_DRY_RUN, OPTION_WAIT = OPTION_DRY_RUN, OPTION_FORCE };

#define OPTIONS_OF_EVERY                                                  \
	{'r', "reason", "REASON", "why, for whoever looks at it later"},  \
	{                                                                 \
		'f', "for", "D", "how long; afterwards it ends by itself" \
	}

#define DRY_RUN                                                                       \
	{                                                                             \
		302, "dry-run", NULL, "only look up the names, and say what they are" \
	}

static const struct option_spec options[] = {OPTIONS_OF_EVERY, DRY_RUN, {0, NULL, NULL, NULL}};
static const struct option_spec back_options[] = {DRY_RUN, {0, NULL, NULL, NULL}};
static const struct option_spec drain_options[] = {
	OPTIONS_OF_EVERY,
	{300, "wait", "[=D]", "until it leads nothing and no job runs there, or\nD is over"},
	{301, "force", NULL, "though nobody could lead some tasks then"},
	{0, NULL, NULL, NULL},
};
static const struct option_spec pin_options[] = {
	OPTIONS_OF_EVERY,
	DRY_RUN,
	{301, "force", NULL, "though no worker has VERSION yet"},
	{0, NULL, NULL, NULL},
};

/* The options of an order, which are a map after the names in the request. */
struct order {
	const char *reason, *node; /* NULL: none */
	int64_t for_ms, wait_ms;   /* for_ms 0: the order has no end */
	bool wait, force, dry_run;
	size_t n_names; /* names of tasks, before a version */
	bool list;	/* they go as an array */
};

static bool has_globs(const struct context *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (name_is_glob(c->args[i]))
			return true;
	return false;
}

/* Takes the arguments: a host, or names and perhaps a version. */
static void take_args(const struct context *c, struct order *o)
{
	const struct option_spec *table = c->command->options;

	if (c->command->min_args == 0) {
		o->node = c->n_args > 0 ? c->args[0] : NULL;
		return;
	}
	o->n_names = c->n_args - (c->command->min_args - 1);
	o->dry_run = c->values[table == back_options ? 0 : OPTION_DRY_RUN];
	o->list = o->n_names > 1 || o->dry_run || has_globs(c, o->n_names);
}

/* Parses the command line. 0, or -EINVAL after a line on the error stream. */
static int take(const struct context *c, struct order *o)
{
	const struct option_spec *table = c->command->options;
	bool drains = table == drain_options, back = !table || table == back_options;
	const char *duration = back ? NULL : c->values[OPTION_FOR];
	const char *wait = drains ? c->values[OPTION_WAIT] : NULL;
	char why[OPTIONS_WHY_SIZE];
	int e = 0;

	*o = (struct order){.reason = back ? NULL : c->values[OPTION_REASON],
			    .wait_ms = INT64_MAX,
			    .wait = wait,
			    .force = (drains || table == pin_options) && c->values[OPTION_FORCE]};
	take_args(c, o);
	if (duration)
		e = options_duration("--for", duration, DURATION_MAX_MS, &o->for_ms, why);
	if (e == 0 && wait && wait[0] != '\0')
		e = options_duration("--wait", wait, DURATION_MAX_MS, &o->wait_ms, why);
	if (e == 0 && duration && o->for_ms == 0) {
		snprintf(why, sizeof(why), "--for: no time at all");
		e = -EINVAL;
	}
	if (e < 0)
		output_error(&c->output, "%s", why);
	return e;
}

/* Packs the names and, if there are options, a map of them. */
static void pack(const struct context *c, const struct order *o, struct request *request)
{
	size_t words = o->n_names == 0 ? 0 : c->n_args, behind = words - o->n_names;
	size_t n = (o->reason ? 1U : 0U) + (o->for_ms > 0 ? 1U : 0U) + (o->node ? 1U : 0U) +
		   o->force + o->dry_run;
	struct pack *p =
		request_begin(request, (o->list ? 1 : o->n_names) + behind + (n > 0 ? 1 : 0));

	if (o->list)
		pack_array(p, o->n_names);
	for (size_t i = 0; i < words; i++)
		pack_str(p, c->args[i]);
	if (n == 0)
		return;
	pack_map(p, n);
	if (o->reason)
		pack_kv_str(p, "reason", o->reason);
	if (o->for_ms > 0)
		pack_kv_int(p, "for_ms", o->for_ms);
	if (o->node)
		pack_kv_str(p, "node", o->node);
	if (o->force)
		pack_kv_bool(p, "force", true);
	if (o->dry_run)
		pack_kv_bool(p, "dry_run", true);
}

static int give(struct context *c, const struct order *o, json_t **ret_result)
{
	struct request request;

	pack(c, o, &request);
	return ask_packed(c, c->command->name, &request, JSON_OBJECT, ret_result);
}

static int run(struct context *c)
{
	json_auto_t *result = NULL;
	struct order o;
	int code;

	if (take(c, &o) < 0)
		return ZKLEADER_MISUSE;
	code = give(c, &o, &result);
	if (code != 0)
		return code;
	if (!c->output.json)
		output_line(&c->output, COLOR_NONE, "%s", json_text(result, "message", "done"));
	if (o.wait)
		code = drained_wait(c, result, o.wait_ms);
	if (c->output.json)
		output_json(&c->output, result);
	return code;
}

#define NAMES                                                                            \
	"TASK is a name or a quoted glob ('job-*'), and there may be several. All are\n" \
	"looked up first; where one matches nothing, nothing is done (exit code 3).\n"
#define WHO_MAY "Only root, the sidecar's own user and the members of its socket-group may.\n"

const struct command command_drain = {
	.name = "drain",
	.args = "[HOST]",
	.help = "this node, or HOST, is no candidate for any task",
	.more = "Where nobody could lead a task or a queue then, nothing is done (exit code 3)\n"
		"without --force. Others lead within a second; jobs that run there finish first.\n"
		"It stays so over restarts of the sidecar, until undrain. HOST is a name as list\n"
		"shows it; where a host has several sidecars, HOSTNAME:SOCKET.\n" WHO_MAY,
	.exits = "0 done, 1 --wait=D: not in that time, 2 no sidecar or no answer, 3 misuse",
	.max_args = 1,
	.options = drain_options,
	.run = run,
};

const struct command command_undrain = {
	.name = "undrain",
	.args = "[HOST]",
	.help = "this node, or HOST, is a candidate again",
	.more = WHO_MAY,
	.max_args = 1,
	.run = run,
};

const struct command command_pause = {
	.name = "pause",
	.args = "TASK...",
	.help = "nobody in the fleet leads TASK",
	.more = NAMES "A job that runs finishes first. Until resume, or for as long as --for "
		      "says.\n"
		      "A queue that is paused takes nothing and gives out nothing.\n" WHO_MAY,
	.min_args = 1,
	.max_args = COMMAND_ARGS_ANY,
	.options = options,
	.run = run,
};

const struct command command_resume = {
	.name = "resume",
	.args = "TASK...",
	.help = "end the pause of TASK",
	.more = NAMES WHO_MAY,
	.min_args = 1,
	.max_args = COMMAND_ARGS_ANY,
	.options = back_options,
	.run = run,
};

const struct command command_resign = {
	.name = "resign",
	.args = "TASK...",
	.help = "give TASK up now; the next in rank leads",
	.more = NAMES
	"For an hour, or as long as --for says, this node leads it only if no other can.\n"
	"A job that runs finishes first.\n" WHO_MAY,
	.exits = "0 done, 1 this node does not lead it, 2 no sidecar or no answer, 3 misuse",
	.min_args = 1,
	.max_args = COMMAND_ARGS_ANY,
	.options = options,
	.run = run,
};

const struct command command_unresign = {
	.name = "unresign",
	.args = "TASK... [HOST]",
	.help = "this node, or HOST, leads TASK again if it is the best",
	.more = NAMES "The last word is the HOST where no task is called so.\n" WHO_MAY,
	.min_args = 1,
	.max_args = COMMAND_ARGS_ANY,
	.options = back_options,
	.run = run,
};

const struct command command_pin = {
	.name = "pin",
	.args = "TASK... VERSION",
	.help = "only workers with VERSION lead TASK",
	.more = NAMES
	"For a rollback or a canary. If no worker has that version, nobody would lead it,\n"
	"so that needs --force. Until unpin, or for as long as --for says.\n" WHO_MAY,
	.min_args = 2,
	.max_args = COMMAND_ARGS_ANY,
	.options = pin_options,
	.run = run,
};

const struct command command_unpin = {
	.name = "unpin",
	.args = "TASK...",
	.help = "end the pin of TASK",
	.more = NAMES WHO_MAY,
	.min_args = 1,
	.max_args = COMMAND_ARGS_ANY,
	.options = back_options,
	.run = run,
};
