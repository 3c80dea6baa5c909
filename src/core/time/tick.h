/* Ticks: the instants at which a crontab line fires, and their names in the ledger. */
#ifndef ZKLEADER_CORE_TIME_TICK_H
#define ZKLEADER_CORE_TIME_TICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TICK_MINUTE_MS	 60000
#define TICK_DAY_MS	 (INT64_C(24) * 3600 * 1000)
#define TICK_ZONE_MAX_MS TICK_DAY_MS /* no clock on earth is further ahead of UTC, or behind it */
#define TICK_NAME_SIZE	 21 /* "2026-11-20T02:00:00Z" and its NUL: by strcmp, earlier is smaller */

/*
 * Rounds wall milliseconds (not negative) down to the begin of their tick; tick_ms is positive. A
 * tick of a day or more begins with the day of the local clock, which is zone_ms ahead of UTC, and
 * is named by it: where the clock is set forward, two midnights are 23 hours apart.
 */
int64_t tick_floor(int64_t wall_ms, int64_t tick_ms, int64_t zone_ms);
/*
 * How many ms from wall_ms on it takes to be at least guard_ms away from a full minute, when
 * crontab lines fire; 0: it is already. guard_ms is less than half a minute.
 */
int64_t tick_clear(int64_t wall_ms, int64_t guard_ms);
/* The name of the tick at wall_ms; false beyond the year 9999. */
bool tick_name(int64_t wall_ms, char name[TICK_NAME_SIZE]);
/* Whether a znode's name is that of a tick. */
bool tick_is_name(const char *name);
/* The time of a name; false for an invalid one, as of a 31st of June. */
bool tick_parse(const char *name, int64_t *ret_wall_ms);
/* When the current tick begins, by that clock. */
int64_t tick_begins(int64_t wall_ms, int64_t tick_ms, int64_t zone_ms);

#define TICK_NO_LIMIT "~" /* behind all names */

enum tick_place {
	TICK_FREE,
	TICK_CLAIMED,
	TICK_OLDER, /* older than the oldest one kept: it counts as claimed */
};

/*
 * The state of a tick by the ledger. names are its n records, sorted. floor is the oldest one that
 * pruning has left, "" if nothing was pruned. limit is a name that no right clock has reached yet:
 * a record behind it, claimed by a wrong clock, is not taken for the oldest one kept as long as
 * nothing was pruned.
 */
enum tick_place tick_place(const char *tick, const char *floor, char (*names)[TICK_NAME_SIZE],
			   size_t n, const char *limit);

#endif
