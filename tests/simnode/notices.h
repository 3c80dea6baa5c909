/* Events that people are told of: none that was noted is forgotten untold; with --notices alone. */
#ifndef TESTS_SIMNODE_NOTICES_H
#define TESTS_SIMNODE_NOTICES_H

#include "server.h"
#include "site.h"

/* Behind alerts_reset(). */
void notices_reset(void);
/* All data was lost. */
void notices_judge_forget(void);
/* A process begins: its notifier is there, and all events are wanted. */
void notices_site_starts(struct site *s);

#endif
