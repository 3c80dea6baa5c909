/*
 * The handoff from a node to the next process of it, so that a restart moves nothing: its session,
 * its identity, and the jobs in progress. Plain data; the program around the node stores it.
 */
#ifndef ZKLEADER_NODE_SESSION_HANDOFF_H
#define ZKLEADER_NODE_SESSION_HANDOFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/worker.h"
#include "core/time/tick.h"
#include "node/store.h"

struct handoff {
	int64_t session;
	int64_t session_since; /* wall clock: when it began; 0: not known */
	uint8_t password[STORE_PASSWORD_SIZE];
	int64_t timeout_ms; /* timeout by which its leases were promised */
	int64_t counted_ms; /* T that its lease counted with, or shorter; 0: not known */
	/* The longest time for which its last answer can have promised a task; 0: not known. */
	int64_t promise_ms;
	/* CLOCK_BOOTTIME: other promises, made before or by other files, are over */
	int64_t promised_ms;
	char worker[NAME_ID_MAX + 1]; /* id of the registration */
	int32_t random_ints[WORKER_RANDOM_INTS];
	int64_t started_at; /* ms since the epoch */
};

#define HANDOFF_HOST_SIZE 400
#define HANDOFF_BOOT_SIZE 37

/*
 * The place where a handoff was left, or is found. A copied one is found on another host, or in
 * another boot.
 */
struct handoff_place {
	/* The machine, and the lock that one sidecar at a time can have there. */
	char host[HANDOFF_HOST_SIZE];
	/* The boot of the system: before it no session of ours was alive; "": not known. */
	char boot[HANDOFF_BOOT_SIZE];
};

/*
 * Whether a handoff that was left there may be taken over here: two nodes with one session would
 * lead with one token. False: *ret_why is a constant text.
 */
bool handoff_is_ours(const struct handoff_place *left, const struct handoff_place *here,
		     const char **ret_why);

/* A job that is going on. */
struct handoff_run {
	char task[NAME_ELECTION_MAX + 1];
	char tick[TICK_NAME_SIZE]; /* "": none */
	char id[NAME_ID_MAX + 1];  /* id of its claim */
	int64_t token;		   /* fencing token under which the job began */
};

#endif
