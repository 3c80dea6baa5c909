/* Shared declarations of the queues' files. For node/queue*.c alone. */
#ifndef ZKLEADER_NODE_QUEUE_QUEUE_PARTS_H
#define ZKLEADER_NODE_QUEUE_QUEUE_PARTS_H

#include "core/queue/rate.h"
#include "node/election/leaders.h"
#include "node/queue/queues.h"

#define QUEUE_SPREAD_PER  8000	/* jobs of max-queued per folder of a minute in `due` */
#define QUEUE_SPREAD_MAX  7	/* additional folders of a minute */
#define QUEUE_FAR_MINUTES 1440	/* jobs due so many minutes after their submission share */
#define QUEUE_FAR_STEP	  30	/* a folder per so many minutes */
#define QUEUE_CALLBACKS	  8	/* callbacks of a queue that a node sends at a time */
#define QUEUE_CALLBACK_MS 30000 /* the longest attempt of a callback */
#define QUEUE_AGAIN_MS	  1000	/* retry after a failure */
#define QUEUE_PATIENCE_MS 30000
#define QUEUE_WORKS_MAX	  4000 /* jobs of a queue at one node, also of earlier sessions */

/*
 * The least milliseconds between listings of a folder that keeps changing; queue_list_every() is
 * more for a bigger folder.
 */
#define QUEUE_LIST_LEAST_MS 5
int64_t queue_list_every(size_t names);

/* --- queue_work.c: what this node was given ------------------------------- */

struct queue_works {
	TAILQ_HEAD(work_list, work) list;
	size_t n;
	bool listing, dirty; /* ROOT/jobs/Q/at/NODE is to be listed, or listed again */
	bool made;	     /* the folder was missing, and has been made since */
	bool known;	     /* the folder has been listed in this session */
	int64_t list_ms;     /* CLOCK_BOOTTIME: not before */
};

void queue_works_init(struct queue *queue);
void queue_works_pump(struct queue *queue, int64_t now);
void queue_works_watch(struct queue *queue, const char *path, const char *rest);
void queue_works_up(struct queue *queue);
void queue_works_expired(struct queue *queue);
void queue_works_done(struct queue *queue);
void queue_works_owner_gone(struct queue *queue, const void *owner);
size_t queue_works_going(const struct queue *queue);
/* Whether it is known which of its jobs go on here. */
bool queue_works_known(const struct queue *queue);

/* --- queue_room.c: how many may be submitted ------------------------------- */

enum room_answer {
	ROOM_TAKEN,  /* the submit has its place, if its transaction finds the round in force */
	ROOM_WAIT,   /* not known yet: a read or a count is in progress */
	ROOM_FULL,   /* `max-queued` jobs wait */
	ROOM_CLOSED, /* `open` is not there */
	ROOM_REFUSED /* the servers refuse, with the code `refused` */
};

struct queue_room {
	struct queue *queue;
	int32_t round;	  /* a version of ROOT/jobs/Q/due; -1: none */
	unsigned left;	  /* left of our block in that round */
	bool busy;	  /* a block is being taken, or a count is in progress */
	int64_t retry_ms; /* CLOCK_BOOTTIME: all is read again; 0: not to be */
	enum room_answer answer;
	int64_t until_ms; /* CLOCK_BOOTTIME: the answer is good */
	enum store_code refused;
	/* as read */
	bool open;
	unsigned there; /* left to take */
	int32_t open_version, due_version;
	/* a count of another node: since when it is known (CLOCK_BOOTTIME) */
	int32_t counted_version;
	int64_t counted_ms;
	/* our own */
	char **folders; /* owned, as is each */
	size_t n_folders, next, reads, count;
	enum store_code failed;
};

void queue_room_init(struct queue *queue);
void queue_room_done(struct queue *queue);
void queue_room_pump(struct queue *queue, int64_t now);
/* A place for one submit, which checks in its transaction that `due` has the version *ret_round. */
enum room_answer queue_room_take(struct queue *queue, int32_t *ret_round);
/* A submit of that round was not made. */
void queue_room_give_back(struct queue *queue, int32_t round);
/* A submit has found another round. */
void queue_room_is_over(struct queue *queue, int32_t round);

/* --- queue_key.c ---------------------------------------------------------- */

/* The znode that names the job of a key. */
void queue_path_of_key(const struct queues *q, const char *queue, const char *key,
		       char path[STORE_PATH_MAX]);
