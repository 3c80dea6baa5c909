/*
 * A machine with one process on it: clocks, timers and turns, as node/host.h has them, and what happens to
 * them. A turn is what an event loop does at once: timers that are due, what the library has, and the
 * functions for the end of the turn.
 */
#ifndef TESTS_SIMNODE_MACHINE_H
#define TESTS_SIMNODE_MACHINE_H

#include "client.h"
#include "node/host.h"

struct machine {
	unsigned id;
	struct clock clock;
	int64_t wall_ms;      /* its wall clock is wrong by so much */
	int64_t suspended_us; /* in all, of what is over */
	int64_t suspended_at; /* since then, if it is */
	struct inbox inbox;   /* of the library's thread; paused: the whole process */
	bool suspended;
	bool alive;	    /* there is a process */
	bool silent;	    /* nothing that it asks for leaves it: it is being freed */
	bool older;	    /* the process is of an older release: releases.h */
	bool timers_last;   /* in the next turn: after a pause either comes first */
	int64_t busy_until; /* its loop does something else */
	uint64_t life;	    /* of the process */
	int64_t turn_at;    /* of the next turn that was asked for */
	uint64_t turn;	    /* the number of that */
	struct lib *libs;
	struct store *stores;
	struct lookup *lookups;
	struct timer *timers;
	uint64_t timers_set; /* ever */
	struct turn *turns, **turns_tail;
	void (*after)(void *arg); /* called after each turn */
	void *arg;
};

extern struct machine machines[HOSTS_MAX];

void machines_reset(void);
/* A process begins; after is called at the end of each of its turns. */
void machine_start(struct machine *m, void (*after)(void *arg), void *arg);
/* Its process is gone, and what the library had with it; its timers are freed by then, its stores closed. */
void machine_end(struct machine *m);
void machine_pause(struct machine *m, bool suspend);
void machine_resume(struct machine *m);
/* Its loop is away for so long; the library's thread is not. */
void machine_slow(struct machine *m, int64_t for_us);
/* There is something to do; at most so much later. */
void machine_wake(struct machine *m, int64_t in_us);
/* Whether its loop would take a question from the socket now. */
bool machine_listens(const struct machine *m);
int64_t machine_us(const struct machine *m); /* CLOCK_BOOTTIME */
/* The true time at which its clock shows this. */
int64_t machine_when(const struct machine *m, int64_t boot_ms);
/* host.c */
struct host *machine_host(struct machine *m);
struct machine *machine_of(const struct host *h);

/* store.c: what the library has brought. */
void stores_take(struct machine *m);
bool stores_wait(const struct machine *m);
/* Drops stores that are still being closed, as the process has gone. */
void stores_end(struct machine *m);
/* lookup.c: likewise what is being looked up. */
void lookups_end(struct machine *m);

#endif
