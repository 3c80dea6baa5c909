/*
 * Present problems other than those of the configuration: of the tasks, the fleet and this server.
 */
#ifndef ZKLEADER_CONTROL_ANSWER_TROUBLES_H
#define ZKLEADER_CONTROL_ANSWER_TROUBLES_H

#include "config/text/problem.h"
#include "node/node.h"
#include "wire/pack.h"

/* Appends each as a problem, named by the task or node that it is about. */
void troubles_find(const struct node *s, struct problems *problems);
/* The key halted: rolling restarts that are halted, each with the node where CMD failed. */
void troubles_pack_halted(struct pack *p, const struct node *s);
/* Packs the last word of a ZooKeeper server, nil if there is a session. */
void troubles_pack_error(struct pack *p, const struct session_error *error);

#endif
