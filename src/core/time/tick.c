#include "core/time/tick.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/time/calendar.h"

#define WALL_END_MS INT64_C(253402300800000) /* the year 10000: clock_format() stops before it */

int64_t tick_floor(int64_t wall_ms, int64_t tick_ms, int64_t zone_ms)
{
	int64_t local_ms = tick_ms < TICK_DAY_MS ? wall_ms : wall_ms + zone_ms;

	return local_ms > 0 ? local_ms - local_ms % tick_ms : 0;
}

int64_t tick_clear(int64_t wall_ms, int64_t guard_ms)
{
	int64_t into = wall_ms % TICK_MINUTE_MS;

	if (into < 0)
		into += TICK_MINUTE_MS;
	if (into < guard_ms)
		return guard_ms - into;
	return into > TICK_MINUTE_MS - guard_ms ? TICK_MINUTE_MS - into + guard_ms : 0;
}

bool tick_name(int64_t wall_ms, char name[TICK_NAME_SIZE])
{
	char text[CLOCK_TEXT_SIZE];

	if (wall_ms >= WALL_END_MS)
		return false;
	clock_format(wall_ms, text);
	memcpy(name, text, TICK_NAME_SIZE);
	return true;
}

bool tick_is_name(const char *name)
{
	static const char form[] = "dddd-dd-ddTdd:dd:ddZ";
	size_t i;

	for (i = 0; form[i]; i++) {
		bool digit = name[i] >= '0' && name[i] <= '9';
		if (form[i] == 'd' ? !digit : name[i] != form[i])
			return false;
	}
	return name[i] == '\0';
}

static int number(const char *digits, size_t n)
{
	int value = 0;

	for (size_t i = 0; i < n; i++)
		value = 10 * value + (digits[i] - '0');
	return value;
}

bool tick_parse(const char *name, int64_t *ret_wall_ms)
{
	char again[TICK_NAME_SIZE];
	struct calendar_date date;
	int64_t seconds;

	if (!tick_is_name(name))
		return false;
	date = (struct calendar_date){number(name, 4), number(name + 5, 2), number(name + 8, 2)};
	if (date.year < 1970 || date.month < 1 || date.month > 12)
		return false;
	seconds = calendar_days(date) * CALENDAR_DAY_S + number(name + 11, 2) * 3600 +
		  number(name + 14, 2) * 60 + number(name + 17, 2);
	*ret_wall_ms = seconds * 1000;
	return tick_name(*ret_wall_ms, again) && strcmp(again, name) == 0;
}

int64_t tick_begins(int64_t wall_ms, int64_t tick_ms, int64_t zone_ms)
{
	return tick_floor(wall_ms, tick_ms, zone_ms) - (tick_ms < TICK_DAY_MS ? 0 : zone_ms);
}

static int by_name(const void *tick, const void *name)
{
	return strcmp(tick, name);
}

enum tick_place tick_place(const char *tick, const char *floor, char (*names)[TICK_NAME_SIZE],
			   size_t n, const char *limit)
{
	if (strcmp(tick, floor) < 0 ||
	    (n > 0 && strcmp(tick, names[0]) < 0 && (floor[0] || strcmp(names[0], limit) <= 0)))
		return TICK_OLDER;
	return n > 0 && bsearch(tick, names, n, sizeof(*names), by_name) ? TICK_CLAIMED : TICK_FREE;
}
