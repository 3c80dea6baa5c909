/*
 * A client request about a queue: it waits for its turn, sends requests to ZooKeeper, maybe
 * repeatedly, and is answered once. For node/queue_*.c.
 */
#ifndef ZKLEADER_NODE_QUEUE_QUEUE_OP_H
#define ZKLEADER_NODE_QUEUE_QUEUE_OP_H

#include "node/queue/queue_parts.h"

#define QUEUE_TRIES_MAX 20 /* attempts that meet missing folders or concurrent changes */

/* The answer if no job has the id. */
#define QUEUE_NO_JOB "no such job: it never was, or is not kept any more"

struct job_place {
	bool due;			/* there is a pointer in `due` */
	int64_t due_minute;		/* the minute of that folder */
	char node[WORKER_NODE_MAX + 1]; /* node of the assignment; "": not assigned */
	struct at_record at;
	int32_t at_version;
};

typedef void (*job_place_fn)(struct queue_op *op, const struct job_place *place);

struct queue_op {
	struct queues *queues;
	TAILQ_ENTRY(queue_op) link;
	char queue[NAME_TASK_MAX + 1];
	enum queue_op_state { OP_WAITING, OP_ACTIVE, OP_SLEEPING } state;
	int64_t retry_ms;    /* SLEEPING: CLOCK_BOOTTIME of its end */
	int64_t asked_ms;    /* CLOCK_BOOTTIME */
	int64_t deadline_ms; /* CLOCK_BOOTTIME: the op fails then */
	bool doubt;	     /* an answer was lost: the change may have been made */
	bool stalled;	     /* waiting, see op_stall() */
	unsigned tries;
	struct {
		struct job_pointer pointer;
		struct job_place place;
		int64_t step, last_minute;
		char **nodes; /* owned, as is each */
		size_t n, next;
		job_place_fn fn;
	} find;		     /* state of queue_places.c */
	const char *watched; /* SLEEPING: a change of this path ends it; borrowed; NULL */
	/* Sends the next request. */
	void (*step)(struct queue_op *op);
	/* Answers that it cannot be done. */
	void (*fail)(struct queue_op *op, enum job_outcome outcome, const char *why);
	/* Frees the op and what it owns. */
	void (*free)(struct queue_op *op);
};

/* The op is zeroed except its functions. */
void op_begin(struct queues *q, struct queue_op *op, const char *queue);
/* Steps it again in in_ms. */
void op_again(struct queue_op *op, int64_t in_ms);
/* Steps it again when the watch of that path, which it keeps, fires, or in in_ms. */
void op_sleep(struct queue_op *op, const char *path, int64_t in_ms);
/* Steps it again once folders are made, or the room of its queue is known. */
void op_stall(struct queue_op *op);
/* Frees the op, which has been answered. */
void op_end(struct queue_op *op);
/* Answers the op with a failure, and frees it. */
void op_fail(struct queue_op *op, enum job_outcome outcome, const char *why);
/*
 * Whether the answer was lost or the servers refused: then the op continues by itself. Otherwise
 * the caller handles the reply.
 */
bool op_took(struct queue_op *op, const struct store_reply *reply);
/* Makes missing folders and steps the op again. Fails after QUEUE_TRIES_MAX attempts. */
void op_make_folders(struct queue_op *op, const struct queue_folders *folders);
/* The queue of the op; NULL: not configured here. */
struct queue *op_queue(const struct queue_op *op);
struct queue_calls *op_calls(const struct queue_op *op);
/* Later reads are at least as new as this call. */
void op_confirm(struct queue_op *op);

/*
 * queue_places.c: finds the place of a job that is due at due_ms and has not begun. fn is called
 * once, unless the op is stepped again, or ends.
 */
void queue_find_place(struct queue_op *op, const struct job_id *id, int64_t due_ms,
		      job_place_fn fn);
void queue_places_forget(struct queue_op *op);

#endif
