/*
 * Rows of ends that were not good, so that people are told of the first of them, and once that it
 * is over. ROOT/troubles/TASK is there from the first `failed`, `lost`, `missed`, `dead` or
 * `overdue` on until the next good end. Each is counted by the transaction that records it, so the
 * row goes on whoever leads, and `recovered` is noted by the one that deletes the znode.
 *
 * A further dead letter writes the znode anew, whatever its version: so nodes that record them at
 * a time do not hinder one another, and the version counts them. Of a task several ticks may be
 * missed at once, which the data counts: so its failures are written over what was read alone.
 */
#ifndef ZKLEADER_NODE_NOTICES_STREAK_H
#define ZKLEADER_NODE_NOTICES_STREAK_H

#include "node/notices/notices.h"

/* notices.c: does what notices_multi_if() says without any streak. */
void notices_alone(const struct registry *r, const struct store_op *ops, size_t n,
		   const struct notice_record *event, bool tells, bool (*may)(const void *arg),
		   store_reply_fn fn, void *arg);
/* Whether the event counts for a streak, and anybody here wants to know. */
bool streak_counts(const struct registry *r, const struct notice_record *event);
/* Does what notices_multi_if() says, for an event that counts. */
void streak_multi(const struct registry *r, const struct store_op *ops, size_t n,
		  const struct notice_record *event, bool (*may)(const void *arg),
		  store_reply_fn fn, void *arg);
/* Does what notices_note() says, for an event that counts; the session is up. */
void streak_note(const struct registry *r, const struct notice_record *event);

#endif
