#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "client/ask.h"
#include "client/command.h"
#include "client/json.h"
#include "client/link.h"

#define RECONNECT_MS 1000

/* Every line has left by the time the next wait begins, so there is nothing to put in order. */
static void on_end(int signal)
{
	(void)signal;
	_exit(0);
}

static void print_leadership(const struct output *o, const json_t *change)
{
	const json_t *leader = json_object_get(change, "leader");
	const char *time = json_text(change, "time", "-");
	const char *task = json_text(change, "task", "-");
	bool self = json_flag(change, "self");

	if (!json_is_object(leader))
		output_line(o, COLOR_YELLOW, "%s %s: nobody leads it", time, task);
	else
		output_line(o, self ? COLOR_GREEN : COLOR_NONE,
			    "%s %s: led by %s (%s), token %" PRId64 "%s", time, task,
			    json_worker_name(leader), json_text(leader, "version", "-"),
			    json_number(change, "token", 0), self ? ", this node" : "");
}

static void print_membership(const struct output *o, const json_t *change)
{
	const char *event = json_text(change, "event", "-");

	output_line(o, strcmp(event, "left") == 0 ? COLOR_YELLOW : COLOR_NONE,
		    "%s %s (%s, version %s) %s%s", json_text(change, "time", "-"),
		    json_text(change, "hostname", "-"), json_text(change, "ip", "-"),
		    json_text(change, "version", "-"), event,
		    json_flag(change, "self") ? ", this node" : "");
}

/* 0, or -EBADMSG for what is no change of either kind. */
static int show(const struct output *o, const struct zkleader_notification *n)
{
	json_auto_t *change = NULL;
	bool leadership = strcmp(n->method, "leadership") == 0;
	int e;

	if (!leadership && strcmp(n->method, "membership") != 0)
		return 0; /* of a newer sidecar */
	e = json_from_msgpack(n->param, n->len, &change);
	if (e < 0)
		return e;
	if (!json_is_object(change))
		return -EBADMSG;
	if (o->json) {
		if (leadership)
			json_object_set_new(change, "event", json_string("leadership"));
		output_json_line(o, change);
	} else if (leadership) {
		print_leadership(o, change);
	} else {
		print_membership(o, change);
	}
	return output_flush(o);
}

/* Until it is there again: 0, or the exit code where it does not want us any more. */
static int subscribe_again(struct context *c)
{
	const void *result;
	size_t len;
	int r;

	output_error(&c->output, "%s: trying again every second", zkleader_message(c->z));
	do {
		link_pause(RECONNECT_MS, LINK_FOREVER);
		r = ask_raw(c, "subscribe", &result, &len);
	} while (r < 0 || r == ZKLEADER_CANNOT_TELL);
	if (r > 0)
		return ask_failed(c, r);
	output_error(&c->output, "the sidecar on %s is back; changes meanwhile are not shown",
		     zkleader_path(c->z));
	return 0;
}

static int run(struct context *c)
{
	struct sigaction action = {.sa_handler = on_end};
	struct zkleader_notification n;
	const void *result;
	size_t len;
	int r = ask_raw(c, "subscribe", &result, &len);

	if (r != 0)
		return ask_failed(c, r);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	while (r == 0) {
		int e = zkleader_next(c->z, -1, &n);

		if (e < 0) {
			r = subscribe_again(c);
			continue;
		}
		e = show(&c->output, &n);
		if (e == -EIO)
			break; /* nobody reads on; command_main() says so */
		if (e < 0)
			output_error(&c->output, "a change that makes no sense was passed over");
	}
	return r;
}

const struct command command_watch = {
	.name = "watch",
	.args = "[TASK...]",
	.help = "a line for each change of leadership or membership",
	.more = "With --json one object a line, whose \"event\" is leadership, joined or left.\n"
		"Ends with exit code 0 on INT and TERM; a sidecar that goes away is waited for.\n",
	.max_args = COMMAND_ARGS_ANY,
	.run = run,
};
