/* `zkleader run` and what follows it: jobs. And who starts them: crontabs.c, schedules.c. */
#ifndef TESTS_SIMNODE_JOBS_H
#define TESTS_SIMNODE_JOBS_H

#include "site.h"

/* A user asks for ticks that are further ahead than any clock is wrong. */
#define JOBS_AHEAD_MS	  (INT64_C(30) * 24 * 3600 * 1000)
#define SCHEDULED_TICK_MS 1000

void jobs_reset(void);
void crontabs_reset(void);
void jobs_done(void);
/* For the task's tick at that time; TASKS_MAX: of any partition, ran of which the same call has got before. */
void jobs_ask(struct site *s, unsigned task, int64_t wall_ms, unsigned ran);
/* Begins a job that the site's sidecar offers. */
void jobs_due(struct site *s, unsigned task, const struct schedule_due *due);
/* Whether that has been begun, or is being asked for. */
bool jobs_has(const struct site *s, unsigned task, const struct schedule_due *due);
/* Whether the job of that claim was ended by its timeout, or was cut short. */
bool jobs_ended_by_others(const char *id);
/* Whether a job of the task runs. */
bool jobs_run(unsigned task);
/* Whether any of the task has been claimed and is not over. */
bool jobs_go_on(unsigned task);
/* The process of a site has gone, and with it all connections. */
void jobs_ended(struct site *s);
/* For the node. */
void jobs_answer(void *owner, uint32_t request, const struct run_answer *answer);
void jobs_released(void *owner);

#endif
