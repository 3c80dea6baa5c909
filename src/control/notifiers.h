/*
 * This host's zkleader-notify, which tells people of events: the methods `notifier` and `noticed`,
 * the notification `notice`, and what is wrong as long as nobody would be told.
 */
#ifndef ZKLEADER_CONTROL_NOTIFIERS_H
#define ZKLEADER_CONTROL_NOTIFIERS_H

#include "config/problem.h"
#include "control/methods.h"

#define NOTIFIERS_AWAY_MS      5000 /* that it may be away, as while it is started anew */
#define NOTIFIERS_PROBLEMS_MAX 20
#define NOTIFIERS_TEXT_MAX     400 /* bytes of one of them */
#define NOTIFIERS_IDS_MAX      1000

/* The methods. */
void notifier_register(struct call *call);
void notifier_noticed(struct call *call);

void notifiers_init(struct methods *m);
void notifiers_done(struct methods *m);
void notifiers_client_gone(struct methods *m, const struct peer *c);
/* It may take more now. */
void notifiers_drained(struct methods *m);
/* Appends what keeps people from being told. */
void notifiers_find_problems(const struct methods *m, struct problems *problems);

#endif
