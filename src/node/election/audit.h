/*
 * The audit: every AUDIT_MS the leader nodes are listed. Only the two best candidates watch one.
 * Should both be alive for the server and yet not act, a node that finds the leader node missing
 * twice reads it and claims in its turn.
 */
#ifndef ZKLEADER_NODE_ELECTION_AUDIT_H
#define ZKLEADER_NODE_ELECTION_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "node/host.h"

#define AUDIT_MS	  60000
#define AUDIT_GLANCES_MAX 500 /* of one audit; the next one goes on */

struct leaders;

struct audit {
	int64_t listing; /* when a leader node was last made or deleted, by the folder */
	int64_t clean;	 /* likewise, at the last audit, if none was missing */
	struct host_timer timer;
};

/* The audit's state of a task. */
struct task_audit {
	bool missing; /* at the last audit nobody led it */
};

void audit_init(struct leaders *l);
void audit_done(struct leaders *l);
/* The session has ended. */
void audit_forget(struct leaders *l);

#endif
