#include "cli/ui/command.h"

static void print_json(const struct output *o, const struct command *only)
{
	json_auto_t *list = json_array();

	for (const struct command *const *c = command_all(); *c; c++)
		if (!only || *c == only)
			json_array_append_new(list,
					      json_pack("{s:s, s:s, s:s}", "command", (*c)->name,
							"args", (*c)->args, "help", (*c)->help));
	output_json(o, list);
}

static int run_help(struct context *c)
{
	const struct command *command = c->n_args > 0 ? command_find(c->args[0]) : NULL;

	if (c->n_args > 0 && !command) {
		const struct command *nearest = command_nearest(c->args[0]);

		output_error(&c->output, "unknown command \"%s\"%s%s%s", c->args[0],
			     nearest ? ": did you mean \"" : "", nearest ? nearest->name : "",
			     nearest ? "\"?" : "");
		return ZKLEADER_MISUSE;
	}
	if (c->output.json)
		print_json(&c->output, command);
	else
		command_usage(&c->output, command);
	return 0;
}

const struct command command_help = {
	.name = "help",
	.args = "[COMMAND]",
	.help = "the commands, or one of them",
	.max_args = 1,
	.run = run_help,
};
