/*
 * A worker: one sidecar as the fleet knows it, by the record ROOT/workers/ID, which never changes.
 */
#ifndef ZKLEADER_BASE_TEXT_WORKER_H
#define ZKLEADER_BASE_TEXT_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/text/name.h"

#define WORKER_RANDOM_INTS 5
#define WORKER_TASKS_MAX   10000
#define WORKER_NODE_MAX	   400 /* bytes of the name of a sidecar, kept over restarts */
#define WORKER_QUEUES_MAX  1000
#define WORKER_SLOTS_MAX   1000 /* slots of one queue */
#define WORKER_MACHINE_MAX 32	/* bytes of the identity of the machine */
#define WORKER_LIST_LEN	   HASH_DIGEST_LEN
/* Bytes that a record may have for all its tasks together, as worker_task_bytes() counts them. */
#define WORKER_TASK_BYTES_MAX (1000 * 1024)

struct worker_split;
struct worker_queue;

struct worker {
	char id[NAME_ID_MAX + 1];
	char version[NAME_VERSION_MAX + 1];
	char ip[NAME_IP_MAX + 1];
	char hostname[NAME_HOST_MAX + 1];
	int32_t random_ints[WORKER_RANDOM_INTS];
	int64_t started_at; /* ms since the epoch */
	int64_t timeout_ms; /* its negotiated session timeout; 0 where the record does not say */
	char **tasks;	    /* owned, as is each name; sorted by strcmp, no duplicates */
	size_t n_tasks;
	/* how many other workers share what it lists, from tasks to renamed; NULL: none */
	size_t *sharers;
	/* The digest of the list in ROOT/lists that has what it lists; "": its record has that. */
	char list[WORKER_LIST_LEN + 1];
	bool lists;    /* its release knows such lists, whether it has one or not */
	bool apart;    /* its record names a list, and does not say by itself what it lists */
	bool unlisted; /* nor is that list known: it may list anything */
	/* Fields of this project's own; 0, "" and NULL where the record does not say. */
	char node[WORKER_NODE_MAX + 1];	      /* name of the sidecar, the same over restarts */
	char machine[WORKER_MACHINE_MAX + 1]; /* identity of its machine */
	int64_t clock_offset_ms;    /* how far its clock is ahead of the ZooKeeper server's */
	int64_t clock_tolerance_ms; /* how far it may differ; 0: clock not described */
	bool returned;		    /* the worker was there before, with another record */
	bool sick;		    /* its health check fails: candidate for nothing */
	char **unhealthy;	    /* tasks for which it is not healthy; stored like tasks */
	size_t n_unhealthy;
	int64_t scheme;	   /* number of the rules by which it orders candidates */
	uint32_t *digests; /* rank_digest() of each of tasks; owned */
	size_t n_digests;
	/* its partitioned tasks, as its files have them, in force or not; owned, sorted by name */
	struct worker_split *splits;
	size_t n_splits;
	bool knows_splits; /* its release knows partitions, whether it has any or not */
	/* for each of tasks: the spread group that it is in, "": none; owned, as is each; NULL */
	char **groups;
	size_t n_groups;
	/* for each of tasks: the marks of its keys (marks.h); owned, as is each; NULL */
	char **keys;
	size_t n_keys;
	/* the queues of jobs that it serves; owned, sorted by name */
	struct worker_queue *queues;
	size_t n_queues;
	/* the queues that it does not serve, and whose jobs it answers for; owned, as is each */
	char **answers;
	size_t n_answers;
	/* its tasks with renamed-from: each followed by its former name; owned, as is each */
	char **renamed;
	size_t n_renamed;
};

/* A task and the number of its partitions. */
struct worker_split {
	char task[NAME_TASK_MAX + 1];
	unsigned partitions;
};

/* A queue, and how many of its jobs the worker does at a time: at least 1. */
struct worker_queue {
	char queue[NAME_TASK_MAX + 1];
	unsigned slots;
};

/* A zeroed worker on the heap. */
struct worker *worker_new(void);
void worker_free(struct worker *w);
/* Takes a copy of n names, sorts them and drops duplicates; replaces what was there. */
void worker_set_tasks(struct worker *w, const char *const *names, size_t n);
/* The same with a heap array of heap strings, which the worker now owns. */
void worker_take_tasks(struct worker *w, char **names, size_t n);
/*
 * Shares what the other worker lists if it is the same, as in most of a fleet, and frees its own.
 * Returns whether it is shared now. What is shared must not be set anew.
 */
bool worker_share_tasks(struct worker *w, struct worker *other);
/* Has the worker list what the other one lists, and shares that. */
void worker_adopt(struct worker *w, struct worker *other);
/* Takes over the names of the tasks for which the worker is not healthy, in the same way. */
void worker_take_unhealthy(struct worker *w, char **names, size_t n);
bool worker_is_unhealthy(const struct worker *w, const char *task);
/*
 * The most bytes that a record ever has for a task with a name of so many bytes, healthy or not:
 * partitions: 0 if it has none; group: NULL if it is in none; former: its name before, NULL.
 */
size_t worker_task_bytes(size_t name, unsigned partitions, const char *group, bool is_queue,
			 const char *former);
/* The number of partitions into which the worker's files split the task; 0: none. */
unsigned worker_partitions(const struct worker *w, const char *task);
/* The number of the queue's jobs that the worker does at a time; 0: it does not serve the queue. */
unsigned worker_slots(const struct worker *w, const char *queue);
/* Takes over the names of the queues that it answers for without serving them, in the same way. */
void worker_take_answers(struct worker *w, char **names, size_t n);
/*
 * Whether the worker answers, or may answer, for jobs of the queue that were assigned to a node of
 * that name.
 */
bool worker_answers_for(const struct worker *w, const char *node, const char *queue);
/* The spread group in which the worker lists the task; NULL: none, or the task is not listed. */
const char *worker_group(const struct worker *w, const char *task);

#endif
