/*
 * Users of the recipes at random moments, and the promises that are judged; with --recipes alone.
 */
#ifndef TESTS_SIMNODE_RECIPES_H
#define TESTS_SIMNODE_RECIPES_H

#include "server.h"
#include "site.h"

void recipes_reset(void);
/* All data was lost. */
void recipes_forget(void);
/* In quiet times: NULL, or what is not as it should be. */
const char *recipes_at_rest(void);
/* A site whose socket would take a question, and that has a session; NULL: none. */
struct site *recipes_any_site(void);
/* A command of that kind has renewed its lease at the site: for less than that lasts is a violation. */
void recipes_renewed(const struct site *s, const char *what, int64_t lease_ms);

/* recipe_counter.c */
void counter_reset(void);
void counter_forget(void);
void counter_use(struct site *s);
void counter_commit(const struct transaction *x);

/* recipe_roster.c */
void roster_reset(void);
void roster_lose(void);
void roster_use(struct site *s);
/* A hand writes over the entry of a node. */
bool roster_damage(void);
void roster_commit(const struct transaction *x);
const char *roster_at_rest(void);

/* recipe_barrier.c */
void barrier_reset(void);
void barrier_forget(void);
void barrier_use(struct site *s);
void barrier_commit(const struct transaction *x);
const char *barrier_at_rest(void);

/* recipe_rolling.c */
void rolling_reset(void);
void rolling_forget(void);
void rolling_use(struct site *s);
/* A slot, or the group, is there no more, or cannot be read: a hand did that. */
void rolling_lose(path_id path);
/* recipe_rolling_hand.c: people who delete znodes of rolling restarts, or write garbage to them. */
void rolling_hand(void);
void rolling_hand_commit(const struct transaction *x);
void rolling_hand_look(void);
bool rolling_hand_is_left(void);
/* Whether a node, perhaps the site itself, has been told to release that site's slot. */
bool rolling_hand_releases(unsigned k);
void rolling_hand_forget(void);
void rolling_commit(const struct transaction *x);
const char *rolling_at_rest(void);

/* recipe_gang.c */
void gang_reset(void);
void gang_forget(void);
void gang_use(struct site *s);
void gang_commit(const struct transaction *x);
/* The process of a site has gone, and with it all connections. */
void gang_ended(const struct site *s);
const char *gang_at_rest(void);

/* recipe_lock.c */
void lock_reset(void);
void lock_forget(void);
void lock_use(struct site *s);
/* The process of a site has gone, and with it all connections. */
void lock_ended(const struct site *s);
const char *lock_at_rest(void);

#endif
