/*
 * Whether this worker's clock is wrong, judged by the clocks of the ZooKeeper server and of the
 * other workers. The server's clock is known from the times of our transactions. A worker's clock
 * is off if it differs from the server's *and* from most workers' clocks: so a single wrong clock
 * is found, be it a host's or the server's. Pure.
 */
#ifndef ZKLEADER_CORE_TIME_SKEW_H
#define ZKLEADER_CORE_TIME_SKEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A published offset is replaced if it is wrong by more than 1/10 of the tolerance: the step. */
#define SKEW_STEP_PART 10
/*
 * The time after a jump of the server's clock until the offsets published by the workers are
 * comparable again.
 */
#define SKEW_SETTLE_MS 20000

/* The known state of the server's clock. All zero: nothing is known. */
struct skew {
	bool known;
	int64_t base_ms;    /* its time when our CLOCK_BOOTTIME was 0 */
	int64_t error_ms;   /* base_ms may be wrong by so much, either way */
	int64_t settled_ms; /* CLOCK_BOOTTIME; until then SKEW_SETTLE_MS after a jump is not over */
};

/*
 * A transaction that was sent at sent_ms and answered at heard_ms (CLOCK_BOOTTIME) was made at
 * server_ms by the server's wall clock. Returns whether that clock has jumped by more than the
 * step.
 */
bool skew_heard(struct skew *s, int64_t sent_ms, int64_t heard_ms, int64_t server_ms,
		int64_t tolerance_ms);
/* The server's time at that CLOCK_BOOTTIME; only if it is known. */
int64_t skew_server(const struct skew *s, int64_t boot_ms);
/*
 * The offset to publish: by how much our clock is ahead of the server's. It stays at published_ms,
 * the present one, as long as that is right within the step and the error.
 */
int64_t skew_offset(const struct skew *s, int64_t boot_ms, int64_t wall_ms, int64_t published_ms,
		    int64_t tolerance_ms);

/*
 * A worker's clock, from its record. Workers of one host have one clock, so those that agree have
 * one vote: they have the machine's identity and the host's name in common. The identity alone does
 * not tell, as cloned machines have the same one; nor does the name, as twins have.
 */
struct skew_clock {
	const char *machine; /* "": not known, and the worker votes on its own */
	const char *host;
	int64_t tolerance_ms; /* 0: the record does not describe the clock */
	int64_t offset_ms;    /* ahead of the server's */
};

/*
 * Finds which of n clocks are off: those that differ by more than the tolerance from the server's
 * and from the clocks of most other hosts. So of two workers' clocks that differ, the one that
 * also differs from the server's is off. A single worker's clock is never off, as it may be the
 * server's that is wrong. Where all differ from the server's alike, none is off. ret_off has room
 * for n. Returns how many are off.
 */
size_t skew_judge(const struct skew_clock *clocks, size_t n, bool *ret_off);
/*
 * By how much the clock that jobs go by is ahead of the server's: the lower median of all clocks,
 * the server's among them, or 0 if that is within the tolerance. The lower one, as a job that
 * begins late, or a record that is kept, does less harm than the opposite.
 */
int64_t skew_jobs(const struct skew_clock *clocks, size_t n, int64_t tolerance_ms);

#endif
