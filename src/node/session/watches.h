/*
 * The watches of a session, which all requests that set one go through. The client library sends
 * the paths of all of them in one packet at each reconnect, and a server hangs up on a packet above
 * its jute.maxbuffer (1 MiB), for ever. So the bytes of that packet have one budget, whatever the
 * watches are for.
 *
 * Classes come in the order of their importance. Folders and leader nodes are always watched; the
 * bytes of the leader nodes of all configured tasks are reserved. Each other class has a share of
 * what is left. Who gets no watch looks by time: an event of that path is made up after a while, as
 * if it had changed, and the owner reads again, as after a real event.
 *
 * A watch goes with its reason: an owner drops what it does not wait for any more. One that several
 * owners wait for stays until the last has dropped it, or it fires.
 */
#ifndef ZKLEADER_NODE_SESSION_WATCHES_H
#define ZKLEADER_NODE_SESSION_WATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "node/host.h"
#include "node/store.h"

#define WATCHES_MAX	     (512 * 1024) /* bytes in the packet: half of what a server takes */
#define WATCHES_FRUGAL	     8	  /* divisor of that after a session that servers hung up on */
#define WATCH_PATH_BYTES     4	  /* bytes of a path in the packet, beside its text */
#define WATCH_LOOK_MS	     5000 /* time until an owner without a watch looks again */
#define WATCH_LOOKS_EVERY_MS 100  /* least time between the looks of all owners, */
#define WATCH_LOOKS_AT_ONCE  10	  /* of which so many come together */
#define WATCH_REMOVALS_MAX   50	  /* outstanding requests that remove a watch */

/*
 * Connections in a row that went with a removal, after which a single one is tried, and seldom: the
 * server may not know how, or something hangs up on each connection for a while.
 */
#define WATCH_LOST_MAX 3
#define WATCH_LOST_MS  (10 * 60 * 1000)

enum watch_class {
	WATCH_FOLDER, /* folders of the whole fleet, a few: workers, decisions, partitions */
	/* Leader nodes: one that is known and watched is taken to be unchanged, see reads.h. */
	WATCH_LEADER,
	WATCH_RECIPE, /* locks, barriers, gangs, rolling restarts, numbers of nodes */
	WATCH_QUEUE,  /* jobs that are due, or assigned */
	WATCH_RUN,    /* records of runs that may have to be run again */
	WATCH_WAIT,   /* records that a client waits for: the claim of a tick, a job's end */
	WATCH_CLASSES
};

enum watch_kind {
	WATCH_NODE, /* set by get and exists */
	WATCH_CHILDREN
};

struct watch_entry;

TAILQ_HEAD(watch_entries, watch_entry);
SLIST_HEAD(watch_bucket, watch_entry);

struct watches {
	struct host *host;
	struct store *store; /* NULL between sessions */
	void (*fired)(void *arg, enum store_watch type, const char *path);
	void *arg;
	struct watch_bucket *buckets;
	size_t n_buckets, n_entries;
	bool up;		    /* requests reach a server */
	size_t limit;		    /* bytes */
	size_t reserve;		    /* bytes of all leader nodes */
	size_t count;		    /* watches that are set, or may be */
	size_t bytes;		    /* bytes of these watches in the packet */
	size_t used[WATCH_CLASSES]; /* likewise, by class */
	size_t leaving;		    /* bytes of those that are being removed */
	size_t n_looks;		    /* paths looked at by time */
	struct watch_entries looks, removals;
	size_t removing; /* outstanding */
	/* Connections in a row that went while a removal was outstanding; the present one. */
	unsigned lost;
	bool lost_now;
	int64_t lost_ms; /* CLOCK_BOOTTIME: when the last one went */
	struct host_timer look;
};

/* fired is called for what is looked at by time. */
void watches_init(struct watches *w, struct host *host,
		  void (*fired)(void *arg, enum store_watch type, const char *path), void *arg);
void watches_done(struct watches *w);
/* A session begins with that handle, and may watch so many bytes. */
void watches_begin(struct watches *w, struct store *store, size_t limit);
/* The session has ended, and all watches with it. */
void watches_end(struct watches *w);
/* Whether requests reach a server. */
void watches_set_up(struct watches *w, bool up);
/* The bytes of the paths of all leader nodes, each with WATCH_PATH_BYTES. */
void watches_reserve(struct watches *w, size_t bytes);
/* A watch has fired: it is forgotten. Its owners are told by the caller. */
void watches_fired(struct watches *w, enum store_watch type, const char *path);

/*
 * store_…() with a watch, for an owner: its address, which is only compared. The watch is gone once
 * it has fired, for all owners.
 */
void watches_get(struct watches *w, const char *path, enum watch_class class, const void *owner,
		 store_reply_fn fn, void *arg);
void watches_exists(struct watches *w, const char *path, enum watch_class class, const void *owner,
		    store_reply_fn fn, void *arg);
void watches_children(struct watches *w, const char *path, enum watch_class class,
		      const void *owner, store_reply_fn fn, void *arg);
/* Whether that is watched, and not looked at by time. */
bool watches_has(struct watches *w, const char *path, enum watch_kind kind);
/* The owner does not wait for that any more; nothing happens if it has no such watch. */
void watches_drop(struct watches *w, const char *path, enum watch_kind kind, const void *owner);

#endif
