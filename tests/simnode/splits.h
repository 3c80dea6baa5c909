/* With --partitions: the number of partitions is changed and changed back, in storms. */
#ifndef TESTS_SIMNODE_SPLITS_H
#define TESTS_SIMNODE_SPLITS_H

#include <stdbool.h>

#include "server.h"

void splits_reset(void);
/* Begins a change, if none is on. */
bool split_change(void);
/* A hand damages the number that is in force, if no change is on. */
bool split_damage(void);
/* How many partitions the files of a site say. */
unsigned split_file(unsigned site);
/* Whether the old number has yet to be put in force again. */
bool splits_waiting(void);
/*
 * Judges what may never be committed: a claim of a partition while another number is in force, and
 * another number while somebody leads, or by a clock that is off.
 */
void splits_propose(const struct transaction *x, const struct tree *before);

/* When, by the server's clock, the number that is in force was last changed; 0: never, or there is none. */
int64_t split_changed_ms(const struct tree *t);

#endif
