#include "web/page/run_select.h"

#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/mem.h"

void run_times(const json_t *run, int64_t now_ms, int64_t *ret_from_ms, int64_t *ret_to_ms)
{
	const char *state = json_text(run, "state", "");
	const char *started = json_text(run, "started_at", NULL);
	const char *ended = json_text(run, "ended_at", NULL);

	if (!started || strcmp(state, "missed") == 0 || clock_parse(started, ret_from_ms) < 0) {
		if (clock_parse(json_text(run, "tick", ""), ret_from_ms) < 0)
			*ret_from_ms = 0;
		ended = NULL;
	}
	*ret_to_ms = strcmp(state, "running") == 0 ? now_ms : *ret_from_ms;
	if (ended && clock_parse(ended, ret_to_ms) < 0)
		*ret_to_ms = *ret_from_ms;
	if (*ret_to_ms < *ret_from_ms)
		*ret_to_ms = *ret_from_ms;
}

static bool has_state(const json_t *run, const char *wanted)
{
	const char *state = json_text(run, "state", "");

	if (strcmp(wanted, "trouble") != 0)
		return strcmp(state, wanted) == 0;
	return strcmp(state, "ok") != 0 && strcmp(state, "running") != 0 &&
	       strcmp(state, "claimed") != 0;
}

static bool is_shown(const json_t *run, const struct query *q)
{
	const char *task = json_text(run, "task", NULL);
	int64_t from_ms, to_ms, tick_ms;

	run_times(run, 0, &from_ms, &to_ms);
	if (clock_parse(json_text(run, "tick", ""), &tick_ms) < 0)
		tick_ms = from_ms;
	return (!q->state[0] || has_state(run, q->state)) &&
	       (!q->task[0] || query_is_name(q) || !task || query_glob(q->task, task)) &&
	       (q->since_ms == 0 || to_ms >= q->since_ms || tick_ms >= q->since_ms) &&
	       (q->before_ms == 0 || tick_ms < q->before_ms);
}

const json_t **run_select(const json_t *runs, const struct query *q, size_t *ret_n)
{
	size_t all = json_array_size(runs), n = 0;
	const json_t **list = mem_calloc(all + 1, sizeof(const json_t *));

	/* The sidecar lists the oldest first. */
	for (size_t i = all; i > 0; i--)
		if (is_shown(json_array_get(runs, i - 1), q))
			list[n++] = json_array_get(runs, i - 1);
	*ret_n = n;
	return list;
}
