/*
 * Lists by digest, with --lists: hands delete them, and give them other bytes. No record names a list that is
 * not there as it is made, and nobody but hands removes one that a record names.
 */
#ifndef TESTS_SIMNODE_LISTS_H
#define TESTS_SIMNODE_LISTS_H

#include "tree.h"

#define LISTS_KEPT_MS	(3 * 60 * 1000)
#define LISTS_UNAUDITED (INT64_C(1000) * 24 * 3600 * 1000) /* where nobody has a list */

struct worker;

void lists_begin(void);
/* Gives the worker what its list says, as it was made, whatever hands have done to it. */
void lists_adopt(struct worker *w);
void lists_propose(const struct transaction *x, const struct tree *before);
/* The problem with the lists of a fleet at rest; NULL: none. */
const char *lists_problem(void);

#endif
