/* Queues of jobs: who submits and does them, and what is promised of them; with --queues alone. */
#ifndef TESTS_SIMNODE_SIMQ_H
#define TESTS_SIMNODE_SIMQ_H

#include "server.h"
#include "site.h"

#define QUEUES	    4
#define QUEUE_SLOTS 2 /* of each site */

extern struct queue_settings queue_settings[QUEUES];
extern const char *const queue_names[QUEUES];

/* queue_clients.c */
void simq_reset(void);
void simq_forget(void);
/* The queues that a site has beside its tasks; QUEUES at most. */
size_t simq_list(const struct site *s, struct task_settings *ret_settings);
/* The file of a queue is gone for some seconds; also of a site that is about to start. */
void simq_take_file(struct site *s);
/* Whether its runner is known to hang. */
bool simq_is_hung(const struct site *s);
/* True time since when that is known, 0: it does not. */
int64_t simq_hangs_since(const struct site *s);
bool simq_has(const struct site *s, unsigned queue);
/* Its node tells: a job was given to it; one is to be ended. */
bool simq_on_job(void *site, const char *queue, const struct job_id *id);
void simq_on_cancel(void *site, void *owner, uint64_t number);
/* The process of a site has gone. */
void simq_ended(const struct site *s);
/* Whether a process of the job is alive somewhere, for sure; *ret_attempt: of it. */
bool simq_alive(const char *uuid, int64_t *ret_attempt);
/* Whether the process of that attempt was ended by its timeout, a cancel, or the end of its lease. */
bool simq_ended_by_others(const char *uuid, int64_t attempt);
/* Whether anything goes on of it anywhere: it is being begun, runs, or is reported as ended. */
bool simq_is_held(const char *uuid);
/* Whether a job goes on at the site, whose sidecar knows of it. */
bool simq_goes_on(const struct site *s);
/* Whether the attempt of a skipping job was reported by who did it, or did never begin. */
bool simq_crashed(const char *uuid, int64_t attempt);
/* Whether it was submitted with `while_open`, or that is not known any more. */
bool simq_while_open(const char *uuid);

/* queue_judge.c */
void judge_reset(void);
void judge_forget(void);
void judge_commit(const struct transaction *x);
/* Somebody was told that it is committed. */
void judge_told(const struct job_id *id);
/* Whether its record is there, as committed. */
bool judge_has(const struct job_id *id);
const char *judge_at_rest(void);
/* A known job, at random; false: none. */
bool judge_any(struct job_id *ret_id);

#endif
