/*
 * A command under a lease that the sidecar renews: what `run` and `lock` do once something is
 * theirs. The command is dead before the lease is over.
 */
#ifndef ZKLEADER_CLIENT_KEEP_H
#define ZKLEADER_CLIENT_KEEP_H

#include "client/command.h"
#include "client/job.h"

#define KEEP_KILL_AFTER_MAX_MS (INT64_C(3600) * 1000)
#define KEEP_BY_LEASE	       (-1) /* for kill_after_ms: a fifth of the lease, up to 5 s */

struct keep {
	struct context *c;
	const struct job_kind *kind;
	const char *name;	 /* of what is held */
	const char *id;		 /* by which a sidecar that was started anew knows it */
	uint64_t number;	 /* by which this one does */
	const char *const *argv; /* ends with a NULL */
	int (*call)(void *arg);	 /* or NULL; see struct job, as the next two */
	void *call_arg;
	const struct job_delivery *delivery;
	struct signals *signals;
	int64_t kill_after_ms; /* from TERM to KILL */
	int64_t timeout_ms;    /* see struct job, as the next two */
	struct capture *capture;
	struct relay *relay;
	bool unrecorded; /* set by keep_run(): it ended, but the sidecar did not say so */
};

/*
 * Before anything is claimed: whether there may be so long between TERM and KILL. 0, or -EINVAL
 * after a line on the error stream.
 */
int keep_check_kill_after(struct context *c, int64_t kill_after_ms);
/*
 * Runs the command, with the environment as it is, and tells the sidecar of its end. Returns the
 * exit code, after a line on the error stream where it is not the command's own.
 */
int keep_run(struct keep *k);

#endif
