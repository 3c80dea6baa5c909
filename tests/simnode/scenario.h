/* The life of the fleet: storms of faults, and quiet times with one change after the other. */
#ifndef TESTS_SIMNODE_SCENARIO_H
#define TESTS_SIMNODE_SCENARIO_H

#include "site.h"

/* Draws the fleet from the seed and starts it. */
void scenario_begin(void);
bool scenario_is_storm(void);

/* faults.c: one at random, healed by itself after a while; and all healed at once. */
void fault_inject(void);
void faults_heal(void);
void faults_reset(void);
/* Whether something is on that may not be healed before its time. */
bool faults_waiting(void);
/* This site gives a task up just now: its connection may be reset. */
void fault_at_release(struct site *s);

/* orders.c: what operators decide, each through a node at random. */
bool order_at_random(void);
/* Pauses a task, or takes that back; false: no node can be told. */
bool order_pause(const char *task, bool on);
/* A site whose socket would take an order, NULL: none. */
struct site *order_any_node(void);
/* Drains the site, or takes that back; false: no node can be told. */
bool order_drain(struct site *s, bool on);
bool order_is_drained(const struct site *s);
void orders_reset(void);

/* log.c: traces the whole fleet. */
void log_fleet(void);

#endif
