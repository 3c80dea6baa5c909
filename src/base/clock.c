#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/*
 * RFC 3339 has years of four digits only. An instant outside them is written as the nearest one
 * inside.
 */
#define WALL_MIN_MS INT64_C(-62167219200000) /* 0000-01-01T00:00:00Z */
#define WALL_MAX_MS INT64_C(253402300799999) /* 9999-12-31T23:59:59Z */

static int64_t now_ms(clockid_t clock)
{
	struct timespec t;
	int r = clock_gettime(clock, &t);

	assert(r == 0); /* fails for an unknown clock only */
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t clock_boot_ms(void)
{
	return now_ms(CLOCK_BOOTTIME);
}

int64_t clock_boot_us(void)
{
	struct timespec t;
	int r = clock_gettime(CLOCK_BOOTTIME, &t);

	assert(r == 0);
	(void)r;
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_wall_ms(void)
{
	return now_ms(CLOCK_REALTIME);
}

static void put_two_digits(char *text, int value)
{
	text[0] = (char)('0' + value / 10 % 10);
	text[1] = (char)('0' + value % 10);
}

void clock_format(int64_t wall_ms, char text[CLOCK_TEXT_SIZE])
{
	static const char form[] = "0000-00-00T00:00:00Z";
	struct tm tm = {0};
	time_t seconds;
	int year;

	if (wall_ms < WALL_MIN_MS)
		wall_ms = WALL_MIN_MS;
	if (wall_ms > WALL_MAX_MS)
		wall_ms = WALL_MAX_MS;
	seconds = (time_t)(wall_ms / 1000);
	if (wall_ms % 1000 < 0)
		seconds--; /* the second that has begun, before 1970 as after it */
	gmtime_r(&seconds, &tm);
	/*
	 * Written by hand: strftime's %Y has no leading zeros, and its %z is not "Z"; snprintf()
	 * takes five times as long, and a table has several instants for each task.
	 */
	memcpy(text, form, sizeof(form));
	year = tm.tm_year + 1900;
	put_two_digits(text, year / 100);
	put_two_digits(text + 2, year % 100);
	put_two_digits(text + 5, tm.tm_mon + 1);
	put_two_digits(text + 8, tm.tm_mday);
	put_two_digits(text + 11, tm.tm_hour);
	put_two_digits(text + 14, tm.tm_min);
	put_two_digits(text + 17, tm.tm_sec);
}

/* The number of two digits at text; -1: they are not digits. */
static int take_two_digits(const char *text)
{
	if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9')
		return -1;
	return (text[0] - '0') * 10 + text[1] - '0';
}

/*
 * Parses what follows the seconds: the offset from UTC. sscanf() would make zkleader-check larger
 * by a fifth.
 */
static bool parse_offset(const char *text, int64_t *ret_ahead_s)
{
	int hours, minutes;

	*ret_ahead_s = 0;
	if (strcmp(text, "Z") == 0)
		return true;
	if (text[0] != '+' && text[0] != '-')
		return false;
	hours = take_two_digits(text + 1);
	if (hours < 0 || hours > 23 || text[3] != ':')
		return false;
	minutes = take_two_digits(text + 4);
	if (minutes < 0 || minutes > 59 || text[6] != '\0')
		return false;
	*ret_ahead_s = (hours * 60 + minutes) * (text[0] == '-' ? -60 : 60);
	return true;
}

/*
 * Parses the digits behind the point, any number of them, into ms, rounded up: who says when
 * something is to be means no earlier. Returns what follows them.
 */
static const char *parse_fraction(const char *text, int64_t *ret_ms)
{
	bool finer = false;

	*ret_ms = 0;
	for (int unit = 100; *text >= '0' && *text <= '9'; text++, unit /= 10) {
		*ret_ms += (*text - '0') * unit;
		finer |= unit == 0 && *text != '0';
	}
	*ret_ms += finer;
	return text;
}

int clock_parse(const char *text, int64_t *ret_wall_ms)
{
	struct tm tm = {0}, same;
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t ahead_s, ms = 0;
	time_t seconds;

	if (rest && *rest == '.')
		rest = parse_fraction(rest + 1, &ms);
	if (!rest || !parse_offset(rest, &ahead_s))
		return -EINVAL;
	same = tm;
	seconds = timegm(&same);
	if (same.tm_mday != tm.tm_mday || same.tm_sec != tm.tm_sec)
		return -EINVAL;
	*ret_wall_ms = ((int64_t)seconds - ahead_s) * 1000 + ms;
	return 0;
}
