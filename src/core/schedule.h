/*
 * Schedules: when a task is due. Five fields as crontab(5) of Debian has them, with names in lists
 * and ranges and with H, a number that follows from the task's name; @daily and its like; "every
 * D". docs/SCHEDULES.md has the rules.
 */
#ifndef ZKLEADER_CORE_SCHEDULE_H
#define ZKLEADER_CORE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/zone.h"

#define SCHEDULE_TEXT_MAX 200 /* bytes */

struct schedule {
	int64_t every_s; /* the multiples of so many seconds since the epoch; 0: the fields */
	uint64_t minutes;
	uint32_t hours;
	uint32_t days;	   /* bits 1 to 31 */
	uint32_t months;   /* bits 1 to 12 */
	uint32_t weekdays; /* bits 0 to 6, 0 is Sunday */
	bool star_day, star_weekday;
	bool star_time; /* in minute or hour: it runs at each real instant of a repeated hour */
};

struct schedule_error {
	size_t at;	 /* byte of the text */
	const char *why; /* a constant text */
};

/* 0, or -EINVAL and the place in the text. task decides what H stands for. */
int schedule_parse(const char *text, const char *task, struct schedule *ret_schedule,
		   struct schedule_error *ret_error);
/*
 * The first instant after `after`, in seconds since the epoch; false if none is to come before the
 * year
 * 10000. Zone NULL: UTC. Where the local time jumps forward, fixed times in the gap are due once,
 * at the first instant after it; where it repeats, they are due the first time.
 */
bool schedule_next(const struct schedule *s, const struct zone *zone, int64_t after,
		   int64_t *ret_at);

#endif
