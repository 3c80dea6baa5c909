/*
 * The control socket: clients, their frames and what is still to be sent to them. What the methods do
 * is in methods.c. A client that is slow, idle or malicious costs the others nothing.
 */
#ifndef ZKLEADER_DAEMON_CONTROL_H
#define ZKLEADER_DAEMON_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/buffer.h"
#include "wire/rpc.h"

#define CONTROL_CLIENTS_MAX 1000 /* one more: the one that was idle for longest goes */
#define CONTROL_BACKLOG	    512
#define CONTROL_UNSENT_MAX  RPC_RESPONSE_MAX   /* bytes that wait for a client; then it goes */
#define CONTROL_UNSENT_HIGH (256 * 1024)       /* bytes from which on nothing is read from it */
#define CONTROL_PARKED_MAX  1000	       /* requests of a client that wait for something */
#define CONTROL_NAMES_MAX   10000	       /* names of tasks that a client subscribes to */
#define CONTROL_AFTER_MAX   (16 * 1024 * 1024) /* bytes that a client may say after what ended it */

struct client {
	struct control *control;
	struct client *prev, *next;
	uint64_t serial; /* no other client has ever had it */
	uv_pipe_t pipe;
	uv_write_t write;
	struct buffer in;
	struct buffer out;     /* what is packed */
	struct buffer sending; /* what the kernel has not taken yet; it must not move meanwhile */
	size_t begun;	       /* where in out the message that is being packed begins */
	struct pack pack;
	unsigned parked;
	int64_t active_ms;
	struct ucred peer;
	bool reading, closing, failed; /* failed: close once all is sent, and it has heard that */
	size_t after;		       /* bytes that it has said since, and nobody listens to */
	bool corked;		       /* what is packed is sent later */
	void *subscription;	       /* methods.c's */
};

struct control {
	uv_loop_t *loop;
	uv_pipe_t listener;
	char *path;
	bool bound;  /* the file at path is ours */
	int lock_fd; /* held while this sidecar owns the socket */
	gid_t group; /* members may change something; (gid_t)-1: none */
	struct client *clients;
	size_t n_clients;
	uint64_t last_serial;
	void (*request)(void *arg, struct client *c, const struct rpc_message *m);
	void (*gone)(void *arg, struct client *c); /* forget it */
	void *arg;
};

/*
 * Takes the socket over: one that a dead sidecar left is replaced. Returns 0, -EADDRINUSE if another
 * sidecar is alive on it, or another negative errno.
 */
int control_open(struct control *c, uv_loop_t *loop, const char *path, mode_t mode, gid_t group);
/* Removes the socket and drops the clients. */
void control_close(struct control *c);

/* NULL: it is gone. */
struct client *control_find(const struct control *c, uint64_t serial);

/* Packs one message to the client between these two; nothing else may be packed meanwhile. */
struct pack *control_begin(struct client *c);
/* Sends it. Too large an answer becomes an error with this msgid; a notification is dropped whole. */
#define CONTROL_NOTIFICATION (-1)
void control_end(struct client *c, int64_t msgid);
void control_error(struct client *c, uint32_t msgid, enum rpc_code code, const char *message);
/* Whether the peer may change something: root, the sidecar's own user, or in socket-group. */
bool control_may_change(const struct client *c);

#endif
