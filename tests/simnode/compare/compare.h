/* Random requests over node/store.h, and what comes of them: the same lines from the model and a real server. */
#ifndef TESTS_SIMNODE_COMPARE_H
#define TESTS_SIMNODE_COMPARE_H

#include "node/store.h"

/* The world is the model's (model.c) or the real one (real.c). */
struct host *world_open(void);
/* Lets something happen. */
void world_step(void);
/* Ends the connections of both, which are to the same address. */
void world_hang_up(struct store *a, struct store *b);

#endif
