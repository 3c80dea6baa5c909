/* An HTTP request and its answer. */
#ifndef ZKLEADER_WEB_EXCHANGE_H
#define ZKLEADER_WEB_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <jansson.h>
#include <microhttpd.h>

#include "web/access.h"
#include "web/events.h"
#include "web/page/query.h"
#include "web/routes.h"
#include "web/shared.h"
#include "web/sidecar.h"

#define EXCHANGE_WHY_SIZE QUERY_WHY_SIZE

/* The objects that all exchanges share. */
struct exchange_world {
	struct access *access;
	struct sidecar *sidecar;
	struct shared *shared; /* answers for several */
	struct events *events;
	/* A stream of events was opened. */
	void (*listens)(void *arg);
	/* Those that wait for an answer that may be missing. */
	LIST_HEAD(exchange_list, exchange) waiting;
	/* The first of these waits: exchange_look() is to be called in a while. */
	void (*waits)(void *arg);
	/* An answer has come outside of the HTTP server's own turn: let it go on. */
	void (*ready)(void *arg);
	void *arg;
};

struct exchange {
	struct exchange_world *world;
	struct MHD_Connection *connection;
	struct route route;
	struct query query;
	LIST_ENTRY(exchange) link; /* of those that wait */
	struct asked *patient; /* the question whose answer may be missing; NULL: none is open */
	char *path;	       /* the route borrows its name from it */
	json_t *answers[ROUTE_ASKS_MAX]; /* NULL: has not come */
	size_t open;			 /* questions whose answers are to come */
	int code;			 /* of the first question that failed; 0 */
	char why[EXCHANGE_WHY_SIZE];
	int64_t asked_ms;
	bool checked, suspended, asked_dead;
	bool again; /* newer runs are there soon */
};

struct exchange *exchange_new(struct exchange_world *world);
void exchange_free(struct exchange *x);
void exchange_drop_answers(struct exchange *x);
/* Lets those go on that have waited long enough. False: none waits any more. */
bool exchange_look(struct exchange_world *world);
/* Handles the request as far as it can; called again when it was suspended and has its answers. */
enum MHD_Result exchange_step(struct exchange *x, struct MHD_Connection *connection,
			      const char *url, const char *method);

#endif
