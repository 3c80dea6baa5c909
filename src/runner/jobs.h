/* The runs of tasks and jobs of queues that this process has started and that go on. */
#ifndef ZKLEADER_RUNNER_JOBS_H
#define ZKLEADER_RUNNER_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runner/offer.h"

#define JOBS_MAX      1000 /* each is three processes, and a connection to the sidecar */
#define JOBS_BEGIN_MS 1000
#define JOBS_IDLE_MS  1000 /* how long a process without a job waits for one */

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
		int offers;	 /* socket of a process that takes jobs of a queue; -1: none */
		unsigned reads;	 /* which state of the task files it knows */
		int64_t idle_ms; /* CLOCK_BOOTTIME: since when it has no job; 0: it has one */
	} * list;
	size_t n, n_idle;
};

/* Makes a key; the texts have to fit. */
struct jobs_key jobs_key(const char *name, const char *id, int64_t attempt);
bool jobs_same(const struct jobs_key *a, const struct jobs_key *b);
/*
 * Whether this run or job goes on: it may be offered again before it has begun. A process that
 * still has not begun its job when that is offered again hangs: it gets no more jobs, and this one
 * counts as not going on.
 */
bool jobs_has(struct jobs *j, const struct jobs_key *key);
/* Adds a process that was just started, and will claim its tick or job. */
void jobs_add(struct jobs *j, const struct jobs_entry *entry);
/* Gives the job to a process that waits for a job of the queue. False: none does. */
bool jobs_give(struct jobs *j, const struct jobs_key *key, unsigned reads);
/*
 * jobs_begun(): the process has made its claim. jobs_is_free(): its job has ended, and it waits for
 * another.
 */
void jobs_begun(struct jobs *j, pid_t pid);
void jobs_is_free(struct jobs *j, pid_t pid);
/*
 * Lets processes go that have waited for long, or all that wait. Returns when to call this again;
 * INT64_MAX: none waits.
 */
int64_t jobs_let_go(struct jobs *j, bool all);
/* In a new process: closes what is the runner's alone. */
void jobs_close(const struct jobs *j);
/*
 * The number of processes that are about to begin. After JOBS_BEGIN_MS a process counts as waiting
 * instead; *ret_ms is the CLOCK_BOOTTIME of the next such change, INT64_MAX: never.
 */
size_t jobs_beginning(const struct jobs *j, int64_t *ret_ms);
/* Reaps processes that have ended. */
void jobs_reap(struct jobs *j);
void jobs_done(struct jobs *j);

#endif
