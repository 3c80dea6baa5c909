/*
 * Changes of the roster: each is one transaction, under the version of ROOT/roster with which its
 * entries were read. For roster.c alone.
 */
#ifndef ZKLEADER_NODE_RECIPES_ROSTER_ROSTER_WRITE_H
#define ZKLEADER_NODE_RECIPES_ROSTER_ROSTER_WRITE_H

#include "node/recipes/roster/roster.h"

#define ROSTER_CHANGES_MAX 40 /* in one transaction */

enum roster_change_kind { ROSTER_NUMBER, ROSTER_NOTE, ROSTER_FORGET };

struct roster_change {
	struct roster *roster;
	struct roster_ask *ask; /* its request; NULL: none */
	int64_t next;		/* bound in ROOT/roster after the change */
	size_t n;
	struct {
		enum roster_change_kind what;
		char node[WORKER_NODE_MAX + 1];
		struct roster_record record;
	} list[ROSTER_CHANGES_MAX];
};

struct roster_change *roster_change_new(struct roster *r, struct roster_ask *ask);
/* Sends and frees it; the answer updates the entries and calls roster_go_on(). */
void roster_change_write(struct roster_change *c);
/* The least number from which on surely none is in use; -1: all numbers are known. */
int64_t roster_untouched(const struct roster *r);
/* The entry of the node; NULL: none. */
struct roster_entry *roster_find(const struct roster *r, const char *node);

/* roster.c's: the transaction for a request was answered. */
void roster_written(struct roster *r, struct roster_ask *ask, enum store_code code);

#endif
