#include "core/time/zone_rule.h"

#include <string.h>

#include "base/hash.h"
#include "core/time/calendar.h"

#define HOUR_S	    3600
#define HOURS_MAX   167
#define SHIFT_HOURS 24 /* hours of an offset, as in POSIX */

/* --- reading -------------------------------------------------------------- */

struct text {
	const char *at, *end;
};

static bool next_is(struct text *t, char c)
{
	if (t->at == t->end || *t->at != c)
		return false;
	t->at++;
	return true;
}

static bool is_digit(const struct text *t)
{
	return t->at < t->end && *t->at >= '0' && *t->at <= '9';
}

/* Up to three digits; at least one. */
static bool read_number(struct text *t, int low, int high, int *ret)
{
	int value = 0;
	const char *begin = t->at;

	while (is_digit(t) && t->at - begin < 3)
		value = value * 10 + (*t->at++ - '0');
	*ret = value;
	return t->at > begin && value >= low && value <= high;
}

/* An abbreviation: three letters or more, or anything printable between < and >. */
static bool read_name(struct text *t)
{
	const char *begin = t->at;

	if (next_is(t, '<')) {
		while (t->at < t->end && *t->at != '>')
			t->at++;
		return next_is(t, '>');
	}
	while (t->at < t->end &&
	       ((*t->at >= 'A' && *t->at <= 'Z') || (*t->at >= 'a' && *t->at <= 'z')))
		t->at++;
	return t->at - begin >= 3;
}

/* [+-]h[h[h]][:mm[:ss]] */
static bool read_time(struct text *t, int hours_max, int32_t *ret)
{
	bool negative = next_is(t, '-');
	int h, m = 0, s = 0;

	if (!negative)
		next_is(t, '+');
	if (!read_number(t, 0, hours_max, &h))
		return false;
	if (next_is(t, ':') &&
	    (!read_number(t, 0, 59, &m) || (next_is(t, ':') && !read_number(t, 0, 59, &s))))
		return false;
	*ret = (negative ? -1 : 1) * (h * HOUR_S + m * 60 + s);
	return true;
}

static bool read_moment(struct text *t, struct zone_moment *ret)
{
	bool good;

	if (!next_is(t, ','))
		return false;
	if (next_is(t, 'M')) {
		ret->kind = ZONE_WEEKDAY;
		good = read_number(t, 1, 12, &ret->month) && next_is(t, '.') &&
		       read_number(t, 1, 5, &ret->week) && next_is(t, '.') &&
		       read_number(t, 0, 6, &ret->day);
	} else if (next_is(t, 'J')) {
		ret->kind = ZONE_JULIAN;
		good = read_number(t, 1, 365, &ret->day);
	} else {
		ret->kind = ZONE_DAY;
		good = read_number(t, 0, 365, &ret->day);
	}
	ret->time_s = 2 * HOUR_S;
	return good && (!next_is(t, '/') || read_time(t, HOURS_MAX, &ret->time_s));
}

/* POSIX counts offsets to the west. */
static bool read_offset(struct text *t, int32_t *ret)
{
	if (!read_time(t, SHIFT_HOURS, ret))
		return false;
	*ret = -*ret;
	return true;
}

bool zone_rule_parse(const char *text, size_t len, struct zone_rule *ret_rule)
{
	struct text t = {text, text + len};
	struct zone_rule r = {.known = len > 0};

	if (!r.known) {
		*ret_rule = r;
		return true;
	}
	if (!read_name(&t) || !read_offset(&t, &r.standard))
		return false;
	r.has_summer = t.at < t.end;
	if (r.has_summer) {
		r.summer = r.standard + HOUR_S;
		if (!read_name(&t) || (t.at < t.end && *t.at != ',' && !read_offset(&t, &r.summer)))
			return false;
		if (!read_moment(&t, &r.begin) || !read_moment(&t, &r.end) || t.at < t.end)
			return false;
	}
	*ret_rule = r;
	return true;
}

/* --- what it says --------------------------------------------------------- */

/* The day of a moment in a year, since 1970. */
static int64_t moment_day(const struct zone_moment *m, int64_t year)
{
	int64_t new_year = calendar_days((struct calendar_date){year, 1, 1});

	switch (m->kind) {
	case ZONE_JULIAN:
		return new_year + m->day - 1 + (calendar_is_leap(year) && m->day > 31 + 28);
	case ZONE_DAY: return new_year + m->day;
	case ZONE_WEEKDAY: break;
	}
	int64_t first = calendar_days((struct calendar_date){year, m->month, 1});
	int64_t day = first + (m->day - calendar_weekday(first) + 7) % 7 + (m->week - 1) * 7;
	return day < first + calendar_month_length(year, m->month) ? day : day - 7;
}

struct change {
	int64_t at;
	int32_t offset;
};

#define YEARS	3 /* around a time */
#define CHANGES (2 * YEARS)

/* The changes of the year of a time and its neighbours, in order. */
static void changes_around(const struct zone_rule *r, int64_t at, struct change c[CHANGES])
{
	int64_t year = calendar_date(calendar_floor(at, CALENDAR_DAY_S)).year - YEARS / 2;

	for (int i = 0; i < CHANGES; i++) {
		/* Summer time that ends just as it begins again goes on: the end comes first. */
		const struct zone_moment *m = i % 2 == 0 ? &r->end : &r->begin;
		int32_t before = i % 2 == 0 ? r->summer : r->standard;
		struct change new = {.at = moment_day(m, year + i / 2) * CALENDAR_DAY_S +
					   m->time_s - before,
				     .offset = i % 2 == 0 ? r->standard : r->summer};
		int j = i;
		for (; j > 0 && (c[j - 1].at > new.at || (c[j - 1].at == new.at &&i % 2 == 0)); j--)
			c[j] = c[j - 1];
		c[j] = new;
	}
}

int32_t zone_rule_offset(const struct zone_rule *r, int64_t at)
{
	struct change c[CHANGES];

	if (!r->has_summer)
		return r->standard;
	changes_around(r, at, c);
	int32_t offset = c[0].offset;
	for (int i = 0; i < CHANGES && c[i].at <= at; i++)
		offset = c[i].offset;
	return offset;
}

bool zone_rule_next(const struct zone_rule *r, int64_t after, int64_t *ret_at)
{
	struct change c[CHANGES];

	if (!r->has_summer)
		return false;
	int32_t now = zone_rule_offset(r, after);
	changes_around(r, after, c);
	for (int i = 0; i < CHANGES; i++) {
		if (c[i].at > after && zone_rule_offset(r, c[i].at) != now) {
			*ret_at = c[i].at;
			return true;
		}
	}
	return false; /* summer time all the year round */
}

uint64_t zone_rule_digest(const struct zone_rule *r, uint64_t digest)
{
	const int32_t numbers[] = {r->known,
				   r->has_summer,
				   r->standard,
				   r->summer,
				   (int32_t)r->begin.kind,
				   r->begin.day,
				   r->begin.month,
				   r->begin.week,
				   r->begin.time_s,
				   (int32_t)r->end.kind,
				   r->end.day,
				   r->end.month,
				   r->end.week,
				   r->end.time_s};

	return hash_bytes(numbers, sizeof(numbers), digest);
}
