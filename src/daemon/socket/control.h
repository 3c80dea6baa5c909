/*
 * The control socket: clients, their frames and their unsent answers; what they may ask is in
 * control/dispatch.c.
 * A client that is slow, idle or malicious costs the others nothing.
 *
 * A request that was read is queued (serve.c): those that keep jobs alive are served first, then
 * checks, then all others. Within each kind users alternate, and one turn of the loop is bounded.
 */
#ifndef ZKLEADER_DAEMON_SOCKET_CONTROL_H
#define ZKLEADER_DAEMON_SOCKET_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <uv.h>

#include "base/buffer.h"
#include "control/ask/peer.h"
#include "daemon/socket/account.h"
#include "wire/rpc.h"

#define CONTROL_CLIENTS_MAX 1000 /* beyond: a client of the user with most of them is dropped */
#define CONTROL_BACKLOG	    512
#define CONTROL_ACCEPTS	    64		       /* connections accepted in one turn of the loop */
#define CONTROL_UNSENT_MAX  RPC_RESPONSE_MAX   /* unsent bytes; beyond, the client is dropped */
#define CONTROL_UNSENT_HIGH (256 * 1024)       /* unsent bytes with which no request is served */
#define CONTROL_UNSENT_LOW  4096	       /* the same if a user has many clients */
#define CONTROL_PARKED_MAX  1000	       /* parked requests of a client */
#define CONTROL_AFTER_MAX   (16 * 1024 * 1024) /* bytes still read of a failed client */
#define CONTROL_AHEAD_MAX   4096 /* bytes read behind a request that is not served yet */
/* how long a client may hold what other clients of its user wait for */
#define CONTROL_STALL_MS 10000

struct client {
	struct peer peer; /* the first: peer_*() are given it */
	struct control *control;
	struct account *account;
	LIST_ENTRY(client) link;
	uv_pipe_t pipe;
	uv_write_t write;
	struct buffer in;
	struct buffer out;     /* what is packed */
	struct buffer sending; /* not yet taken by the kernel; it must not move meanwhile */
	size_t begun;	       /* where in out the message that is being packed begins */
	struct pack pack;
	size_t frame;		   /* bytes of the first request in `in`, 0: incomplete */
	struct rpc_message parsed; /* that request, as long as `in` has not moved from there */
	const uint8_t *parsed_at;
	enum urgency urgency; /* of that */
	bool ended;	      /* end of its stream */
	bool full;	      /* its parked requests are at the limit, so the next one waits */
	bool put_off;	      /* it is served when control_resume() is called */
	bool queued;	      /* it is in its account's queue of that kind */
	TAILQ_ENTRY(client) queue;
	struct account_use counted;
	int64_t active_ms;    /* when it last sent or took something */
	size_t left_to_write; /* at the last check */
	bool reading, failed; /* failed: close once all is sent and received */
	size_t after;	      /* bytes received since then, and ignored */
	bool corked;	      /* what is packed is sent later */
	bool broken;	      /* sending failed; it is dropped in the next turn */
	bool closing;	      /* it is dropped, and freed once its handle is closed */
};

struct control {
	uv_loop_t *loop;
	uv_pipe_t listener;
	char *path;
	bool bound;				/* the file at path is ours */
	int lock_fd;				/* held while this sidecar owns the socket */
	gid_t group;				/* members may change something; (gid_t)-1: none */
	LIST_HEAD(client_list, client) clients; /* the newest first */
	size_t n_clients;
	struct accounts accounts;
	uv_idle_t serving;  /* while there is something to serve */
	uv_timer_t stall;   /* next check for stalled clients */
	unsigned accepted;  /* in this turn */
	bool knocking;	    /* another connection waits to be accepted */
	bool short_of_room; /* requests wait until an account has room again */
	int64_t warned_ms;  /* of too many clients */
	void (*request)(void *arg, struct peer *c, const struct rpc_message *m);
	void (*gone)(void *arg, struct peer *c);    /* forget it */
	void (*drained)(void *arg, struct peer *c); /* it takes notifications again */
	void (*room)(void *arg);		    /* there may be room for answers now */
	void *arg;
};

/*
 * Takes over the socket; one left by a dead sidecar is replaced. Returns 0, -EADDRINUSE if another
 * sidecar is alive on it, or another negative errno.
 */
int control_open(struct control *c, uv_loop_t *loop, const char *path, mode_t mode, gid_t group);
/* Serves what was put off. */
void control_resume(struct control *c);
/* Removes the socket and drops the clients. */
void control_close(struct control *c);

#endif
