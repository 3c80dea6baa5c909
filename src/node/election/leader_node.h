/*
 * The znode ROOT/leaders/TASK, which its leader owns: reads, claims and releases, and what they
 * tell the election.
 */
#ifndef ZKLEADER_NODE_ELECTION_LEADER_NODE_H
#define ZKLEADER_NODE_ELECTION_LEADER_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text/name.h"
#include "node/store.h"

struct election_action;
struct leaders;
struct task;

/* The leader node of a task. */
struct task_leader {
	const char *id; /* id of the leader's worker in the node, ""; one of leaders.ids */
	const char *ip, *hostname, *version; /* as the node says, likewise */
	int64_t since;			     /* ms since the epoch, as the node says; 0 */
	bool left_out;		 /* its claim was left out: the read sent behind it decides */
	bool marked;		 /* the node is a marker: the task is led by its partitions */
	unsigned pending;	 /* reads of it that are not answered */
	enum store_code refused; /* why the server refused our last claim; OK: it did not */
};

void leader_node_init(struct leaders *l);
void leader_node_done(struct leaders *l);
/* The session has ended: nothing is known of the node any more. */
void leader_node_forget(struct task *t);
/* A read that the election wants; shares a request with others where possible. */
void leader_node_read(struct task *t);
/* Reads the node without a watch, for election_wants_glance(). */
void leader_node_glance(struct task *t);
/* Releases the task, to the best candidate of the last view if there is one. */
void leader_node_release(struct task *t, const struct election_action *action);

#endif
