/* The runs of tasks, and the jobs of queues, that this process has started and that go on. */
#ifndef ZKLEADER_RUNNER_JOBS_H
#define ZKLEADER_RUNNER_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runner/offer.h"

#define JOBS_MAX 1000 /* each is three processes, and a connection to the sidecar */

/* A task, its tick and the attempt; or a queue, its job and 0. */
struct jobs_key {
	char name[NAME_ELECTION_MAX + 1];
	char id[OFFER_ID_SIZE];
	int64_t attempt;
};

struct jobs {
	struct jobs_entry {
		pid_t pid;
		struct jobs_key key;
	} * list;
	size_t n;
};

/* The texts fit. */
struct jobs_key jobs_key(const char *name, const char *id, int64_t attempt);
/* Whether this very one goes on; it may be offered again before it has said that it has begun. */
bool jobs_has(const struct jobs *j, const struct jobs_key *key);
void jobs_add(struct jobs *j, pid_t pid, const struct jobs_key *key);
/* Takes the ends of processes. */
void jobs_reap(struct jobs *j);
void jobs_done(struct jobs *j);

#endif
