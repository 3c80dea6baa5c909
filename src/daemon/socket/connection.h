/* A client's connection: its bytes in both directions. For control.c and serve.c alone. */
#ifndef ZKLEADER_DAEMON_SOCKET_CONNECTION_H
#define ZKLEADER_DAEMON_SOCKET_CONNECTION_H

#include "daemon/socket/control.h"

/* Takes a client over whose pipe has just been accepted. */
void connection_begin(struct client *c);
/* Ends it at once; it is freed later. */
void connection_drop(struct client *c);
/* Serves a complete request. */
void connection_serve(struct client *c);
/* Determines the kind of the next request, and advances. */
void connection_sort(struct client *c);
/* Called after something was served or sent: queues the next request, or reads on. */
void connection_advance(struct client *c);
/* Sends what is packed. */
void connection_flush(struct client *c);
/* Updates its account with its present use. */
void connection_count(struct client *c);

/* control.c's: takes the connections that had to wait for the next turn. */
void control_accept_more(struct control *control);

/* serve.c's: adds the client to the queue of that kind, or removes it. */
void serve_enqueue(struct client *c, enum urgency urgency);
void serve_dequeue(struct client *c);
/* There may be something to serve. */
void serve_soon(struct control *control);
void serve_init(struct control *control);
void serve_done(struct control *control);

#endif
