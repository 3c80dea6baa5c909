/* zkleader wait: waits until so many workers are there. */
#include <errno.h>
#include <inttypes.h>

#include "api/call.h"
#include "api/json.h"
#include "base/text/duration.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"
#include "wire/pack.h"

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
	*ret_workers = options_number(workers, WORKERS_MAX);
	if (*ret_workers < 0) {
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

static void pack(const struct context *c, int64_t workers, int64_t timeout_ms,
		 struct request *request)
{
	struct pack *p = request_begin(request, 1);
	const char *task = c->values[OPTION_TASK], *version = c->values[OPTION_VERSION];
	size_t map;

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
	struct request request;
	struct reader result;
	int r;

	if (take(c, &workers, &timeout_ms) < 0)
		return ZKLEADER_MISUSE;
	pack(c, workers, timeout_ms, &request);
	r = ask_call(c, "wait", &request,
		     timeout_ms < 0 ? ZKLEADER_TIMEOUT_MAX_MS : timeout_ms + ANSWER_MS, &result);
	if (r != 0)
		return context_failed(c, r);
	r = ask_to_json(c, result, JSON_OBJECT, &json);
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
