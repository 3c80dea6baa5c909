/*
 * zkleader: ask the leadership sidecar of this machine whether this node leads a task.
 *
 *	struct zkleader *z;
 *	struct zkleader_answer answer = {.size = sizeof(answer)};
 *
 *	if (zkleader_open(NULL, &z) == 0) {
 *		int r = zkleader_check(z, "nightly-report", 1000, 5000, &answer);
 *		if (r == 0 && answer.leader)
 *			run_report(answer.token);
 *		else if (r != 0)
 *			fprintf(stderr, "%s\n", zkleader_message(z));
 *		zkleader_close(z);
 *	}
 *
 * Link with libzkleader.a, which needs nothing but the C library.
 *
 * Functions return 0, a negative errno where the sidecar could not be asked, or a positive code of
 * enum zkleader_code where it was asked and refused. A handle is for one thread at a time. Its
 * connection is made when it is first needed and again when it was lost, so one handle can be kept
 * for as long as the application runs. No function raises a signal, waits longer than it is told or
 * allocates more than the answer takes. Memory that the system refuses is -ENOMEM, after which the
 * handle can be used again.
 *
 * The structs begin with their size, which the caller sets before the call, as above: later
 * releases may add fields at their ends, and fill in those that the caller has. 0 stands for the
 * struct as it is in 0.2.0. So who was compiled with one release can be linked with another.
 */
#ifndef ZKLEADER_H
#define ZKLEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ZKLEADER_SOCKET_DEFAULT "/run/zkleader/zkleader.sock"
#define ZKLEADER_SOCKET_ENV	"ZKLEADER_SOCKET"

#define ZKLEADER_WAIT_MAX_MS	(INT64_C(24) * 3600 * 1000) /* that a check may wait */
#define ZKLEADER_TIMEOUT_MAX_MS (INT64_C(366) * 24 * 3600 * 1000)
#define ZKLEADER_TEXT_SIZE	768 /* of a text in an answer, with its NUL; a longer one is cut */
#define ZKLEADER_STATE_SIZE	32
#define ZKLEADER_ID_SIZE	65
#define ZKLEADER_IP_SIZE	46
#define ZKLEADER_HOSTNAME_SIZE	256
#define ZKLEADER_VERSION_SIZE	256
#define ZKLEADER_NODE_SIZE	401

/* The sidecar's refusals, which are also the exit codes of zkleader-check. */
enum zkleader_code {
	ZKLEADER_OK = 0,
	ZKLEADER_NOT_LEADER = 1,
	ZKLEADER_CANNOT_TELL = 2, /* it has no confirmed session with ZooKeeper */
	ZKLEADER_MISUSE = 3,	  /* unknown task, bad arguments, or the caller may not */
	ZKLEADER_NOBODY = 4	  /* nobody may lead it now */
};

struct zkleader;

/* All texts are one line of printable UTF-8. */
struct zkleader_answer {
	size_t size;	     /* set by the caller: sizeof(struct zkleader_answer) */
	bool leader;	     /* this node leads the task until valid_until */
	bool led;	     /* some node leads it, and led_by_* says which, if the sidecar does */
	uint64_t token;	     /* the fencing token, bigger for each new leader; 0: nobody leads */
	int64_t lease_ms;    /* what is left of the lease as the function returns; 0: none */
	int64_t valid_until; /* CLOCK_BOOTTIME in ms; meaningful only for a leader */
	char state[ZKLEADER_STATE_SIZE]; /* "leading", "following", "contending", "paused", ... */
	char led_by_id[ZKLEADER_ID_SIZE];
	char led_by_ip[ZKLEADER_IP_SIZE];
	char led_by_hostname[ZKLEADER_HOSTNAME_SIZE];
	char led_by_version[ZKLEADER_VERSION_SIZE];
	char why[ZKLEADER_TEXT_SIZE]; /* a sentence for people */
	/* What people call it: its key `node`, its hostname, or HOSTNAME:SOCKET; "": not known */
	char led_by_node[ZKLEADER_NODE_SIZE];
};

/*
 * Makes a handle for the sidecar on this socket; NULL is $ZKLEADER_SOCKET or, where that is unset
 * or empty, ZKLEADER_SOCKET_DEFAULT. Does not connect yet. Returns 0; -ENAMETOOLONG or -EINVAL for
 * a path that no socket can have, or -ENOMEM: there is no handle then.
 */
int zkleader_open(const char *path, struct zkleader **ret_z);
/* NULL is taken. */
void zkleader_close(struct zkleader *z);

