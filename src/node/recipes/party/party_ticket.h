/*
 * The names of the nodes below a barrier or a gang. An ephemeral one describes a member or a waiter
 * completely, so that one listing of the folder is enough; a persistent one, of gangs alone, says
 * that a member has left in order:
 *
 *   ID-COUNT-KIND-SESSION-NUMBER       0123456789abcdef-3-c-100000000000002a-0000000007
 *   ID-COUNT-KIND-SESSION-KEY-NUMBER   0123456789abcdef-3-s-100000000000002a-host1-0000000007
 *   ID-left
 *
 * ID: of the member, drawn by its client. KIND: of a barrier c, the node stays until its command
 * has ended, or w; of a gang s, to stop when a member is lost, or c, to continue. KEY: of gangs,
 * encoded as by path_of_node(). NUMBER: the order of creation, from the server.
 */
#ifndef ZKLEADER_NODE_RECIPES_PARTY_PARTY_TICKET_H
#define ZKLEADER_NODE_RECIPES_PARTY_PARTY_TICKET_H

#include "core/recipes/party_step.h"
#include "node/tree/paths.h"

#define PARTY_NAME_MAX 64 /* bytes of a name without a key, with its NUL */

/* False: not a name of this form. folder: of barriers, or of gangs. */
bool party_ticket_parse(enum path_folder folder, const char *name, struct party_ticket *ret_ticket);
/* Order by number, for qsort(). */
int party_ticket_compare(const void *a, const void *b);
/* The path of the node; without NUMBER if it has none yet. False: too long. */
bool party_ticket_path(const struct node_settings *s, enum path_folder folder, const char *party,
		       const struct party_ticket *t, char path[STORE_PATH_MAX]);

#endif
