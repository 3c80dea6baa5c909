/* The answers of the control socket's methods, from the sidecar's present state. */
#ifndef ZKLEADER_CONTROL_ANSWER_ANSWERS_H
#define ZKLEADER_CONTROL_ANSWER_ANSWERS_H

#include <stddef.h>
#include <stdint.h>

#include "control/ask/peer.h"
#include "control/ask/process.h"
#include "node/fleet/survey.h"

struct subjects;
struct methods;

/* Number of pairs that the next two functions write into a map that the caller has opened. */
#define ANSWERS_TASK_FIELDS   10
#define ANSWERS_WORKER_FIELDS 14

/* An entry of `tasks`. */
void answers_pack_task(struct pack *p, const struct node *s, struct task *t);
/* An entry of `list`; led: how many tasks the member leads. */
void answers_pack_worker(struct pack *p, const struct node *s, const struct member *m, size_t led);
/* Number of our own tasks that the member leads. */
size_t answers_count_led(const struct node *s, const struct member *m);
/* The keys `leader`, `token` and `since`, as far as known; all nil: nobody leads. */
void answers_pack_leadership(struct pack *p, const struct task *t);
/* The key `due`: the next time by the schedule of the task, nil. */
void answers_pack_due(struct pack *p, const struct node *s, struct listing *listing);
/* The key `refused` and the worker nodes that were refused as members. */
void answers_pack_refused(struct pack *p, const struct node *s);
/* The keys `problems` and `warnings` and their values. */
void answers_pack_problems(struct pack *p, const struct problems *problems);

/*
 * Whole answers, each into the result that the caller has begun. Whether we lead is computed here,
 * at this moment. name: of the task, also for one of its partitions that stands for all.
 */
void answer_check(struct pack *p, const struct node *s, struct task *t, const char *name);
/* Answers about the subjects that still exist; NULL: about all configured tasks. */
void answer_tasks(struct pack *p, const struct node *s, const struct subjects *subjects);
/* survey: NULL: counts only our own tasks. */
void answer_workers(struct pack *p, const struct node *s, const struct survey *survey);
void answer_status(struct pack *p, const struct methods *m); /* status.c */

#endif
