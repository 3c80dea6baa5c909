/* One run of a job: what both of its supervisors know, and what they tell each other. */
#ifndef ZKLEADER_CLIENT_JOB_H
#define ZKLEADER_CLIENT_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "zkleader.h"
#include "client/signals.h"
#include "client/terminal.h"
#include "wire/reader.h"

#define JOB_NO_STATUS	 (-1)
#define JOB_REPORT_MS	 1000  /* that the end of a run has at the least to be recorded */
#define JOB_AWAY_MS	 10000 /* likewise, where the sidecar is away and may be started again */
#define JOB_KNOCK_MS	 100   /* between attempts to find one that is away */
#define JOB_RENEW_MIN_MS 50    /* between renewals of the lease */
#define JOB_CANNOT_START 126
#define JOB_NOT_FOUND	 127

/* In memory that both see, so that one of them can go on where the other was killed or stopped. */
struct job_shared {
	_Atomic pid_t group; /* of the job; 0: not started yet, or its leader has been reaped */
	_Atomic int64_t deadline;  /* of the lease, in ms of CLOCK_BOOTTIME */
	_Atomic int64_t report_by; /* once all is dead: until when its report is waited for */
	_Atomic int status;	   /* of the job as a shell would say, or JOB_NO_STATUS */
	_Atomic int start_errno;
	_Atomic bool over; /* no process of it is left */
	_Atomic bool lost; /* it was ended because the leadership was */
	_Atomic bool recorded;
};

struct job {
	struct zkleader *z; /* the connection that the run belongs to */
	const char *task;
	const char *id; /* of the claim */
	uint64_t run;
	uint32_t attach_id; /* of the request that attaches it to a sidecar started anew; 0: none */
	const char *const *argv; /* ends with a NULL */
	const struct signals *signals;
	struct terminal terminal;
	int64_t kill_after_ms;
	int64_t renew_ms;
	struct job_shared *shared;
	bool guard_killed; /* set by job_run() */
	bool all_reached; /* likewise: what had left the job's process group was killed with it, too */
};

/*
 * Runs the job under a guard and waits for its end; job->shared says how it went. 0, or a negative
 * errno where it could not be started. The caller has blocked signals and made shared, with a deadline.
 */
int job_run(struct job *job);
/*
 * Says that no process of the run is left and waits until that is recorded, at most until then: whether
 * it is. A sidecar that is away is looked for during JOB_AWAY_MS, unless `until` is 0. interrupted: it did not come to its end, but was ended, so that another node may run it again.
 */
bool job_report(struct job *job, bool interrupted, int64_t until);

/* Asks for a renewal of the run's lease: as async_send(). */
int job_ask_renewal(struct zkleader *z, uint64_t run, int64_t deadline, uint32_t *ret_id);
/*
 * Its answer, where the lease counts from before it was asked for: 0 or -EBADMSG. The times of the job are
 * kept within the session's timeout that it names, which may have become a shorter one.
 */
int job_parse_renewal(struct job *job, struct reader result, bool *ret_leads,
		      int64_t *ret_lease_ms);

/*
 * The run goes on, but the connection that it belonged to is gone: asks a sidecar started anew to take it.
 * 0, and job->attach_id is that of the request; or a negative errno.
 */
int job_ask_attach(struct job *job);
/* Its answer, in job->run as well: 0 or -EBADMSG. */
int job_parse_attached(struct job *job, struct reader result, bool *ret_attached,
		       bool *ret_recorded);

/* In a process of its own, which never returns: starts the job and keeps it within the lease. */
_Noreturn void guard_run(struct job *job, int control);

#endif
