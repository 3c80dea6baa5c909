/* The routes: paths, and the questions to the sidecar that each needs. */
#ifndef ZKLEADER_WEB_ROUTES_H
#define ZKLEADER_WEB_ROUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROUTE_ASKS_MAX 7

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
	ROUTE_RUNS_PAGE,
	ROUTE_NIGHT_PAGE,
	ROUTE_ASSET
};

/* The questions of each page, by their place. */
enum {
	ROUTE_HOME_TASKS,
	ROUTE_HOME_WORKERS,
	ROUTE_HOME_STATUS,
	ROUTE_HOME_QUEUES,
	ROUTE_HOME_RUNS
};
enum { ROUTE_RUNS_STATUS, ROUTE_RUNS_RUNS, ROUTE_RUNS_TASKS };

enum {
	ROUTE_TASK_TASKS,
	ROUTE_TASK_EXPLAIN,
	ROUTE_TASK_HISTORY,
	ROUTE_TASK_STATUS,
	ROUTE_TASK_NEXT,  /* none if it has no schedule */
	ROUTE_TASK_QUEUE, /* none if it is no queue's */
	ROUTE_TASK_DEAD
};

/* A question to the sidecar. */
struct route_ask {
	const char *method;
	bool named;   /* with the route's name as its parameter */
	bool queried; /* with what the query asks for */
	bool patient; /* its answer may be missing, and come with the next page */
	bool no_outputs;
	int64_t last;	/* of `history`; 0: not set */
	bool later;	/* once the answers to the others are there, if at all */
	int64_t age_ms; /* an answer of that age is accepted; 0: ask for each request */
};

struct route {
	enum route_kind kind;
	bool open;	  /* for everybody, without a token */
	const char *name; /* a task's, a part of the path; an asset's; NULL: none */
	bool named;	  /* the path goes on with it */
	struct route_ask asks[ROUTE_ASKS_MAX];
	size_t n_asks;
	size_t n_optional; /* the last ones, whose answers may be missing */
};

/* path: as the client gave it, decoded, without the query. Borrowed by the result. */
struct route route_find(const char *path);

#endif
