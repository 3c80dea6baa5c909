/*
 * Nodes that were without ZooKeeper for longer than their lease, and are back: people get one
 * message for all of them. Each notes itself in ROOT/outages as it comes back. A minute later the
 * first in the order of the ids collects the notes, and deletes them in the transaction that notes
 * the event; the others come after it, in case that it cannot.
 */
#ifndef ZKLEADER_NODE_NOTICES_RETURNS_H
#define ZKLEADER_NODE_NOTICES_RETURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/host.h"
#include "wire/records/notice_record.h"

#define RETURNS_WAIT_MS	   60000 /* from the first note to the message */
#define RETURNS_STAGGER_MS 200	 /* between nodes that collect */
#define RETURNS_AGAIN_MS   1000	 /* after a failure */
#define RETURNS_MAX	   500	 /* notes that are collected at a time */

struct registry;
struct session;

struct returns {
	struct session *session;
	struct registry *registry;
	struct notice_record own; /* the note that this node is to make */
	bool to_note, noting;
	struct host_timer note, collect;
	bool looking;
	char **names; /* the notes being read; owned, as is each */
	size_t n, at, n_read;
	char text[NOTICE_TEXT_MAX + 1], output[RECORD_OUTPUT_MAX], node[WORKER_NODE_MAX + 1];
	size_t output_len, shown; /* shown: nodes that the text names */
};

void returns_init(struct returns *r, struct session *session, struct registry *registry);
/* Called after session_done(). */
void returns_done(struct returns *r);
/* This node is back, after it had no connection since then (wall clock). */
void returns_note(struct returns *r, int64_t since);
/* The session is up, or the fleet has changed: who noted something may have gone. */
void returns_changed(struct returns *r);

#endif
