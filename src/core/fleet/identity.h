/*
 * The names of the nodes of a fleet: the main file's key `node`, or without it the hostname, or
 * HOSTNAME:SOCKET where several sidecars share a host. Twins are two machines that have the same
 * name at the same time.
 */
#ifndef ZKLEADER_CORE_FLEET_IDENTITY_H
#define ZKLEADER_CORE_FLEET_IDENTITY_H

#include "core/fleet/fleet.h"

/*
 * Updates shares_hostname, shares_short and twin of the members, as this one is added or removed:
 * fleet_add() and fleet_remove() call these.
 */
void identity_joined(struct fleet *f, struct member *m);
void identity_left(struct fleet *f, const struct member *m);
/* The name of the member's node. Valid as long as the member is. */
const char *identity_name(const struct member *m);
/*
 * The host of a worker: its node's name by the key, else the hostname. Several sidecars of a host
 * that are told apart by their sockets alone have the same.
 */
const char *identity_host(const struct worker *w);
/* Whether the text names that node: its whole name, or its hostname alone. */
bool identity_means(const char *node, const char *text, size_t len);
/*
 * Whether a decision about a node applies to a worker of that node and machine. It applies to the
 * machine for which it was made as long as that machine has this name; else the name has passed to
 * another machine.
 */
bool identity_concerns(const struct fleet *f, const char *decided_node, const char *decided_machine,
		       const char *node, const char *machine);
/*
 * The machine that an order about a node applies to: our own for our node, else that of the members
 * with its name. "" if there are none, or twins: the order then applies to both.
 */
void identity_machine(const struct fleet *f, const char *node, const char *own_node,
		      const char *own_machine, char ret_machine[WORKER_MACHINE_MAX + 1]);

#endif
