/*
 * Who is at the other end of a connection to the control socket, as the methods see it. The daemon
 * implements these functions over its socket; a test may do so over memory.
 */
#ifndef ZKLEADER_CONTROL_PEER_H
#define ZKLEADER_CONTROL_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/rpc.h"

struct subscription;

/*
 * What the methods count in parked, asking, held, subscribed and subscription; the rest is the
 * implementation's.
 */
struct peer {
	uid_t uid;
	gid_t gid;
	pid_t pid;
	unsigned parked;		   /* its requests that wait for something; bounded */
	unsigned asking;		   /* those of them that wait for ZooKeeper; bounded */
	size_t held;			   /* bytes that are kept for those; bounded */
	size_t subscribed;		   /* to so many tasks; bounded */
	struct subscription *subscription; /* subscriptions.c's, NULL */
};

/*
 * Closes its connection: nothing more is heard of it, and nothing reaches it. That it is gone
 * (methods_client_gone()) is told in a later turn of the loop, as it is where it takes nothing
 * more: never from within one of these functions, whose callers hold what goes with it.
 */
void peer_drop(struct peer *c);
/* Packs one message to the peer between these two; nothing else may be packed meanwhile. */
struct pack *peer_begin(struct peer *c);
/*
 * Sends it. Too large an answer becomes an error with this msgid; a notification is dropped whole.
 */
#define PEER_NOTIFICATION (-1)
void peer_end(struct peer *c, int64_t msgid);
void peer_error(struct peer *c, uint32_t msgid, enum rpc_code code, const char *message);
/* The request that is being served is served anew once the process says so. */
void peer_put_off(struct peer *c);
/* Whether it may change something: root, the sidecar's own user, or in socket-group. */
bool peer_may_change(const struct peer *c);
/* Whether a long answer may be made for it now; if not, methods_room() tells when. */
bool peer_has_room(struct peer *c);
/* Whether it takes notifications; if not, methods_drained() tells when. */
bool peer_takes_more(const struct peer *c);
/*
 * Begins a notification that cannot be told later. NULL: it is so far behind that it has been
 * dropped, as it could not know that it misses something.
 */
struct pack *peer_begin_notification(struct peer *c);
/* Whether it may subscribe to n tasks, in the place of those that it has. */
bool peer_may_subscribe(const struct peer *c, size_t n);

#endif
