/* What the files of gang.h share. */
#ifndef ZKLEADER_NODE_RECIPES_PARTY_GANG_PARTS_H
#define ZKLEADER_NODE_RECIPES_PARTY_GANG_PARTS_H

#include "node/recipes/party/gang.h"
#include "node/recipes/party/gang_ticket.h"

struct gang_member {
	struct gang_member *next;
	struct gang *gang;
	struct holder held;
	uint64_t id;
	char key[GANG_KEY_MAX + 1];
	unsigned count; /* 0: of an attach, not known */
	bool goes_on;
	bool patient; /* it saw a session once: if that is lost, it waits for the next */
	int64_t deadline_ms;
	int64_t session_ms; /* it waits for a session until then */
	enum gang_state {
		GANG_WAITS,  /* has or gets a node; not in the record yet */
		GANG_RUNS,   /* in the record, with its index */
		GANG_LEAVES, /* its node is to be replaced by a mark */
		GANG_LOSES,  /* its node is to go without a mark: its command did not end */
		GANG_ENDS /* its node is to go unless the gang has begun; then `answer` is sent */
	} state;
	bool left; /* it left in order */
	size_t index;
	uint64_t rival;	 /* id of another waiter with our key, whose node was read; 0 */
	bool rival_goes; /* it is of an earlier session of this node */
	/* The node of the member with the next index, or of the rival; "" */
	char watched[STORE_PATH_MAX];
	struct gang_answer answer;
	gang_fn fn; /* NULL: no answer is expected */
	void *arg;
	gang_done_fn done;
	void *done_arg;
};

/* The content of the folder, in the order of creation. */
struct gang_sight {
	struct gang_ticket *tickets;			    /* owned */
	size_t n, n_names;				    /* n_names: names of any form */
	const struct gang_ticket *by_index[GANG_COUNT_MAX]; /* of running members; NULL: absent */
	bool marked[GANG_COUNT_MAX];			    /* the member has left in order */
	size_t n_running, n_waiting, n_marked;
};

struct gang {
	struct gangs *all;
	struct gang *next;
	char name[NAME_TASK_MAX + 1];
	struct gang_member *members; /* the oldest first */
	unsigned busy;		     /* outstanding requests; no step meanwhile */
	bool dirty;		     /* the state has to be read */
	bool orphans;		     /* nodes of our session without a member are to be deleted */
	bool sweep;		     /* an unused gang is to be removed, or noted */
	bool unsure;		     /* an answer was lost: a write precedes the next read */
	bool closed;		     /* to be freed after the last answer */
	bool refused;		     /* the last request was refused; see `why` */
	enum store_code no_folder;   /* why its parent folder was refused; OK: it was not */
	const char *why;
	/* the last read */
	bool lost; /* not answered */
	bool there;
	int32_t version;
	int64_t czxid, pzxid;	    /* pzxid: 0 if a node came or went meanwhile */
	struct gang_record *record; /* only during a step; owned */
	struct gang_sight *sight;   /* likewise */
	bool dissolving;	    /* requested in this step */
	unsigned dissolved;	    /* failed attempts to dissolve */
	int64_t dead_since;	    /* CLOCK_BOOTTIME: since when without members; 0: it has some */
	int64_t dead_pzxid;
	int64_t try_ms;	  /* when to begin it although another waiter should; 0: never */
	int64_t retry_ms; /* not before; 0 */
	int64_t wake_ms;  /* when to read again; 0 */
};

/* gang.c */
struct gang *gang_get(struct gangs *all, const char *name);
struct gang_member *gang_add(struct gang *g, uint64_t id);
/* Sends the answer, then frees the member. */
void gang_tell(struct gang *g, struct gang_member *m, const struct gang_answer *answer);
/* The end of another member is waited for no more. */
void gang_unwatch(struct gang_member *m);
/* Sends the answer now; the member stays. */
void gang_tell_early(struct gang_member *m, const struct gang_answer *answer);
/* Answers STARTED, if the lease is long enough. */
void gang_tell_started(struct gang_member *m);
/* Whether its client is gone, while its command may be alive under a promised lease. */
bool gang_is_orphan(const struct gang_member *m);
/* Removes it from the list; with outstanding requests it is freed after their answers. */
void gang_drop(struct gang *g);
/* Takes the next step, unless requests are outstanding. */
void gang_go_on(struct gang *g);

/* gang_time.c: sets the timer, and frees gangs without members here. */
void gangs_schedule(struct gangs *all);
void gangs_on_due(void *arg);

/* gang_read.c: reads the state of the gang and takes the next step. */
void gang_read(struct gang *g);
/* The first operation has to check our registration. */
void gang_send(struct gang *g, const struct store_op *ops, size_t n);
void gang_on_done(void *arg, const struct store_reply *reply);
void gang_answered(struct gang *g);
bool gang_is_lost(const struct store_reply *reply);
void gang_path(const struct gang *g, char path[STORE_PATH_MAX]);
/* The index in the record; -1: not in it. */
int gang_index_of(const struct gang_record *r, uint64_t id);
int gang_index_of_key(const struct gang_record *r, const char *key);
/*
 * Replaces the record. proof: a node seen in the folder, which proves that it is the same gang: one
 * that was removed and made again may have reached the same version. NULL: there was no node.
 */
void gang_write(struct gang *g, const struct gang_record *r, const struct gang_ticket *proof);
/* Removes all of the gang that ran; the waiters stay, and begin another. */
void gang_dissolve(struct gang *g);
/* Whether it was without members for so long that others may use the name. */
bool gang_is_dead(const struct gang *g);

/* gang_member.c: the next step of one member. */
void gang_check_member(struct gang *g, struct gang_member *m);

/* gang_start.c: begins the gang if we are to do so. */
void gang_consider(struct gang *g);

/* gang_sweep.c */
void gang_sweep_init(struct gangs *all);
void gang_sweep_up(struct gangs *all);
void gang_sweep_done(struct gangs *all);
/* Sweeps a gang without members here. */
void gang_sweep(struct gang *g);

#endif
