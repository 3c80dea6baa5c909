#include "web/routes.h"

#include <string.h>

#include "base/text/name.h"
#include "web/page/strip.h"
#include "web/shared.h"

#define QUEUE_AGE_MS 1000
#define DEAD_AGE_MS  30000
#define RUNS_AGE_MS  2000
#define RUNS_LAST    1000 /* of each task that a page of runs asks for */
#define TASK_LAST    50
#define ASK(asked)                \
	{                         \
		.method = (asked) \
	}
#define NAMED(asked)                             \
	{                                        \
		.method = (asked), .named = true \
	}

#define ASK_RUNS                                                                             \
	{                                                                                    \
		.method = "history", .queried = true, .last = RUNS_LAST, .no_outputs = true, \
		.age_ms = RUNS_AGE_MS                                                        \
	}

/*
 * A path of a named route matches all paths that begin with it and continue with the name of a
 * task, a partition or a queue.
 */
static const struct {
	const char *path;
	struct route route;
} table[] = {
	{"/healthz", {.kind = ROUTE_HEALTH, .open = true, .asks = {ASK("status")}, .n_asks = 1}},
	{"/readyz", {.kind = ROUTE_READY, .open = true, .asks = {ASK("status")}, .n_asks = 1}},
	{"/leader/", {.kind = ROUTE_LEADER, .named = true, .asks = {NAMED("check")}, .n_asks = 1}},
	{"/metrics",
	 {.kind = ROUTE_METRICS,
	  .asks = {ASK("metrics"), ASK("status"), ASK("workers")},
	  .n_asks = 3}},
	{"/v1/tasks", {.kind = ROUTE_JSON, .asks = {ASK("tasks")}, .n_asks = 1}},
	{"/v1/tasks/",
	 {.kind = ROUTE_JSON_ONE, .named = true, .asks = {NAMED("tasks")}, .n_asks = 1}},
	{"/v1/workers", {.kind = ROUTE_JSON, .asks = {ASK("workers")}, .n_asks = 1}},
	{"/v1/status", {.kind = ROUTE_JSON, .asks = {ASK("status")}, .n_asks = 1}},
	{"/v1/explain/",
	 {.kind = ROUTE_JSON, .named = true, .asks = {NAMED("explain")}, .n_asks = 1}},
	{"/v1/history", {.kind = ROUTE_JSON, .asks = {ASK("history")}, .n_asks = 1}},
	{"/v1/history/",
	 {.kind = ROUTE_JSON, .named = true, .asks = {NAMED("history")}, .n_asks = 1}},
	{"/v1/queues", {.kind = ROUTE_JSON, .asks = {ASK("queue")}, .n_asks = 1}},
	{"/v1/events", {.kind = ROUTE_EVENTS}},
	{"/",
	 {.kind = ROUTE_PAGE,
	  .asks = {[ROUTE_HOME_TASKS] = ASK("tasks"),
		   [ROUTE_HOME_WORKERS] = ASK("workers"),
		   [ROUTE_HOME_STATUS] = ASK("status"),
		   [ROUTE_HOME_QUEUES] = {.method = "queue", .age_ms = QUEUE_AGE_MS},
		   [ROUTE_HOME_RUNS] = {.method = "history",
					.last = STRIP_MOST,
					.no_outputs = true,
					.patient = true,
					.age_ms = SHARED_KEPT_MS}},
	  .n_asks = 5,
	  .n_optional = 2}},
	{"/runs",
	 {.kind = ROUTE_RUNS_PAGE,
	  .asks = {[ROUTE_RUNS_STATUS] = ASK("status"), [ROUTE_RUNS_RUNS] = ASK_RUNS},
	  .n_asks = 2}},
	{"/night",
	 {.kind = ROUTE_NIGHT_PAGE,
	  .asks = {[ROUTE_RUNS_STATUS] = ASK("status"),
		   [ROUTE_RUNS_RUNS] = ASK_RUNS,
		   [ROUTE_RUNS_TASKS] = ASK("tasks")},
	  .n_asks = 3}},
	{"/task/",
	 {.kind = ROUTE_TASK_PAGE,
	  .named = true,
	  .asks = {[ROUTE_TASK_TASKS] = NAMED("tasks"),
		   [ROUTE_TASK_EXPLAIN] = NAMED("explain"),
		   [ROUTE_TASK_HISTORY] = {.method = "history", .named = true, .last = TASK_LAST},
		   [ROUTE_TASK_STATUS] = ASK("status"),
		   [ROUTE_TASK_NEXT] = NAMED("next"),
		   [ROUTE_TASK_QUEUE] = {.method = "queue", .named = true, .age_ms = QUEUE_AGE_MS},
		   [ROUTE_TASK_DEAD] =
			   {.method = "dead", .named = true, .later = true, .age_ms = DEAD_AGE_MS}},
	  .n_asks = 7,
	  .n_optional = 3}},
	{"/style.css", {.kind = ROUTE_ASSET, .open = true, .name = "style.css"}},
	{"/app.js", {.kind = ROUTE_ASSET, .open = true, .name = "app.js"}},
	{"/icon.svg", {.kind = ROUTE_ASSET, .open = true, .name = "icon.svg"}},
};

struct route route_find(const char *path)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		size_t len = strlen(table[i].path);
		struct route r = table[i].route;

		if (strcmp(path, table[i].path) == 0 && !r.named)
			return r;
		if (!r.named || strncmp(path, table[i].path, len) != 0)
			continue;
		r.name = path + len;
		if (name_is_election(r.name, strlen(r.name)))
			return r;
	}
	return (struct route){.kind = ROUTE_NONE};
}
