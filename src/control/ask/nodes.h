/*
 * Names of nodes. A node keeps its name over restarts of the sidecar, while the worker id changes.
 */
#ifndef ZKLEADER_CONTROL_ASK_NODES_H
#define ZKLEADER_CONTROL_ASK_NODES_H

#include <stdbool.h>

#include "control/ask/explain_text.h"
#include "node/node.h"
#include "wire/pack.h"
#include "wire/reader.h"

/*
 * Finds a node by its name: one in the fleet, else one with a decision about it. The name is the
 * whole one, such as HOSTNAME:SOCKET, or the host's alone if the host has one sidecar. False if
 * there is none, or several (also twins); why says which.
 */
bool nodes_find(const struct node *n, struct reader_text name, char ret_node[WORKER_NODE_MAX + 1],
		char why[EXPLAIN_TEXT_MAX]);
/*
 * The name of a node, as from identity_name(); for a node that is not in the fleet the host's name,
 * if no other node of that host is known.
 */
void nodes_name(const struct node *n, const char *node, char ret_name[WORKER_NODE_MAX + 1]);
/* The key and that name; nil for "". */
void nodes_pack(struct pack *p, const struct node *n, const char *key, const char *node);

#endif
