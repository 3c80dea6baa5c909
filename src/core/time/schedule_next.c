/* When a schedule is due next, over all that a zone does to the local time. */
#include <string.h>

#include "core/time/calendar.h"
#include "core/time/schedule.h"

#define MINUTE_S INT64_C(60)
#define HOUR_S	 INT64_C(3600)
/* How far back a change of the offset may have made the local time that is now: the date line. */
#define LOOK_BACK_S (3 * CALENDAR_DAY_S)
/* The longest time without a match, which 29 February on a certain weekday has: over 2100. */
#define DAYS_MAX (41 * 366)

static bool day_matches(const struct schedule *s, int64_t days, const struct calendar_date *d)
{
	bool day = s->days >> d->day & 1;
	bool weekday = s->weekdays >> calendar_weekday(days) & 1;

	return s->star_day || s->star_weekday ? day && weekday : day || weekday;
}

/* The first second of a day from `from` on that matches, CALENDAR_DAY_S: none. */
static int64_t time_of_day(const struct schedule *s, int64_t from)
{
	int64_t minute = (from + MINUTE_S - 1) / MINUTE_S;

	for (int64_t h = minute / 60, m = minute % 60; h < 24; h++, m = 0) {
		uint64_t rest = s->hours >> h & 1 ? s->minutes >> m << m : 0;
		if (rest)
			return h * HOUR_S + __builtin_ctzll(rest) * MINUTE_S;
	}
	return CALENDAR_DAY_S;
}

/* The first local time from `from` on that matches, if it is before `end`. */
static bool next_local(const struct schedule *s, int64_t from, int64_t end, int64_t *ret)
{
	int64_t days = calendar_floor(from, CALENDAR_DAY_S);
	int64_t rest = from - days * CALENDAR_DAY_S;

	for (int64_t last = days + DAYS_MAX; days <= last; days++, rest = 0) {
		struct calendar_date d = calendar_date(days);
		if (days * CALENDAR_DAY_S >= end)
			return false;
		if (!(s->months >> d.month & 1)) {
			days += calendar_month_length(d.year, d.month) - d.day;
			continue;
		}
		if (!day_matches(s, days, &d))
			continue;
		int64_t second = time_of_day(s, rest);
		if (second < CALENDAR_DAY_S) {
			*ret = days * CALENDAR_DAY_S + second;
			return *ret < end;
		}
	}
	return false;
}

/* A time with one offset from UTC. */
struct stretch {
	int64_t begin, end; /* the end is not in it */
	int32_t offset;
};

/* The first instant of a stretch that is due, from `from` on, which is in it. */
static bool next_star(const struct schedule *s, const struct stretch *t, int64_t from, int64_t *ret)
{
	if (!next_local(s, from + t->offset, t->end + t->offset, ret))
		return false;
	*ret -= t->offset;
	return true;
}

/*
 * The same for fixed times. seen is the first local time that has not been yet: what is before it,
 * comes for the second time; what was jumped over from there on is due at the beginning of the
 * stretch.
 */
static bool next_fixed(const struct schedule *s, const struct stretch *t, int64_t seen,
		       int64_t from, int64_t *ret)
{
	int64_t local, begin = t->begin + t->offset;

	if (seen < begin && from <= t->begin && next_local(s, seen, begin, &local)) {
		*ret = t->begin;
		return true;
	}
	local = from + t->offset > seen ? from + t->offset : seen;
	if (local < begin)
		local = begin;
	if (!next_local(s, local, t->end + t->offset, &local))
		return false;
	*ret = local - t->offset;
	return true;
}

static struct stretch stretch_from(const struct zone *zone, int64_t begin)
{
	struct stretch t = {.begin = begin, .offset = zone_offset(zone, begin)};

	if (!zone_next_change(zone, begin, &t.end) || t.end > CALENDAR_END_S)
		t.end = CALENDAR_END_S + 1;
	return t;
}

bool schedule_next(const struct schedule *s, const struct zone *zone, int64_t after,
		   int64_t *ret_at)
{
	if (after >= CALENDAR_END_S)
		return false;
	if (s->every_s > 0) {
		*ret_at = (calendar_floor(after, s->every_s) + 1) * s->every_s;
		return *ret_at <= CALENDAR_END_S;
	}
	struct stretch t = stretch_from(zone, after - LOOK_BACK_S);
	int64_t seen = t.begin + t.offset;
	while (t.begin <= CALENDAR_END_S) {
		int64_t from = after + 1 > t.begin ? after + 1 : t.begin;
		bool due = from < t.end && (s->star_time ? next_star(s, &t, from, ret_at)
							 : next_fixed(s, &t, seen, from, ret_at));
		if (due)
			return true;
		if (t.end + t.offset > seen)
			seen = t.end + t.offset;
		t = stretch_from(zone, t.end);
	}
	return false;
}
