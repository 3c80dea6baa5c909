/* An HTTP request and its answer. */
#ifndef ZKLEADER_WEB_EXCHANGE_H
#define ZKLEADER_WEB_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>
#include <microhttpd.h>

#include "web/access.h"
#include "web/events.h"
#include "web/routes.h"
#include "web/shared.h"
#include "web/sidecar.h"

#define EXCHANGE_WHY_SIZE 512

/* The objects that all exchanges share. */
struct exchange_world {
	struct access *access;
	struct sidecar *sidecar;
	struct shared *shared; /* answers for several */
	struct events *events;
	/* A stream of events was opened. */
	void (*listens)(void *arg);
	/* An answer has come outside of the HTTP server's own turn: let it go on. */
	void (*ready)(void *arg);
	void *arg;
};

struct exchange {
	struct exchange_world *world;
	struct MHD_Connection *connection;
	struct route route;
	char *path;			 /* the route borrows its name from it */
	json_t *answers[ROUTE_ASKS_MAX]; /* NULL: has not come */
	size_t open;			 /* questions whose answers are to come */
	int code;			 /* of the first question that failed; 0 */
	char why[EXCHANGE_WHY_SIZE];
	int64_t asked_ms;
	bool checked, suspended, asked_dead;
};

struct exchange *exchange_new(struct exchange_world *world);
void exchange_free(struct exchange *x);
/* Handles the request as far as it can; called again when it was suspended and has its answers. */
enum MHD_Result exchange_step(struct exchange *x, struct MHD_Connection *connection,
			      const char *url, const char *method);

#endif
