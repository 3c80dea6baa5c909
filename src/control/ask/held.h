/*
 * Runs, locks, members of a gang and jobs that a client holds for its command. All have the same
 * messages: whether attaching succeeded, how long the command may go on, how it has ended.
 */
#ifndef ZKLEADER_CONTROL_ASK_HELD_H
#define ZKLEADER_CONTROL_ASK_HELD_H

#include "control/ask/methods.h"
#include "core/queue/attempt.h"

/* A request for a lock or a place in a gang, or to attach to one. */
struct held_ask {
	struct ask ask;
	bool attaches;
};
extern const struct ask_kind held_ask_kind;

/*
 * Answers one that attaches, or that has failed, and returns NULL. Otherwise the pack for the
 * result.
 */
struct pack *held_answer(struct held_ask *a, bool failed, const char *why, bool attached,
			 uint64_t number);
/* The result of attaching; number: of the run, lock, member or job. */
void held_pack_attached(struct pack *p, bool attached, uint64_t number, bool recorded);
/* The result of a renewal: the command may go on for lease_ms; 0: lost. */
void held_pack_renewed(struct pack *p, int64_t lease_ms, int64_t timeout_ms);
/* The next parameter as the number of what is held; 0, which nothing has: it is none. */
uint64_t held_number(struct call *call);
/* Answers a renewal. -1: the connection holds nothing of that kind under that number. */
void held_renewed(const struct call *call, int64_t lease_ms);
/* Ends the struct ask, whose run, lock, member or job was given back. */
void held_finished(void *ask);

/* The end of a command, or of an HTTP request. */
struct held_end {
	struct attempt_end what; /* exit_status -1: none */
	int64_t retry_ms;	 /* -1: none */
	const char *output;	 /* at most RECORD_OUTPUT_MAX bytes */
	size_t len;
	char start[ATTEMPT_START_MAX + 1]; /* why the command could not be started; "": it was */
};

/* Takes the map that says how the command has ended; false after an error answer. */
bool held_take_end(struct call *call, struct held_end *ret);

#endif
