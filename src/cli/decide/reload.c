#include <string.h>

#include "api/json.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"

static void print_changes(const struct output *o, const json_t *changes)
{
	if (json_array_size(changes) == 0)
		output_line(o, COLOR_NONE, "nothing changed");
	for (size_t i = 0; i < json_array_size(changes); i++) {
		const char *text = json_string_value(json_array_get(changes, i));

		output_line(o, COLOR_NONE, "%s", text ? text : "-");
	}
}

static int run(struct context *c)
{
	const struct output *o = &c->output;
	json_auto_t *result = NULL;
	int code = ask(c, "reload", JSON_OBJECT, &result);
	const json_t *problems;

	if (code != 0)
		return code;
	problems = json_object_get(result, "problems");
	if (o->json) {
		output_json(o, result);
	} else {
		print_changes(o, json_object_get(result, "changes"));
		fflush(o->out);
		output_problems(o->err, "", problems);
		output_problems(o->err, "warning: ", json_object_get(result, "warnings"));
	}
	return json_array_size(problems) > 0 ? ZKLEADER_MISUSE : ZKLEADER_OK;
}

const struct command command_reload = {
	.name = "reload",
	.args = "",
	.help = "read the configuration again and say what changed",
	.more = "Only root, the sidecar's own user and the members of its socket-group may.\n",
	.exits = "0 done, 2 no sidecar or no answer, 3 misuse, or a file was refused",
	.run = run,
};
