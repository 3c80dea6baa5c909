/*
 * Detects whether the loop of a sidecar hangs, by what a thread beside it sees again and again. A
 * process that was stopped, a suspended machine and one that is busy with other work are no hang:
 * then the thread itself has not run on time, or the loop's thread could run and got no processor.
 */
#ifndef ZKLEADER_CORE_QUEUE_HANG_H
#define ZKLEADER_CORE_QUEUE_HANG_H

#include <stdbool.h>
#include <stdint.h>

/* The thread looks so often within the timeout. */
#define HANG_LOOKS 20

/* A look at the loop. */
struct hang_look {
	int64_t now_ms;	  /* CLOCK_BOOTTIME, which goes on in a suspended machine */
	uint64_t turns;	  /* turns of the loop so far */
	uint64_t idle_ns; /* how long the loop has waited for events so far */
	int64_t cpu_ns;	  /* the processor time that the loop's thread has used so far */
	bool asleep;	  /* the thread waits in the kernel, not for a processor or a debugger */
};

struct hang {
	struct hang_look last;
	int64_t stuck_ms; /* the time since the last turn, as far as it counts */
};

/* Milliseconds from one look to the next. */
int64_t hang_step_ms(int64_t timeout_ms);
/*
 * Takes a look. True: the loop has stood still for the timeout: its thread slept through looks that
 * came on time, or used that much processor time.
 */
bool hang_look(struct hang *h, const struct hang_look *look, int64_t timeout_ms);

#endif
