/*
 * The runners of this host's users, which start what is due: the methods `runner` and `refusals`,
 * the notifications `due` and `job`, and what is wrong with a task as long as nobody here would
 * start it.
 */
#ifndef ZKLEADER_CONTROL_RUNNERS_H
#define ZKLEADER_CONTROL_RUNNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/problem.h"
#include "control/methods.h"
#include "core/job_id.h"

#define RUNNERS_AWAY_MS	     5000 /* that a runner may be away, as while it is started anew */
#define RUNNERS_REFUSALS_MAX 10000
#define RUNNERS_TEXT_MAX     400 /* bytes of why a file is refused, and of its path */

/* The methods. */
void runner_register(struct call *call);
void runner_refusals(struct call *call);

void runners_init(struct methods *m);
void runners_done(struct methods *m);
void runners_client_gone(struct methods *m, const struct peer *c);
/* The tasks are others now, or the numbers of their users. */
void runners_look(struct methods *m);

/*
 * Tells the runner of the task's user that this tick is due, RFC 3339 in UTC. False: there is none
 * that could hear it.
 */
bool runners_due(struct methods *m, const char *task, const char *tick, int64_t attempt);

/* Likewise that a job of the queue was given to this node. */
bool runners_job(struct methods *m, const char *queue, const struct job_id *id);

/* A task that nobody here would start: its file or user, and why. */
struct runners_trouble {
	const char *task, *about; /* until the files, or what a runner refuses, are others */
	char text[RUNNERS_TEXT_MAX + 100];
};

/* All of them, for the caller to free(). */
struct runners_trouble *runners_troubles(const struct methods *m, size_t *ret_n);
/* Appends them as problems, what is the same of several tasks once. */
void runners_find_problems(const struct methods *m, struct problems *problems);

#endif
