/* What people are told of a run: that it failed or was lost, or that ticks were missed. */
#ifndef ZKLEADER_NODE_RUN_EVENT_H
#define ZKLEADER_NODE_RUN_EVENT_H

#include <stdbool.h>

#include "node/notices.h"
#include "wire/record.h"

struct registry;

/*
 * The event of a record. tick: "" if it has none. False: no event. The output is borrowed from the
 * record.
 */
bool run_event_of(const struct registry *r, const char *task, const char *tick,
		  const struct run_record *record, struct notice_record *ret_event);
/* The event of a lost run: its record says running, while its session has ended. */
void run_event_lost(const struct registry *r, const char *task, const char *tick,
		    const struct run_record *record, struct notice_record *ret_event);

/*
 * Sets why a run has not ended well, from its state and status; start: why the command could not
 * be started, NULL or "": it was. And for one that was lost with its node.
 */
void run_why_ended(struct run_record *r, const char *start);
void run_why_node(struct run_record *r);

#endif
