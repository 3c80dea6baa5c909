#include "web/routes.h"

#include <string.h>

#include "base/name.h"

/* A path that ends with "/" stands for all that begin with it and go on with a task's name. */
static const struct {
	const char *path;
	struct route route;
} table[] = {
	{"/healthz", {.kind = ROUTE_HEALTH, .open = true, .asks = {"status"}, .n_asks = 1}},
	{"/readyz", {.kind = ROUTE_READY, .open = true, .asks = {"status"}, .n_asks = 1}},
	{"/leader/", {.kind = ROUTE_LEADER, .asks = {"check"}, .n_asks = 1, .n_named = 1}},
	{"/metrics",
	 {.kind = ROUTE_METRICS, .asks = {"metrics", "status", "workers"}, .n_asks = 3}},
	{"/v1/tasks", {.kind = ROUTE_JSON, .asks = {"tasks"}, .n_asks = 1}},
	{"/v1/tasks/", {.kind = ROUTE_JSON_ONE, .asks = {"tasks"}, .n_asks = 1, .n_named = 1}},
	{"/v1/workers", {.kind = ROUTE_JSON, .asks = {"workers"}, .n_asks = 1}},
	{"/v1/status", {.kind = ROUTE_JSON, .asks = {"status"}, .n_asks = 1}},
	{"/v1/explain/", {.kind = ROUTE_JSON, .asks = {"explain"}, .n_asks = 1, .n_named = 1}},
	{"/v1/history", {.kind = ROUTE_JSON, .asks = {"history"}, .n_asks = 1}},
	{"/v1/history/", {.kind = ROUTE_JSON, .asks = {"history"}, .n_asks = 1, .n_named = 1}},
	{"/v1/queues", {.kind = ROUTE_JSON, .asks = {"queue"}, .n_asks = 1}},
	{"/v1/events", {.kind = ROUTE_EVENTS}},
	{"/",
	 {.kind = ROUTE_PAGE,
	  .asks = {"tasks", "workers", "status", "queue"},
	  .n_asks = 4,
	  .n_optional = 1}},
	{"/task/",
	 {.kind = ROUTE_TASK_PAGE,
	  .asks = {"tasks", "explain", "history", "status"},
	  .n_asks = 4,
	  .n_named = 3}},
	{"/style.css", {.kind = ROUTE_ASSET, .open = true, .name = "style.css"}},
	{"/app.js", {.kind = ROUTE_ASSET, .open = true, .name = "app.js"}},
	{"/icon.svg", {.kind = ROUTE_ASSET, .open = true, .name = "icon.svg"}},
};

struct route route_find(const char *path)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		size_t len = strlen(table[i].path);
		struct route r = table[i].route;

		if (strcmp(path, table[i].path) == 0 && r.n_named == 0)
			return r;
		if (r.n_named == 0 || strncmp(path, table[i].path, len) != 0)
			continue;
		r.name = path + len;
		if (name_is_election(r.name, strlen(r.name)))
			return r;
	}
	return (struct route){.kind = ROUTE_NONE};
}
