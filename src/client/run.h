/* One call of `zkleader run`: for run.c and run_partitions.c. */
#ifndef ZKLEADER_CLIENT_RUN_H
#define ZKLEADER_CLIENT_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/name.h"
#include "client/capture.h"
#include "client/claim.h"
#include "client/command.h"
#include "client/pending.h"

struct run {
	struct context *c;
	const char *task; /* as it was named; of a claimed partition, its name */
	int64_t tick_ms, wait_ms, kill_after_ms;
	int code;
	bool tag;
	struct signals signals;
	struct claim claim;
	struct pending pending;		       /* the claim */
	char partition[NAME_ELECTION_MAX + 1]; /* room for that name */
	int64_t began_ms;		       /* of the first claim, CLOCK_BOOTTIME */
	unsigned ran;			       /* partitions that this call has got */
	unsigned *got;			       /* which; owned by run_partitions.c */
	void *arg;			       /* run_partitions.c's */
	/* By a schedule, see struct claim_request; NULL: by whom has called. */
	const char *scheduled_tick;
	int64_t attempt, timeout_ms;
	struct capture *capture; /* see struct job */
};

/* Waits until a claim is decided: 0 and r->claim, or how asking failed. */
int run_claim(struct run *r);
/* Runs the job of the claim under its guard, and returns the exit code. */
int run_job(struct run *r);
/* What a claim came to that is not ours: the exit code, after a line where there is one to say. */
int run_not_ours(const struct run *r);

/*
 * The first claim of a task with partitions is ours: runs it, and one after the other what else is
 * led here, each in a process of its own. The exit code of the call.
 */
int run_partitions(struct run *r);

#endif
