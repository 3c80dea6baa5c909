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
 * Link with libzkleader.so; or with libzkleader.a, which needs nothing but the C library.
 *
 * Functions return 0, a negative errno if the sidecar could not be asked, or a positive code of
 * enum zkleader_code if the sidecar refused. A handle is for one thread at a time. It connects when
 * first needed, and again after a lost connection, so an application can keep one handle for as
 * long as it runs. No function raises a signal, waits longer than it is told or allocates more
 * memory than the answer takes. If memory cannot be allocated, it returns -ENOMEM, and the handle
 * remains usable.
 *
 * The structs begin with their size, which the caller sets before the call, as above. Later
 * releases may add fields at the end, and fill in only those that the caller's struct has. A size
 * of 0 stands for the struct of 0.2.0. So an application compiled with one release can be linked
 * with another.
 */
#ifndef ZKLEADER_H
#define ZKLEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default) /* the rest of the library is hidden */
#endif

#define ZKLEADER_SOCKET_DEFAULT "/run/zkleader/zkleader.sock"
#define ZKLEADER_SOCKET_ENV	"ZKLEADER_SOCKET"

#define ZKLEADER_WAIT_MAX_MS	(INT64_C(24) * 3600 * 1000) /* for wait_ms of a check */
#define ZKLEADER_TIMEOUT_MAX_MS (INT64_C(366) * 24 * 3600 * 1000)
#define ZKLEADER_TEXT_SIZE	768 /* bytes of a text in an answer, with its NUL; it may be cut */
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
	ZKLEADER_MISUSE = 3,	  /* unknown task, bad arguments, or the caller has no permission */
	ZKLEADER_NOBODY = 4	  /* nobody may lead it now */
};

struct zkleader;

/* All texts are one line of printable UTF-8. */
struct zkleader_answer {
	size_t size;	     /* set by the caller: sizeof(struct zkleader_answer) */
	bool leader;	     /* this node leads the task until valid_until */
	bool led;	     /* some node leads it; led_by_* name it, if the sidecar knows it */
	uint64_t token;	     /* the fencing token, bigger for each new leader; 0: nobody leads */
	int64_t lease_ms;    /* left of the lease when the function returns; 0: none */
	int64_t valid_until; /* CLOCK_BOOTTIME in ms; meaningful only for a leader */
	char state[ZKLEADER_STATE_SIZE]; /* "leading", "following", "contending", "paused", ... */
	char led_by_id[ZKLEADER_ID_SIZE];
	char led_by_ip[ZKLEADER_IP_SIZE];
	char led_by_hostname[ZKLEADER_HOSTNAME_SIZE];
	char led_by_version[ZKLEADER_VERSION_SIZE];
	char why[ZKLEADER_TEXT_SIZE]; /* a sentence for people */
	/* Its name for people: the key `node`, the hostname, or HOSTNAME:SOCKET; "": not known */
	char led_by_node[ZKLEADER_NODE_SIZE];
};

/*
 * Makes a handle for the sidecar on this socket; NULL is $ZKLEADER_SOCKET or, if that is unset or
 * empty, ZKLEADER_SOCKET_DEFAULT. Does not connect yet. Returns 0; or -ENAMETOOLONG or -EINVAL for
 * a path that no socket can have, or -ENOMEM, and makes no handle.
 */
int zkleader_open(const char *path, struct zkleader **ret_z);
/* z may be NULL. */
void zkleader_close(struct zkleader *z);

/*
 * Asks whether this node leads the task. While nobody leads it (a handover), the sidecar answers
 * after up to wait_ms for the election to settle. The function returns within timeout_ms.
 *
 * Returns 0 and the answer; -ETIMEDOUT, -ECONNREFUSED, -ENOENT, -EACCES, -ECONNRESET and so on;
 * -EBADMSG for an answer that makes no sense; -ENOMEM; or a positive code of a refusal.
 * *ret_answer is untouched on failure.
 *
 * The lease is counted from before the question was sent, so neither a slow answer nor a stopped
 * process can make an old "leads" look new: if the lease ends before this function returns, it asks
 * again. The process may also be stopped between the return and the use of the answer: call
 * zkleader_still_leads() just before each step.
 */
int zkleader_check(struct zkleader *z, const char *task, int64_t wait_ms, int64_t timeout_ms,
		   struct zkleader_answer *ret_answer);
