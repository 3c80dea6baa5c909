/*
 * With --schedules each task has a schedule and nobody asks for its ticks but a runner beside each sidecar,
 * which starts what that offers.
 */
#ifndef TESTS_SIMNODE_SCHEDULES_H
#define TESTS_SIMNODE_SCHEDULES_H

#include "node/schedule/schedules.h"
#include "site.h"
#include "tree.h"

#define SCHEDULE_TEXTS 3 /* that a task has in turn */

/* Each is without effect in other modes. */
void schedules_begin(void);
/* For the node: a tick is to be run. */
void schedules_due(void *arg, struct task *t, const struct schedule_due *due);
/* Judges what is about to be committed: schedule_judge.c. */
void schedules_propose(const struct transaction *x, const struct tree *before);
/* Whether all clocks are within half a second, and stay so. */
bool schedules_are_near(void);
/* A fault: all sites get another schedule for a task; or their runner is away for a while. */
bool schedules_change(void);
/* An order: somebody triggers a task. */
bool schedules_order(void);

void schedule_judge_begin(void);

/* The newest tick that was decided, whether its record is still there or not; 0: none. */
int64_t schedule_decided_ms(unsigned task);
void schedule_forget_decided(unsigned task);

/* For the judge. */
/* The settings that have this text; NULL: there are none. */
const struct task_schedule *schedule_of_text(unsigned task, const char *text);
/* The true time at which a job of the task was there last, or is now. */
int64_t schedule_busy_at(unsigned task);

/*
 * A task's schedule as the tree has it. The newest tick is that of the schedule in force, 0: there
 * is none.
 */
struct schedule_facts {
	const struct task_schedule *in_force; /* NULL: none */
	int64_t since_ms;	      /* nothing up to then is owed, as it came into force then */
	int64_t ended_ms, ended_zxid; /* or a pause ended; 0: none */
	int64_t split_ms;	      /* or the number of partitions was changed; 0: never */
	int64_t paused_zxid;	      /* of a pause that is there, 0 */
	int64_t newest_ms;	      /* tick that has a record */
	int64_t decided_ms;	      /* one that nobody triggered: those do not count */
};
struct schedule_facts schedule_facts(const struct tree *t, unsigned task);
/* The decision in the node under ROOT/policy, if it is of that kind and about that task. */
bool schedule_policy(const struct tree *t, path_id path, unsigned task, enum policy_kind kind,
		     struct policy_record *ret);
struct owed_rules schedule_rules(const struct task_schedule *c);

#endif
