#include "control/answer/schedule_words.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "control/answer/answers.h"

#define MINUTES	  60
#define HOURS	  24
#define TIMES_MAX 6 /* times of a day that are told one by one */
#define NAMED	  3 /* a range has at least so many values; two are told one by one */

struct names {
	int n;
	const char *of[13]; /* by the value */
};
static const struct names month_names = {13,
					 {"", "January", "February", "March", "April", "May",
					  "June", "July", "August", "September", "October",
					  "November", "December"}};
static const struct names weekday_names = {
	7, {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}};

/* Adds to the text; what does not fit is cut. */
static void say(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(char *text, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, SCHEDULE_WORDS_SIZE - used, format, args);
	va_end(args);
}

/* --- sets of values -------------------------------------------------------------- */

static int count(uint64_t bits)
{
	return __builtin_popcountll(bits);
}

static int first_of(uint64_t bits)
{
	return __builtin_ctzll(bits);
}

static int last_of(uint64_t bits)
{
	return 63 - __builtin_clzll(bits);
}

/* The step of values that go on through the whole range of n from 0, as from * / 5; 0: none. */
static int step_of(uint64_t bits, int n)
{
	int first = first_of(bits), step = n / count(bits);

	if (count(bits) < NAMED || n % count(bits) != 0 || first >= step)
		return 0;
	for (int v = first; v < n; v += step)
		if (!(bits >> v & 1))
			return 0;
	return step;
}

/* The last value of the run that begins there. */
static int end_of_run(uint64_t bits, int v)
{
	while (v < 63 && bits >> (v + 1) & 1)
		v++;
	return v;
}

static void say_value(char *text, int v, const struct names *names)
{
	assert(!names || v < names->n);
	if (names)
		say(text, "%s", names->of[v]);
	else
		say(text, "%d", v);
}

/* As "1, 15 and 20 to 25". */
static void say_values(char *text, uint64_t bits, const struct names *names)
{
	const char *between = "";

	while (bits) {
		int v = first_of(bits), end = end_of_run(bits, v);

		if (end - v < NAMED - 1)
			end = v;
		bits &= ~(((UINT64_C(2) << end) - 1) & ~((UINT64_C(1) << v) - 1));
		say(text, "%s", *between && !bits ? " and " : between);
		say_value(text, v, names);
		if (end > v) {
			say(text, " to ");
			say_value(text, end, names);
		}
		between = ", ";
	}
}

/* --- the time of a day ----------------------------------------------------------- */

static void say_every(char *text, int64_t s)
{
	static const struct {
		int64_t s;
		const char *name;
	} units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
	size_t i = 0;

	while (s % units[i].s != 0)
		i++;
	if (s == units[i].s)
		say(text, "every %s", units[i].name);
	else
		say(text, "every %" PRId64 " %ss", s / units[i].s, units[i].name);
}

static void say_times(char *text, const struct schedule *s)
{
	int left = count(s->minutes) * count(s->hours);
	const char *before = "at ";

	for (int at = 0; at < HOURS * MINUTES; at++) {
		if (!(s->hours >> at / MINUTES & 1) || !(s->minutes >> at % MINUTES & 1))
			continue;
		say(text, "%s%02d:%02d", before, at / MINUTES, at % MINUTES);
		before = --left == 1 ? " and " : ", ";
	}
}

static void say_minutes(char *text, const struct schedule *s)
{
	int step = step_of(s->minutes, MINUTES), first = first_of(s->minutes);

	if (count(s->minutes) == MINUTES)
		say(text, "every minute");
	else if (step > 0)
		say(text, "every %d minutes", step);
	else
		say(text, "at minute%s ", count(s->minutes) > 1 ? "s" : "");
	if (step > 1 && first > 0)
		say(text, " from minute %d on", first);
	if (step == 0 && count(s->minutes) < MINUTES)
		say_values(text, s->minutes, NULL);
}

