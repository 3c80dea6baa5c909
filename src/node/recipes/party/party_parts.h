/* Shared declarations of the files of party.h. */
#ifndef ZKLEADER_NODE_RECIPES_PARTY_PARTY_PARTS_H
#define ZKLEADER_NODE_RECIPES_PARTY_PARTY_PARTS_H

#include "node/recipes/party/barrier.h"
#include "node/recipes/party/gang.h"
#include "node/recipes/party/party_ticket.h"

_Static_assert(PARTY_PLACES_MAX == GANG_COUNT_MAX && PARTY_COUNT_MAX == BARRIER_COUNT_MAX,
	       "a sight has room for all");

struct party_member {
	STAILQ_ENTRY(party_member) link;
	struct party *party;
	struct holder held; /* under a lease in a gang alone */
	struct party_place place;
	bool patient;		      /* saw a session once: if that is lost, waits for the next */
	int64_t deadline_ms;	      /* INT64_MAX: none */
	int64_t session_ms;	      /* waits for a session until then */
	char watched[STORE_PATH_MAX]; /* another's node; "" */
	party_fn fn;		      /* NULL: no answer is expected */
	void *arg;
	party_done_fn done;
	void *done_arg;
};

struct party {
	struct parties *all;
	STAILQ_ENTRY(party) link;
	char name[NAME_TASK_MAX + 1];
	STAILQ_HEAD(party_members, party_member) members; /* the oldest first */
	unsigned busy;		   /* outstanding requests; no step meanwhile */
	bool dirty;		   /* the state has to be read */
	bool orphans;		   /* nodes of our session without a member are to be deleted */
	bool sweep;		   /* an unused party is to be removed, or noted */
	bool unsure;		   /* an answer was lost: a write precedes the next read */
	bool closed;		   /* to be freed after the last answer */
	bool refused;		   /* the last request was refused; see `why` */
	enum store_code no_folder; /* how its parent folder was refused; OK: not refused */
	const char *why;
	int64_t try_ms;	  /* when to open although another waiter should; 0: never */
	int64_t retry_ms; /* not before; 0 */
	int64_t wake_ms;  /* when to read again; 0 */
	int64_t idle_ms;  /* since when it has had no member here; 0: it has some */
	/* the last read */
	bool lost; /* not answered */
	bool there;
	int32_t version;
	int64_t czxid, pzxid; /* pzxid: 0 if a node came or went meanwhile */
	union {		      /* only during a step; owned */
		void *record;
		struct barrier_record *rounds;
		struct gang_record *gang;
	};
	struct party_sight *sight; /* likewise */
	char *text;		   /* of the names in it; likewise */
	/* for gang_end.c */
	unsigned dissolved; /* failed attempts to dissolve */
	int64_t dead_since; /* CLOCK_BOOTTIME: since when without members; 0: it has some */
	int64_t dead_pzxid;
};

/* The differences between barriers and gangs. */
struct party_kind {
	const char *word, *refused, *strange, *foreign; /* for the log, and in answers */
	enum path_folder folder;
	bool leased;	   /* commands run under the session's lease, and nodes go with it */
	int64_t keep_ms;   /* a party without members here is kept so long, then swept */
	int64_t sweep_ms;  /* between sweeps by the first in rank; 0: it does not sweep */
	int64_t orphan_ms; /* for members to come back to a new sidecar; 0: the leases' time */
	size_t record_size, record_max;
	int (*pack)(struct buffer *out, const void *record);
	int (*parse)(const void *data, size_t len, void *ret_record, const char **ret_why);
	/* The place in the record of a member, and of a key; -1: it is not in it. */
	int (*index)(const struct party *p, uint64_t id);
	int (*seat)(const struct party *p, const char *key);
	/* Adds to the sight what the record says. */
	void (*fill)(struct party *p, struct party_sight *s);
	void (*remove)(struct party *p);
	void (*open)(struct party *p, const struct party_chosen *c);
	/* Sets the members' watches, after the steps of all. */
	void (*watch)(struct party *p);
};

