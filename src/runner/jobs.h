/* The runs that this process has started and that go on. */
#ifndef ZKLEADER_RUNNER_JOBS_H
#define ZKLEADER_RUNNER_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runner/due.h"

#define JOBS_MAX 1000 /* each is three processes, and a connection to the sidecar */

struct jobs {
	struct jobs_entry {
		pid_t pid;
		struct due due;
	} * list;
	size_t n;
};

/* Whether this very attempt goes on; it may be offered again before it has claimed its tick. */
bool jobs_has(const struct jobs *j, const struct due *due);
void jobs_add(struct jobs *j, pid_t pid, const struct due *due);
/* Takes the ends of processes. */
void jobs_reap(struct jobs *j);
void jobs_done(struct jobs *j);

#endif
