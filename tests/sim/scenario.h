/* What happens to the fleet: storms of faults, and quiet times with one change after the other. */
#ifndef TESTS_SIM_SCENARIO_H
#define TESTS_SIM_SCENARIO_H

#include "sim.h"

struct sidecar;

/* Draws the fleet from the seed and starts it. */
void scenario_begin(void);

/* faults.c: one at random, healed by itself after a while; and all healed at once. */
void fault_inject(void);
void faults_heal(void);
void faults_reset(void);
/* Whether something is on that may not be healed before its time. */
bool faults_waiting(void);
/* It sends a release now: in a storm the connection may not survive that. */
void fault_at_release(struct sidecar *s);
bool scenario_is_storm(void);
/* The sidecars that are drained, as decided; each hears of it a little later. */
extern uint64_t drained_now;
void drain(unsigned sidecar, bool on);

#endif
