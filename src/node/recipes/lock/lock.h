/*
 * Locks of the whole fleet: ROOT/locks/NAME says how many slots a lock has, and has an ephemeral
 * sequential node for each holder and each waiter. The nodes with fewer than that many before them
 * hold the lock: first come, first served. Like a leadership, a lock is held for as long as the
 * session's lease; its command is dead when that is over.
 *
 * A node's name has the session and an id that the client drew. So a node is found even if the
 * answer to its creation was lost, or if it was made by the previous sidecar in the same session.
 *
 *     entering --it is there--> waiting --few enough are before it--> held
 *         \_________________________\___________________________________\--> leaving
 */
#ifndef ZKLEADER_NODE_RECIPES_LOCK_LOCK_H
#define ZKLEADER_NODE_RECIPES_LOCK_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "node/fleet/registry.h"
#include "node/holder/holder.h"
#include "node/recipes/lock/lock_name.h"
#include "node/recipes/lock/lock_sweep.h"
#include "node/recipes/roster/roster.h"
#include "wire/records/recipe_record.h"

#define LOCKS_MAX    1000  /* holders and waiters of a node, at a time */
#define LOCK_WARM_MS 60000 /* the lease is kept up so long after the last lock */

enum lock_outcome {
	LOCK_YOURS,
	LOCK_NOT_IN_TIME,
	LOCK_OTHER_SLOTS, /* the lock is in use with another number of slots */
	LOCK_NOT_THERE,	  /* attach: the lock is no longer held */
	LOCK_REFUSED
};

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

enum lock_state { LOCK_ENTERING, LOCK_WAITING, LOCK_HELD, LOCK_LEAVING };

/* The next step, or the one whose requests are outstanding. */
enum lock_need {
	LOCK_NOTHING,
	LOCK_ENTER,  /* makes the node, or checks whether it exists */
	LOCK_LIST,   /* lists the nodes before it */
	LOCK_WATCH,  /* waits for those to be deleted */
	LOCK_TAKE,   /* reads its own node: the token */
	LOCK_TELL,   /* writes into its node that it holds now */
	LOCK_JUDGE,  /* the lock has another number of slots: reads whether others use it */
	LOCK_RESET,  /* no other uses the lock: makes it anew, with this number of slots */
	LOCK_ASIDE,  /* deletes its node, so that one before it can make the lock anew */
	LOCK_DELETE, /* makes sure that its node is gone */
};

struct lock {
	struct locks *locks;
	struct lock *next;
	struct holder held;
	char name[NAME_TASK_MAX + 1];
	char id[LOCK_ID_LEN + 1];
	char command[LOCK_COMMAND_MAX + 1];
	int64_t pid, slots; /* slots 0: any number */
	enum lock_state state;
	bool owed; /* fn has not been called */
	bool dead; /* to be freed once no request is outstanding */
	lock_fn fn;
	void *arg;
	lock_done_fn done; /* called after the end; NULL */
	void *done_arg;
	int64_t deadline_ms; /* CLOCK_BOOTTIME; INT64_MAX: none */
	int64_t session_ms;  /* waits for a session until then */
	int64_t retry_ms;

	/* lock_steps.c's */
	enum lock_need need;
	bool maybe;		      /* its node may exist */
	bool parents;		      /* the folder has to be made first */
	bool entered;		      /* its node existed once */
	bool waited;		      /* had to wait before it held the lock */
	bool tells;		      /* is to write that it holds, for the waiters behind it */
	bool first;		      /* is the first waiter */
	char node[LOCK_NODE_MAX + 1]; /* "": not known */
	int64_t in_use;		      /* the lock's number of slots, if that differs */
	int64_t token;
	char watched[STORE_PATH_MAX]; /* "": none */
	enum watch_kind watched_kind;
	unsigned flying; /* outstanding requests of the step */
	struct {
		bool making, cut;		 /* a node was being made; an answer was lost */
		enum store_code folders, folder; /* results of making them */
		enum store_code made, listed, read;
		int failed_op;
		bool own;    /* the list has its node */
		bool behind; /* the list has a node behind it */
		size_t before;
		char previous[LOCK_NODE_MAX + 1]; /* the last node before it */
		bool held;			  /* the data of `previous` says that it holds */
		int64_t slots;			  /* 0: not understood */
		bool ahead;			  /* no other node is before it */
		bool others;			  /* there are other nodes, of any name */
		char other[LOCK_NODE_MAX + 1];	  /* the first in line; "": none is in line */
	} seen;
};

struct locks {
	struct session *session;
	struct registry *registry;
	struct holders holders;
	struct lock *list;
	size_t n;
	int64_t warm_ms; /* CLOCK_BOOTTIME: the lease is kept up until then */
	bool stopping, kept;
	bool busy, again; /* in the loop over the list; run it again */
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
/* lock_decide.c, for lock_steps.c: all requests of the step are answered. */
void lock_decide(struct lock *l);
/* lock.c, for lock_decide.c: a step has ended, with any result. */
void lock_stepped(struct lock *l);
void lock_is_held(struct lock *l);
/* The lock's node was deleted while it held or waited. */
void lock_is_lost(struct lock *l);
/* The lock has no node any more: waits in line again. */
void lock_reenter(struct lock *l);
/* The lock cannot be had: answers the requester, and deletes the node. */
void lock_fail(struct lock *l, const struct lock_answer *answer);
void lock_is_gone(struct lock *l);

#endif
