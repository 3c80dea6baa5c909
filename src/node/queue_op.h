/*
 * One thing that somebody asks of a queue: it waits for its turn, asks ZooKeeper, perhaps again and
 * again, and is answered once. For node/queue_*.c.
 */
#ifndef ZKLEADER_NODE_QUEUE_OP_H
#define ZKLEADER_NODE_QUEUE_OP_H

#include "node/queue_parts.h"

#define QUEUE_TRIES_MAX 20 /* of one that meets missing folders, or others at work */

struct job_place {
	bool due;			/* there is a pointer in `due` */
	int64_t due_minute;		/* of its folder */
	char node[WORKER_NODE_MAX + 1]; /* it was given to, "": nobody */
	struct at_record at;
	int32_t at_version;
};

typedef void (*job_place_fn)(struct queue_op *op, const struct job_place *place);

struct queue_op {
	struct queues *queues;
	struct queue_op *prev, *next;
	char queue[NAME_TASK_MAX + 1];
	enum queue_op_state { OP_WAITING, OP_ACTIVE, OP_SLEEPING } state;
	int64_t retry_ms;    /* SLEEPING: until then */
	int64_t asked_ms;    /* CLOCK_BOOTTIME */
	int64_t deadline_ms; /* likewise; it fails then */
	bool doubt;	     /* it may have been done: an answer was lost */
	bool stalled;	     /* folders are being made for it */
	unsigned tries;
	struct {
		struct job_pointer pointer;
		struct job_place place;
		int64_t step, last_minute;
		char **nodes; /* owned, as is each */
		size_t n, next;
		job_place_fn fn;
	} find;			      /* queue_places.c's */
	char watched[STORE_PATH_MAX]; /* SLEEPING: a change of this ends it; "" */
	/* Asks for what comes next. */
	void (*step)(struct queue_op *op);
	/* It cannot be done: tells so. */
	void (*fail)(struct queue_op *op, enum job_outcome outcome, const char *why);
	/* Frees what is its own, and itself. */
	void (*free)(struct queue_op *op);
};

/* The op is zeroed but for its functions. */
void op_begin(struct queues *q, struct queue_op *op, const char *queue);
/* It is to be stepped again, in so many ms. */
void op_again(struct queue_op *op, int64_t in_ms);
/* Until the watch of that path fires, or so many ms are over. */
void op_sleep(struct queue_op *op, const char *path, int64_t in_ms);
/* It was answered: frees it. */
void op_end(struct queue_op *op);
/* Answers and ends it. */
void op_fail(struct queue_op *op, enum job_outcome outcome, const char *why);
/*
 * Whether the answer was lost, or the servers refuse: then the op goes on by itself. Else what it
 * says is to be looked at.
 */
bool op_took(struct queue_op *op, const struct store_reply *reply);
/* A folder is missing: they are made, and it is stepped again. Fails after some tries. */
void op_make_folders(struct queue_op *op, const struct queue_folders *folders);
/* The queue of the op, NULL: it is not configured here. */
struct queue *op_queue(const struct queue_op *op);
struct queue_calls *op_calls(const struct queue_op *op);
/* What is read next is as new as now. */
void op_confirm(struct queue_op *op);

/*
 * queue_places.c: looks where a job is that is due then and has not begun. fn is called once,
 * unless the op is stepped again, or ends.
 */
void queue_find_place(struct queue_op *op, const struct job_id *id, int64_t due_ms,
		      job_place_fn fn);
void queue_places_forget(struct queue_op *op);

#endif
