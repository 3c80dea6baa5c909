/*
 * Locks of the whole fleet: ROOT/locks/NAME says how many slots a lock has, and has an ephemeral
 * sequential node for each holder and each waiter. The nodes with fewer than that many before them
 * hold the lock: first come, first served. Like a leadership, a lock is held for as long as the
 * session's lease; its command is dead when that is over.
 *
 * A node's name has the session and an id that the client drew. So a node is found even if the
 * answer to its creation was lost, or if it was made by the previous sidecar in the same session.
 * What follows from each answer is decided by core/recipes/lock_place.h.
 */
#ifndef ZKLEADER_NODE_RECIPES_LOCK_LOCK_H
#define ZKLEADER_NODE_RECIPES_LOCK_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/recipes/lock_place.h"
#include "node/fleet/registry.h"
#include "node/holder/holder.h"
#include "node/recipes/lock/lock_name.h"
#include "node/recipes/lock/lock_sweep.h"
#include "node/recipes/roster/roster.h"
#include "wire/records/recipe_record.h"

#define LOCKS_MAX    1000  /* holders and waiters of a node, at a time */
#define LOCK_WARM_MS 60000 /* the lease is kept up so long after the last lock */

struct lock_answer {
	enum lock_outcome outcome;
	uint64_t number; /* YOURS: for the calls that follow */
	int64_t token;	 /* YOURS: the czxid of its node */
	int64_t slots;	 /* OTHER_SLOTS: the number in use */
	const char *why; /* REFUSED: a constant text */
};

typedef void (*lock_fn)(void *arg, const struct lock_answer *answer);
typedef void (*lock_done_fn)(void *arg);

struct lock_request {
	void *owner; /* a client's connection */
	const char *name;
	const char *id; /* see lock_is_id() */
	const char *command;
	int64_t pid;
	int64_t slots;
	int64_t wait_ms; /* -1: for ever */
	bool again;	 /* a repeated request: its node may exist */
};

struct lock {
	struct locks *locks;
	TAILQ_ENTRY(lock) link;
	struct holder held;
	char name[NAME_TASK_MAX + 1];
	char id[LOCK_ID_LEN + 1];
	char command[LOCK_COMMAND_MAX + 1];
	int64_t pid;
	struct lock_place place; /* GONE: to be freed once no request is outstanding */
	bool owed;		 /* fn has not been called */
	lock_fn fn;
	void *arg;
	lock_done_fn done; /* called after the end; NULL */
	void *done_arg;
	int64_t deadline_ms; /* CLOCK_BOOTTIME; INT64_MAX: none */
	int64_t session_ms;  /* waits for a session until then */
	int64_t retry_ms;

	/* lock_steps.c's */
	char node[LOCK_NODE_MAX + 1];
	int64_t token;
	char watched[STORE_PATH_MAX]; /* "": none */
	enum watch_kind watched_kind;
	unsigned flying; /* outstanding requests of the step */
	struct lock_seen seen;
	enum store_code folders, folder;  /* results of making them */
	char previous[LOCK_NODE_MAX + 1]; /* the last node before it */
	char other[LOCK_NODE_MAX + 1];	  /* the first node of another in line; "": none */
};

struct locks {
	struct session *session;
	struct registry *registry;
	struct holders holders;
	TAILQ_HEAD(lock_queue, lock) list;
	size_t n;
	int64_t warm_ms; /* CLOCK_BOOTTIME: the lease is kept up until then */
	bool stopping, kept;
	bool again;	 /* look at all of them once more */
	unsigned inside; /* calls under way: none of them is freed */
	struct lock_sweep sweep;
	struct host_timer due;
};

void locks_init(struct locks *k, struct session *session, struct registry *registry,
		struct roster *roster);
/* Answers all waiters. */
void locks_done(struct locks *k);
/* Sets what is called when an owner loses a lock; not called after locks_owner_gone(). */
void locks_on_release(struct locks *k, void (*released)(void *owner));

/* From the session's handlers. */
void locks_up(struct locks *k);
void locks_leased(struct locks *k);
void locks_expired(struct locks *k);
void locks_watch(struct locks *k, enum store_watch type, const char *path);

/*
 * Waits in the queue of the lock; its name is valid. fn is called once, maybe before this returns;
 * with LOCK_YOURS the lock is the owner's until locks_finish() or locks_owner_gone().
 */
void locks_take(struct locks *k, const struct lock_request *request, lock_fn fn, void *arg);
/* Reattaches a lock held by the owner's earlier connection, or under the previous sidecar. */
void locks_attach(struct locks *k, void *owner, const char *name, const char *id, lock_fn fn,
		  void *arg);
/* Milliseconds for which it is held, from now on; 0: it is lost; -1: the owner has no such lock. */
int64_t locks_renew(struct locks *k, const void *owner, uint64_t number);
/*
 * The lock's command is dead: done is called once its node is gone. False: the owner has no such
 * lock, and done is not called.
 */
bool locks_finish(struct locks *k, const void *owner, uint64_t number, lock_done_fn done,
		  void *arg);
/* The owner's commands are dead when the leases promised to it are over, at the latest. */
void locks_owner_gone(struct locks *k, const void *owner);

/* The next sidecar takes the session over, with all locks held or waited for. */
void locks_keep(struct locks *k);
/* Grants no lock any more: waiters are answered. */
void locks_stop(struct locks *k);
/* Number of locks held whose command may be alive. */
size_t locks_going(const struct locks *k);
/* All locks are lost from now on. */
void locks_revoke(struct locks *k);
/* Whether there is a lock with that id. */
bool locks_know(const struct locks *k, const char *id);

/* lock_steps.c, for lock.c: begins the step that is needed. */
void lock_step(struct lock *l);
/* Stops watching other nodes. */
void lock_unwatch(struct lock *l);
/* lock.c, for lock_steps.c: what follows from the event. */
void lock_happens(struct lock *l, enum lock_event_type type);
/* Likewise; all requests of a step are answered. */
void lock_stepped(struct lock *l);

#endif