/* party.c */
int64_t party_now(const struct party *p);
struct party *party_get(struct parties *all, const char *name);
/* The limit that one more member would exceed; NULL: none. */
const char *party_limit(const struct parties *all);
/* Removes it from the list; with outstanding requests it is freed after their answers. */
void party_drop(struct party *p);
/* Takes the next step, unless requests are outstanding. */
void party_go_on(struct party *p);
/* The member has changed: the state is read, and the next step taken. */
void party_changed(struct party *p);

/* party_member.c */
struct party_member *party_add(struct party *p, uint64_t id);
struct party_member *party_find(const struct party *p, uint64_t id);
/* Takes the member's step, and does what follows from it; the member may be freed. */
void party_give(struct party_member *m, struct party_event event);
void party_happens(struct party_member *m, enum party_event_type type);
/* Sends the answer, then frees the member. */
void party_tell(struct party_member *m, const struct party_answer *answer);
/* Watches that node, NULL: none. True: the caller has to set a new watch. */
bool party_watch(struct party_member *m, const struct party_ticket *t);

/* party_time.c: sets the timer, and frees parties without members here. */
void parties_schedule(struct parties *all);
void parties_time_init(struct parties *all);
void parties_time_done(struct parties *all);
void parties_time_up(struct parties *all);

/* party_read.c: reads the state and takes the next step. */
void party_read(struct party *p);
void party_answered(struct party *p);
bool party_is_lost(const struct store_reply *reply);
/* Notes the answer to a request that changes something; on_done: its callback. */
void party_changes(struct party *p, const struct store_reply *reply);
void party_on_done(void *arg, const struct store_reply *reply);
/* Waits for the end of another's node; NULL: stops waiting. */
void party_watch_end(struct party_member *m, const struct party_ticket *t);

/* party_write.c: one transaction. */
struct party_ops {
	struct party *party;
	struct store_op *ops;
	char (*paths)[STORE_PATH_MAX];
	struct buffer record;
	size_t n;
};

/* Makes room for `most` operations. checks: the first one checks our registration. */
void party_ops_init(struct party_ops *o, struct party *p, size_t most, bool checks);
/* Adds an operation on the record; data: to write, NULL: none. */
void party_ops_record(struct party_ops *o, enum store_op_type type, int32_t version,
		      const void *data);
/* Sets what the operation of that number writes into the record. */
void party_ops_fill(struct party_ops *o, size_t i, const void *data);
/* Adds an operation on a node; data: of the node, borrowed, NULL: none. */
void party_ops_node(struct party_ops *o, enum store_op_type type, const struct party_ticket *t,
		    const struct buffer *data);
void party_ops_free(struct party_ops *o);
/* Sends and frees it. */
void party_ops_send(struct party_ops *o, store_reply_fn fn);

void party_path(const struct party *p, char path[STORE_PATH_MAX]);
/* The record proves that the member is not counted yet. data: of the node, NULL: none. */
void party_make_node(struct party_member *m, const struct buffer *data);
void party_delete_node(struct party *p, const struct party_ticket *t, enum party_how how);

/* gang_end.c */
void gang_look(struct party *p);
/* Whether it was without members for so long that others may use the name. */
bool gang_is_dead(const struct party *p);
/* Removes the gang that ran; waiters stay, and begin another. */
void gang_dissolve(struct party *p);
/* Writes into the record that the gang is dead, or has lost a member. */
void gang_note(struct party *p, bool loss);
/* The node of a member that runs; NULL: none does. */
const struct party_ticket *gang_runner(const struct party *p);
/* gang_member.c */
/* again: it takes the place of its key. */
void gang_make_node(struct party_member *m, bool again);
/* Finds out whose that other node with the member's key is. */
void gang_meet(struct party_member *m, struct party_event look, const struct party_ticket *rival);
void gang_open(struct party *p, const struct party_chosen *c);

#endif