/* Schedules of a single minute in several hours. */
static void say_hourly(char *text, const struct schedule *s)
{
	int step = step_of(s->hours, HOURS), first = first_of(s->hours), last = last_of(s->hours);
	int minute = first_of(s->minutes);

	if (count(s->hours) == HOURS) {
		say(text, "every hour at minute %d", minute);
	} else if (step > 0) {
		say(text, "every %d hours from %02d:%02d on", step, first, minute);
	} else if (end_of_run(s->hours, first) == last) {
		say(text, "every hour from %02d:%02d to %02d:%02d", first, minute, last, minute);
	} else {
		say(text, "at minute %d of the hours ", minute);
		say_values(text, s->hours, NULL);
	}
}

static void say_hours(char *text, const struct schedule *s)
{
	int step = step_of(s->hours, HOURS), first = first_of(s->hours);
	bool often = count(s->minutes) == MINUTES || step_of(s->minutes, MINUTES) > 0;

	if (count(s->hours) == HOURS) {
		say(text, often ? "" : " of every hour");
	} else if (step > 1) {
		say(text, " of every %d%s hour", step, step == 2 ? "nd" : step == 3 ? "rd" : "th");
		if (first > 0)
			say(text, " from %02d:00 on", first);
	} else if (end_of_run(s->hours, first) == last_of(s->hours) && last_of(s->hours) > first) {
		say(text, " from %02d:%02d to %02d:%02d", first, first_of(s->minutes),
		    last_of(s->hours), last_of(s->minutes));
	} else {
		say(text, count(s->hours) > 1 ? " of the hours " : " of the hour ");
		say_values(text, s->hours, NULL);
	}
}

/* --- the days -------------------------------------------------------------------- */

static bool is_each(uint32_t bits, uint32_t all)
{
	return (bits & all) == all;
}

static void say_days(char *text, const struct schedule *s, bool timed)
{
	bool all_days = is_each(s->days, UINT32_MAX - 1), all_weekdays = is_each(s->weekdays, 0x7f);
	bool both =
		s->star_day || s->star_weekday; /* both fields have to match; else one will do */

	if (all_days && all_weekdays ? true : !both && (all_days || all_weekdays)) {
		say(text, timed ? " every day" : "");
	} else if (all_days) {
		say(text, " on ");
		say_values(text, s->weekdays, &weekday_names);
	} else {
		say(text, " on day%s ", count(s->days) > 1 ? "s" : "");
		say_values(text, s->days, NULL);
		say(text, " of the month");
		if (!all_weekdays) {
			say(text, both ? ", if that is a " : ", and on every ");
			say_values(text, s->weekdays, &weekday_names);
		}
	}
	if (!is_each(s->months, 0x1ffe)) {
		say(text, " in ");
		say_values(text, s->months, &month_names);
	}
}

void schedule_words(const struct schedule *s, char text[SCHEDULE_WORDS_SIZE])
{
	bool timed = count(s->minutes) * count(s->hours) <= TIMES_MAX;

	text[0] = '\0';
	if (s->every_s > 0) {
		say_every(text, s->every_s);
		return;
	}
	if (timed) {
		say_times(text, s);
	} else if (count(s->minutes) == 1) {
		say_hourly(text, s);
	} else {
		say_minutes(text, s);
		say_hours(text, s);
	}
	say_days(text, s, timed);
}

void schedule_words_pack(struct pack *p, const struct task_settings *t)
{
	const struct task_schedule *c = t->schedule;
	char words[SCHEDULE_WORDS_SIZE];

	pack_kv_known(p, "alert_after_ms", t->alert_after_ms > 0, t->alert_after_ms);
	pack_str(p, "schedule");
	if (!c) {
		pack_nil(p);
		return;
	}
	schedule_words(c->schedule, words);
	pack_map(p, 3);
	pack_kv_str(p, "text", c->text);
	pack_kv_str(p, "words", words);
	pack_kv_str(p, "timezone", c->timezone);
}
