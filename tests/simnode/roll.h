/*
 * The roll, with --roll: hands delete it and its keeper, damage it, and have it lie. That costs time. Once the
 * fleet is at rest, one sidecar keeps it, and the others follow it.
 */
#ifndef TESTS_SIMNODE_ROLL_H
#define TESTS_SIMNODE_ROLL_H

#define ROLL_SMALL 2 /* workers from which there is one */

void roll_begin(void);
/* The problem with the roll of a fleet at rest; NULL: none. */
const char *roll_problem(void);

#endif