/*
 * The same for a task with partitions: whether this node leads any of them. The answer's token and
 * lease are those of the partition with the longest lease. To ask for one partition call
 * zkleader_check() with its name, "TASK:K".
 */
int zkleader_check_any(struct zkleader *z, const char *task, int64_t wait_ms, int64_t timeout_ms,
		       struct zkleader_answer *ret_answer);
/* Whether the answer was "leads" and its lease has not ended. Does not ask the sidecar. */
bool zkleader_still_leads(const struct zkleader_answer *answer);

/* A partition that this node leads. */
struct zkleader_partition {
	unsigned partition;  /* K, from 0 */
	uint64_t token;	     /* the fencing token, bigger for each new leader of this partition */
	int64_t valid_until; /* CLOCK_BOOTTIME in ms: until then this node leads it */
};

#define ZKLEADER_PARTITIONS_MAX 256

/*
 * The partitions of the task that this node leads now, in order; *ret_partitions is the number of
 * all partitions of the task. Before each step of the work on a partition compare its valid_until
 * with the clock. Returns as zkleader_check() does; ZKLEADER_MISUSE also for a task without
 * partitions. After a failure the content of ret_list is undefined.
 */
int zkleader_partitions(struct zkleader *z, const char *task, int64_t timeout_ms,
			struct zkleader_partition ret_list[ZKLEADER_PARTITIONS_MAX], size_t *ret_n,
			unsigned *ret_partitions);

/*
 * Claims the current tick of the task for the caller. A tick is the instant at which a crontab line
 * fires: the local clock rounded down. Each tick of a task is claimed once in the whole fleet, for
 * ever.
 */
#define ZKLEADER_TICK_SIZE 32

enum zkleader_outcome {
	ZKLEADER_YOURS, /* the tick is claimed for the caller: do the work */
	ZKLEADER_TAKEN, /* it has been claimed already */
	/* not led here and, as far as known, not claimed; why is "" if another node leads */
	ZKLEADER_WAITED,
	ZKLEADER_PAUSED /* the task is paused: nobody may lead it now */
};

struct zkleader_tick {
	size_t size; /* set by the caller: sizeof(struct zkleader_tick) */
	enum zkleader_outcome outcome;
	char tick[ZKLEADER_TICK_SIZE]; /* "2026-11-20T02:00:00Z"; "": none */
	uint64_t token;		       /* as in an answer; not 0 for ZKLEADER_YOURS */
	int64_t attempt;	       /* 1, 2, ... */
	int64_t valid_until;	       /* as in an answer: when the leadership ends */
	char worker_id[ZKLEADER_ID_SIZE];
	char version[ZKLEADER_VERSION_SIZE];
	char why[ZKLEADER_TEXT_SIZE];
};

/*
 * The clock is rounded down to a multiple of tick_ms; 0: that of the task's file. If this node does
 * not lead, the sidecar answers when the tick is claimed elsewhere, when this node becomes leader,
 * or after wait_ms. Returns as zkleader_check() does. Never asks twice: after a failure the tick
 * may be claimed or not.
 */
int zkleader_claim(struct zkleader *z, const char *task, int64_t tick_ms, int64_t wait_ms,
		   int64_t timeout_ms, struct zkleader_tick *ret_tick);

/*
 * Jobs of queues: each is done by one of the workers, and submitted from any node that has the
 * queue in its task files. An id is QUEUE.MINUTE.UUID.
 */
#define ZKLEADER_JOB_ID_SIZE 151   /* with its NUL */
#define ZKLEADER_PAYLOAD_MAX 16384 /* bytes */
#define ZKLEADER_OUTPUT_SIZE 2049  /* of the output kept of a job, with its NUL */

/* 0 and NULL mean not given. Nothing of it is kept beyond the call. */
struct zkleader_submission {
	size_t size; /* set by the caller: sizeof(struct zkleader_submission) */
	const char *queue;
	const void *payload; /* len bytes of any values, up to ZKLEADER_PAYLOAD_MAX */
	size_t len;
	const char *key; /* one job with this key at a time; its id is returned if there is one */
	int64_t at_s;	 /* earliest start: seconds since the epoch */
	int64_t in_ms;	 /* or earliest start after its submission; both up to 90 days ahead */
	const char *callback; /* a URL to which the job's end is posted */
	/* The key counts only until its job has ended, and not as long as that is kept. */
	bool while_open;
};

