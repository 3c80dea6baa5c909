/*
 * This host's zkleader-notify, which reports events to people: the methods `notifier` and
 * `noticed`, the notification `notice`, and the problems that keep people from being notified.
 */
#ifndef ZKLEADER_CONTROL_PROGRAMS_NOTIFIERS_H
#define ZKLEADER_CONTROL_PROGRAMS_NOTIFIERS_H

#include "config/text/problem.h"
#include "control/programs/programs.h"

#define NOTIFIERS_AWAY_MS      5000 /* the notifier may be away for so long, as during a restart */
#define NOTIFIERS_PROBLEMS_MAX 20
#define NOTIFIERS_IDS_MAX      1000

/* The methods. */
void notifier_register(struct call *call);
void notifier_noticed(struct call *call);

void notifiers_init(struct methods *m);
void notifiers_done(struct methods *m);
void notifiers_client_gone(struct methods *m, const struct peer *c);
/* The notifier may take notifications again. */
void notifiers_drained(struct methods *m);
/* Appends the problems that keep people from being notified. */
void notifiers_find_problems(const struct methods *m, struct problems *problems);

#endif
