/*
 * The HTTP server: libmicrohttpd on the loop of libuv, one thread. Each request is an exchange: it
 * is checked (access.h), routed (routes.h), asks the sidecar what it needs and is answered when all
 * of that has come.
 */
#ifndef ZKLEADER_WEB_SERVER_H
#define ZKLEADER_WEB_SERVER_H

#include <uv.h>

#include "web/access.h"
#include "web/sidecar.h"

struct server;

struct server_options {
	int fd; /* the listening socket; the server's from now on */
	struct access *access;
	const char *socket; /* of the sidecar */
};

/* Makes a server, which connects to the sidecar by itself. 0 or a negative errno. */
int server_new(struct server **ret, uv_loop_t *loop, const struct server_options *options);
/* Ends all connections. Takes NULL. */
void server_free(struct server *s);

#endif
