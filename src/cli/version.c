/*
 * zkleader version: the version of this program, or the order of two versions of the application.
 */
#include <string.h>

#include "base/text/name.h"
#include "cli/ui/command.h"
#include "core/fleet/version.h"
#include "core/fleet/version_form.h"

static int say_own(const struct output *o)
{
	if (o->json) {
		json_auto_t *version = json_pack("{s:s}", "version", ZKLEADER_VERSION);

		output_json(o, version);
	} else {
		output_line(o, COLOR_NONE, "zkleader %s", ZKLEADER_VERSION);
	}
	return ZKLEADER_OK;
}

static void warn_of_form(const struct output *o, const char *version)
{
	const char *odd = version_form_text(version_form(version));

	if (odd[0])
		output_error(o, "warning: \"%s\" %s", version, odd);
}

static int compare(const struct output *o, const char *a, const char *b)
{
	int order = version_compare(a, b);
	const char *sign = order < 0 ? "<" : order > 0 ? ">" : "=";

	if (o->json) {
		json_auto_t *result = json_pack("{s:s, s:s, s:s}", "a", a, "b", b, "order", sign);

		output_json(o, result);
	} else {
		output_line(o, COLOR_NONE, "%s %s %s", a, sign, b);
	}
	warn_of_form(o, a);
	if (strcmp(a, b) != 0)
		warn_of_form(o, b);
	return ZKLEADER_OK;
}

static int run(struct context *c)
{
	if (c->n_args == 1) {
		output_error(&c->output, "two versions are compared: zkleader version A B");
		return ZKLEADER_MISUSE;
	}
	for (size_t i = 0; i < c->n_args; i++) {
		if (name_is_version(c->args[i], strlen(c->args[i])))
			continue;
		output_error(&c->output,
			     "\"%s\" is no version: that is up to %d characters of printable ASCII",
			     c->args[i], NAME_VERSION_MAX);
		return ZKLEADER_MISUSE;
	}
	return c->n_args == 0 ? say_own(&c->output) : compare(&c->output, c->args[0], c->args[1]);
}

const struct command command_version = {
	.name = "version",
	.args = "[A B]",
	.help = "the version of this program, or which of two is newer",
	.more = "Prints \"A < B\", \"A = B\" or \"A > B\", as the elections see it: newer is "
		"bigger.\n"
		"Needs no sidecar. A version whose form deceives gets a warning.\n",
	.exits = "0 compared, 3 misuse",
	.max_args = 2,
	.run = run,
};
