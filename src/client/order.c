/* drain, undrain, pause, resume, resign, pin, unpin: what an operator tells the fleet. */
#include <string.h>

#include "base/duration.h"
#include "client/ask.h"
#include "client/command.h"
#include "client/json.h"
#include "wire/pack.h"
#include "wire/rpc.h"

enum { OPTION_REASON, OPTION_FOR };

static const struct option_spec options[] = {
	{'r', "reason", "REASON", "why, for whoever looks at it later"},
	{'f', "for", "D", "how long; afterwards it ends by itself"},
	{0, NULL, NULL, NULL},
};

/* The arguments, and behind them a map of the options. */
static int pack(const struct context *c, struct pack *p)
{
	const char *reason = c->values[OPTION_REASON], *duration = c->values[OPTION_FOR];
	char why[OPTIONS_WHY_SIZE];
	int64_t for_ms = 0;

	if (duration && options_duration("--for", duration, DURATION_MAX_MS, &for_ms, why) < 0) {
		output_error(&c->output, "%s", why);
		return -1;
	}
	if (duration && for_ms == 0) {
		output_error(&c->output, "--for: no time at all");
		return -1;
	}
	bool has_options = c->command->options != NULL;
	pack_array(p, c->n_args + (has_options ? 1 : 0));
	for (size_t i = 0; i < c->n_args; i++)
		pack_str(p, c->args[i]);
	if (!has_options)
		return 0;
	pack_map(p, (reason ? 1U : 0U) + (duration ? 1U : 0U));
	if (reason)
		pack_kv_str(p, "reason", reason);
	if (duration)
		pack_kv_int(p, "for_ms", for_ms);
	return 0;
}

static int run(struct context *c)
{
	json_auto_t *result = NULL;
	struct buffer params;
	struct pack p;
	int code;

	buffer_init(&params, RPC_REQUEST_MAX);
	pack_init(&p, &params);
	if (pack(c, &p) < 0) {
		code = ZKLEADER_MISUSE;
	} else if (p.failed) {
		output_error(&c->output, "too much for one request");
		code = ZKLEADER_MISUSE;
	} else {
		code = ask_params(c, c->command->name, &params, JSON_OBJECT, &result);
	}
	buffer_done(&params);
	if (code != 0)
		return code;
	if (c->output.json)
		output_json(&c->output, result);
	else
		output_line(&c->output, COLOR_NONE, "%s", json_text(result, "message", "done"));
	return ZKLEADER_OK;
}

#define WHO_MAY "Only root, the sidecar's own user and the members of its socket-group may.\n"

const struct command command_drain = {
	.name = "drain",
	.args = "",
	.help = "this node stops being a candidate for any task",
	.more = "Others lead within a second; jobs that run here finish first. It stays so over\n"
		"restarts of the sidecar, until undrain.\n" WHO_MAY,
	.options = options,
	.run = run,
};

const struct command command_undrain = {
	.name = "undrain",
	.args = "",
	.help = "this node is a candidate again",
	.more = WHO_MAY,
	.run = run,
};

const struct command command_pause = {
	.name = "pause",
	.args = "TASK",
	.help = "nobody in the fleet leads TASK",
	.more = "A job that runs finishes first. Until resume, or for as long as --for "
		"says.\n" WHO_MAY,
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

const struct command command_pin = {
	.name = "pin",
	.args = "TASK VERSION",
	.help = "only workers with VERSION lead TASK",
	.more = "For a rollback or a canary. If no worker has that version, nobody leads it.\n"
		"Until unpin, or for as long as --for says.\n" WHO_MAY,
	.min_args = 2,
	.max_args = 2,
	.options = options,
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
