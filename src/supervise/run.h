/* A run of a task, also by the runner: its claim, and its command under the lease. */
#ifndef ZKLEADER_SUPERVISE_RUN_H
#define ZKLEADER_SUPERVISE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "api/claim.h"
#include "api/context.h"
#include "base/text/name.h"
#include "supervise/capture.h"
#include "supervise/pending.h"

struct run {
	struct context *c;
	const char *task; /* as given; after the claim of a partition, the name of that */
	int64_t tick_ms, wait_ms, kill_after_ms;
	int code;
	bool tag;
	struct signals signals;
	struct claim claim;
	struct pending pending;		       /* the claim */
	char partition[NAME_ELECTION_MAX + 1]; /* room for that name */
	int64_t began_ms;		       /* time of the first claim, CLOCK_BOOTTIME */
	unsigned ran;			       /* number of partitions that this call was given */
	unsigned *got;			       /* their numbers; owned by run_partitions.c */
	void *arg;			       /* for run_partitions.c */
	/* For a scheduled run, see struct claim_request; NULL: run by hand. */
	const char *scheduled_tick;
	int64_t attempt, timeout_ms;
	struct capture *capture; /* see struct job, as the next */
	const char *directory;
};

/* Waits until a claim is decided: 0 and r->claim, or how the request failed. */
int run_claim(struct run *r);
/* Runs the job of the claim under its guard, and returns the exit code. */
int run_job(struct run *r);

#endif
