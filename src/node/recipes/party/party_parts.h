/* Shared declarations of the files of party.h. */
#ifndef ZKLEADER_NODE_RECIPES_PARTY_PARTY_PARTS_H
#define ZKLEADER_NODE_RECIPES_PARTY_PARTY_PARTS_H

#include "node/recipes/party/barrier.h"
#include "node/recipes/party/gang.h"
#include "node/recipes/party/party_ticket.h"

struct party_member {
	struct party_member *next;
	struct party *party;
	struct holder held; /* under a lease in a gang alone */
	uint64_t id;
	char key[GANG_KEY_MAX + 1]; /* "" at a barrier */
	unsigned count;		    /* 0: not known, of an attach */
	char kind;		    /* as in its ticket */
	bool patient;		    /* saw a session once: if that is lost, waits for the next */
	bool looked;		    /* WAITS: was seen to wait for nothing but others */
	bool late;		    /* its timeout is over: waits for the present look alone */
	int64_t deadline_ms;	    /* INT64_MAX: none */
	int64_t session_ms;	    /* waits for a session until then */
	enum party_state {
		PARTY_WAITS,  /* has or gets a node; not counted yet */
		PARTY_RUNS,   /* counted; its command runs */
		PARTY_LEAVES, /* its node is to go in order */
		PARTY_LOSES,  /* its node is to go: its command did not end, or no client asks */
		PARTY_ENDS    /* its node is to go unless it was counted; then `answer` is sent */
	} state;	      /* party_move() alone writes it */
	char watched[STORE_PATH_MAX]; /* another's node; "" */
	struct party_answer answer;
	party_fn fn; /* NULL: no answer is expected */
	void *arg;
	party_done_fn done;
	void *done_arg;
	/* for barrier.c */
	bool placed;   /* its node was requested */
	int64_t round; /* RUNS, LEAVES: its round; else the last one that it is surely not in */
	int64_t czxid; /* czxid of that round's barrier */
	/* for gang_member.c */
	size_t index;
	bool left;	 /* has left in order */
	uint64_t rival;	 /* id of another waiter with our key, whose node was read; 0 */
	bool rival_goes; /* the rival belongs to an earlier session of this node */
};

/* The content of the folder, in order of creation. */
struct party_sight {
	struct party_ticket *tickets; /* owned */
	char *text;		      /* their names; owned */
	size_t n, n_names;	      /* n_names: names of any form */
	/*
	 * Nodes of members in the record, by place; NULL: absent. At a barrier all share the first
	 * place.
	 */
	const struct party_ticket *by_index[GANG_COUNT_MAX];
	bool marked[GANG_COUNT_MAX]; /* the member has left in order */
	size_t n_running, n_waiting, n_marked;
};

struct party {
	struct parties *all;
	struct party *next;
	char name[NAME_TASK_MAX + 1];
	struct party_member *members; /* the oldest first */
	unsigned busy;		      /* outstanding requests; no step meanwhile */
	bool dirty;		      /* the state has to be read */
	bool orphans;		      /* nodes of our session without a member are to be deleted */
	bool sweep;		      /* an unused party is to be removed, or noted */
	bool unsure;		      /* an answer was lost: a write precedes the next read */
	bool closed;		      /* to be freed after the last answer */
	bool refused;		      /* the last request was refused; see `why` */
	enum store_code no_folder;    /* how its parent folder was refused; OK: not refused */
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
	/* for gang_end.c */
	bool dissolving;    /* requested in this step */
	unsigned dissolved; /* failed attempts to dissolve */
	int64_t dead_since; /* CLOCK_BOOTTIME: since when without members; 0: it has some */
	int64_t dead_pzxid;
};

