/* An outstanding order about a rolling restart; for rolling*.c alone. */
#ifndef ZKLEADER_NODE_RECIPES_ROLLING_ROLLING_OP_H
#define ZKLEADER_NODE_RECIPES_ROLLING_ROLLING_OP_H

#include "node/recipes/rolling/rolling.h"

struct rolling_op {
	struct rolling *rolling;
	LIST_ENTRY(rolling_op) link;
	struct rolling_request ask;
	char id[NAME_ID_MAX + 1];    /* TAKE: id of the new slot, and of its queue entry */
	char drain[NAME_ID_MAX + 1]; /* id of the drain that it makes */
	rolling_fn fn;		     /* NULL: the requester is gone */
	void *arg;
	uint64_t policy_due; /* RELEASE: the drains have to be known by then */
	bool leaving;	     /* TAKE: deletes what it may have made, and then ends */
	bool ended;	     /* to be freed after its last answer */
	bool again;	     /* something changed while requests were outstanding */
	int64_t deadline_ms; /* CLOCK_BOOTTIME; INT64_MAX: none */
	int64_t retry_ms;    /* CLOCK_BOOTTIME; 0: no retry by time */
	int64_t healthy_ms;  /* FREE: CLOCK_BOOTTIME since when healthy; 0: not healthy */
	unsigned tries;	     /* failures in a row */
	bool sent;	     /* the last transaction was sent: it may have been made */
	bool taken;	     /* TAKE: the answer is the slot that it made */
	bool looked;	     /* TAKE: was seen to wait for others */
	bool late;	     /* TAKE: its time is over: it waits for the present look alone */

	/* reading */
	size_t pending; /* outstanding requests */
	bool broken;	/* the connection was lost meanwhile */
	const char *refused;
	enum store_code no_folder; /* why a folder of the group was refused; OK: none was */
	bool no_slots, no_waiting; /* the folders are missing */
	size_t at;		   /* index of the next record to read */
	struct rolling_view view;

	char watched[STORE_PATH_MAX]; /* path whose change it waits for; "" */
	bool last;		      /* the outstanding transaction ends the order */
	struct rolling_slot slot;     /* the slot after that transaction; id "": none */
	struct policy_record made;    /* the drain that it makes; kind "": none */
	char **unmade;		      /* the drains that it ends; owned, as is each */
	size_t n_unmade;
};

/* rolling.c: answers the order and ends it. */
void rolling_tell(struct rolling_op *op, enum rolling_result result, const char *why,
		  const struct rolling_slot *slot);
void rolling_retry(struct rolling_op *op, int64_t ms);
/* Stops watching. */
void rolling_unwatch(struct rolling_op *op);
/* FREE: whether the node has been healthy for the soak time. */
bool rolling_is_soaked(struct rolling_op *op);
/* Called for each answer. False: the op has ended, and the answer is to be ignored. */
bool rolling_answered(struct rolling_op *op);

/* rolling_sweep.c: once in a session that was taken over. */
void rolling_sweep(struct rolling *r);

/* rolling_audit.c */
void rolling_audit_init(struct rolling *r);
void rolling_audit_done(struct rolling *r);

/* The prefix of queue entries of the session: hexadecimal, and a dot. */
#define ROLLING_SESSION_SIZE 20
void rolling_session_name(const struct session *s, char name[ROLLING_SESSION_SIZE]);
/* Whether that queue entry is the op's: SESSION.ID-NUMBER. */
bool rolling_is_queued(const struct rolling_op *op, const char *name);

/* rolling_read.c: reads the group, then calls rolling_decide(). */
void rolling_look(struct rolling_op *op);
void rolling_view_done(struct rolling_view *v);

/* rolling_steps.c: decides the next step from the group. */
void rolling_decide(struct rolling_op *op);
/* rolling_operator.c: likewise. */
void rolling_release(struct rolling_op *op);
void rolling_resume(struct rolling_op *op);
/* The slot of that node; NULL: none. */
struct rolling_held *rolling_find(const struct rolling_view *v, const char *node);

#endif