/*
 * Asks whether this node leads the task. While nobody leads it (a handover), the sidecar answers
 * after up to wait_ms for the election to settle. The function returns within timeout_ms.
 *
 * Returns 0 and the answer; -ETIMEDOUT, -ECONNREFUSED, -ENOENT, -EACCES, -ECONNRESET and so on;
 * -EBADMSG for an answer that makes no sense; -ENOMEM; or a positive code of a refusal.
 * *ret_answer is untouched on failure.
 *
 * The lease is counted from before the question was sent, so neither a slow answer nor a process
 * that was stopped meanwhile can make an old "leads" look new: if the lease is over before this
 * function returns, it asks again. Between its return and the use of the answer the caller may be
 * stopped as well: zkleader_still_leads() just before each step tells.
 */
int zkleader_check(struct zkleader *z, const char *task, int64_t wait_ms, int64_t timeout_ms,
		   struct zkleader_answer *ret_answer);
/*
 * Likewise of a task with partitions: whether this node leads any of them. The answer's token and
 * lease are those of the partition whose lease is the longest. One partition is asked for with
 * zkleader_check() and its name, "TASK:K".
 */
int zkleader_check_any(struct zkleader *z, const char *task, int64_t wait_ms, int64_t timeout_ms,
		       struct zkleader_answer *ret_answer);
/* Whether the answer was "leads" and its lease is not over. Asks nobody. */
bool zkleader_still_leads(const struct zkleader_answer *answer);

/* A partition that this node leads. */
struct zkleader_partition {
	unsigned partition;  /* K, from 0 */
	uint64_t token;	     /* the fencing token, bigger for each new leader of this partition */
	int64_t valid_until; /* CLOCK_BOOTTIME in ms: until then this node leads it */
};

#define ZKLEADER_PARTITIONS_MAX 256

/*
 * The partitions of the task that this node leads now, in their order, with the number of those
 * that the task has. Before each step of the work on one of them: is its valid_until over? Returns
 * as zkleader_check() does; ZKLEADER_MISUSE also for a task without partitions. What ret_list holds
 * after a failure means nothing.
 */
int zkleader_partitions(struct zkleader *z, const char *task, int64_t timeout_ms,
			struct zkleader_partition ret_list[ZKLEADER_PARTITIONS_MAX], size_t *ret_n,
			unsigned *ret_partitions);

/*
 * Claims the current tick of the task for the caller: the instant that a crontab line stands for,
 * which is the local clock rounded down. One tick of one task is claimed once in the whole fleet,
 * for ever.
 */
#define ZKLEADER_TICK_SIZE 32

enum zkleader_outcome {
	ZKLEADER_YOURS, /* the tick is the caller's: do the work */
	ZKLEADER_TAKEN, /* it has been claimed already */
	/* not led here and, as far as seen, not claimed; why is "" if another leads */
	ZKLEADER_WAITED,
	ZKLEADER_PAUSED /* nobody may lead the task now */
};

struct zkleader_tick {
	size_t size; /* set by the caller: sizeof(struct zkleader_tick) */
	enum zkleader_outcome outcome;
	char tick[ZKLEADER_TICK_SIZE]; /* "2026-11-20T02:00:00Z"; "" if there is none */
	uint64_t token;		       /* as in an answer; not 0 if it is the caller's */
	int64_t attempt;	       /* 1, 2, ... */
	int64_t valid_until;	       /* as in an answer: when the leadership ends */
	char worker_id[ZKLEADER_ID_SIZE];
	char version[ZKLEADER_VERSION_SIZE];
	char why[ZKLEADER_TEXT_SIZE];
};

/*
 * tick_ms is what the clock is rounded down to, 0: as the task's file says. Where this node does
 * not lead, the sidecar answers when the tick is claimed elsewhere, when leadership has come here,
 * or after wait_ms. Returns as zkleader_check() does. Never asks twice: after a failure the tick
 * may be claimed or not.
 */
int zkleader_claim(struct zkleader *z, const char *task, int64_t tick_ms, int64_t wait_ms,
		   int64_t timeout_ms, struct zkleader_tick *ret_tick);

/*
 * Jobs of queues: work that one of the workers does, submitted from any node that has the queue in
 * its task files. An id is QUEUE.MINUTE.UUID.
 */
#define ZKLEADER_JOB_ID_SIZE 151   /* with its NUL */
#define ZKLEADER_PAYLOAD_MAX 16384 /* bytes */
#define ZKLEADER_OUTPUT_SIZE 2049  /* of what is kept of what a job wrote, with a NUL */

/* What is 0 or NULL is not given. Nothing of it is kept beyond the call. */
struct zkleader_submission {
	size_t size; /* set by the caller: sizeof(struct zkleader_submission) */
	const char *queue;
	const void *payload; /* len bytes of any value, up to ZKLEADER_PAYLOAD_MAX */
	size_t len;
	const char *key; /* one job of this key at a time: its id where there is one */
	int64_t at_s;	 /* not before this time: seconds since the epoch */
	int64_t in_ms;	 /* or not before so long after it is taken; both up to 90 days ahead */
	const char *callback; /* a URL that is sent the job's end */
};

