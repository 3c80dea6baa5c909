/*
 * The znode ROOT/leaders/TASK, which its leader owns: reads, claims and releases, and what they
 * tell the election.
 */
#ifndef ZKLEADER_NODE_LEADER_NODE_H
#define ZKLEADER_NODE_LEADER_NODE_H

#include "node/leaders.h"

void leader_node_init(struct leaders *l);
void leader_node_done(struct leaders *l);
/* As the election wants it: many at a time where that will do. */
void leader_node_read(struct task *t);
/* Gives it up, to the best of the last view if there is one. */
void leader_node_release(struct task *t, const struct election_action *action);

#endif
