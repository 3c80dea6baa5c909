#include "core/time/calendar.h"

#define DAYS_PER_ERA  146097 /* 400 years */
#define DAYS_TO_EPOCH 719468 /* from 0000-03-01 */

int64_t calendar_floor(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

int64_t calendar_days(struct calendar_date date)
{
	/* The year begins with March, so that the leap day is its last. */
	int64_t year = date.year - (date.month <= 2);
	int64_t era = calendar_floor(year, 400);
	int64_t year_of_era = year - era * 400;
	int64_t month = (date.month + 9) % 12;
	int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

	return era * DAYS_PER_ERA + day_of_era - DAYS_TO_EPOCH;
}

struct calendar_date calendar_date(int64_t days)
{
	int64_t z = days + DAYS_TO_EPOCH;
	int64_t era = calendar_floor(z, DAYS_PER_ERA);
	int64_t day_of_era = z - era * DAYS_PER_ERA;
	int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 -
			       day_of_era / (DAYS_PER_ERA - 1)) /
			      365;
	int64_t day_of_year =
		day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t month = (5 * day_of_year + 2) / 153;
	struct calendar_date date = {.year = year_of_era + era * 400,
				     .month = (int)(month < 10 ? month + 3 : month - 9),
				     .day = (int)(day_of_year - (153 * month + 2) / 5 + 1)};

	date.year += date.month <= 2;
	return date;
}

int calendar_weekday(int64_t days)
{
	return (int)(days + 4 - calendar_floor(days + 4, 7) * 7); /* 1970-01-01 was a Thursday */
}

bool calendar_is_leap(int64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int calendar_month_length(int64_t year, int month)
{
	static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	return lengths[month - 1] + (month == 2 && calendar_is_leap(year));
}