/* Parses the data of that znode: the job, and the key in *ret_len bytes. False: garbage. */
bool queue_key_parse(const struct store_reply *reply, const char *queue, struct job_id *ret_id,
		     const char **ret_key, size_t *ret_len);
/* Whether that job has the key. */
bool queue_key_is_of(const struct store_reply *reply, const struct job_id *id);

/* --- queue_served.c ------------------------------------------------------- */

struct queue;

/* Whether that worker may get jobs, apart from its version. */
bool queue_is_fit(const struct queue *queue, const struct task *t, const struct member *m);
/* Whether any worker may get jobs now. */
bool queue_is_served(const struct queue *queue);
/* The fleet may have changed. */
void queue_note_served(struct queue *queue, int64_t now);

/* --- queues.c ------------------------------------------------------------- */

struct queue {
	struct queues *queues;
	char name[NAME_TASK_MAX + 1];
	struct queue_settings settings;
	bool configured;	 /* false: freed once nothing of it is in progress */
	unsigned making;	 /* number of folders being made */
	enum store_code refused; /* code of the last refused attempt to make one; STORE_OK: none */
	struct queue_lead *lead; /* NULL: this node does not lead the queue */
	/* state of the leadership with that token, which outlasts a withdrawn yield */
	struct rate rate;
	int64_t rate_token;
	struct queue_works works; /* jobs assigned to this node */
	/* Callbacks that this node has given up. */
	struct {
		size_t n;
		int64_t last_ms; /* CLOCK_BOOTTIME */
		struct job_pointer last;
	} given_up;
	struct queue_room room;
	/* CLOCK_BOOTTIME: since when no worker is known to serve it; 0: it is served */
	int64_t unserved_ms;
	bool was_served; /* whether it was served before unserved_ms */
};

/* The callback of that job was given up by this node: the log and its status say so. */
void queue_given_up(struct queue *queue, const struct job_pointer *p, int64_t attempt);
struct queue *queue_find(const struct queues *q, const char *name);
/* Whether the time is known, so that a job may be due; or by all clocks, so that one may be old. */
bool queues_may_begin(const struct queues *q);
bool queues_may_delete(const struct queues *q);
int64_t queues_now(const struct queues *q); /* CLOCK_BOOTTIME */
/* Whether requests are possible: a confirmed session and a registration. */
bool queues_ready(const struct queues *q);
/* Likewise, and our record says that this worker answers for the queue. */
bool queue_is_answered_for(const struct queue *queue);
const struct node_settings *queue_paths(const struct queue *queue);
/* Checks all queues again at the end of this turn of the loop, and in in_ms at the latest. */
void queues_wake(struct queues *q, int64_t in_ms);
/* The operation that checks our registration. */
struct store_op queue_check_me(const struct queues *q);
/* The minute of its folder in `due`. */
int64_t queue_due_minute(const struct queue *queue, const struct job_pointer *p);
/* The first possible one; QUEUE_SPREAD_MAX others follow, *ret_step minutes apart. */
int64_t queue_due_first(const struct job_pointer *p, int64_t *ret_step);
/* The election of the queue; NULL: none. */
struct task *queue_task(const struct queue *queue);
/* Folders missing for a transaction: of the job, and of its place in `due` or `at`. */
struct queue_folders {
	int64_t job_minute, due_minute; /* -1: not needed */
	bool callbacks;			/* the latter is that of callbacks */
	const char *node;		/* NULL */
};
/* Makes them; queues_wake() follows. */
void queue_make_folders(struct queue *queue, const struct queue_folders *folders);
/* Whether the outcome is unknown. */
bool queue_is_cut(const struct store_reply *reply);

/* --- queue_ops.c: client requests ----------------------------------------- */

struct queue_op;
void queue_ops_init(struct queues *q);
void queue_ops_pump(struct queues *q, int64_t now);
void queue_ops_up(struct queues *q);
void queue_ops_watch(struct queues *q, const char *path);
void queue_ops_done(struct queues *q);
/* queue_read.c */
void queue_reads_owner_gone(struct queues *q, const void *owner);

/* --- queue_lead.c --------------------------------------------------------- */

/* Begins or ends the leadership here, and advances it. */
void queue_lead_pump(struct queue *queue, int64_t now);
void queue_lead_watch(struct queue *queue, enum store_watch type, const char *rest);
/* The connection or the session was lost: all is read again. */
void queue_lead_cut(struct queue *queue);
void queue_lead_done(struct queue *queue);

#endif