/*
 * Submits a job. If id is "", the function writes there the id that it chooses before it asks; else
 * it uses the given id. Returns, within timeout_ms:
 *
 * - 0 once the job is committed by ZooKeeper's quorum: id is its id, or that of the job with the
 *   same key if one is still kept;
 * - ZKLEADER_MISUSE: refused, as the queue is not known here, the caller has no permission, the
 *   payload is too big, or the id too old; ZKLEADER_NOBODY: the queue is full or paused, or nobody
 *   serves it; -EINVAL, -E2BIG or -EMSGSIZE: it cannot be sent as it is. This call has committed
 *   nothing. If an earlier call with the same id has committed the job, the answer is 0, whatever
 *   became of the queue since: so ZKLEADER_NOBODY, and an id that is too old, mean that no such job
 *   is kept;
 * - ZKLEADER_CANNOT_TELL, or another negative errno as from zkleader_check(): the job may be
 *   committed or not. The same call with the same id can be repeated for 10 minutes after the id
 *   was chosen: the job is committed once.
 */
int zkleader_submit(struct zkleader *z, const struct zkleader_submission *submission,
		    int64_t timeout_ms, char id[ZKLEADER_JOB_ID_SIZE]);

struct zkleader_job {
	size_t size; /* set by the caller: sizeof(struct zkleader_job) */
	bool ended;  /* for ever: state is "ok", "dead", "lost" or "cancelled" */
	bool ok;     /* state is "ok" */
	char state[ZKLEADER_STATE_SIZE]; /* else "queued", "assigned", "running", ... */
	char node[ZKLEADER_NODE_SIZE];	 /* to which it was last assigned; "": none yet */
	int64_t attempt;		 /* number of the last attempt that has begun; 0: none */
	int exit_status;		 /* of the last attempt that has ended; -1: none */
	size_t output_len; /* bytes; 0: nothing was written, or the caller may not see it */
	/* The end of its output, unchanged but for '?' in place of invalid UTF-8, and a NUL */
	char output[ZKLEADER_OUTPUT_SIZE];
};

/*
 * Reads the state of a job. The answer comes once the job has ended, or after wait_ms (up to
 * ZKLEADER_WAIT_MAX_MS, and at most nine tenths of timeout_ms); 0 reads the present state. To wait
 * for the end, call it again while !ended. Returns as zkleader_check() does; ZKLEADER_MISUSE also
 * for a job that is not kept any more, or never was. *ret_job is untouched on failure.
 */
int zkleader_read_job(struct zkleader *z, const char *id, int64_t wait_ms, int64_t timeout_ms,
		      struct zkleader_job *ret_job);
/*
 * Cancels a job: it never begins, or if it runs it gets TERM, and KILL 10 s later. *ret_done is
 * false if it had ended already, and stays as it was. For root, the sidecar's own user and members
 * of socket-group. Returns as zkleader_read_job() does. After a failure that is no refusal the job
 * may be cancelled or not, and the call can be repeated.
 */
int zkleader_cancel_job(struct zkleader *z, const char *id, int64_t timeout_ms, bool *ret_done);

/*
 * The last failure of this handle, as one printable line with advice; "" if there was none.
 */
const char *zkleader_message(const struct zkleader *z);
/* The path of the socket. */
const char *zkleader_path(const struct zkleader *z);

/*
 * The protocol itself, for methods without a function here. params is one MessagePack array; NULL
 * is an empty one. The result is one MessagePack object, valid until the next call on the handle.
 * Returns as zkleader_check() does, and -EINVAL or -EMSGSIZE for params that cannot be sent. A
 * request that was sent is never sent twice.
 */
int zkleader_call(struct zkleader *z, const char *method, const void *params, size_t len,
		  int64_t timeout_ms, const void **ret_result, size_t *ret_len);

/*
 * After a successful zkleader_call(z, "subscribe", ...) a handle only receives notifications (other
 * calls: -EBUSY). zkleader_next() returns the next one: its method and its parameter, one
 * MessagePack map, valid until the next call on the handle. timeout_ms below 0 waits for ever.
 * -ETIMEDOUT leaves the subscription as it was; any other error ends it, and the handle can
 * subscribe anew.
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

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
