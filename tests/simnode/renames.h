/*
 * A task that is renamed, in every fourth fleet of --schedules: the first task is the former name of the second.
 * Sites get the file with the new name one after another, go back to the former one, and have both for a time.
 */
#ifndef TESTS_SIMNODE_RENAMES_H
#define TESTS_SIMNODE_RENAMES_H

#include "core/fleet/fleet.h"
#include "core/time/owed.h"
#include "site.h"
#include "tree.h"

/* Whether this fleet has one. */
bool renames_on(void);
/* Whether it is one of the two. */
bool renames_are(unsigned task);
/* The task that both are, whose ticks run once; others are themselves. */
unsigned renames_same(unsigned task);
/* After tasks and sites were drawn. */
void renames_reset(void);
void renames_begin(void);
/* The site's files have another of the two, or none, or both. */
void renames_switch(struct site *s);
/* Whether nobody may lead the task in this fleet, as somebody lists its former name. */
bool renames_barred(const struct fleet *f, unsigned task);
/* Whether both were led a moment ago, as who came back with the former name knew of no other. */
bool renames_were_beside(void);
/*
 * Whether a tick of the schedule in force that is no earlier was decided under the other name of the task: one
 * that only a former schedule has decides nothing, see schedule_decided().
 */
bool renames_decided(unsigned task, const struct owed_rules *in_force, int64_t tick_ms);
/* The operation puts what the ledger has under the other name; from: where it is before. */
bool renames_moves(const struct transaction *x, const struct op *op, path_id *ret_from);
/* Judges what is about to be committed. */
void renames_propose(const struct transaction *x, const struct tree *before);
/* At the end of a site's turn. */
void renames_look_at(const struct site *s);

#endif
