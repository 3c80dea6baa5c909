/*
 * The tasks led by the previous sidecar, whose session was taken over: those still configured go on
 * here, the rest is released.
 */
#ifndef ZKLEADER_NODE_ELECTION_INHERITANCE_H
#define ZKLEADER_NODE_ELECTION_INHERITANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/host.h"

struct leaders;
struct task;

/* The inheritance state of a task. */
struct task_inheritance {
	bool open; /* whether our predecessor led it is not known yet */
};

struct inheritance {
	struct host_timer promises; /* of our predecessor: when they are over */
	bool again;		    /* the leader nodes to give up have to be looked for again */
	/* CLOCK_BOOTTIME: the end of promises that no election here knows of */
	int64_t promised_ms;
	int64_t jobs_ms; /* CLOCK_BOOTTIME: its jobs are dead by then; 0: there are none */
};

/*
 * Until then any task may have been promised by our predecessor, or by ourselves under another
 * configuration. No task is given up before, nor one that is added.
 */
void inheritance_promised(struct leaders *l, int64_t until_ms);
/* A task has been added: our predecessor may have led it under another configuration. */
void inheritance_task_added(struct task *t);
/* Milliseconds until the promises about tasks that are not known here are over; 0. */
int64_t inheritance_promised_left(const struct leaders *l);
/*
 * Called after a session was taken over. Finds the tasks of ours that our predecessor led, and
 * gives up the others that it led, once its promises are over.
 */
void inheritance_recover(struct leaders *l);
/* Whether our predecessor led the task is known now, or does not matter any more. */
void inheritance_settled(struct task *t);
/* Until then jobs of our predecessor may be alive, also those of tasks that are gone. */
void inheritance_has_jobs(struct leaders *l, int64_t until_ms);
/* Tries again to give up what could not be given up before. */
void inheritance_retry(struct leaders *l);
/* The session has ended, and with it all that was led here; or the node ends. */
void inheritance_forget(struct leaders *l);

#endif
