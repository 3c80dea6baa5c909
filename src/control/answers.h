/* The answers of the control socket's methods, from the sidecar's present state. */
#ifndef ZKLEADER_CONTROL_ANSWERS_H
#define ZKLEADER_CONTROL_ANSWERS_H

#include <stddef.h>
#include <stdint.h>

#include "control/peer.h"
#include "control/process.h"
#include "node/survey.h"

/* How many pairs these three write into a map that the caller has opened. */
#define ANSWERS_TASK_FIELDS	10
#define ANSWERS_WORKER_FIELDS	13
#define ANSWERS_DECISION_FIELDS 7

/* An entry of `tasks`. */
void answers_pack_task(struct pack *p, const struct node *s, struct task *t);
/* An entry of `list`, of a member that leads so many tasks. */
void answers_pack_worker(struct pack *p, const struct node *s, const struct member *m, size_t led);
/* How many of our own tasks the member leads. */
size_t answers_count_led(const struct node *s, const struct member *m);
/* What somebody has decided. */
void answers_pack_decision(struct pack *p, const struct policy_item *item);
/* A key and its time as RFC 3339, nil for 0. */
void answers_pack_time(struct pack *p, const char *key, int64_t wall_ms);
/* The keys `leader`, `token` and `since`, as far as is known; nil each: nobody leads. */
void answers_pack_leadership(struct pack *p, const struct task *t);
/* The key `decisions` and what operators have decided about the task. */
void answers_pack_decisions(struct pack *p, const struct node *s, const struct task *t);
/* The key `drain` and who drained that node on that machine, nil. */
void answers_pack_drain(struct pack *p, const struct node *s, const char *node,
			const char *machine);
/* The key `refused` and the worker nodes that are no members. */
void answers_pack_refused(struct pack *p, const struct node *s);
/* The keys `problems` and `warnings` and their values. */
void answers_pack_problems(struct pack *p, const struct problems *problems);

/* Whole answers, each sent to the client. What is said about leading is computed in here, now. */
void answer_check(const struct node *s, struct peer *c, uint32_t msgid, struct task *t);
void answer_tasks(const struct node *s, struct peer *c, uint32_t msgid, struct task *const *tasks,
		  size_t n);
void answer_workers(const struct node *s, struct peer *c, uint32_t msgid,
		    const struct survey *survey); /* NULL: count our own tasks alone */
void answer_status(const struct process *process, struct peer *c, uint32_t msgid);

#endif
