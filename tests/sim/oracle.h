/* What is promised, and whether it is kept; asked at every step. */
#ifndef TESTS_SIM_ORACLE_H
#define TESTS_SIM_ORACLE_H

#include "sidecar.h"

void oracle_reset(void);
/* The sidecar's role for the task, or its lease, may be another. */
void oracle_role(struct sidecar *s, unsigned task);
void oracle_lease(struct sidecar *s);
void oracle_dead(struct sidecar *s);
/* It sends a claim; a request of this kind. */
void oracle_claims(struct sidecar *s, unsigned task);
void oracle_asked(enum ask what);
/* The outcome of this write is unknown to who sent it over this session. */
void oracle_unknown(const struct request *q, int64_t session);
/* The leader node, if there is one, is about to be deleted by hand. */
void oracle_hand(unsigned task);
void oracle_hand_worker(const struct sidecar *s);
/* All data was lost: tokens begin anew. */
void oracle_forget(void);
/* Who may say yes now, -1. */
int oracle_leader(unsigned task);

/*
 * In quiet times: NULL if every task is led as it should be, else what is not so. *ret_until: until
 * when that is in order, as a yield that nobody took, or the full minute, puts it off; else 0.
 */
const char *oracle_at_rest(int64_t *ret_until);
/* Whether there are sessions of processes that are no more. */
bool oracle_sessions_left(void);
/* Traces the whole fleet. */
void oracle_trace(void);
/* Around one change of membership. */
enum change {
	CHANGE_JOIN,
	CHANGE_LEAVE,
	CHANGE_BLINK, /* joins, and leaves a moment later */
	CHANGE_KILL,
	CHANGE_VERSION,
	CHANGE_DRAIN,
	CHANGE_TASKS,
	CHANGES
};
void oracle_before(void);
void oracle_after(enum change what);

#endif
