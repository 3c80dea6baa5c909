/*
 * Changes of the roster: each is one transaction under the version of ROOT/roster that its entries
 * are of. For roster.c alone.
 */
#ifndef ZKLEADER_NODE_ROSTER_WRITE_H
#define ZKLEADER_NODE_ROSTER_WRITE_H

#include "node/roster.h"

#define ROSTER_CHANGES_MAX 40 /* of one transaction */

enum roster_change_kind { ROSTER_NUMBER, ROSTER_NOTE, ROSTER_FORGET };

struct roster_change {
	struct roster *roster;
	struct roster_ask *ask; /* that it is made for, NULL */
	size_t n;
	struct {
		enum roster_change_kind what;
		char node[WORKER_NODE_MAX + 1];
		struct roster_record record;
	} list[ROSTER_CHANGES_MAX];
};

struct roster_change *roster_change_new(struct roster *r, struct roster_ask *ask);
/* Sends it, which takes it over; what is done is known behind it, and roster_go_on() called. */
void roster_change_write(struct roster_change *c);
/* The entry of the node, NULL. */
struct roster_entry *roster_find(const struct roster *r, const char *node);

/* roster.c's: the transaction was answered that was made for somebody. */
void roster_written(struct roster *r, struct roster_ask *ask, enum store_code code);

#endif
