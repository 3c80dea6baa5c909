/* The promises of quiet times: who leads at rest, and what one change of membership costs. */
#ifndef TESTS_SIMNODE_REST_H
#define TESTS_SIMNODE_REST_H

#include "site.h"

void rest_reset(void);
/*
 * NULL if every task is led as it should be, else what is not so. *ret_until: until when that is in order, as
 * a yield that nobody took, or the full minute, puts it off; else 0.
 */
const char *rest_problem(int64_t *ret_until);
/* Whether there are sessions of processes that are no more. */
bool rest_sessions_left(void);

enum change {
	CHANGE_JOIN,
	CHANGE_LEAVE,
	CHANGE_BLINK, /* joins, and leaves again within seconds */
	CHANGE_KILL,
	CHANGE_RESTART,
	CHANGE_VERSION,
	CHANGE_DRAIN,
	CHANGE_TASKS,
	CHANGES
};
/* Around one change: how often each task moves, how long nobody leads it, and what it costs the servers. */
void rest_before(void);
void rest_after(enum change what);

#endif
