/*
 * The runners of this host's users, which start runs and jobs that are due: the methods `runner`,
 * `pong` and `refusals`, the notifications `ping`, `due` and `job`, and the problems of tasks that
 * no runner here would start. A runner that does not answer to `ping` counts as one that is away.
 */
#ifndef ZKLEADER_CONTROL_PROGRAMS_RUNNERS_H
#define ZKLEADER_CONTROL_PROGRAMS_RUNNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/text/problem.h"
#include "control/programs/programs.h"
#include "core/queue/job_id.h"

#define RUNNERS_AWAY_MS	     5000 /* a runner may be away for so long, as during a restart */
#define RUNNERS_PING_MS	     5000 /* between two looks at whether runners answer */
#define RUNNERS_PINGS_MAX    6	  /* looks that a runner may let pass without an answer */
#define RUNNERS_REFUSALS_MAX 10000

/* The methods. */
void runner_register(struct call *call);
void runner_refusals(struct call *call);
void runner_pong(struct call *call);

void runners_init(struct methods *m);
void runners_done(struct methods *m);
void runners_client_gone(struct methods *m, const struct peer *c);
/* The tasks or the uids of their users have changed. */
void runners_look(struct methods *m);

/*
 * Tells the runner of the task's user that this tick is due, RFC 3339 in UTC. False: no such runner
 * is connected.
 */
bool runners_due(struct methods *m, const char *task, const char *tick, int64_t attempt);

/* Likewise that a job of the queue was given to this node. */
bool runners_job(struct methods *m, const char *queue, const struct job_id *id);

/* A task that no runner here would start: its file or user, and why. */
struct runners_trouble {
	const char *task, *about; /* valid until the files or the refusals of a runner change */
	char text[PROGRAMS_TEXT_MAX + 100];
};

/* All troubles in the order of the tasks' names, for the caller to free(). */
struct runners_trouble *runners_troubles(const struct methods *m, size_t *ret_n);
/* Appends them as problems; one that several tasks share appears once. */
void runners_find_problems(const struct methods *m, struct problems *problems);

#endif