/* The chosen members, in their order; NULL: none for that place. */
struct party_chosen {
	const struct party_ticket *list[BARRIER_COUNT_MAX];
	size_t n;	/* that are not NULL */
	unsigned count; /* 0: nobody waits */
	char kind;
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
	/* The place of a member in the record; -1: it is not in it. */
	int (*index)(const struct party *p, uint64_t id);
	/* Called before the steps of the members; NULL: no step. */
	void (*look)(struct party *p);
	/* Takes the next step of a member, by what was read. */
	void (*check)(struct party *p, struct party_member *m);
	/* Called behind the steps of all members. */
	void (*decided)(struct party *p);
	/* Sweeps a party without members here. */
	void (*sweep)(struct party *p);
	void (*choose)(const struct party *p, struct party_chosen *c);
	void (*open)(struct party *p, const struct party_chosen *c);
};

/* party.c */
int64_t party_now(const struct party *p);
struct party *party_get(struct parties *all, const char *name);
struct party_member *party_add(struct party *p, uint64_t id);
struct party_member *party_find(const struct party *p, uint64_t id);
/* A move that is not in the table of moves is a bug, and ends the process. */
void party_move(struct party_member *m, enum party_state to);
/* The limit that one more member would exceed; NULL: none. */
const char *party_limit(const struct parties *all);
/* Sends the answer, then frees the member. */
void party_tell(struct party_member *m, const struct party_answer *answer);
/* Sends the answer now; the member stays. */
void party_tell_early(struct party_member *m, const struct party_answer *answer);
/* Watches that node, NULL: none. True: the caller has to set a new watch. */
bool party_watch(struct party_member *m, const struct party_ticket *t);
/* Removes it from the list; with outstanding requests it is freed after their answers. */
void party_drop(struct party *p);
/* Takes the next step, unless requests are outstanding. */
void party_go_on(struct party *p);
/* The member has changed: the state is read, and the next step taken. */
void party_changed(struct party *p);

/* party_time.c: sets the timer, and frees parties without members here. */
void parties_schedule(struct parties *all);
/* Only others who come can open the party now: a waiter whose timeout is over ends. */
void party_looked(struct party *p);
void parties_time_init(struct parties *all);
void parties_time_done(struct parties *all);
void parties_time_up(struct parties *all);

/* party_read.c: reads the state and takes the next step. */
void party_read(struct party *p);
void party_answered(struct party *p);
bool party_is_lost(const struct store_reply *reply);
/* The callback of requests that change something. */
void party_on_done(void *arg, const struct store_reply *reply);
/* Waits for the end of another's node; NULL: stops waiting. */
void party_watch_end(struct party_member *m, const struct party_ticket *t);
/*
 * The member's node goes unless it was counted. False: it had no node, or the server refuses: the
 * caller answers now.
 */
bool party_end(struct party *p, struct party_member *m, const struct party_ticket *own);

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
/* The record proves that the member is not counted yet. False: too many are being made. */
bool party_make_node(struct party *p, const struct party_member *m, const struct buffer *data);
struct party_ticket party_ticket_of(const struct party_member *m);
/* UNLESS: under the version of the record that does not have it. */
enum party_how { PARTY_UNLESS_COUNTED, PARTY_WITH_A_MARK, PARTY_IN_ANY_CASE };
void party_delete_node(struct party *p, const struct party_ticket *t, enum party_how how);
/* The member's node, of our session or of another. */
const struct party_ticket *party_node(const struct party *p, uint64_t id, bool ours);

/* party_start.c: opens the party if this sidecar is to do so. */
void party_consider(struct party *p);
/* Chooses the first waiters; the very first one decides the count. */
void party_choose(const struct party *p, struct party_chosen *c);

/* gang_end.c */
int gang_index_of_key(const struct gang_record *r, const char *key);
/* The node of a member that runs; NULL: none does. */
const struct party_ticket *gang_runner(const struct party *p);
void gang_look(struct party *p);
/* Removes the gang that ran; waiters stay, and begin another. */
void gang_dissolve(struct party *p);
/* Whether it was without members for so long that others may use the name. */
bool gang_is_dead(const struct party *p);
/* Whether all that ran have left in order. */
bool gang_is_over(const struct party *p);
void gang_decided(struct party *p);
void gang_sweep(struct party *p);
/* gang_member.c, gang_start.c */
void gang_check(struct party *p, struct party_member *m);
void gang_choose(const struct party *p, struct party_chosen *c);
void gang_open(struct party *p, const struct party_chosen *c);

#endif
