/* The answers of the control socket's methods, from the sidecar's present state. */
#ifndef ZKLEADER_CONTROL_ANSWERS_H
#define ZKLEADER_CONTROL_ANSWERS_H

#include <stddef.h>
#include <stdint.h>

#include "control/peer.h"
#include "control/process.h"
#include "node/survey.h"

struct subjects;
struct methods;

/* How many pairs these two write into a map that the caller has opened. */
#define ANSWERS_TASK_FIELDS   10
#define ANSWERS_WORKER_FIELDS 14

/* An entry of `tasks`. */
void answers_pack_task(struct pack *p, const struct node *s, struct task *t);
/* An entry of `list`, of a member that leads so many tasks. */
void answers_pack_worker(struct pack *p, const struct node *s, const struct member *m, size_t led);
/* How many of our own tasks the member leads. */
size_t answers_count_led(const struct node *s, const struct member *m);
/* A key and its time as RFC 3339, nil for 0. */
void answers_pack_time(struct pack *p, const char *key, int64_t wall_ms);
/* The keys `leader`, `token` and `since`, as far as is known; nil each: nobody leads. */
void answers_pack_leadership(struct pack *p, const struct task *t);
/* The key `due`: when the schedule of the task has it due next, nil. */
void answers_pack_due(struct pack *p, const struct node *s, struct listing *listing);
/* The key `refused` and the worker nodes that are no members. */
void answers_pack_refused(struct pack *p, const struct node *s);
/* The keys `problems` and `warnings` and their values. */
void answers_pack_problems(struct pack *p, const struct problems *problems);

/* Whole answers, each sent to the client. What is said about leading is computed in here, now. */
void answer_check(const struct node *s, struct peer *c, uint32_t msgid, struct task *t);
/* The same in the name of a task of which it is a partition. */
void answer_check_as(const struct node *s, struct peer *c, uint32_t msgid, struct task *t,
		     const char *name);
/* Of those subjects that are still there; NULL: of all that are configured. */
void answer_tasks(const struct node *s, struct peer *c, uint32_t msgid,
		  const struct subjects *subjects);
void answer_workers(const struct node *s, struct peer *c, uint32_t msgid,
		    const struct survey *survey); /* NULL: count our own tasks alone */
void answer_status(const struct methods *m, struct peer *c, uint32_t msgid);

#endif
