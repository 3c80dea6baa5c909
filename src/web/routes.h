/* Which path is what, and what of the sidecar has to be asked for it. */
#ifndef ZKLEADER_WEB_ROUTES_H
#define ZKLEADER_WEB_ROUTES_H

#include <stdbool.h>
#include <stddef.h>

#define ROUTE_ASKS_MAX 4

enum route_kind {
	ROUTE_NONE, /* 404 */
	ROUTE_HEALTH,
	ROUTE_READY,
	ROUTE_LEADER,
	ROUTE_METRICS,
	ROUTE_JSON,	/* the answer as it is */
	ROUTE_JSON_ONE, /* the first element of the answer, an array */
	ROUTE_EVENTS,
	ROUTE_PAGE,	 /* the fleet */
	ROUTE_TASK_PAGE, /* one task */
	ROUTE_ASSET
};

struct route {
	enum route_kind kind;
	bool open;	  /* for everybody, without a token */
	const char *name; /* a task's, a part of the path; an asset's; NULL: none */
	/* Methods of the sidecar, the first ones with the name as their parameter. */
	const char *asks[ROUTE_ASKS_MAX];
	size_t n_asks, n_named;
	size_t n_optional; /* of the last ones, without whose answers it does as well */
};

/* path: as the client gave it, decoded, without the query. Borrowed by the result. */
struct route route_find(const char *path);

#endif
