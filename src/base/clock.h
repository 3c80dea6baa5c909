/* The two clocks: one for everything that is decided, one for what people read. */
#ifndef ZKLEADER_BASE_CLOCK_H
#define ZKLEADER_BASE_CLOCK_H

#include <stdint.h>

#define CLOCK_TEXT_SIZE 32

/*
 * Milliseconds of CLOCK_BOOTTIME. It counts suspend, which CLOCK_MONOTONIC does not, and no
 * wall-clock jump moves it: leases are measured with it and with nothing else.
 */
int64_t clock_boot_ms(void);
/* The same in microseconds, for how long something takes. */
int64_t clock_boot_us(void);
/* Milliseconds since the epoch, UTC. */
int64_t clock_wall_ms(void);
/* Writes wall milliseconds as RFC 3339 in UTC, "2026-11-20T02:00:00Z" (whole seconds). */
void clock_format(int64_t wall_ms, char text[CLOCK_TEXT_SIZE]);
/*
 * Parses RFC 3339 into ms since the epoch, rounded up: 0; or -EINVAL, also for a date or a time
 * that does not exist.
 */
int clock_parse(const char *text, int64_t *ret_wall_ms);

#endif
