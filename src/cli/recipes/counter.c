/* zkleader counter: a number that the whole fleet shares. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "api/json.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"
#include "wire/pack.h"

/* Parses "+5" or "-5". 0, or -EINVAL. */
static int take_delta(const char *text, int64_t *ret_delta)
{
	size_t digits = strspn(text + 1, "0123456789");
	char *end;

	if ((text[0] != '+' && text[0] != '-') || digits == 0 || text[1 + digits])
		return -EINVAL;
	errno = 0;
	*ret_delta = strtoll(text, &end, 10);
	return errno ? -EINVAL : 0;
}

/* Prints the answer. Returns the exit code: CANNOT_TELL unless the request was done. */
static int tell(const struct output *o, const json_t *result, const char *name)
{
	const json_t *done = json_object_get(result, "done");

	if (o->json)
		output_json(o, result);
	if (json_is_true(done) && json_is_integer(json_object_get(result, "value"))) {
		if (!o->json)
			output_line(o, COLOR_NONE, "%" PRId64, json_number(result, "value", 0));
		return ZKLEADER_OK;
	}
	output_error(o, "%s: %s: %s", name, json_is_false(done) ? "not done" : "unknown",
		     json_text(result, "why", "the answer makes no sense"));
	return ZKLEADER_CANNOT_TELL;
}

/*
 * Prints that the request failed; r: what zkleader_call() returned. Once an addition was sent, it
 * is not known whether it was done.
 */
static int lost(const struct context *c, bool adds, int r)
{
	bool unknown = adds && r < 0 && r != -ENOENT && r != -ECONNREFUSED;

	if (!c->z || r == ZKLEADER_MISUSE || r == -EACCES || r == -EPERM)
		return context_failed(c, r);
	if (c->output.json) {
		json_auto_t *result = json_pack("{s:n, s:o}", "value", "done",
						unknown ? json_null() : json_false());

		output_json(&c->output, result);
	}
	output_error(&c->output, "%s: %s: %s", c->args[0], unknown ? "unknown" : "not done",
		     zkleader_message(c->z));
	return ZKLEADER_CANNOT_TELL;
}

static int give(struct context *c, bool adds, int64_t delta)
{
	json_auto_t *json = NULL;
	struct request request;
	struct pack *p = request_begin(&request, c->n_args);
	struct reader result;
	int r;

	pack_str(p, c->args[0]);
	if (adds)
		pack_int(p, delta);
	r = ask_call(c, "counter", &request, CONTEXT_TIMEOUT_MS, &result);
	if (r == -EMSGSIZE)
		return context_failed(c, r);
	if (r != 0)
		return lost(c, adds, r);
	r = ask_to_json(c, result, JSON_OBJECT, &json);
	return r == 0 ? tell(&c->output, json, c->args[0]) : r;
}

static int run(struct context *c)
{
	int64_t delta = 0;
	bool adds = c->n_args == 2;

	if (adds && take_delta(c->args[1], &delta) < 0) {
		output_error(&c->output,
			     "\"%s\" is nothing to add: that is +N or -N, an int64; behind \"--\" "
			     "if it is negative",
			     c->args[1]);
		return ZKLEADER_MISUSE;
	}
	return give(c, adds, delta);
}

const struct command command_counter = {
	.name = "counter",
	.args = "NAME [+N]",
	.help = "a number that the fleet shares; +N adds to it",
	.more = "Prints the value behind the addition, or the present one; 0 if there is none\n"
		"yet. Each addition is made once. A negative one stands behind \"--\": counter "
		"NAME\n"
		"-- -5. Only root, the sidecar's own user, its socket-group and recipe-users "
		"may.\n",
	.exits = "0 done, 2 \"not done\" or \"unknown\" whether it was, 3 misuse",
	.min_args = 1,
	.max_args = 2,
	.run = run,
};
