/* The methods of the control socket as the daemon calls them, and events for all of them. */
#ifndef ZKLEADER_CONTROL_CONTROL_H
#define ZKLEADER_CONTROL_CONTROL_H

#include "control/ask/methods.h"

/* The process is borrowed. */
void methods_init(struct methods *m, const struct process *process);
void methods_done(struct methods *m);
/* The handlers for control, leaders and registry. */
void methods_request(struct methods *m, struct peer *c, const struct rpc_message *message);
/* Writes the name of each method into asked[]. */
void methods_list(struct methods *m);
void methods_client_gone(struct methods *m, struct peer *c);
void methods_task_changed(struct methods *m);
/* A subscriber takes notifications again. */
void methods_drained(struct methods *m);
/* Long answers may have room again. */
void methods_room(struct methods *m);
void methods_task_removed(struct methods *m, struct task *t);

#endif
