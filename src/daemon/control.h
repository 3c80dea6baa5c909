/*
 * The control socket: clients, their frames and what is still to be sent to them. What the methods
 * do is in methods.c. A client that is slow, idle or malicious costs the others nothing.
 *
 * What a client says is read, and waits until it is its turn (serve.c): what keeps jobs alive
 * first, then checks, then all else; of each kind one user after the other, and so much in one turn
 * of the loop.
 */
#ifndef ZKLEADER_DAEMON_CONTROL_H
#define ZKLEADER_DAEMON_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/buffer.h"
#include "daemon/account.h"
#include "control/peer.h"
#include "wire/rpc.h"

#define CONTROL_CLIENTS_MAX 1000 /* one more: one goes of the user that has most */
#define CONTROL_BACKLOG	    512
#define CONTROL_ACCEPTS	    64 /* connections that are taken in one turn of the loop */
#define CONTROL_UNSENT_MAX  RPC_RESPONSE_MAX /* bytes that wait for a client; then it goes */
#define CONTROL_UNSENT_HIGH (256 * 1024) /* bytes from which on none of its requests is served */
#define CONTROL_UNSENT_LOW  4096	 /* the same, where a user has many clients */
#define CONTROL_PARKED_MAX  1000	 /* requests of a client that wait for something */
#define CONTROL_AFTER_MAX   (16 * 1024 * 1024) /* bytes that a client may say after what ended it */
#define CONTROL_AHEAD_MAX   4096 /* bytes behind a request that are read before it is served */
/* for which a client may take up what its user's others wait for */
#define CONTROL_STALL_MS 10000

struct client {
	struct peer peer; /* the first: peer_*() are given it */
	struct control *control;
	struct account *account;
	struct client *prev, *next;
	uv_pipe_t pipe;
	uv_write_t write;
	struct buffer in;
	struct buffer out;     /* what is packed */
	struct buffer sending; /* what the kernel has not taken yet; it must not move meanwhile */
	size_t begun;	       /* where in out the message that is being packed begins */
	struct pack pack;
	size_t frame; /* bytes of the first request in `in`, 0: it has not come whole */
	struct rpc_message parsed; /* that request, as long as `in` has not moved from there */
	const uint8_t *parsed_at;
	enum urgency urgency; /* of that */
	bool ended;	      /* it says nothing more */
	bool full;	      /* as many wait as may, and its next request waits for one of them */
	bool put_off;	      /* it is served when control_resume() is called */
	bool queued;	      /* it is in its account's queue of that kind */
	struct client *queue_prev, *queue_next;
	struct account_use counted;
	int64_t active_ms;    /* when it was last heard or took something */
	size_t left_to_write; /* when that was last looked at */
	bool reading, failed; /* failed: close once all is sent, and it has heard that */
	size_t after;	      /* bytes that it has said since, and nobody listens to */
	bool corked;	      /* what is packed is sent later */
	bool broken;	      /* it takes nothing, and goes in the next turn */
	bool closing;	      /* it has gone, and is freed once its handle is closed */
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
	struct accounts accounts;
	uv_idle_t serving;  /* while there is something to serve */
	uv_timer_t stall;   /* the next look at who takes up what others wait for */
	unsigned accepted;  /* in this turn */
	bool knocking;	    /* one more waits to be taken */
	bool short_of_room; /* something waits until an account has room again */
	int64_t warned_ms;  /* of too many clients */
	void (*request)(void *arg, struct peer *c, const struct rpc_message *m);
	void (*gone)(void *arg, struct peer *c);    /* forget it */
	void (*drained)(void *arg, struct peer *c); /* it takes notifications again */
	void (*room)(void *arg);		    /* answers that had no room may have it now */
	void *arg;
};

/*
 * Takes the socket over: one that a dead sidecar left is replaced. Returns 0, -EADDRINUSE if
 * another sidecar is alive on it, or another negative errno.
 */
int control_open(struct control *c, uv_loop_t *loop, const char *path, mode_t mode, gid_t group);
/* Serves what was put off. */
void control_resume(struct control *c);
/* Removes the socket and drops the clients. */
void control_close(struct control *c);

#endif
