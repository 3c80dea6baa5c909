/*
 * What the node before this one led, whose session was taken over: what is configured still goes on
 * here, the rest is given up.
 */
#ifndef ZKLEADER_NODE_INHERITANCE_H
#define ZKLEADER_NODE_INHERITANCE_H

#include <stdbool.h>
#include <stddef.h>

#include "node/host.h"

struct leaders;

struct inheritance {
	struct host_timer promises; /* of our predecessor: when they are over */
	bool again;		    /* what is to be given up has to be looked for again */
};

/*
 * After a session was taken over: finds which of our tasks our predecessor led, and gives
 * up what it led and is not configured any more, once what it promised is over.
 */
void inheritance_recover(struct leaders *l);
/* What could not be given up is tried again. */
void inheritance_retry(struct leaders *l);
/* The session has ended, and with it all that was led; or the node. */
void inheritance_forget(struct leaders *l);

#endif
