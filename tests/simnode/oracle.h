/* The promises that hold at every moment, and whether they are kept. */
#ifndef TESTS_SIMNODE_ORACLE_H
#define TESTS_SIMNODE_ORACLE_H

#include "site.h"

void oracle_reset(void);
/* The end of a turn: what its node would answer from now on. */
void oracle_look(void *site);
/* TERM: from now on nothing is promised any more. */
void oracle_stopping(const struct site *s);
/* Nobody answers there any more. */
void oracle_dead(const struct site *s);
/* A question from the socket. */
void oracle_ask(struct site *s, unsigned task);
/* The leader node, if there is one, is about to be deleted by hand; likewise a worker node. */
void oracle_hand(unsigned task);
void oracle_hand_worker(const struct site *s);
/* Whether this site's promises may be broken, as its session timeout has shrunk since. */
bool oracle_has_shrunk(unsigned site);
/* All data was lost: tokens begin anew. */
void oracle_forget(void);
/* The site that may say yes now, -1: none. */
int oracle_leader(unsigned task);
/* When the site claimed it last, as far as was seen. */
int64_t oracle_claimed_at(unsigned site, unsigned task);
path_id oracle_leader_path(unsigned task);

/* How many leaderships there were of the task. */
uint64_t oracle_moves(unsigned task);
/* The longest time that nobody led it, since this was asked last. */
int64_t oracle_gap(unsigned task);

#endif
