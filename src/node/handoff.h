/*
 * What a node leaves to the one that comes after it in the same place, so that a restart moves
 * nothing: its session, who it was, and the jobs that were going on. Plain data; whoever runs the
 * node keeps it.
 */
#ifndef ZKLEADER_NODE_HANDOFF_H
#define ZKLEADER_NODE_HANDOFF_H

#include <stddef.h>
#include <stdint.h>

#include "base/worker.h"
#include "core/tick.h"
#include "node/store.h"

struct handoff {
	int64_t session;
	int64_t session_since; /* wall clock: when it began; 0: not known */
	uint8_t password[STORE_PASSWORD_SIZE];
	int64_t timeout_ms;	      /* granted */
	char worker[NAME_ID_MAX + 1]; /* id of the registration */
	int32_t random_ints[WORKER_RANDOM_INTS];
	int64_t started_at; /* ms since the epoch */
};

/* A job that is going on. */
struct handoff_run {
	char task[NAME_TASK_MAX + 1];
	char tick[TICK_NAME_SIZE]; /* "": none */
	char id[NAME_ID_MAX + 1];  /* of its claim */
	int64_t token;		   /* of the leadership that it began under */
};

#endif
