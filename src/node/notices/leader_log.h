/*
 * The log's lines about which tasks this node leads. Tasks that change alike in one turn of the
 * loop share a line, so that a first start or a handover of many tasks is readable.
 */
#ifndef ZKLEADER_NODE_NOTICES_LEADER_LOG_H
#define ZKLEADER_NODE_NOTICES_LEADER_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/name.h"
#include "core/election/election.h"
#include "core/fleet/fleet.h"
#include "node/host.h"

/* A task whose leadership began or ended here. */
struct leader_change {
	const char *task; /* the task's own name */
	bool leads;
	enum election_state from, to;
	const char *reason; /* a constant */
	int64_t token;
	char better[NAME_ID_MAX + 1]; /* the better candidate that it is released for, "" */
};

struct leader_log {
	const struct fleet *fleet; /* for the names of the better candidates; borrowed */
	struct leader_change *list;
	size_t n, room;
	struct host_turn turn;
};

void leader_log_init(struct leader_log *l, struct host *host, const struct fleet *fleet);
/* Writes the lines that are pending. */
void leader_log_done(struct leader_log *l);
/* The change is copied, except the strings that it points to. */
void leader_log_add(struct leader_log *l, const struct leader_change *change);
/* Called before a task's name is freed. */
void leader_log_flush(struct leader_log *l);

#endif
