/*
 * A limit of how many may begin within a time, wherever that time begins: a window that slides. It
 * counts by slices of a hundredth of the time, and so lets up to two hundredths more pass.
 */
#ifndef ZKLEADER_CORE_QUEUE_RATE_H
#define ZKLEADER_CORE_QUEUE_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RATE_SLICES 100

struct rate {
	int64_t most;	   /* that begin within period_ms; 0: no limit */
	int64_t period_ms; /* as it was given */
	int64_t slice_ms;
	int64_t newest;			 /* number of the newest slice, since the clock's zero */
	int64_t used;			 /* sum of the counts */
	size_t n;			 /* slices that count */
	int64_t counts[RATE_SLICES + 1]; /* of slice K at K modulo n */
};

/* Sets the limit; nothing has begun. */
void rate_set(struct rate *r, int64_t most, int64_t period_ms, int64_t now_ms);
/* Changes the limit. As many as could begin still can, if so many may. */
void rate_change(struct rate *r, int64_t most, int64_t period_ms, int64_t now_ms);
/* As many as may have begun, evenly over the time before now_ms. */
void rate_use_up(struct rate *r, int64_t now_ms);
/* Counts one that begins, if it may. */
bool rate_take(struct rate *r, int64_t now_ms);
/* The last one has not begun after all. */
void rate_give_back(struct rate *r);
/* How long until one may begin. */
int64_t rate_wait_ms(const struct rate *r, int64_t now_ms);

#endif
