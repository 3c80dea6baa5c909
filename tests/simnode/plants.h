/* Planted bugs: in sim-node-planted alone. */
#ifndef TESTS_SIMNODE_PLANTS_H
#define TESTS_SIMNODE_PLANTS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether there is a plant of that name; it is in force from now on. */
bool plant_set(const char *name);
/* Whether it is that one. */
bool plant_is(const char *name);
/* The names, from 0 on, and what each makes wrong; NULL behind the last. */
const char *plant_name(size_t i, const char **ret_wrong);

#endif
