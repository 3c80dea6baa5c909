/* Events about runs: a run failed or was lost, or ticks were missed. */
#ifndef ZKLEADER_NODE_NOTICES_RUN_EVENT_H
#define ZKLEADER_NODE_NOTICES_RUN_EVENT_H

#include <stdbool.h>

#include "core/queue/attempt.h"
#include "node/notices/notices.h"
#include "wire/records/record.h"

struct registry;

/* Whether people here want to know how runs of the task end. */
bool run_event_wanted(const struct registry *r, const char *task);
/*
 * The event of a record that says how a run ended. tick: "" if it has none. It is `retrying` if the
 * record says that another attempt follows, and counts for a streak otherwise. False: no event. The
 * output is borrowed from the record.
 */
bool run_event_of(const struct registry *r, const char *task, const char *tick,
		  const struct run_record *record, struct notice_record *ret_event);
/*
 * The same for a lost run: its record may say that it is running, while its session has ended.
 * retrying: another attempt follows, whatever the record says.
 */
void run_event_lost(const struct registry *r, const char *task, const char *tick,
		    const struct run_record *record, bool retrying,
		    struct notice_record *ret_event);

/* Sets why a run was missed or did not end well: a word, and a text for people, which is cut. */
void run_why_set(char why[RECORD_WHY_MAX + 1], char detail[RECORD_DETAIL_MAX + 1], const char *word,
		 const char *text);
/*
 * The same for an attempt, of a run or of a job; "" for one that has ended well, or was cancelled.
 * start: why the command could not be started, NULL or "": it was.
 */
void run_why_attempt(char why[RECORD_WHY_MAX + 1], char detail[RECORD_DETAIL_MAX + 1],
		     enum attempt_how how, int64_t exit_status, const char *start);
/* The same for what was lost with its node; name: of the node. */
void run_why_lost(char why[RECORD_WHY_MAX + 1], char detail[RECORD_DETAIL_MAX + 1],
		  const char *node);
/* The same for a record: from its state and status, and for a run that was lost with its node. */
void run_why_ended(struct run_record *r, const char *start);
void run_why_node(struct run_record *r);

#endif
