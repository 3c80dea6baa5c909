/*
 * The number of this node in the roster: read from its own record, which another node writes
 * (roster.h), and proved again for each answer.
 */
#ifndef ZKLEADER_NODE_FLEET_OWN_INDEX_H
#define ZKLEADER_NODE_FLEET_OWN_INDEX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "node/fleet/registry.h"

#define OWN_INDEX_WAIT_MS 5000 /* time to wait for a number */

/* index -1: there is no number, and why is a constant text with the reason. */
typedef void (*own_index_fn)(void *arg, int64_t index, const char *why);

struct own_index_ask;

struct own_index {
	struct session *session;
	struct registry *registry;
	STAILQ_HEAD(own_index_ask_queue, own_index_ask) asks; /* the oldest first */
	size_t n_asks, n_proved; /* n_proved: requests from before the proof was sent */
	bool asking;		 /* a request is outstanding */
	bool known;		 /* the record was read, and has not changed since */
	bool unread;		 /* the record is there, but cannot be read */
	int32_t version;	 /* version of the record */
	int64_t index;
	uint64_t lists; /* of the fleet's folder: a number is told by the last of them */
	struct host_timer due;
};

void own_index_init(struct own_index *o, struct session *session, struct registry *registry);
/* Answers all requesters. */
void own_index_done(struct own_index *o);
/* To be called by the session's and the registry's handlers. */
void own_index_go_on(struct own_index *o);
void own_index_expired(struct own_index *o);
void own_index_watch(struct own_index *o, const char *path);

/* fn is called once, within OWN_INDEX_WAIT_MS, perhaps before this returns. */
void own_index_ask(struct own_index *o, own_index_fn fn, void *arg);

#endif
