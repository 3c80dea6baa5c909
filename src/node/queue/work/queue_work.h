/*
 * A job assigned to this node, until the end of its attempt. For queue_work.c,
 * queue_recheck.c and queue_steps.c.
 *
 *     reading --> given --begin--> beginning --> running --finish--> ending
 *                   \--give back--> returning
 */
#ifndef ZKLEADER_NODE_QUEUE_WORK_QUEUE_WORK_H
#define ZKLEADER_NODE_QUEUE_WORK_QUEUE_WORK_H

#include "node/holder/holder.h"
#include "node/queue/queue_ending.h"
#include "node/queue/queue_parts.h"

enum work_state {
	WORK_READING,
	WORK_GIVEN,
	WORK_BEGINNING,
	WORK_RUNNING,
	WORK_ENDING,
	WORK_RETURNING,
	WORK_STRANGE, /* another session's, or garbage: the queue's leader removes it */
	WORK_GONE     /* to be freed */
};

struct work {
	struct queue *queue;
	TAILQ_ENTRY(work) link;
	struct job_pointer pointer;
	enum work_state state;
	int64_t since_ms; /* CLOCK_BOOTTIME: when it was seen first */
	bool listed;	  /* found in the last listing of the folder */

	/* for queue_steps.c */
	unsigned flying;  /* outstanding requests of a step */
	int64_t retry_ms; /* no step before */
	bool doubt;	  /* an answer was lost: all is read before the next step */
	struct {
		bool cut;
		enum store_code at, job;
		struct at_record at_record;
		struct store_stat at_stat;
		uint8_t *data; /* the job's record; owned */
		size_t len;
		int32_t job_version;
	} seen;
	int64_t token; /* the czxid of its `at`; 0: not read */
	int32_t at_version, job_version;
	struct at_record at;
	uint8_t *data; /* the record points into it */
	size_t len;
	struct job_record record;
	bool cancelled;
	/* RETURNING: its record is gone; `due` has its pointer already, under the same name */
	bool gone, due_there;

	/* for queue_work.c */
	int64_t told_ms;    /* CLOCK_BOOTTIME: last offer to the runner; 0: none */
	struct holder held; /* lost: it is no longer ours */
	int64_t untold_ms;  /* CLOCK_BOOTTIME: until then the begin waits for a supervisor */
	job_begun_fn begun;
	job_ended_fn ended;
	void *arg;
	/* ENDING */
	enum job_next next_state;
	struct job_record end;
	char *output;
};

struct queues *work_queues(const struct work *w);
const char *work_own_node(const struct work *w);
/* The paths of its assignment, and of its record. */
void work_path(const struct work *w, char path[STORE_PATH_MAX]);
void work_job_path(const struct work *w, char path[STORE_PATH_MAX]);
/* Delays the next step. */
void work_later(struct work *w);
/* queue_recheck.c: reads its assignment and record, and sets the next state. */
void work_recheck(struct work *w);
/* Takes the next step, if there is one. */
void work_step(struct work *w, int64_t now);
/* Sets how the attempt ended; its step follows. */
void work_set_end(struct work *w, const struct job_end *end);

/* queue_work.c, for the others: the job runs; inherited: begun by the previous sidecar. */
void work_has_begun(struct work *w, bool inherited);
/* The attempt has ended, or is no longer ours; recorded: with the end that was reported. */
void work_is_over(struct work *w, bool recorded);
void work_is_cancelled(struct work *w);

#endif
