/*
 * zkleader drain, undrain, pause, resume, resign, unresign, pin, unpin: an operator's orders to the
 * fleet.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "base/text/duration.h"
#include "cli/decide/drained.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"
#include "wire/pack.h"
#include "wire/rpc.h"

enum { OPTION_REASON, OPTION_FOR, OPTION_WAIT, OPTION_FORCE = OPTION_WAIT };

#define OPTIONS_OF_EVERY                                                  \
	{'r', "reason", "REASON", "why, for whoever looks at it later"},  \
	{                                                                 \
		'f', "for", "D", "how long; afterwards it ends by itself" \
	}

static const struct option_spec options[] = {OPTIONS_OF_EVERY, {0, NULL, NULL, NULL}};
static const struct option_spec drain_options[] = {
	OPTIONS_OF_EVERY,
	{300, "wait", "[=D]", "until it leads nothing and no job runs there, or D is over"},
	{0, NULL, NULL, NULL},
};
static const struct option_spec pin_options[] = {
	OPTIONS_OF_EVERY,
	{301, "force", NULL, "though no worker has VERSION yet"},
	{0, NULL, NULL, NULL},
};

/* The options of an order, which are a map after the names in the request. */
struct order {
	const char *reason, *node; /* NULL: none */
	int64_t for_ms, wait_ms;   /* for_ms 0: the order has no end */
	bool wait, force;
};

/* Parses the command line. 0, or -EINVAL after a line on the error stream. */
static int take(const struct context *c, struct order *o)
{
	const char *duration = c->values[OPTION_FOR], *wait = c->values[OPTION_WAIT];
	char why[OPTIONS_WHY_SIZE];
	int e = 0;

	*o = (struct order){.reason = c->values[OPTION_REASON], .wait_ms = INT64_MAX};
	/* An argument after those that an order needs is the host. */
	if (c->n_args > c->command->min_args)
		o->node = c->args[c->command->min_args];
	o->force = c->command->options == pin_options && c->values[OPTION_FORCE];
	o->wait = c->command->options == drain_options && wait;
	if (duration)
		e = options_duration("--for", duration, DURATION_MAX_MS, &o->for_ms, why);
	if (e == 0 && o->wait && wait[0] != '\0')
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
static void pack(const struct context *c, const struct order *o, struct pack *p)
{
	size_t names = c->command->min_args;
	size_t n =
		(o->reason ? 1U : 0U) + (o->for_ms > 0 ? 1U : 0U) + (o->node ? 1U : 0U) + o->force;

	pack_array(p, names + (n > 0 ? 1 : 0));
	for (size_t i = 0; i < names; i++)
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
}

static int give(struct context *c, const struct order *o, json_t **ret_result)
{
	struct buffer params;
	struct pack p;

	buffer_init(&params, RPC_REQUEST_MAX);
	pack_init(&p, &params);
	pack(c, o, &p);
	return ask_packed(c, c->command->name, &p, JSON_OBJECT, ret_result);
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

#define WHO_MAY "Only root, the sidecar's own user and the members of its socket-group may.\n"

const struct command command_drain = {
	.name = "drain",
	.args = "[HOST]",
	.help = "this node, or HOST, is no candidate for any task",
	.more = "Others lead within a second; jobs that run there finish first. It stays so over\n"
		"restarts of the sidecar, until undrain. HOST is a name as list shows it; where\n"
		"a host has several sidecars, HOSTNAME:SOCKET.\n" WHO_MAY,
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
	.args = "TASK",
	.help = "nobody in the fleet leads TASK",
	.more = "A job that runs finishes first. Until resume, or for as long as --for "
		"says.\n"
		"A queue that is paused takes nothing and gives out nothing.\n" WHO_MAY,
	.min_args = 1,
	.max_args = 1,
	.options = options,
	.run = run,
};

const struct command command_resume = {
	.name = "resume",
	.args = "TASK",
	.help = "end the pause of TASK",
	.more = WHO_MAY,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};

const struct command command_resign = {
	.name = "resign",
	.args = "TASK",
	.help = "give TASK up now; the next in rank leads",
	.more = "For an hour, or as long as --for says, this node leads it only if no other can.\n"
		"A job that runs finishes first.\n" WHO_MAY,
	.exits = "0 done, 1 this node does not lead it, 2 no sidecar or no answer, 3 misuse",
	.min_args = 1,
	.max_args = 1,
	.options = options,
	.run = run,
};

const struct command command_unresign = {
	.name = "unresign",
	.args = "TASK [HOST]",
	.help = "this node, or HOST, leads TASK again if it is the best",
	.more = WHO_MAY,
	.min_args = 1,
	.max_args = 2,
	.run = run,
};

const struct command command_pin = {
	.name = "pin",
	.args = "TASK VERSION",
	.help = "only workers with VERSION lead TASK",
	.more = "For a rollback or a canary. If no worker has that version, nobody would lead it,\n"
		"so that needs --force. Until unpin, or for as long as --for says.\n" WHO_MAY,
	.min_args = 2,
	.max_args = 2,
	.options = pin_options,
	.run = run,
};

const struct command command_unpin = {
	.name = "unpin",
	.args = "TASK",
	.help = "end the pin of TASK",
	.more = WHO_MAY,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
