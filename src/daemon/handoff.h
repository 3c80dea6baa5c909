/*
 * The handoff of the session and of jobs from one sidecar of a host to the next, by files
 * (handoff_file.h).
 */
#ifndef ZKLEADER_DAEMON_HANDOFF_H
#define ZKLEADER_DAEMON_HANDOFF_H

#include "daemon/sidecar.h"

/* Called before the node starts: reads what the previous sidecar has left. */
void handoff_take_over(struct sidecar *s);

/* Handlers of the node; arg is the sidecar. */
void handoff_on_session(void *arg, const struct handoff *handoff);
void handoff_on_runs(void *arg, const struct handoff_run *runs, size_t n);

#endif
