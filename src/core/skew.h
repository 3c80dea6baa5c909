/*
 * Whether this worker's clock is wrong: by the ZooKeeper server's and the other workers'. The
 * server's wall clock is known from the times of transactions of ours. One wrong clock, a host's
 * or the server's, is told by what the others say: a worker's is off if it differs from the
 * server's *and* from most workers'. Pure.
 */
#ifndef ZKLEADER_CORE_SKEW_H
#define ZKLEADER_CORE_SKEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A published offset is replaced where it is wrong by more than this part of the tolerance. */
#define SKEW_STEP_PART 10
/*
 * After the server's clock has jumped: what the workers have published is comparable again by
 * then.
 */
#define SKEW_SETTLE_MS 20000

/* The server's clock, as far as it is known here. All zero knows nothing. */
struct skew {
	bool known;
	int64_t base_ms;    /* what it said when our CLOCK_BOOTTIME was 0 */
	int64_t error_ms;   /* by which that may be wrong, either way */
	int64_t settled_ms; /* CLOCK_BOOTTIME; until then the server's clock has just jumped */
};

/*
 * A transaction that was sent at sent_ms and answered at heard_ms (CLOCK_BOOTTIME) was made when
 * the server's wall clock said server_ms. Whether that clock was found to have jumped by more than
 * the step.
 */
bool skew_heard(struct skew *s, int64_t sent_ms, int64_t heard_ms, int64_t server_ms,
		int64_t tolerance_ms);
/* What the server's clock says at that CLOCK_BOOTTIME; only where it is known. */
int64_t skew_server(const struct skew *s, int64_t boot_ms);
/*
 * By how much our clock is ahead of the server's, for others to know: published_ms, what they
 * know, as long as that is right within the step and the error.
 */
int64_t skew_offset(const struct skew *s, int64_t boot_ms, int64_t wall_ms, int64_t published_ms,
		    int64_t tolerance_ms);

/* A worker's clock, as its record says. */
struct skew_clock {
	const char *machine;  /* those of one that agree have one vote; "": one of its own */
	int64_t tolerance_ms; /* 0: the record says nothing of its clock */
	int64_t offset_ms;    /* ahead of the server's */
};

/*
 * Which of n clocks are off: by more than the tolerance from the server's, and from more of the
 * other machines' than not. So of two that differ the one is off that differs from the server's
 * too; one that is alone is not, as nobody can tell which of the two is wrong; and none is where
 * all differ from the server's alike. ret_off has room for n. Returns how many are.
 */
size_t skew_judge(const struct skew_clock *clocks, size_t n, bool *ret_off);

#endif
