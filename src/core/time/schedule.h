/*
 * Schedules: when a task is due. The five fields of Debian's crontab(5), with names also in lists
 * and ranges, and with H, a number derived from the task's name; @daily and the like; "every D".
 * docs/SCHEDULES.md has the rules.
 */
#ifndef ZKLEADER_CORE_TIME_SCHEDULE_H
#define ZKLEADER_CORE_TIME_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/time/zone.h"

#define SCHEDULE_TEXT_MAX 200 /* bytes */

struct schedule {
	int64_t every_s; /* due at multiples of this since the epoch; 0: by the fields */
	uint64_t minutes;
	uint32_t hours;
	uint32_t days;	   /* bits 1 to 31 */
	uint32_t months;   /* bits 1 to 12 */
	uint32_t weekdays; /* bits 0 to 6, 0 is Sunday */
	bool star_day, star_weekday;
	bool star_time; /* in minute or hour: due in both passes of a repeated hour */
};

struct schedule_error {
	size_t at;	 /* byte of the text */
	const char *why; /* a constant text */
};

/* 0, or -EINVAL and the place in the text. task decides what H stands for. */
int schedule_parse(const char *text, const char *task, struct schedule *ret_schedule,
		   struct schedule_error *ret_error);
/*
 * The first instant after `after`, in seconds since the epoch; false if there is none before the
 * year 10000. Zone NULL: UTC. Where the local time jumps forward, fixed times in the gap are due
 * once, at the first instant after it. Where it repeats, they are due the first time.
 */
bool schedule_next(const struct schedule *s, const struct zone *zone, int64_t after,
		   int64_t *ret_at);

#endif
