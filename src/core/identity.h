/*
 * The names by which people know the nodes of a fleet: the main file's key `node`, or without it
 * the hostname, or HOSTNAME:SOCKET where several sidecars share a host. And twins: one name with
 * two machines at a time.
 */
#ifndef ZKLEADER_CORE_IDENTITY_H
#define ZKLEADER_CORE_IDENTITY_H

#include "core/fleet.h"

/*
 * After a member with that hostname and node was added or removed: who shares a name is known
 * again.
 */
void identity_update(struct fleet *f, const char *hostname, const char *node);
/* What the member's node is called. Valid as long as the member is. */
const char *identity_name(const struct member *m);
/* Whether who says this text may mean that node: its whole name, or its hostname alone. */
bool identity_means(const char *node, const char *text, size_t len);
/*
 * Whether what was decided about a node is about a worker of that node and machine: it is about
 * the machine that it was decided on, as long as that is there under this name; else the name has
 * gone to another machine.
 */
bool identity_concerns(const struct fleet *f, const char *decided_node, const char *decided_machine,
		       const char *node, const char *machine);
/*
 * The machine that an order about that node is about: our own for our own, else that of the
 * members with its name, "" where there are none or twins: then it is about both.
 */
void identity_machine(const struct fleet *f, const char *node, const char *own_node,
		      const char *own_machine, char ret_machine[WORKER_MACHINE_MAX + 1]);

#endif
