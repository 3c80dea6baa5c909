/* What the files of barrier.h share. */
#ifndef ZKLEADER_NODE_BARRIER_PARTS_H
#define ZKLEADER_NODE_BARRIER_PARTS_H

#include "node/barrier.h"
#include "node/ticket.h"

struct barrier_member {
	struct barrier_member *next;
	uint64_t id;
	unsigned count;
	bool command;
	const void *owner;   /* NULL: it has gone */
	int64_t deadline_ms; /* INT64_MAX: none */
	enum member_state {
		MEMBER_WAITS,  /* it is to have a node, until it is counted */
		MEMBER_INSIDE, /* it was counted, and its command runs */
		MEMBER_LEAVES, /* its node is to go; then it waits for the others' */
		MEMBER_ENDS    /* its node is to go unless it was counted; then `answer` is told */
	} state;
	bool placed;   /* a node of it was asked for */
	int64_t round; /* INSIDE, LEAVES: its own; else the last that it is known not to be in */
	int64_t czxid; /* of the barrier that `round` is about */
	struct barrier_answer answer;
	barrier_fn fn; /* NULL: nobody is to be told */
	void *arg;
};

/* The tickets in the folder, in order. */
struct sight {
	struct ticket *tickets; /* owned */
	size_t n;
	size_t n_names; /* in the folder, of whatever form */
};

struct barrier {
	struct barriers *all;
	struct barrier *next;
	char name[NAME_TASK_MAX + 1];
	struct barrier_member *members; /* the oldest first */
	unsigned busy; /* requests that are not answered; nothing is done before they are */
	bool dirty;    /* what is there is to be read */
	bool orphans;  /* nodes of our session that are no member's are to go */
	bool unsure;   /* an answer was lost: a write has to come before what is read */
	bool refused;  /* what was asked last: `why` */
	enum store_code no_folder; /* how the one that it is to be in was refused, or OK */
	const char *why;
	bool closed; /* it is freed behind the last answer */
	/* what was read last */
	bool lost;		       /* and was not answered */
	bool there;		       /* its record is */
	int32_t version;	       /* of the record */
	int64_t czxid;		       /* 0 while it is not there */
	struct barrier_record *record; /* while it is looked at; NULL: not understood */
	uint64_t *sorted;	       /* its ids in order, likewise */
	struct sight sight;	       /* likewise */
	char watched[STORE_PATH_MAX];  /* a node that others wait for to go; "" */
	int64_t try_ms;		       /* when to open though it is another's turn; 0: not */
	int64_t retry_ms;	       /* not before */
	int64_t idle_ms;	       /* since then it has no member here; 0: it has */
	bool removing;		       /* and it is to be removed from the tree */
};

/* A member, the last; nobody is told of it and it has no deadline. */
struct barrier_member *barrier_add(struct barrier *b, uint64_t id);
/* Forgets the member behind its answer, which is told if anybody is to be. */
void barrier_tell(struct barrier *b, struct barrier_member *m, const struct barrier_answer *answer);
/* Begins what is next for the barrier, if its requests are answered. */
void barrier_go_on(struct barrier *b);
/* Sets the timer. */
void barriers_schedule(struct barriers *all);

/* barrier_read.c: reads what is there and does what follows. */
void barrier_read(struct barrier *b);
/* Behind the answer to a request that changes something. */
void barrier_on_done(void *arg, const struct store_reply *reply);
void barrier_path(const struct barrier *b, const char *name, char path[STORE_PATH_MAX]);
/* Whether the member was counted in a round that is remembered. */
bool barrier_has_counted(const struct barrier *b, uint64_t id);
/* In the last round. */
bool barrier_is_last(const struct barrier *b, uint64_t id);

/* barrier_open.c: opens the next round if it is our turn. */
void barrier_consider(struct barrier *b, const struct sight *sight);

#endif
