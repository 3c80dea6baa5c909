/* One order about a rolling restart on its way; for rolling*.c alone. */
#ifndef ZKLEADER_NODE_ROLLING_OP_H
#define ZKLEADER_NODE_ROLLING_OP_H

#include "node/rolling.h"

struct rolling_op {
	struct rolling *rolling;
	struct rolling_op *next;
	struct rolling_request ask;
	char id[NAME_ID_MAX +
		1]; /* TAKE: of the slot that it makes, and in its name in the queue */
	char drain[NAME_ID_MAX + 1]; /* of the drain that it makes */
	rolling_fn fn;		     /* NULL: nobody waits for it */
	void *arg;
	bool leaving;	     /* TAKE: takes back what it may have made, and then ends */
	bool ended;	     /* it is freed behind its last answer */
	bool again;	     /* something happened while it was asking */
	int64_t deadline_ms; /* CLOCK_BOOTTIME; INT64_MAX: none */
	int64_t retry_ms;    /* likewise; 0: not by itself */
	int64_t healthy_ms;  /* FREE: since when; 0: it is not */
	unsigned tries;	     /* in a row that came to nothing */
	bool sent;	     /* the transaction that ends it: it may have been made */
	bool taken;	     /* TAKE: the slot that it made is its answer */

	/* reading */
	size_t pending; /* requests that are not answered yet */
	bool broken;	/* the connection went meanwhile */
	const char *refused;
	enum store_code no_folder; /* how one of the group was refused, or OK */
	bool no_slots, no_waiting; /* the folders are missing */
	size_t at;		   /* the next of the records that are to be read */
	struct rolling_view view;

	char watched[STORE_PATH_MAX]; /* what happens there is waited for; "" */
	bool last;		   /* the transaction that is outstanding is the one that ends it */
	struct rolling_slot slot;  /* as it is behind that one; id "": none */
	struct policy_record made; /* the drain that it makes; kind "": none */
	char **unmade;		   /* and those that it ends; owned, as is each */
	size_t n_unmade;
};

/* rolling.c: tells it and ends it. */
void rolling_tell(struct rolling_op *op, enum rolling_result result, const char *why,
		  const struct rolling_slot *slot);
void rolling_retry(struct rolling_op *op, int64_t ms);
/* FREE: whether the node has been healthy for the soak time. */
bool rolling_is_soaked(struct rolling_op *op);
/* Sets the timer for what is next. */
void rolling_wake(struct rolling *r);
/* Behind an answer: true if it still matters. */
bool rolling_answered(struct rolling_op *op);

/* rolling_sweep.c: once in a session that was taken over. */
void rolling_sweep(struct rolling *r);

/* The session as the names in a queue begin with it: hexadecimal, and a dot. */
#define ROLLING_SESSION_SIZE 20
void rolling_session_name(const struct session *s, char name[ROLLING_SESSION_SIZE]);
/* Whether that is its place in the queue: SESSION.ID-NUMBER. */
bool rolling_is_queued(const struct rolling_op *op, const char *name);

/* rolling_read.c: reads the group as it is, and goes on with rolling_decide(). */
void rolling_look(struct rolling_op *op);
void rolling_view_done(struct rolling_view *v);

/* rolling_steps.c: what follows from what was read. */
void rolling_decide(struct rolling_op *op);
/* rolling_operator.c: likewise. */
void rolling_release(struct rolling_op *op);
void rolling_resume(struct rolling_op *op);
/* The slot of that node, NULL. */
struct rolling_held *rolling_find(const struct rolling_view *v, const char *node);

#endif
