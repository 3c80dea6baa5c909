/*
 * What a client holds for its command: a run, a lock, a place in a gang, a job. What is said of it
 * is the same for all: whether it was attached, how long it may go on, how it has ended.
 */
#ifndef ZKLEADER_CONTROL_ASK_HELD_H
#define ZKLEADER_CONTROL_ASK_HELD_H

#include "control/ask/methods.h"
#include "core/queue/attempt.h"

/* The result of attaching: number is that of what is held. */
void held_pack_attached(struct pack *p, bool attached, uint64_t number, bool recorded);
/* The result of a renewal: the command may go on for lease_ms; 0: it is lost. */
void held_pack_renewed(struct pack *p, int64_t lease_ms, int64_t timeout_ms);
/* Answers a renewal. -1: the connection holds nothing of the kind, as the text `misuse` says. */
void held_renewed(const struct call *call, int64_t lease_ms, const char *misuse);
/* Ends the struct ask: what it held was given back. */
void held_finished(void *ask);

/* How a command has ended, or in its place an HTTP request. */
struct held_end {
	struct attempt_end what; /* exit_status -1: none */
	int64_t retry_ms;	 /* -1: none */
	const char *output;	 /* at most RECORD_OUTPUT_MAX bytes */
	size_t len;
	char start[ATTEMPT_START_MAX + 1]; /* why the command could not be started; "": it was */
};

/* Takes the map of how it has ended; false after an error answer. */
bool held_take_end(struct call *call, struct held_end *ret);

#endif
