/* zkleader wait: waits until so many workers are there. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/text/duration.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"
#include "wire/pack.h"
#include "wire/rpc.h"

#define WORKERS_MAX 10000
#define ANSWER_MS   5000 /* time for the answer after the request's own timeout */

enum { OPTION_WORKERS, OPTION_TASK, OPTION_VERSION, OPTION_TIMEOUT };

static const struct option_spec options[] = {
	{'n', "workers", "N", "how many; needed"},
	{302, "task", "TASK", "that list TASK"},
	{303, "version", "V", "that have this version"},
	{304, "timeout", "D", "no longer than D"},
	{0, NULL, NULL, NULL},
};

/* Parses the command line. 0, or -EINVAL after a line on the error stream. */
static int take(const struct context *c, int64_t *ret_workers, int64_t *ret_timeout_ms)
{
	const char *workers = c->values[OPTION_WORKERS], *timeout = c->values[OPTION_TIMEOUT];
	const int64_t max_ms = ZKLEADER_TIMEOUT_MAX_MS - ANSWER_MS;
	char why[OPTIONS_WHY_SIZE];

	if (!workers) {
		output_error(&c->output, "--workers N is needed: until how many are there?");
		return -EINVAL;
	}
	size_t digits = strspn(workers, "0123456789");
	*ret_workers =
		digits > 0 && digits < 6 && !workers[digits] ? strtol(workers, NULL, 10) : -1;
	if (*ret_workers < 0 || *ret_workers > WORKERS_MAX) {
		output_error(&c->output, "--workers \"%s\" is not a number from 0 to %d", workers,
			     WORKERS_MAX);
		return -EINVAL;
	}
	*ret_timeout_ms = -1;
	if (timeout && options_duration("--timeout", timeout, max_ms, ret_timeout_ms, why) < 0) {
		output_error(&c->output, "%s", why);
		return -EINVAL;
	}
	return 0;
}

static void pack(const struct context *c, int64_t workers, int64_t timeout_ms, struct pack *p)
{
	const char *task = c->values[OPTION_TASK], *version = c->values[OPTION_VERSION];
	size_t map;

	pack_array(p, 1);
	map = pack_open(p);
	pack_kv_int(p, "workers", workers);
	pack_kv_int(p, "timeout_ms", timeout_ms);
	if (task)
		pack_kv_str(p, "task", task);
	if (version)
		pack_kv_str(p, "version", version);
	pack_close(p, map);
}

static int tell(const struct output *o, const json_t *result, int64_t workers)
{
	bool done = json_flag(result, "done");

	if (o->json)
		output_json(o, result);
	else if (!done)
		output_error(o, "%" PRId64 " of %" PRId64 " workers are there",
			     json_number(result, "workers", 0), workers);
	return done ? ZKLEADER_OK : ZKLEADER_NOT_LEADER;
}

static int run(struct context *c)
{
	int64_t workers, timeout_ms;
	json_auto_t *json = NULL;
	struct buffer params;
	const void *result;
	size_t len;
	struct pack p;
	int r;

	if (take(c, &workers, &timeout_ms) < 0)
		return ZKLEADER_MISUSE;
	buffer_init(&params, RPC_REQUEST_MAX);
	pack_init(&p, &params);
	pack(c, workers, timeout_ms, &p);
	r = zkleader_open(c->socket, &c->z);
	if (r == 0)
		r = p.failed ? -EMSGSIZE
			     : zkleader_call(c->z, "wait", params.data, params.len,
					     timeout_ms < 0 ? ZKLEADER_TIMEOUT_MAX_MS
							    : timeout_ms + ANSWER_MS,
					     &result, &len);
	buffer_done(&params);
	if (r != 0)
		return context_failed(c, r);
	r = ask_to_json(c, result, len, JSON_OBJECT, &json);
	return r == 0 ? tell(&c->output, json, workers) : r;
}

const struct command command_wait = {
	.name = "wait",
	.args = "",
	.help = "until so many workers are in the fleet",
	.more = "Costs ZooKeeper nothing. A version is the same in the order of versions: 1.0 is\n"
		"1.0.0.\n",
	.exits = "0 they are there, 1 not in that time, 2 no sidecar or no answer, 3 misuse",
	.options = options,
	.run = run,
};
