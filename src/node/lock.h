/*
 * Locks of the whole fleet: ROOT/locks/NAME says how many slots a lock has, and has an ephemeral
 * sequential node for each that holds one or waits. Those are the holders that have fewer than so
 * many before them, so it is first come, first served. A holder holds for as long as the session's
 * lease, as a leader leads, and its command is dead when that is over.
 *
 * A node's name has the session and an id that the client drew: so one whose making was not
 * answered is found, and a sidecar that takes the session over finds those of the one before it.
 *
 *     entering --it is there--> waiting --few enough are before it--> held
 *         \_________________________\___________________________________\--> leaving
 */
#ifndef ZKLEADER_NODE_LOCK_H
#define ZKLEADER_NODE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "node/lock_name.h"
#include "node/lock_sweep.h"
#include "node/registry.h"
#include "node/roster.h"
#include "wire/recipe_record.h"

#define LOCKS_MAX	  1000	       /* that hold or wait at a node, at a time */
#define LOCKS_WATCHED_MAX (512 * 1024) /* bytes of the paths that they watch: a reconnect's */
#define LOCK_WARM_MS	  60000	       /* for which the lease is kept up behind the last one */

enum lock_outcome {
	LOCK_YOURS,
	LOCK_NOT_IN_TIME,
	LOCK_OTHER_SLOTS, /* others use it with another number of slots */
	LOCK_NOT_THERE,	  /* of an attach: it is not held any more */
	LOCK_REFUSED
};

struct lock_answer {
	enum lock_outcome outcome;
	uint64_t number; /* YOURS: for what follows */
	int64_t token;	 /* YOURS: the czxid of its node */
	int64_t slots;	 /* OTHER_SLOTS: theirs */
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
	bool again;	 /* it was asked for before: its node may be there */
};

enum lock_state { LOCK_ENTERING, LOCK_WAITING, LOCK_HELD, LOCK_LEAVING };

/* The step to be taken next, or that its requests are on their way for. */
enum lock_need {
	LOCK_NOTHING,
	LOCK_ENTER,  /* makes the node, or looks whether it is there */
	LOCK_LIST,   /* looks who is before it */
	LOCK_WATCH,  /* waits for those to go */
	LOCK_TAKE,   /* reads its own node: the token */
	LOCK_TELL,   /* writes that it has waited, and holds now */
	LOCK_DELETE, /* makes sure that the node is gone */
};

struct lock {
	struct locks *locks;
	struct lock *next;
	void *owner; /* NULL: gone */
	char name[NAME_TASK_MAX + 1];
	char id[LOCK_ID_LEN + 1];
	char command[LOCK_COMMAND_MAX + 1];
	int64_t pid, slots; /* slots 0: whatever it has */
	uint64_t number;
	bool attaching; /* nothing is to be made */
	enum lock_state state;
	bool lost; /* it was held, and is not any more */
	bool owed; /* fn has not been called */
	bool told; /* that it is the owner's: a command may run */
	bool dead; /* to be freed once nothing is on its way */
	lock_fn fn;
	void *arg;
	lock_done_fn done; /* behind the end; NULL */
	void *done_arg;
	int64_t deadline_ms; /* CLOCK_BOOTTIME; INT64_MAX: none */
	int64_t session_ms;  /* until then a session is waited for, where there is none */
	int64_t lease_ms;    /* until then a lease was told of */
	int64_t retry_ms;

	/* lock_steps.c's */
	enum lock_need need;
	bool maybe;		      /* the node may be there */
	bool parents;		      /* the folder is to be made first */
	bool entered;		      /* the node was there once */
	bool waited;		      /* it did not hold at once */
	bool tells;		      /* that it holds, to who is behind it */
	bool first;		      /* of those that wait */
	char node[LOCK_NODE_MAX + 1]; /* "": not known */
	int64_t token;
	char watched[STORE_PATH_MAX]; /* "": nothing */
	unsigned flying;	      /* requests of the step */
	struct {
		bool making, cut;		 /* it was to be made; an answer was lost */
		enum store_code folders, folder; /* they were to be made */
		enum store_code made, listed, read;
		int failed_op;
		bool own;    /* the node is in the list */
		bool behind; /* somebody is */
		size_t before;
		char previous[LOCK_NODE_MAX + 1]; /* the last of those */
		bool held;			  /* of that one, as it says */
		int64_t slots;			  /* 0: not understood */
	} seen;
};

struct locks {
	struct session *session;
	struct registry *registry;
	struct lock *list;
	size_t n;
	uint64_t last_number;
	int64_t warm_ms; /* CLOCK_BOOTTIME: until when the lease is kept up */
	bool stopping, revoked, kept;
	bool busy, again; /* in the loop over all of them */
	void (*released)(void *owner);
	struct lock_sweep sweep;
	struct host_timer due;
};

void locks_init(struct locks *k, struct session *session, struct registry *registry,
		struct roster *roster);
/* Tells all who wait. */
void locks_done(struct locks *k);
/* What is called when an owner has one lock less; not behind locks_owner_gone(). */
void locks_on_release(struct locks *k, void (*released)(void *owner));

/* From the session's handlers. */
void locks_up(struct locks *k);
void locks_leased(struct locks *k);
void locks_expired(struct locks *k);
void locks_watch(struct locks *k, enum store_watch type, const char *path);

/*
 * Waits in the queue of the lock, a good name. fn is called once, perhaps before this returns; with
 * LOCK_YOURS the lock is the owner's until locks_finish() or locks_owner_gone().
 */
void locks_take(struct locks *k, const struct lock_request *request, lock_fn fn, void *arg);
/* One that was held before the owner's connection, or the sidecar, was another. */
void locks_attach(struct locks *k, void *owner, const char *name, const char *id, lock_fn fn,
		  void *arg);
/* Milliseconds for which it is held, from now on; 0: it is lost; -1: the owner has none such. */
int64_t locks_renew(struct locks *k, const void *owner, uint64_t number);
/*
 * No command of it is alive: done is called once its node is gone. False: the owner has none such,
 * and it is not.
 */
bool locks_finish(struct locks *k, const void *owner, uint64_t number, lock_done_fn done,
		  void *arg);
/* Its commands are dead when the leases are over that it was told of, at the latest. */
void locks_owner_gone(struct locks *k, const void *owner);

/* The session goes on in the next sidecar, and with it all that is held or waited for. */
void locks_keep(struct locks *k);
/* Nothing is begun any more: who waits is told. */
void locks_stop(struct locks *k);
/* How many are held by somebody who may have a command. */
size_t locks_going(const struct locks *k);
/* From now on they are lost. */
void locks_revoke(struct locks *k);
/* Whether there is one with that id. */
bool locks_know(const struct locks *k, const char *id);

/* lock_steps.c, for lock.c: begins the step that is needed. */
void lock_step(struct lock *l);
/* lock_decide.c, for lock_steps.c: all requests of the step are answered. */
void lock_decide(struct lock *l);
/* lock.c, for lock_decide.c: a step has ended, in whatever way. */
void lock_stepped(struct lock *l);
void lock_is_held(struct lock *l);
/* Its node has gone while it was held, or waited. */
void lock_is_lost(struct lock *l);
/* It cannot be had: tells who asked, and leaves. */
void lock_fail(struct lock *l, const struct lock_answer *answer);
void lock_is_gone(struct lock *l);

#endif
