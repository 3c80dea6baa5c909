#include "core/tick.h"

#include <string.h>

#include "base/clock.h"

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

int64_t tick_begins(int64_t wall_ms, int64_t tick_ms, int64_t zone_ms)
{
	return tick_floor(wall_ms, tick_ms, zone_ms) - (tick_ms < TICK_DAY_MS ? 0 : zone_ms);
}

enum tick_place tick_place(const char *tick, const char *floor, char (*names)[TICK_NAME_SIZE],
			   size_t n, const char *limit)
{
	bool ahead = floor[0] == '\0' && n > 0 && strcmp(names[0], limit) > 0;

	if (strcmp(tick, floor) < 0 || (n > 0 && strcmp(tick, names[0]) < 0 && !ahead))
		return TICK_OLDER;
	for (size_t low = 0, high = n; low < high;) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(tick, names[middle]);
		if (order == 0)
			return TICK_CLAIMED;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return TICK_FREE;
}
