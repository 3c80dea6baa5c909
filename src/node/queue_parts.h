/* What the files of the queues share. For node/queue*.c alone. */
#ifndef ZKLEADER_NODE_QUEUE_PARTS_H
#define ZKLEADER_NODE_QUEUE_PARTS_H

#include "core/bucket.h"
#include "node/leaders.h"
#include "node/queues.h"

#define QUEUE_SPREAD_PER  8000 /* jobs of which `due` has a folder of a minute more */
#define QUEUE_SPREAD_MAX  7    /* folders behind that of the minute */
#define QUEUE_FAR_MINUTES 1440 /* a job that is due so long behind its submission shares */
#define QUEUE_FAR_STEP	  30   /* a folder with those of so many minutes */
#define QUEUE_AGAIN_MS	  1000 /* after what could not be done */
#define QUEUE_PATIENCE_MS 30000
#define QUEUE_WORKS_MAX	  4000 /* of a queue that one node was given, of former sessions too */

/*
 * A folder that keeps changing is listed again after as many ms as this, at least, and the longer,
 * the more is in it.
 */
#define QUEUE_LIST_LEAST_MS 5
int64_t queue_list_every(size_t names);

/* --- queue_work.c: what this node was given ------------------------------- */

struct queue_works {
	struct work *first;
	size_t n;
	bool listing, dirty; /* ROOT/jobs/Q/at/NODE is to be listed, or listed again */
	bool made;	     /* it was not there, and has been made since */
	int64_t list_ms;     /* CLOCK_BOOTTIME: not before */
};

void queue_works_pump(struct queue *queue, int64_t now);
void queue_works_watch(struct queue *queue, const char *path, const char *rest);
void queue_works_up(struct queue *queue);
void queue_works_expired(struct queue *queue);
void queue_works_done(struct queue *queue);
size_t queue_works_going(const struct queue *queue);

/* --- queues.c ------------------------------------------------------------- */

struct queue {
	struct queues *queues;
	char name[NAME_TASK_MAX + 1];
	struct queue_settings settings;
	bool configured;	 /* false: it goes once nothing of it goes on */
	unsigned making;	 /* folders that are being made */
	struct queue_lead *lead; /* NULL: it is not led here */
	/* of the leadership with that token, which may go on after a yield that was taken back */
	struct bucket bucket;
	int64_t bucket_token;
	struct queue_works works; /* what this node was given */
};

struct queue *queue_find(const struct queues *q, const char *name);
/* Now, by the ZooKeeper server's clock, as far as it is known: ms since the epoch. */
int64_t queues_server_ms(const struct queues *q);
int64_t queues_now(const struct queues *q); /* CLOCK_BOOTTIME */
/* Whether something can be asked for: a session that is confirmed, and a registration. */
bool queues_ready(const struct queues *q);
const struct node_settings *queue_paths(const struct queue *queue);
/* All is looked at again, at the end of the turn, and in so many ms at the latest. */
void queues_wake(struct queues *q, int64_t in_ms);
/* As store_op, of our registration. */
struct store_op queue_check_me(const struct queues *q);
/* In which minute's folder of `due` it is. */
int64_t queue_due_minute(const struct queue *queue, const struct job_pointer *p);
/* The first that it may be in; the others are *ret_step minutes apart, QUEUE_SPREAD_MAX of them. */
int64_t queue_due_first(const struct job_pointer *p, int64_t *ret_step);
/* Whether that worker may be given jobs, but for its version. */
bool queue_is_fit(const struct queue *queue, const struct task *t, const struct member *m);
/* Of the znode that says whose a key is. */
void queue_path_of_key(const struct queues *q, const char *queue, const char *key,
		       char path[STORE_PATH_MAX]);
/* Its election, NULL. */
struct task *queue_task(const struct queue *queue);
/* The znodes of a transaction are not there: of a job, and where it is due, or given. */
struct queue_folders {
	int64_t job_minute, due_minute; /* -1: none of these */
	const char *node;		/* NULL */
};
/* Makes them; queues_wake() follows. */
void queue_make_folders(struct queue *queue, const struct queue_folders *folders);
/* Nobody knows whether it was done. */
bool queue_is_cut(const struct store_reply *reply);

/* --- queue_ops.c: what people ask ----------------------------------------- */

struct queue_op;
void queue_ops_pump(struct queues *q, int64_t now);
void queue_ops_up(struct queues *q);
void queue_ops_watch(struct queues *q, const char *path);
void queue_ops_done(struct queues *q);

/* --- queue_lead.c --------------------------------------------------------- */

/* It is led here, or no longer; what goes on is looked at. */
void queue_lead_pump(struct queue *queue, int64_t now);
void queue_lead_watch(struct queue *queue, enum store_watch type, const char *rest);
/* The connection went, or the session: all is read anew. */
void queue_lead_cut(struct queue *queue);
void queue_lead_done(struct queue *queue);

#endif
