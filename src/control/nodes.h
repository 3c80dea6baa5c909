/*
 * Names of nodes: a node is a sidecar's place, the same over its restarts, whatever worker id it
 * has.
 */
#ifndef ZKLEADER_CONTROL_NODES_H
#define ZKLEADER_CONTROL_NODES_H

#include <stdbool.h>

#include "control/explain.h"
#include "node/node.h"
#include "wire/reader.h"

/*
 * The node that a name means: one in the fleet, or else that something was decided about. Its whole
 * name, as HOSTNAME:SOCKET, or the host's alone where it has one sidecar. False: there is none, or
 * several, twins too; *why says what is so.
 */
bool nodes_find(const struct node *n, struct reader_text name, char ret_node[WORKER_NODE_MAX + 1],
		char why[EXPLAIN_TEXT_MAX]);
/*
 * What to call a node: as identity_name() does; of one that is not in the fleet the host's name,
 * where no other node of that host is known.
 */
void nodes_name(const struct node *n, const char *node, char ret_name[WORKER_NODE_MAX + 1]);

#endif
