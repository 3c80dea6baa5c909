/* The runs of tasks and jobs of queues that this process has started and that go on. */
#ifndef ZKLEADER_RUNNER_JOBS_H
#define ZKLEADER_RUNNER_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runner/offer.h"

#define JOBS_MAX      1000 /* each is three processes, and a connection to the sidecar */
#define JOBS_BEGIN_MS 1000
#define JOBS_IDLE_MS  1000 /* so long one that has no job waits for another */

/* A task, its tick and the attempt; or a queue, its job and 0. */
struct jobs_key {
	char name[NAME_ELECTION_MAX + 1];
	char id[OFFER_ID_SIZE];
	int64_t attempt;
};

struct jobs {
	struct jobs_entry {
		pid_t pid;
		int64_t begins_ms; /* CLOCK_BOOTTIME: when it was given; 0: it has begun */
		struct jobs_key key;
		int offers;	/* socket of one that takes jobs of a queue; -1: it takes no more */
		unsigned reads; /* which state of the task files it knows */
		int64_t idle_ms; /* CLOCK_BOOTTIME: since when it has no job; 0: it has one */
	} * list;
	size_t n, n_idle;
};

/* The texts fit. */
struct jobs_key jobs_key(const char *name, const char *id, int64_t attempt);
bool jobs_same(const struct jobs_key *a, const struct jobs_key *b);
/*
 * Whether this run or job goes on: it may be offered again before it has begun. One that does not
 * begin the job that it was given for so long that it is offered again hangs: it gets no more, and
 * the job does not go on.
 */
bool jobs_has(struct jobs *j, const struct jobs_key *key);
/* It was started now, and will claim its tick or job. */
void jobs_add(struct jobs *j, const struct jobs_entry *entry);
/* Gives the job to one that waits for a job of the queue. False: none does. */
bool jobs_give(struct jobs *j, const struct jobs_key *key, unsigned reads);
/* It has made its claim; or its job has ended, and it waits for another. */
void jobs_begun(struct jobs *j, pid_t pid);
void jobs_is_free(struct jobs *j, pid_t pid);
/*
 * Lets those go that have waited for long, or all that wait. Returns when to call this again;
 * INT64_MAX: none waits.
 */
int64_t jobs_let_go(struct jobs *j, bool all);
/* In a new process: what is the runner's alone. */
void jobs_close(const struct jobs *j);
/*
 * How many are about to begin. After JOBS_BEGIN_MS one is taken to be waiting, and does not count;
 * *ret_ms is the CLOCK_BOOTTIME at which that is next so, INT64_MAX: never.
 */
size_t jobs_beginning(const struct jobs *j, int64_t *ret_ms);
/* Reaps processes that have ended. */
void jobs_reap(struct jobs *j);
void jobs_done(struct jobs *j);

#endif
