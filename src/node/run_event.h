/* What people are told of a run: that it failed or was lost, or that ticks were missed. */
#ifndef ZKLEADER_NODE_RUN_EVENT_H
#define ZKLEADER_NODE_RUN_EVENT_H

#include <stdbool.h>

#include "node/notices.h"
#include "wire/record.h"

struct registry;

/*
 * The event that a record stands for. tick: "" where there is none. False: it is none. Its output
 * is borrowed from the record.
 */
bool run_event_of(const struct registry *r, const char *task, const char *tick,
		  const struct run_record *record, struct notice_record *ret_event);
/* Of a run that goes on, by its record, while the session that ran it has ended: it is lost. */
void run_event_lost(const struct registry *r, const char *task, const char *tick,
		    const struct run_record *record, struct notice_record *ret_event);

#endif
