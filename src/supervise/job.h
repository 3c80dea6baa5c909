/* A run of a job: the state of its two supervisors, zkleader and the guard. */
#ifndef ZKLEADER_SUPERVISE_JOB_H
#define ZKLEADER_SUPERVISE_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "zkleader.h"
#include "supervise/capture.h"
#include "supervise/relay.h"
#include "supervise/signals.h"
#include "supervise/terminal.h"
#include "wire/reader.h"

#define JOB_NO_STATUS	  (-1)
#define JOB_IDLE_MS	  (INT64_MAX / 2) /* as report_by: no job is there to be reported */
#define JOB_REPORT_MS	  1000		  /* at least so long to record the end of a run */
#define JOB_AWAY_MS	  10000 /* the same while the sidecar is down and may be restarted */
#define JOB_KNOCK_MS	  100	/* between attempts to connect to a sidecar that is down */
#define JOB_RENEW_MIN_MS  50	/* least time between renewals of the lease */
#define JOB_LAST_WORDS_MS 10000 /* from TERM to KILL of what a schedule started, within the lease */
#define JOB_CANNOT_START  126
#define JOB_WHY_SIZE	  151 /* bytes of the reason why a command could not be started */
#define JOB_NOT_FOUND	  127

/* The result of a job that is an HTTP request. */
struct job_delivery {
	enum job_delivered { JOB_IS_COMMAND, JOB_AGAIN, JOB_DELIVERED, JOB_REFUSED } how;
	int64_t retry_ms; /* AGAIN: delay that the receiver asked for; -1: none */
};

/* Memory shared by both supervisors, so that one can go on if the other is killed or stopped. */
struct job_shared {
	_Atomic pid_t group;	   /* process group; 0: not started, or its leader was reaped */
	_Atomic int64_t deadline;  /* end of the lease, in ms of CLOCK_BOOTTIME */
	_Atomic int64_t report_by; /* once no process is left: deadline of the report */
	_Atomic uint64_t number;   /* the sidecar's number of what is held, such as the run */
	_Atomic unsigned round;	   /* counts the jobs of a guard that runs one after the other */
	_Atomic int status;	   /* status of the job as a shell would say, or JOB_NO_STATUS */
	_Atomic int start_errno;
	_Atomic bool over; /* no process of the job is left */
	_Atomic bool lost; /* the job was ended because the leadership was lost */
	_Atomic bool cut;  /* the job was ended before its end, and not by its timeout first */
	_Atomic bool recorded;
	_Atomic bool timed_out; /* the job was ended by its timeout */
	/* Written by the job's own process: why its command could not be executed, "": it was. */
	char why[JOB_WHY_SIZE];
	struct job_delivery delivery;
};

/* The kind of a job's lease: its name, and the methods for it. */
struct job_kind {
	const char *renew, *finish, *attach;
	const char *lease; /* in words, to be followed by a name: "the leadership of" */
};

struct job {
	struct zkleader *z; /* the connection that the job belongs to */
	const struct job_kind *kind;
	const char *name;	 /* name of what is held, such as the task */
	const char *id;		 /* id of the claim */
	uint32_t attach_id;	 /* request that attaches it to a restarted sidecar; 0: none */
	const char *const *argv; /* ends with a NULL */
	const char *directory;	 /* where argv starts; NULL: where we are */
	/* Instead of argv: called in the job's own process; returns its exit code. */
	int (*call)(void *arg);
	void *call_arg;
	int input; /* its standard input; 0: ours */
	/*
	 * Called in the guard, which then runs one job after the other: waits for the next one, and
	 * begins its lease. False: there is none. It looks at `control`, whose end says that the
	 * supervisor has gone; -1: it has.
	 */
	bool (*next)(struct job *job, int control);
	void *next_arg;
	const struct signals *signals;
	struct terminal terminal;
	int64_t kill_after_ms;
	int64_t renew_ms;
	int64_t timeout_ms; /* the job is ended after so long; 0: never */
	/* The receivers of the job's output; both NULL: our standard output and error. */
	struct capture *capture; /* for a job started by a schedule or a queue */
	struct relay *relay;	 /* for our standard output and error */
	struct job_shared *shared;
	pid_t supervisor; /* set by job_run() */
	int watch; /* set by job_run(): the timer by which the supervisor looks at the deadline */
	bool guard_killed; /* set by job_run(): the guard was killed */
	bool all_reached;  /* set by job_run(): so were all processes outside its group */
};

/*
 * Runs the job under a guard and waits for its end; the result is in job->shared. 0, or a negative
 * errno if it could not be started. The caller has blocked signals and made job->shared, with a
 * deadline.
 */
int job_run(struct job *job);
/* Clears the state of the job before. To be called before each job, the first one too. */
void job_clear(struct job_shared *shared);
/* Sets a timer, in ms of CLOCK_BOOTTIME. */
void job_arm(int timer, int64_t at_ms);
/*
 * Marks the attempt as interrupted, whatever status the job ends with: it is ended before its own
 * end. Does nothing if the job's timeout has ended it already.
 */
void job_cut(struct job_shared *shared);
/*
 * Reports that no process of the run is left, and waits until `until` for that to be recorded:
 * returns whether it is. Tries for JOB_AWAY_MS to reach a sidecar that is down, unless `until` is
 * 0.
 */
bool job_report(struct job *job, int64_t until);

/* Asks for a renewal of the lease: as handle_send(). */
int job_ask_renewal(const struct job *job, int64_t deadline, uint32_t *ret_id);
/*
 * Parses the answer: 0 or -EBADMSG. The lease counts from when the renewal was sent. Shortens the
 * job's times if the session timeout in the answer is shorter than before.
 */
int job_parse_renewal(struct job *job, struct reader result, bool *ret_leads,
		      int64_t *ret_lease_ms);

/*
 * Asks a restarted sidecar, after a loss of the connection, to go on with what is held. 0 and the
 * request's id in job->attach_id, or a negative errno.
 */
int job_ask_attach(struct job *job);
/* Parses the answer, and sets job->number: 0 or -EBADMSG. */
int job_parse_attached(struct job *job, struct reader result, bool *ret_attached,
		       bool *ret_recorded);

/*
 * Attaches the job as above, and waits for the answer. 0: this connection now holds the lease. 1:
 * the run is over; *ret_recorded says whether its end is recorded. Otherwise a negative errno, or
 * the code of a refusal.
 */
int job_attach(struct job *job, int64_t until, bool *ret_recorded);

/* Starts the job and keeps it within the lease, in a process of its own. Never returns. */
_Noreturn void guard_run(struct job *job, int control);

#endif
