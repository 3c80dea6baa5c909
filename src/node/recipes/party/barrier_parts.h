/* What the files of barrier.h share. */
#ifndef ZKLEADER_NODE_RECIPES_PARTY_BARRIER_PARTS_H
#define ZKLEADER_NODE_RECIPES_PARTY_BARRIER_PARTS_H

#include "node/recipes/party/barrier.h"
#include "node/tree/ticket.h"

struct barrier_member {
	struct barrier_member *next;
	uint64_t id;
	unsigned count;
	bool command;
	const void *owner;   /* NULL: disconnected */
	int64_t deadline_ms; /* INT64_MAX: none */
	enum member_state {
		MEMBER_WAITS,  /* has or gets a node; not counted yet */
		MEMBER_INSIDE, /* counted in a round; its command runs */
		MEMBER_LEAVES, /* its node is to go; then it waits for the others' nodes */
		MEMBER_ENDS    /* its node is to go unless it was counted; then `answer` is sent */
	} state;
	bool placed;   /* its node was requested */
	int64_t round; /* INSIDE, LEAVES: its round; else the last one that it is surely not in */
	int64_t czxid; /* of the barrier of `round` */
	struct barrier_answer answer;
	barrier_fn fn; /* NULL: no answer is expected */
	void *arg;
};

/* The tickets in the folder, in order. */
struct sight {
	struct ticket *tickets; /* owned */
	size_t n;
	size_t n_names; /* names of any form in the folder */
};

struct barrier {
	struct barriers *all;
	struct barrier *next;
	char name[NAME_TASK_MAX + 1];
	struct barrier_member *members; /* the oldest first */
	unsigned busy;			/* outstanding requests; no step meanwhile */
	bool dirty;			/* the state has to be read */
	bool orphans;		   /* nodes of our session without a member are to be deleted */
	bool unsure;		   /* an answer was lost: a write precedes the next read */
	bool refused;		   /* the last request was refused; see `why` */
	enum store_code no_folder; /* why its parent folder was refused; OK: it was not */
	const char *why;
	bool closed; /* to be freed after the last answer */
	/* the last read */
	bool lost;		       /* not answered */
	bool there;		       /* the record exists */
	int32_t version;	       /* of the record */
	int64_t czxid;		       /* 0: it does not exist */
	struct barrier_record *record; /* only during a step; NULL: not readable */
	uint64_t *sorted;	       /* only during a step: its ids, sorted */
	struct sight sight;	       /* only during a step */
	char watched[STORE_PATH_MAX];  /* a node whose deletion is waited for; "" */
	int64_t try_ms;		       /* when to open although another member should; 0: never */
	int64_t retry_ms;	       /* not before */
	int64_t idle_ms;	       /* since when it has no member here; 0: it has some */
	bool removing;		       /* it is being removed from the tree */
};

/* Appends a member, without fn and deadline. */
struct barrier_member *barrier_add(struct barrier *b, uint64_t id);
/* Sends the answer, if one is expected, and frees the member. */
void barrier_tell(struct barrier *b, struct barrier_member *m, const struct barrier_answer *answer);
/* No end of another member is waited for any more. */
void barrier_unwatch_inside(struct barrier *b);
/* Takes the next step, unless requests are outstanding. */
void barrier_go_on(struct barrier *b);
/* Sets the timer. */
void barriers_schedule(struct barriers *all);

/* barrier_read.c: reads the state of the barrier and takes the next step. */
void barrier_read(struct barrier *b);
/* The callback of requests that change something. */
void barrier_on_done(void *arg, const struct store_reply *reply);
void barrier_path(const struct barrier *b, const char *name, char path[STORE_PATH_MAX]);
/* Whether the member was counted in a round of the record. */
bool barrier_has_counted(const struct barrier *b, uint64_t id);
/* Likewise, in the last round. */
bool barrier_is_last(const struct barrier *b, uint64_t id);

/* barrier_open.c: opens the next round if we are to do so. */
void barrier_consider(struct barrier *b, const struct sight *sight);

#endif
