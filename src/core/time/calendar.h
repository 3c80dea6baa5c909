/*
 * Dates of the Gregorian calendar as days since 1970-01-01, for years 1 to 9999 and a little
 * beyond.
 */
#ifndef ZKLEADER_CORE_TIME_CALENDAR_H
#define ZKLEADER_CORE_TIME_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

#define CALENDAR_DAY_S INT64_C(86400)
/* The last second of the four-digit years: 9999-12-31T23:59:59Z. */
#define CALENDAR_END_S INT64_C(253402300799)

struct calendar_date {
	int64_t year;
	int month; /* 1 to 12 */
	int day;   /* 1 to 31 */
};

/* Both functions are after Howard Hinnant, "chrono-compatible low-level date algorithms" (2013). */
int64_t calendar_days(struct calendar_date date);
struct calendar_date calendar_date(int64_t days);
/* 0 is Sunday. */
int calendar_weekday(int64_t days);
int calendar_month_length(int64_t year, int month);
bool calendar_is_leap(int64_t year);
/* a / b rounded down, for b > 0: seconds before 1970 belong to the day that has begun. */
int64_t calendar_floor(int64_t a, int64_t b);

#endif
