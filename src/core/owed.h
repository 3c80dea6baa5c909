/*
 * Which ticks of a schedule are owed at a moment: which of them is to be run next, and which are
 * not to be run any more. Pure; times are milliseconds since the epoch.
 */
#ifndef ZKLEADER_CORE_OWED_H
#define ZKLEADER_CORE_OWED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schedule.h"

/* Of the ticks that are owed and whose time is over: which are run. */
enum owed_catch_up { OWED_NONE, OWED_LAST, OWED_ALL };

#define OWED_NEVER	 INT64_MIN
#define OWED_FORGIVEN_MS 1000  /* a tick that is no later is in time, whoever led at its instant */
#define OWED_PATIENCE_MS 10000 /* for which one is in time at the least, where this node led */

/* What is configured. */
struct owed_rules {
	const struct schedule *schedule;
	const struct zone *zone; /* NULL: UTC */
	enum owed_catch_up catch_up;
	int64_t window_ms; /* what is owed for longer is not run */
	int64_t wait_ms;   /* for which a tick waits for the run before it */
};

/* What there is. */
struct owed_sight {
	int64_t now_ms;
	/*
	 * Nothing up to then is owed: the schedule has come into force, a pause has ended, or the
	 * tick of that instant was decided.
	 */
	int64_t since_ms;
	int64_t active_ms; /* since when this node has been deciding without a break */
	/* A run goes on since then, and none is to begin beside it; OWED_NEVER: none. */
	int64_t busy_ms;
};

struct owed_plan {
	bool run;
	int64_t run_ms; /* the tick that is to be run now */
	bool missed;	/* those up to missed_to_ms, if they are owed, are not run any more */
	int64_t missed_to_ms;
	int64_t next_ms; /* the plan is another then, if not before; INT64_MAX: never */
};

/* What to do now. Missed ones come first: what is to be run is later than all of them. */
struct owed_plan owed_plan(const struct owed_rules *rules, const struct owed_sight *sight);
/*
 * The newest ticks behind after_ms, up to until_ms, at most max: into ret_ticks, oldest first.
 * ret_all: how many there are altogether, at most OWED_COUNT_MAX.
 */
#define OWED_COUNT_MAX 100000
size_t owed_ticks(const struct owed_rules *rules, int64_t after_ms, int64_t until_ms, size_t max,
		  int64_t *ret_ticks, size_t *ret_all);
/* Whether that instant is a tick of the schedule. */
bool owed_is_tick(const struct owed_rules *rules, int64_t ms);
/* By how many ms a task's runs begin later than their ticks: below splay_ms, by its name. */
int64_t owed_splay(const char *task, int64_t splay_ms);

#endif
