/*
 * The crowd: with --crowd each sidecar has hundreds of tasks more. Of every second one 50 ticks are claimed, by
 * clients of its leader, while others wait for them; of the rest thousands of ticks are waited for that nobody
 * claims. So the watches of a session reach what a packet may have, which is less here than servers take in fact.
 */
#ifndef TESTS_SIMNODE_CROWD_H
#define TESTS_SIMNODE_CROWD_H

#include "site.h"

#define CROWD_TASKS 300

void crowd_reset(void);
/* Appends its tasks to what a site is configured with; their number. */
size_t crowd_list(struct task_settings *list);
/* Whether a task is one of them. */
bool crowd_has(const char *task);
/* Whether a request is the crowd's; then for the node. */
bool crowd_owns(const void *owner);
void crowd_released(void *owner);
/* The process of a site has gone. */
void crowd_ended(const struct site *s);
/* Once the crowd has gone, and at the end of a run: as many watches are left as there were. */
void crowd_judge(void);
/* At any time: what a client watches is what its node counts. */
void crowd_check(const struct site *s);

#endif
