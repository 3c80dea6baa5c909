/*
 * The names of the nodes below a gang. An ephemeral one says all that others have to know of who is
 * there or wants to be; a persistent one, that a member has left in order:
 *
 *   ID-COUNT-KIND-SESSION-KEY-NUMBER   0123456789abcdef-3-s-100000000000002a-host1-0000000007
 *   ID-left
 *
 * ID: of the member, drawn by who asked; KIND: s, to stop when one is lost, or c, to continue; KEY:
 * as path_of_node() has names; NUMBER: by which the server orders them.
 */
#ifndef ZKLEADER_NODE_GANG_TICKET_H
#define ZKLEADER_NODE_GANG_TICKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/settings.h"
#include "node/store.h"
#include "wire/gang_record.h"

struct gang_ticket {
	uint64_t id;
	bool left;	/* nothing else of it is known */
	unsigned count; /* members that it waits for */
	bool goes_on;
	int64_t session;
	int64_t number; /* the smallest came first */
	char key[GANG_KEY_MAX + 1];
	char name[STORE_PATH_MAX];
};

/* False: it is not one of ours. */
bool gang_ticket_parse(const char *name, struct gang_ticket *ret_ticket);
/* For qsort(): by number. */
int gang_ticket_compare(const void *a, const void *b);
/* The path of its node, without the server's number where there is none yet. False: too long. */
bool gang_ticket_path(const struct node_settings *s, const char *gang, const struct gang_ticket *t,
		      char path[STORE_PATH_MAX]);

#endif
