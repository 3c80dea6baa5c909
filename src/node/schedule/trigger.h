/*
 * An order to run a task by hand: a PolicyRecord of the kind `run`, which the claim of its tick
 * deletes. One transaction makes it if nobody else has ordered that tick, and if the tick has no
 * record, or still the one to be run again. So two orders never share a tick, whichever nodes they
 * were given to.
 */
#ifndef ZKLEADER_NODE_SCHEDULE_TRIGGER_H
#define ZKLEADER_NODE_SCHEDULE_TRIGGER_H

#include <stdint.h>

#include "node/fleet/policy.h"

struct leaders;

#define TRIGGER_NO_RECORD (-1) /* in place of a version */

enum trigger_result {
	TRIGGER_DONE,
	TRIGGER_TAKEN,	 /* somebody has ordered that tick; or it has a record by now */
	TRIGGER_CHANGED, /* the record is another, or gone: look again */
	TRIGGER_UNKNOWN, /* the connection went: it may or may not have happened */
	TRIGGER_FULL,	 /* refused by the server: a quota is used up */
	TRIGGER_FAILED	 /* refused by the server: see the log */
};

typedef void (*trigger_fn)(void *arg, enum trigger_result result);

/* version: of the tick's record; TRIGGER_NO_RECORD. fn is called once, later. */
void trigger_put(struct leaders *l, const struct policy_record *record, int32_t version,
		 trigger_fn fn, void *arg);

#endif
