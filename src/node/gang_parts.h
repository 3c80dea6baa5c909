/* What the files of gang.h share. */
#ifndef ZKLEADER_NODE_GANG_PARTS_H
#define ZKLEADER_NODE_GANG_PARTS_H

#include "node/gang.h"
#include "node/gang_ticket.h"

struct gang_member {
	struct gang_member *next;
	struct gang *gang;
	uint64_t id, number;
	char key[GANG_KEY_MAX + 1];
	unsigned count; /* 0: of an attach, not known */
	bool goes_on, attaching;
	bool patient; /* there was a session once it was looked for: it waits for the next */
	void *owner;  /* NULL: it has gone */
	int64_t deadline_ms, lease_ms;
	int64_t session_ms; /* until then a session is waited for, where there is none */
	enum gang_state {
		GANG_WAITS,  /* it is to have a node, until it is in the record */
		GANG_RUNS,   /* it is, and has its place */
		GANG_LEAVES, /* its node is to go, and a mark to come */
		GANG_LOSES,  /* its node is to go without one: its command did not end */
		GANG_ENDS    /* its node is to go unless it was begun; then `answer` is told */
	} state;
	bool told; /* that it runs: a command may be alive */
	bool lost; /* it may not go on */
	bool left; /* in order */
	size_t index;
	uint64_t rival;		      /* the id of one with our key whose record was read; 0 */
	bool rival_goes;	      /* that one is of an earlier session of this node */
	char watched[STORE_PATH_MAX]; /* the node of the one behind us, "" */
	struct gang_answer answer;
	gang_fn fn; /* NULL: nobody is to be told */
	void *arg;
	gang_done_fn done;
	void *done_arg;
};

/* What is in the folder, in the order in which it came. */
struct gang_sight {
	struct gang_ticket *tickets;			    /* owned */
	size_t n, n_names;				    /* n_names: of whatever form */
	const struct gang_ticket *by_index[GANG_COUNT_MAX]; /* of those that run; NULL: not there */
	bool marked[GANG_COUNT_MAX];			    /* it has left in order */
	size_t n_running, n_waiting, n_marked;
};

struct gang {
	struct gangs *all;
	struct gang *next;
	char name[NAME_TASK_MAX + 1];
	struct gang_member *members; /* the oldest first */
	unsigned busy;		     /* requests that are not answered; nothing is done meanwhile */
	bool dirty;		     /* what is there is to be read */
	bool orphans;		     /* nodes of our session that are no member's are to go */
	bool sweep;		     /* what nobody uses is to be removed, or noted */
	bool unsure;		     /* an answer was lost: a write comes before what is read */
	bool closed;		     /* it is freed behind the last answer */
	bool refused;		     /* what was asked last: `why` */
	enum store_code no_folder;   /* how the one that it is to be in was refused, or OK */
	const char *why;
	/* what was read last */
	bool lost; /* and was not answered */
	bool there;
	int32_t version;
	int64_t czxid, pzxid;	    /* pzxid: 0 where somebody came or went meanwhile */
	struct gang_record *record; /* while it is looked at; owned */
	struct gang_sight *sight;   /* likewise */
	bool dissolving;	    /* asked for in this look */
	unsigned dissolved;	    /* how often that did not do */
	int64_t dead_since;	    /* CLOCK_BOOTTIME: with nobody there; 0: somebody is */
	int64_t dead_pzxid;
	int64_t try_ms;	  /* when to begin it though it is another's turn; 0: not */
	int64_t retry_ms; /* not before; 0 */
	int64_t wake_ms;  /* when to look again; 0 */
};

/* gang.c */
struct gang *gang_get(struct gangs *all, const char *name);
struct gang_member *gang_add(struct gang *g, uint64_t id);
/* Forgets the member behind what it is told. */
void gang_tell(struct gang *g, struct gang_member *m, const struct gang_answer *answer);
/* Tells now; the member stays. */
void gang_tell_early(struct gang_member *m, const struct gang_answer *answer);
/* It runs: told if the lease allows it. */
void gang_tell_started(struct gang_member *m);
/* Its client has gone; its command may be alive until a lease is over that it was told. */
bool gang_is_orphan(const struct gang_member *m);
/* Out of the list; one that is asking is freed behind its answers. */
void gang_drop(struct gang *g);
/* Begins what is next for it, if its requests are answered. */
void gang_go_on(struct gang *g);

/* gang_time.c: sets the timer, and forgets gangs that nobody is in. */
void gangs_schedule(struct gangs *all);
void gangs_on_due(void *arg);

/* gang_read.c: reads what is there and does what follows. */
void gang_read(struct gang *g);
/* The first operation says that we are registered. */
void gang_send(struct gang *g, const struct store_op *ops, size_t n);
void gang_on_done(void *arg, const struct store_reply *reply);
void gang_answered(struct gang *g);
bool gang_is_lost(const struct store_reply *reply);
void gang_path(const struct gang *g, char path[STORE_PATH_MAX]);
/* In the record, -1: it is not. */
int gang_index_of(const struct gang_record *r, uint64_t id);
int gang_index_of_key(const struct gang_record *r, const char *key);
/*
 * A record of no member yet, or with another word in it, in place of what is there. proof: a node
 * that was seen in it, and shows that it is the same gang: one that was removed and made anew may
 * have come to the same version meanwhile. NULL: there was none.
 */
void gang_write(struct gang *g, const struct gang_record *r, const struct gang_ticket *proof);
/* All that belongs to the gang that ran goes; who waits stays, and begins another. */
void gang_dissolve(struct gang *g);
/* It was empty for so long that others may have it. */
bool gang_is_dead(const struct gang *g);

/* gang_member.c: what follows for one member. */
void gang_check_member(struct gang *g, struct gang_member *m);

/* gang_start.c: begins the gang if it is our turn. */
void gang_consider(struct gang *g);

/* gang_sweep.c */
void gang_sweep_init(struct gangs *all);
void gang_sweep_up(struct gangs *all);
void gang_sweep_done(struct gangs *all);
/* A gang that nobody here is in. */
void gang_sweep(struct gang *g);

#endif
