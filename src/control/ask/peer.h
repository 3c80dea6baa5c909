/*
 * The peer: the client at the other end of a connection to the control socket, as the methods see
 * it. The daemon implements these functions over its socket; a test may do so over memory.
 */
#ifndef ZKLEADER_CONTROL_ASK_PEER_H
#define ZKLEADER_CONTROL_ASK_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/rpc.h"

struct subscription;

/*
 * parked, asking, held, subscribed and subscription belong to the methods; the rest belongs to the
 * implementation.
 */
struct peer {
	uid_t uid;
	gid_t gid;
	pid_t pid;
	unsigned parked;		   /* number of its waiting requests; bounded */
	unsigned asking;		   /* number of those that wait for ZooKeeper; bounded */
	size_t held;			   /* bytes kept for those; bounded */
	size_t subscribed;		   /* number of tasks subscribed to; bounded */
	struct subscription *subscription; /* for subscriptions.c; NULL */
};

/*
 * Closes its connection: nothing more is received or sent. methods_client_gone() is called in a
 * later turn of the loop, as after a failed send: never from within these functions, as their
 * callers still use what it frees.
 */
void peer_drop(struct peer *c);
/* Packs one message to the peer between these two; nothing else may be packed meanwhile. */
struct pack *peer_begin(struct peer *c);
/*
 * Sends the message. Too large an answer becomes an error with this msgid; a notification is
 * dropped whole.
 */
#define PEER_NOTIFICATION (-1)
void peer_end(struct peer *c, int64_t msgid);
void peer_error(struct peer *c, uint32_t msgid, enum rpc_code code, const char *message);
/* The present request is served again once the process says so. */
void peer_put_off(struct peer *c);
/* Whether the peer may make changes: root, the sidecar's own user, or in socket-group. */
bool peer_may_change(const struct peer *c);
/* Whether a long answer can be sent now; if not, methods_room() is called later. */
bool peer_has_room(struct peer *c);
/* Whether the peer takes notifications; if not, methods_drained() is called later. */
bool peer_takes_more(const struct peer *c);
/*
 * Begins a notification of that method, which cannot be sent later. NULL: the peer is so far behind
 * that its connection was dropped; else it could not know that it has missed something.
 */
struct pack *peer_begin_notification(struct peer *c, const char *method);
/* Whether another request of the peer's user may wait for hours. */
bool peer_may_wait(const struct peer *c);
/* Whether the peer may subscribe to n tasks, in place of its present ones. */
bool peer_may_subscribe(const struct peer *c, size_t n);

#endif
