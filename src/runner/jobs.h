/* The runs of tasks and jobs of queues that this process has started and that go on. */
#ifndef ZKLEADER_RUNNER_JOBS_H
#define ZKLEADER_RUNNER_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runner/offer.h"

#define JOBS_MAX      1000 /* each is three processes, and a connection to the sidecar */
#define JOBS_BEGIN_MS 1000

/* A task, its tick and the attempt; or a queue, its job and 0. */
struct jobs_key {
	char name[NAME_ELECTION_MAX + 1];
	char id[OFFER_ID_SIZE];
	int64_t attempt;
};

struct jobs {
	struct jobs_entry {
		pid_t pid;
		int64_t begins_ms; /* CLOCK_BOOTTIME: when it was started; 0: it has begun */
		struct jobs_key key;
	} * list;
	size_t n;
};

/* The texts fit. */
struct jobs_key jobs_key(const char *name, const char *id, int64_t attempt);
bool jobs_same(const struct jobs_key *a, const struct jobs_key *b);
/* Whether this run or job goes on: it may be offered again before it has begun. */
bool jobs_has(const struct jobs *j, const struct jobs_key *key);
/* It was started now, and will claim its tick or job. */
void jobs_add(struct jobs *j, pid_t pid, const struct jobs_key *key);
/* It has made its claim. */
void jobs_begun(struct jobs *j, pid_t pid);
/*
 * How many are about to begin. After JOBS_BEGIN_MS one is taken to be waiting, and does not count;
 * *ret_ms is the CLOCK_BOOTTIME at which that is next so, INT64_MAX: never.
 */
size_t jobs_beginning(const struct jobs *j, int64_t *ret_ms);
/* Reaps processes that have ended. */
void jobs_reap(struct jobs *j);
void jobs_done(struct jobs *j);

#endif
