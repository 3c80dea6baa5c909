/*
 * The end of an attempt, or of a job: the operations that change its record and the pointers to it
 * in one transaction. For node/queue_*.c.
 */
#ifndef ZKLEADER_NODE_QUEUE_QUEUE_ENDING_H
#define ZKLEADER_NODE_QUEUE_QUEUE_ENDING_H

#include "core/queue/job_outcome.h"
#include "node/notices/notices.h"
#include "node/queue/queue_parts.h"

#define ENDING_OPS 4

struct job_ending {
	/* input */
	struct queue *queue;
	struct job_pointer pointer;
	enum job_next next;
	const struct job_record *record; /* the new record; not for a callback */
	int32_t job_version;
	char from[STORE_PATH_MAX]; /* path to delete: its place in `at`, `due` or `dead` */
	int32_t from_version;	   /* -1: any */
	int64_t attempt;	   /* callbacks: number of attempts begun */
	/* output */
	char job[STORE_PATH_MAX], to[STORE_PATH_MAX], callback[STORE_PATH_MAX];
	struct buffer bytes, tries;
};

enum ending_op { ENDING_SET, ENDING_DELETE, ENDING_TO, ENDING_CALLBACK };

/* Fills in the record after the end of an attempt; output is borrowed. */
void job_ending_fill(struct job_record *r, enum job_next next, int64_t now_ms, int64_t delay_ms);
/* The operations, ENDING_OPS at most; valid until job_ending_done(). */
size_t job_ending_ops(struct job_ending *e, struct store_op ops[ENDING_OPS]);
/* The kind of the operation at that index. */
enum ending_op job_ending_op(const struct job_ending *e, size_t index);
/* The folders that the operations need. */
struct queue_folders job_ending_folders(const struct job_ending *e);
/*
 * The event for notices: how the attempt or the job has ended, or that a callback is given up.
 * False: none.
 */
bool job_ending_event(const struct job_ending *e, const struct registry *r,
		      struct notice_record *ret_event);
void job_ending_done(struct job_ending *e);

#endif
