/* zkleader index: the number of this node in the roster. */
#include <inttypes.h>

#include "api/json.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"

static int run(struct context *c)
{
	json_auto_t *result = NULL;
	int code = ask(c, "index", JSON_OBJECT, &result);

	if (code != 0)
		return code;
	if (!json_is_integer(json_object_get(result, "index"))) {
		output_error(&c->output, "the answer of the sidecar makes no sense");
		return ZKLEADER_CANNOT_TELL;
	}
	if (c->output.json)
		output_json(&c->output, result);
	else
		output_line(&c->output, COLOR_NONE, "%" PRId64, json_number(result, "index", 0));
	return ZKLEADER_OK;
}

const struct command command_index = {
	.name = "index",
	.args = "",
	.help = "this node's number in the fleet, from 0",
	.more = "The same after any restart; no other node has it until this one is forgotten.\n",
	.exits = "0 printed, 2 no number within 5 s, no sidecar or no answer, 3 misuse",
	.run = run,
};
