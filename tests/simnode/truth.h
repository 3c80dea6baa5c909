/* The rightful leaders: the fleet as its znodes say, and what follows by the rules. */
#ifndef TESTS_SIMNODE_TRUTH_H
#define TESTS_SIMNODE_TRUTH_H

#include "site.h"

struct truth;

void truth_reset(void);
/*
 * As it is now, good until this is asked again; only while the servers have a leader. What is to end by itself,
 * NULL for nothing: a decision, or that somebody does not know yet that a clock was set.
 */
const struct truth *truth_now(const char **ret_pending);
/*
 * While this is looked at again and again: the site's clock is off, by the rule on which all agree, and has been
 * for so long that it knows that.
 */
bool truth_clock_is_off(unsigned site);
/* The true time from which on all of them go by the same clocks; it may be to come. */
int64_t truth_clocks_since(void);
/* Whether somebody is to lead the task. */
bool truth_has_candidate(const struct truth *t, unsigned task);
/* Bits of the running sites that are no candidates. */
uint64_t truth_passed_over(const struct truth *t, unsigned task);
/* Likewise of those who are no candidates, or third or further behind: they do not watch the leader node. */
uint64_t truth_behind(const struct truth *t, unsigned task);
/* Whether this site may go on leading, by the rules of who is best and who yields. */
bool truth_may_lead(const struct truth *t, unsigned task, unsigned site);

#endif