/*
 * Submits a job. id is "" at first, and the function writes there the id that it chooses before it
 * asks; where there is an id, it is used. Returns, within timeout_ms:
 *
 * - 0 once the job is committed by ZooKeeper's quorum: id is the job's, which is another one where
 *   a job of that key is still kept;
 * - ZKLEADER_MISUSE: refused, as the queue is not known here, the caller may not, the payload is
 *   too big, or the id too old; ZKLEADER_NOBODY: the queue is full or paused, or nobody serves it;
 *   -EINVAL, -E2BIG or -EMSGSIZE: it cannot be sent as it is. This call has committed nothing. A
 *   job that an earlier one with the same id has committed is answered with 0, whatever became of
 *   the queue since: ZKLEADER_NOBODY, and that the id is too old, say that no such job is kept;
 * - ZKLEADER_CANNOT_TELL, or another negative errno as from zkleader_check(): the job may be
 *   committed or not. The same call with the same id can be repeated for 10 minutes after the id
 *   was chosen: the job is there once.
 */
int zkleader_submit(struct zkleader *z, const struct zkleader_submission *submission,
		    int64_t timeout_ms, char id[ZKLEADER_JOB_ID_SIZE]);

struct zkleader_job {
	size_t size; /* set by the caller: sizeof(struct zkleader_job) */
	bool ended;  /* for ever: state is "ok", "dead", "lost" or "cancelled" */
	bool ok;     /* state is "ok" */
	char state[ZKLEADER_STATE_SIZE]; /* else "queued", "assigned", "running", ... */
	char node[ZKLEADER_NODE_SIZE];	 /* that it was given to last; "": to none yet */
	int64_t attempt;		 /* the last that has begun; 0: none */
	int exit_status;		 /* of the last attempt that has ended; -1: none */
	size_t output_len; /* bytes; 0: nothing was written, or it is not for the caller to see */
	/* The last that it wrote, as it is, with a NUL behind it; bytes that are no UTF-8: '?' */
	char output[ZKLEADER_OUTPUT_SIZE];
};

/*
 * What became of the job. The answer comes once it has ended, or after wait_ms (up to
 * ZKLEADER_WAIT_MAX_MS; at most nine tenths of timeout_ms). 0 asks for how it is now; who waits for
 * the end asks again while !ended. Returns as zkleader_check() does; ZKLEADER_MISUSE also for a
 * job that is not kept any more, or never was. *ret_job is untouched on failure.
 */
int zkleader_read_job(struct zkleader *z, const char *id, int64_t wait_ms, int64_t timeout_ms,
		      struct zkleader_job *ret_job);
/*
 * Ends a job, or has it never begin: one that runs gets TERM, and KILL 10 s later. *ret_done is
 * false where it had ended already, and stays as it is. For root, the sidecar's own user and
 * socket-group. Returns as zkleader_read_job() does; after another failure than a refusal it may be
 * cancelled or not, and the call can be repeated.
 */
int zkleader_cancel_job(struct zkleader *z, const char *id, int64_t timeout_ms, bool *ret_done);

/*
 * The last failure of this handle as one printable line that says what to do; "" if there was none.
 */
const char *zkleader_message(const struct zkleader *z);
/* The path of the socket. */
const char *zkleader_path(const struct zkleader *z);

/*
 * The protocol itself, for what has no function here. params is one MessagePack array; NULL is an
 * empty one. The result is one MessagePack object, good until the next call on the handle. Returns
 * as zkleader_check() does, and -EINVAL or -EMSGSIZE for params that cannot be sent. A request that
 * was sent is never sent twice.
 */
int zkleader_call(struct zkleader *z, const char *method, const void *params, size_t len,
		  int64_t timeout_ms, const void **ret_result, size_t *ret_len);

/*
 * After a successful zkleader_call(z, "subscribe", ...) a handle takes notifications and nothing
 * else (other calls: -EBUSY). The next one: its method and its parameter, one MessagePack map, good
 * until the next call on the handle. timeout_ms below 0 waits for ever. -ETIMEDOUT leaves
 * everything as it was; any other error ends the subscription, and the handle can subscribe anew.
 */
struct zkleader_notification {
	size_t size; /* set by the caller: sizeof(struct zkleader_notification) */
	char method[ZKLEADER_STATE_SIZE];
	const void *param;
	size_t len;
};
int zkleader_next(struct zkleader *z, int64_t timeout_ms, struct zkleader_notification *ret);
/* The socket to poll for reading before zkleader_next(z, 0, ...), or -1 while there is none. */
int zkleader_fd(const struct zkleader *z);

#ifdef __cplusplus
}
#endif

#endif
