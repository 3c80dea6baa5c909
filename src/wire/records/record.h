/* The records that live in ZooKeeper: msgpack maps with string keys. */
#ifndef ZKLEADER_WIRE_RECORDS_RECORD_H
#define ZKLEADER_WIRE_RECORDS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/worker.h"
#include "wire/keys.h"

/* Bytes, below the server's default jute.maxbuffer; 10 KiB are for what is not about tasks. */
#define RECORD_WORKER_MAX (WORKER_TASK_BYTES_MAX + 10 * 1024)
#define RECORD_LIST_MAX	  RECORD_WORKER_MAX
#define RECORD_LEADER_MAX 4096
#define RECORD_RUN_MAX	  4096
#define RECORD_POLICY_MAX 4096
#define RECORD_SPLIT_MAX  4096

#define POLICY_TEXT_MAX	  200 /* bytes of a reason, and of a user's name */

struct leader_record {
	char id[NAME_ID_MAX + 1];
	char ip[NAME_IP_MAX + 1];
	char hostname[NAME_HOST_MAX + 1];
	char version[NAME_VERSION_MAX + 1];
	int64_t since; /* ms since the epoch */
};

#define RECORD_STATE_MAX  7    /* "running" "ok" "failed" "lost" "claimed" "missed" "timeout" */
#define RECORD_OUTPUT_MAX 2048 /* bytes: the end of what the job wrote */
/* "USER@HOST": who had it run by hand */
#define RECORD_WHY_MAX	  15  /* "outage" "overlap" "window" and so on: a word in lower case */
#define RECORD_DETAIL_MAX 200 /* bytes */
#define RECORD_BY_MAX	  (POLICY_TEXT_MAX + 1 + NAME_HOST_MAX)

struct run_record {
	char state[RECORD_STATE_MAX + 1];
	char id[NAME_ID_MAX + 1]; /* the worker that ran it */
	char hostname[NAME_HOST_MAX + 1];
	char node[WORKER_NODE_MAX + 1]; /* name of its node, "": the hostname */
	char run[NAME_ID_MAX + 1];	/* uuid of the claim, in case its answer is lost; "" */
	int64_t session;		/* session of the sidecar; 0: not in the record */
	int64_t token;
	int64_t attempt;  /* 1, 2, … */
	int64_t failures; /* attempts before it that failed; -1: not in the record */
	bool retrying; /* people were told that another attempt follows; so they are if none does */
	int64_t started_at;	    /* ms since the epoch */
	int64_t ended_at;	    /* 0: not yet */
	int64_t exit_status;	    /* -1: none yet */
	char by[RECORD_BY_MAX + 1]; /* "": by its schedule, or claimed by `run` */
	/*
	 * Why the run was missed, or did not end well: a word, and a text for people; "": not told.
	 */
	char why[RECORD_WHY_MAX + 1], detail[RECORD_DETAIL_MAX + 1];
	/*
	 * Any bytes, at most RECORD_OUTPUT_MAX, borrowed. In a parsed record they point into the
	 * data that was parsed.
	 */
	const char *output;
	size_t output_len;
};

enum policy_kind {
	POLICY_PAUSE,  /* task: no node of the fleet leads it */
	POLICY_PIN,    /* task, version: only workers with that version are candidates */
	POLICY_DRAIN,  /* node: its workers are candidates for nothing */
	POLICY_RESIGN, /* task, node: its workers lead it only while nobody else can */
	/* task, node: it stands by for a lost run; others lead it only if it cannot */
	POLICY_RERUN,
	POLICY_SHOWN, /* the kinds from here on are internal to sidecars */
	/* task: a pause ended at `since`, and no tick up to then is owed */
	POLICY_ENDED = POLICY_SHOWN,
	/* task, and the tick in place of a node: the user `by` has triggered it */
	POLICY_TRIGGER,
	POLICY_KINDS
};

#define POLICY_KIND_MAX 6

/* A decision of an operator: a node under ROOT/policy, which never changes once made. */
struct policy_record {
	char kind[POLICY_KIND_MAX + 1];
	/* a task or a partition T:K; "" where the kind has none; likewise the next two */
	char task[NAME_ELECTION_MAX + 1];
	char node[WORKER_NODE_MAX + 1];
	char machine[WORKER_MACHINE_MAX + 1]; /* of the node, "": not known */
	char version[NAME_VERSION_MAX + 1];
	char reason[POLICY_TEXT_MAX + 1]; /* "": none was given */
	char by[POLICY_TEXT_MAX + 1];	  /* the user */
	char host[NAME_HOST_MAX + 1];	  /* the host of the user */
	int64_t since;			  /* ms since the epoch */
	int64_t until;			  /* 0: until it is revoked */
	/* drain: the rolling restart with which it ends; "": made by an operator */
	char rolling[NAME_TASK_MAX + 1];
	bool halted; /* that rolling restart was halted, for the reason */
};

/*
 * The number of partitions of a task that is in force: ROOT/partitions/T:N, which never changes
 * once made.
 */
struct split_record {
	int64_t partitions;
	int64_t from;			  /* the previous number, 0: none */
	char reason[POLICY_TEXT_MAX + 1]; /* "": none was given */
	char by[POLICY_TEXT_MAX + 1];	  /* the user; "": a sidecar, by its files */
	char host[NAME_HOST_MAX + 1];	  /* the host of the user */
	int64_t since;			  /* ms since the epoch */
};

bool policy_kind_parse(const char *text, size_t len, enum policy_kind *ret_kind);
const char *policy_kind_name(enum policy_kind kind);

RECORD_DECLARE(leader, leader_record);
RECORD_DECLARE(run, run_record);
RECORD_DECLARE(policy, policy_record);
RECORD_DECLARE(split, split_record);
int record_pack_worker(struct buffer *out, const struct worker *w);
/* Duplicated task names count once. */
int record_parse_worker(const void *data, size_t len, struct worker **ret_worker,
			const char **ret_why);
/* The list of that worker, for ROOT/lists: what it lists must be known. */
int record_pack_list(struct buffer *out, const struct worker *w);
/* A list, as a worker of which nothing else is set. */
int record_parse_list(const void *data, size_t len, struct worker **ret_worker,
		      const char **ret_why);
/*
 * The content of the leader node of a task that is led by partitions: a persistent znode, so that
 * no node leads the task as a whole.
 */
int record_pack_marker(struct buffer *out);
bool record_is_marker(const void *data, size_t len);

#endif
