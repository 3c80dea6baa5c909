/*
 * What the node before this one led, whose session was taken over: what is configured still goes on
 * here, the rest is given up.
 */
#ifndef ZKLEADER_NODE_INHERITANCE_H
#define ZKLEADER_NODE_INHERITANCE_H

#include <stdbool.h>
#include <stddef.h>

struct leaders;

struct inheritance {
	bool again; /* what is to be given up has to be looked for again */
};

/* After a session was taken over: finds which of our tasks this sidecar's predecessor led. */
void inheritance_recover(struct leaders *l);
/*
 * Gives up what it led of these and is not configured any more; or of whatever there is a leader
 * node.
 */
void inheritance_disown(struct leaders *l, char *const *tasks, size_t n);
void inheritance_disown_all(struct leaders *l);
/* What could not be given up is tried again. */
void inheritance_retry(struct leaders *l);
/* The session has ended, and with it all that was led. */
void inheritance_forget(struct leaders *l);

#endif
