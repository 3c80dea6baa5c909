/*
 * Runs a command under a lease that the sidecar renews: for `run`, `lock`, `join` and jobs of
 * queues. The command is dead before the lease ends.
 */
#ifndef ZKLEADER_SUPERVISE_LEASED_JOB_H
#define ZKLEADER_SUPERVISE_LEASED_JOB_H

#include "api/context.h"
#include "supervise/job.h"

#define LEASED_JOB_KILL_AFTER_MAX_MS (INT64_C(3600) * 1000)
#define LEASED_JOB_BY_LEASE	     (-1) /* for kill_after_ms: a fifth of the lease, up to 5 s */

struct leased_job {
	struct context *c;
	const struct job_kind *kind;
	const char *name;	 /* name of the task, lock, gang or job */
	const char *id;		 /* id by which a restarted sidecar knows it */
	uint64_t number;	 /* number by which the present sidecar knows it */
	const char *const *argv; /* ends with a NULL */
	const char *directory;	 /* or NULL; see struct job, as the next two */
	int (*call)(void *arg);
	void *call_arg;
	struct signals *signals;
	int64_t kill_after_ms; /* from TERM to KILL */
	int64_t timeout_ms;    /* see struct job, as the next two */
	struct capture *capture;
	struct relay *relay;
	bool unrecorded; /* set by leased_job_run(): the sidecar did not confirm the end */
};

/*
 * Before a claim: whether the lease allows that time between TERM and KILL. 0, or -EINVAL after a
 * line on the error stream.
 */
int leased_job_check_kill_after(struct context *c, int64_t kill_after_ms);
/*
 * Runs the command in the present environment, and reports its end to the sidecar. Returns the exit
 * code; where that is not the command's own, a line on the error stream says why.
 */
int leased_job_run(struct leased_job *leased);

/*
 * Parts of leased_job_run(), for a guard that runs one job after the other. This one sets what all
 * of the jobs have in common: the connection, the kind, and where the name and the id are. There is
 * no lease yet.
 */
void leased_job_init(const struct leased_job *leased, struct job_shared *shared, struct job *ret);
/* Gets the first lease: 0, or an exit code after a line on the error stream. */
int leased_job_begin(const struct leased_job *leased, struct job *job);
/*
 * Says how the job ended, and returns the exit code. e: the job could not be started, as of
 * job_run().
 */
int leased_job_conclude(struct leased_job *leased, const struct job *job, int e);

#endif
