/*
 * The ticks of a schedule that are owed at a given time: the one to run next, and those that are
 * missed and not run any more. Pure; times are milliseconds since the epoch.
 */
#ifndef ZKLEADER_CORE_TIME_OWED_H
#define ZKLEADER_CORE_TIME_OWED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/time/schedule.h"

/* Which of the owed ticks are run late. */
enum owed_catch_up { OWED_NONE, OWED_LAST, OWED_ALL };

#define OWED_NEVER	 INT64_MIN
#define OWED_FORGIVEN_MS 1000  /* a tick that is less late is in time, whichever node led */
#define OWED_PATIENCE_MS 10000 /* the same, at least, if this node led at its instant */

/* The configuration. */
struct owed_rules {
	const struct schedule *schedule;
	const struct zone *zone; /* NULL: UTC */
	enum owed_catch_up catch_up;
	int64_t window_ms; /* a tick that is owed for longer is not run */
	int64_t wait_ms;   /* how long a tick waits for the previous run to end */
};

/* The present situation. */
struct owed_sight {
	int64_t now_ms;
	/*
	 * No tick up to then is owed: the schedule came into force then, a pause ended, or the tick
	 * of that instant was decided.
	 */
	int64_t since_ms;
	int64_t active_ms; /* since when this node has been scheduling without a break */
	/* Since when a run goes on beside which no other may begin; OWED_NEVER: none. */
	int64_t busy_ms;
	bool going; /* a run goes on, and overlap allows others beside it */
};

struct owed_plan {
	bool run;
	int64_t run_ms; /* the tick to run now */
	bool missed;	/* owed ticks up to missed_to_ms are not run any more */
	int64_t missed_to_ms;
	int64_t next_ms; /* when to plan again at the latest; INT64_MAX: never */
};

/*
 * Why a tick is missed. Of several that fit, the first in this order is told: what kept it from
 * being run in time, then what was decided, then what else was wrong.
 */
enum owed_why {
	OWED_OUTAGE,   /* nobody led when it was due */
	OWED_OVERLAP,  /* the run before it went on */
	OWED_WINDOW,   /* the tick was older than catch-up-window */
	OWED_CATCH_UP, /* another was caught up with, or none is */
	OWED_RUNNER,   /* no runner that works was there */
	OWED_CLOCK,    /* our clock was off */
	OWED_WHYS
};

/* A span of time since the epoch. from_ms OWED_NEVER: it never was; until_ms: it goes on. */
struct owed_span {
	int64_t from_ms, until_ms;
};

/* The known past, since the epoch; OWED_NEVER: it was not so. */
struct owed_past {
	struct owed_span no_runner;
	struct owed_span led; /* this node led, before it did now */
	struct owed_span cut; /* the last one without a lease, while it was the leader */
	int64_t offered_ms;   /* the tick that nobody has begun though it was offered */
	int64_t clock_ms;     /* our clock was off until then */
};

/* A span that never was. */
#define OWED_NO_SPAN                                          \
	{                                                     \
		.from_ms = OWED_NEVER, .until_ms = OWED_NEVER \
	}
#define OWED_NO_PAST                                                                 \
	{                                                                            \
		.no_runner = OWED_NO_SPAN, .led = OWED_NO_SPAN, .cut = OWED_NO_SPAN, \
		.offered_ms = OWED_NEVER, .clock_ms = OWED_NEVER                     \
	}

/*
 * Notes at now_ms whether the condition of the span holds; from_ms: since when, if it did not
 * before.
 */
void owed_note(struct owed_span *span, bool is, int64_t from_ms, int64_t now_ms);
/* All reasons that fit, as bits: 1 << enum owed_why; never none. */
unsigned owed_whys(const struct owed_rules *rules, const struct owed_sight *sight,
		   const struct owed_past *past, int64_t tick_ms);
/* The first of those. */
enum owed_why owed_why(unsigned whys);
/* Plans what to do now. The tick to run is later than all missed ones, which are handled first. */
struct owed_plan owed_plan(const struct owed_rules *rules, const struct owed_sight *sight);
/*
 * Writes the newest ticks later than after_ms and up to until_ms, at most max, to ret_ticks, oldest
 * first. *ret_all is the number of all of them, at most OWED_COUNT_MAX.
 */
#define OWED_COUNT_MAX 100000
size_t owed_ticks(const struct owed_rules *rules, int64_t after_ms, int64_t until_ms, size_t max,
		  int64_t *ret_ticks, size_t *ret_all);
/* The first tick behind that instant; INT64_MAX: none is to come. */
int64_t owed_next(const struct owed_rules *rules, int64_t after_ms);
/* Whether that instant is a tick of the schedule. */
bool owed_is_tick(const struct owed_rules *rules, int64_t ms);
/* How many ms after its tick a run begins: less than splay_ms, derived from the task's name. */
int64_t owed_splay(const char *task, int64_t splay_ms);

#endif
