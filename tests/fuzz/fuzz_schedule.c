/*
 * Time zones and schedules: a zone's file as it comes, or with a rule of the input alone; then a schedule
 * whose instants have to ascend, to be found again from just before, and to be none in between.
 */
#include "fuzz.h"

#include "core/time/calendar.h"
#include "core/time/schedule.h"
#include "core/time/zone_rule.h"

#define INSTANTS 5

/*
 * The offset has to change first where zone_next_change() says, and hold until the second before.
 */
static void check_zone(const struct zone *z, int64_t at)
{
	int64_t next, middle;

	for (int i = 0; i < INSTANTS && zone_next_change(z, at, &next); i++) {
		FUZZ_CHECK(next > at);
		middle = at + (next - at) / 2;
		FUZZ_CHECK(zone_offset(z, next - 1) == zone_offset(z, at));
		FUZZ_CHECK(zone_offset(z, middle) == zone_offset(z, at));
		FUZZ_CHECK(zone_offset(z, next) != zone_offset(z, at));
		at = next;
	}
}

static void check_schedule(const struct schedule *s, const struct zone *z, int64_t at)
{
	int64_t next, again;

	for (int i = 0; i < INSTANTS && schedule_next(s, z, at, &next); i++) {
		FUZZ_CHECK(next > at && next <= CALENDAR_END_S);
		FUZZ_CHECK(schedule_next(s, z, next - 1, &again) && again == next);
		FUZZ_CHECK(schedule_next(s, z, at + (next - at) / 2, &again) && again >= next);
		at = next;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = {data, size};
	char *text = feed_text(&f, '\n');
	char *task = feed_text(&f, '\n');
	char *when = feed_text(&f, '\n');
	struct schedule_error error;
	struct schedule s;
	struct zone *z = NULL;
	const char *why;
	int64_t at = strtol(when, NULL, 10) % CALENDAR_END_S;

	if (zone_parse(f.p, f.left, &z, &why) == 0)
		check_zone(z, at);
	if (schedule_parse(text, task, &s, &error) == 0)
		check_schedule(&s, z, at);
	else
		FUZZ_CHECK(error.at <= strlen(text) && error.why);
	zone_free(z);
	free(when);
	free(task);
	free(text);
	return 0;
}
