/* The runner of one user. For runners.c, which alone writes it, and runner_troubles.c. */
#ifndef ZKLEADER_CONTROL_PROGRAMS_RUNNER_H
#define ZKLEADER_CONTROL_PROGRAMS_RUNNER_H

#include "control/programs/programs.h"
#include "control/programs/runners.h"

/*
 * The runner of one user of this host: it is listed once a task here has that user, or once it has
 * connected.
 */
struct runner {
	SLIST_ENTRY(runner) link;
	uid_t uid;
	struct peer *c;			 /* NULL: it is not connected */
	int64_t gone_ms;		 /* when it disconnected, or was listed */
	bool told;			 /* its absence was reported */
	uint64_t lost;			 /* lines of its log that nobody has read */
	bool pings;			 /* answers `ping`, as later releases do */
	bool hangs;			 /* has not answered `ping` for too long */
	uint64_t ping;			 /* number of the last `ping` */
	unsigned unanswered;		 /* looks since the last `ping`; 0: answered */
	struct program_problems refused; /* tasks whose files it refuses, sorted by task */
};

/* NULL: none is known of. */
struct runner *runners_find(const struct methods *m, uid_t uid);
/* Whether the runner has been away for too long, or hangs. */
bool runner_is_away(const struct methods *m, const struct runner *r);
/* Order by task. */
int runner_refusals_by_task(const void *a, const void *b);

#endif
