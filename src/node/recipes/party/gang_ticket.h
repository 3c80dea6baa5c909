/*
 * The names of the nodes below a gang. An ephemeral one describes a member or a waiter completely;
 * a persistent one says that a member has left in order:
 *
 *   ID-COUNT-KIND-SESSION-KEY-NUMBER   0123456789abcdef-3-s-100000000000002a-host1-0000000007
 *   ID-left
 *
 * ID: of the member, drawn by its client; KIND: s, to stop when a member is lost, or c, to
 * continue; KEY: encoded as by path_of_node(); NUMBER: the order of creation, from the server.
 */
#ifndef ZKLEADER_NODE_RECIPES_PARTY_GANG_TICKET_H
#define ZKLEADER_NODE_RECIPES_PARTY_GANG_TICKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/settings.h"
#include "node/store.h"
#include "wire/records/gang_record.h"

struct gang_ticket {
	uint64_t id;
	bool left;	/* a mark: nothing else is known */
	unsigned count; /* members that it waits for */
	bool goes_on;
	int64_t session;
	int64_t number; /* the smallest is the oldest */
	char key[GANG_KEY_MAX + 1];
	char name[STORE_PATH_MAX];
};

/* False: not a name of this form. */
bool gang_ticket_parse(const char *name, struct gang_ticket *ret_ticket);
/* For qsort(): by number. */
int gang_ticket_compare(const void *a, const void *b);
/* The path of its node; without NUMBER if it has none yet. False: too long. */
bool gang_ticket_path(const struct node_settings *s, const char *gang, const struct gang_ticket *t,
		      char path[STORE_PATH_MAX]);

#endif
