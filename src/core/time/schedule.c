#include "core/time/schedule.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/text/duration.h"
#include "core/time/calendar.h"

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const struct field {
	int low, high;
	int hash_high;		  /* up to here for H */
	const char *const *names; /* names of low and of the values behind it, NULL */
	const char *range;	  /* told if a number is out of range */
} fields[FIELDS];

static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
					  "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const weekday_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

static const struct field fields[FIELDS] = {
	[MINUTE] = {0, 59, 59, NULL, "a minute is 0 to 59"},
	[HOUR] = {0, 23, 23, NULL, "an hour is 0 to 23"},
	[DAY] = {1, 31, 28, NULL, "a day of the month is 1 to 31"},
	[MONTH] = {1, 12, 12, month_names, "a month is 1 to 12 or jan to dec"},
	[WEEKDAY] = {0, 7, 6, weekday_names, "a weekday is 0 to 7 or sun to sat"},
};

/* The text that is being read, and the place in it. */
struct text {
	const char *begin, *at;
	const char *task;
	const char *why; /* NULL while all is well */
};

static bool fail(struct text *t, const char *at, const char *why)
{
	if (!t->why) {
		t->at = at;
		t->why = why;
	}
	return false;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_letter(char c)
{
	return lower(c) >= 'a' && lower(c) <= 'z';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool next_is(struct text *t, char c)
{
	if (*t->at != c)
		return false;
	t->at++;
	return true;
}

static bool read_digits(struct text *t, int *ret)
{
	const char *begin = t->at;
	int value = 0;

	while (is_digit(*t->at)) {
		value = value * 10 + (*t->at++ - '0');
		if (value > 9999)
			return fail(t, begin, "a number that is out of range");
	}
	*ret = value;
	return t->at > begin || fail(t, begin, "a number is missing here");
}

/* A number of the field, or a name of three letters. */
static bool read_value(struct text *t, const struct field *f, int *ret)
{
	const char *begin = t->at;

	if (!is_letter(*begin)) {
		if (!read_digits(t, ret))
			return false;
		return (*ret >= f->low && *ret <= f->high) || fail(t, begin, f->range);
	}
	for (size_t i = 0; f->names && f->names[i]; i++) {
		size_t j = 0;
		while (j < 3 && lower(begin[j]) == f->names[i][j])
			j++;
		if (j == 3 && !is_letter(begin[3])) {
			t->at += 3;
			*ret = f->low + (int)i;
			return true;
		}
	}
	return fail(t, begin, f->range);
}

static bool read_step(struct text *t, int *ret)
{
	const char *begin = t->at;

	if (!read_digits(t, ret))
		return false;
	return *ret > 0 || fail(t, begin, "a step is at least 1");
}

static uint64_t steps(int from, int to, int step)
{
	uint64_t set = 0;

	for (int i = from; i <= to; i += step)
		set |= UINT64_C(1) << i;
	return set;
}

/* XXH64 of the task's name, seeded with the field, modulo n. */
static int hashed(const struct text *t, const struct field *f, int n)
{
	return (int)(hash_bytes(t->task, strlen(t->task), (uint64_t)(f - fields)) % (uint64_t)n);
}

/* H, H(a-b), H/n, H(a-b)/n */
static bool read_hash(struct text *t, const struct field *f, uint64_t *set)
{
	int from = f->low, to = f->hash_high, step = 0;

	if (next_is(t, '(')) {
		const char *begin = t->at;
		if (!read_value(t, f, &from))
			return false;
		if (!next_is(t, '-'))
			return fail(t, t->at, "H stands with a range: H(a-b)");
		if (!read_value(t, f, &to))
			return false;
		if (!next_is(t, ')'))
			return fail(t, t->at, "a ) is missing here");
		if (to < from)
			return fail(t, begin, "a range begins with its smaller number");
	}
	if (next_is(t, '/') && !read_step(t, &step))
		return false;
	if (step > to - from + 1)
		return fail(t, t->at, "a step that is greater than the range");
	if (step > 0)
		*set |= steps(from + hashed(t, f, step), to, step);
	else
		*set |= UINT64_C(1) << (from + hashed(t, f, to - from + 1));
	return true;
}

/* *, *\/n, a, a-b, a-b/n */
static bool read_range(struct text *t, const struct field *f, uint64_t *set)
{
	const char *begin = t->at;
	int from = f->low, to = f->high, step = 1;
	bool single = false;

	if (!next_is(t, '*')) {
		if (!read_value(t, f, &from))
			return false;
		to = from;
		single = true;
		if (next_is(t, '-')) {
			bool named = is_letter(*t->at);
			if (!read_value(t, f, &to))
				return false;
			if (named && f == &fields[WEEKDAY] && to == 0)
				to = 7; /* sat-sun */
			single = false;
		}
		if (to < from)
			return fail(t, begin, "a range begins with its smaller number");
	}
	if (*t->at == '/') {
		if (single)
			return fail(t, t->at, "a step needs a range before it, as in 5-59/10");
		t->at++;
		if (!read_step(t, &step))
			return false;
	}
	*set |= steps(from, to, step);
	return true;
}

static bool read_field(struct text *t, const struct field *f, uint64_t *ret_set, bool *ret_star)
{
	uint64_t set = 0;

	*ret_star = *t->at == '*';
	do {
		bool hash = *t->at == 'H' && !is_letter(t->at[1]);
		if (hash)
			t->at++;
		if (!(hash ? read_hash(t, f, &set) : read_range(t, f, &set)))
			return false;
	} while (next_is(t, ','));
	if (*t->at && !is_blank(*t->at))
		return fail(t, t->at, "this does not belong into a field");
	*ret_set = set;
	return true;
}

static void skip_blanks(struct text *t)
{
	while (is_blank(*t->at))
		t->at++;
}

/* Whether some year has a day that matches: not so for 30 February, say. */
static bool ever_comes(const struct schedule *s)
{
	/* A weekday alone suffices where both are given. */
	if (!s->star_day && !s->star_weekday)
		return true;
	for (int month = 1; month <= 12; month++)
		if ((s->months >> month & 1) &&
		    (s->days & (uint32_t)steps(1, calendar_month_length(2000, month), 1)))
			return true;
	return false;
}

static bool read_fields(struct text *t, struct schedule *s)
{
	const char *starts[FIELDS];
	uint64_t sets[FIELDS];
	bool stars[FIELDS];

	for (int i = 0; i < FIELDS; i++) {
		skip_blanks(t);
		if (!*t->at)
			return fail(t, t->at,
				    "five fields are needed: minute hour day month weekday");
		starts[i] = t->at;
		if (!read_field(t, &fields[i], &sets[i], &stars[i]))
			return false;
	}
	skip_blanks(t);
	if (*t->at)
		return fail(t, t->at, "there are five fields, and no user or command behind them");
	s->minutes = sets[MINUTE];
	s->hours = (uint32_t)sets[HOUR];
	s->days = (uint32_t)sets[DAY];
	s->months = (uint32_t)sets[MONTH];
	s->weekdays = (uint32_t)((sets[WEEKDAY] | sets[WEEKDAY] >> 7) & 0x7f);
	s->star_day = stars[DAY];
	s->star_weekday = stars[WEEKDAY];
	s->star_time = stars[MINUTE] || stars[HOUR];
	return ever_comes(s) || fail(t, starts[DAY], "a date that never comes");
}

static bool read_nickname(struct text *t, struct schedule *s)
{
	static const struct {
		const char *name, *fields;
	} nicknames[] = {
		{"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
		{"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
		{"@hourly", "0 * * * *"},
	};

	for (size_t i = 0; i < sizeof(nicknames) / sizeof(nicknames[0]); i++) {
		if (strcmp(t->at, nicknames[i].name) == 0) {
			t->at = nicknames[i].fields;
			return read_fields(t, s);
		}
	}
	if (strcmp(t->at, "@reboot") == 0)
		return fail(t, t->at, "@reboot is no time: use a unit of systemd");
	return fail(t, t->at, "one of @yearly, @monthly, @weekly, @daily and @hourly");
}

static bool read_every(struct text *t, struct schedule *s)
{
	int64_t ms;

	skip_blanks(t);
	if (duration_parse(t->at, &ms) != 0)
		return fail(t, t->at, "a duration as \"30s\", \"5m\" or \"2h\"");
	if (ms < 1000 || ms % 1000 != 0)
		return fail(t, t->at, "whole seconds, at least 1s");
	s->every_s = ms / 1000;
	return true;
}

int schedule_parse(const char *text, const char *task, struct schedule *ret_schedule,
		   struct schedule_error *ret_error)
{
	struct text t = {.begin = text, .at = text, .task = task};
	struct schedule s = {0};
	bool good;

	if (strlen(text) > SCHEDULE_TEXT_MAX)
		good = fail(&t, text, "too long");
	else if (text[0] == '@')
		good = read_nickname(&t, &s);
	else if (strncmp(text, "every ", 6) == 0 && (t.at += 6))
		good = read_every(&t, &s);
	else
		good = read_fields(&t, &s);
	if (!good) {
		*ret_error = (struct schedule_error){.at = (size_t)(t.at - text), .why = t.why};
		return -EINVAL;
	}
	*ret_schedule = s;
	return 0;
}
