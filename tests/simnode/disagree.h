/*
 * With --disagree: every other site's files say something else about who is best. Then no leader
 * is wrong, but a task must not change hands again and again, and somebody has to lead it. Files
 * are edited in other keys too, and each record says what its file has.
 */
#ifndef TESTS_SIMNODE_DISAGREE_H
#define TESTS_SIMNODE_DISAGREE_H

#include "site.h"

/* Draws the keys that differ. */
void disagree_reset(void);
/* The task as that site's file has it. */
struct task_settings disagree_settings(const struct site *s, unsigned task);
/* That site's files have other keys now, which decide nothing; it is configured by the caller. */
void disagree_edit(const struct site *s);
/* Whether a task has no leader, or a record says other keys than its file; NULL, or what is wrong. */
const char *disagree_problem(void);
/* A quiet time begins; and a moment of it: what is done too often, or by nobody, is a violation. */
void disagree_begin(void);
void disagree_look(void);

#endif
