#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/time/calendar.h"
#include "core/time/zone.h"
#include "core/time/zone_rule.h"

/* --- files made by hand -------------------------------------------------------------------------- */

struct file {
	uint8_t bytes[4096];
	size_t len;
};

static void put(struct file *f, const void *bytes, size_t len)
{
	memcpy(f->bytes + f->len, bytes, len);
	f->len += len;
}

static void put_number(struct file *f, int64_t value, int bytes)
{
	for (int i = bytes - 1; i >= 0; i--)
		f->bytes[f->len++] = (uint8_t)((uint64_t)value >> (8 * i));
}

static void put_header(struct file *f, char version, unsigned leap, unsigned n, unsigned types)
{
	put(f, "TZif", 4);
	put(f, &version, 1);
	put(f, (char[15]){0}, 15);
	const unsigned counts[] = {0, 0, leap, n, types, 4};
	for (size_t i = 0; i < 6; i++)
		put_number(f, counts[i], 4);
}

/* Two offsets, of which the first holds until 1000, and a rule behind 2000. */
static struct file make_file(const char *rule)
{
	struct file f = {0};

	put_header(&f, '2', 0, 0, 1);
	put(&f, (char[6]){0}, 6);
	put(&f, "UTC", 4);
	put_header(&f, '2', 0, 2, 2);
	put_number(&f, 1000, 8);
	put_number(&f, 2000, 8);
	put(&f, (char[2]){1, 0}, 2);
	put_number(&f, 3600, 4);
	put(&f, (char[2]){0, 0}, 2);
	put_number(&f, -7200, 4);
	put(&f, (char[2]){0, 0}, 2);
	put(&f, "ABC", 4);
	put(&f, "\n", 1);
	put(&f, rule, strlen(rule));
	put(&f, "\n", 1);
	return f;
}

static struct zone *parse(const struct file *f)
{
	struct zone *z = NULL;
	const char *why = "";

	cr_assert_eq(zone_parse(f->bytes, f->len, &z, &why), 0, "%s", why);
	return z;
}

Test(zone, offsets_and_changes)
{
	struct file f = make_file("");
	struct zone *z = parse(&f);
	int64_t at;

	cr_expect_eq(zone_offset(z, 999), 3600);
	cr_expect_eq(zone_offset(z, 1000), -7200);
	cr_expect_eq(zone_offset(z, 1999), -7200);
	cr_expect_eq(zone_offset(z, 2000), 3600);
	cr_expect(zone_next_change(z, -5, &at));
	cr_expect_eq(at, 1000);
	cr_expect(zone_next_change(z, 1000, &at));
	cr_expect_eq(at, 2000);
	cr_expect_not(zone_next_change(z, 2000, &at));
	zone_free(z);
}

/* Behind the last change that it lists, a file's rule counts. */
Test(zone, the_rule_for_later_years)
{
	struct file f = make_file("CET-1CEST,M3.5.0,M10.5.0/3"), winter = make_file("CET-1");
	struct zone *z = parse(&f), *z_winter = parse(&winter);
	int64_t at = 0;

	cr_expect_eq(zone_offset(z, 1774746000 - 1), 3600);
	cr_expect_eq(zone_offset(z, 1774746000), 7200);
	cr_expect(zone_next_change(z, 1774746000 - 1, &at));
	cr_expect_eq(at, 1774746000);
	cr_expect_eq(zone_offset(z_winter, 1774746000), 3600);
	cr_expect_not(zone_next_change(z_winter, 1774746000, &at));
	zone_free(z);
	zone_free(z_winter);
	zone_free(NULL);
}

Test(zone, a_file_that_is_too_long_is_refused)
{
	uint8_t *bytes = calloc(ZONE_BYTES_MAX + 1, 1);
	const char *why = "";
	struct zone *z;

	cr_assert(bytes);
	cr_expect_neq(zone_parse(bytes, ZONE_BYTES_MAX + 1, &z, &why), 0);
	cr_expect_str_eq(why, "too long");
	free(bytes);
}

Test(zone, utc_is_no_zone)
{
	int64_t at;

	cr_expect_eq(zone_offset(NULL, 12345), 0);
	cr_expect_not(zone_next_change(NULL, 0, &at));
	cr_expect_eq(zone_digest(NULL), 0);
}

Test(zone, digests_tell_zones_apart)
{
	struct file a = make_file(""), b = make_file("CET-1"), c = make_file("CET-1");
	struct zone *za = parse(&a), *zb = parse(&b), *zc = parse(&c);

	cr_expect_neq(zone_digest(za), zone_digest(zb));
	cr_expect_eq(zone_digest(zb), zone_digest(zc));
	zone_free(za);
	zone_free(zb);
	zone_free(zc);
}

/* Whatever a file is cut to is refused, and nothing behind its end is read (under ASan). */
Test(zone, a_file_that_ends_early_is_refused)
{
	struct file f = make_file("CET-1CEST,M3.5.0,M10.5.0/3");

	for (size_t len = 0; len < f.len; len++) {
		uint8_t *copy = malloc(len + 1);
		struct zone *z;
		const char *why = NULL;
		memcpy(copy, f.bytes, len);
		cr_expect_neq(zone_parse(copy, len, &z, &why), 0, "%zu bytes", len);
		cr_expect_not_null(why);
		free(copy);
	}
}

Test(zone, what_is_refused)
{
	static const struct {
		const char *why;
		size_t at; /* of the second header */
		uint8_t byte;
	} cases[] = {
		{"not a compiled", 0, 'X'},  {"64-bit", 4, 0},	       {"leap", 31, 1},
		{"limits", 32, 1},	     {"limits", 39, 0},	       {"limits", 36, 1},
		{"limits", 40, 1},	     {"limits", 20, 1},	       {"limits", 24, 1},
		{"26 hours", 44 + 18, 0x80}, {"ascend", 44 + 7, 0xff}, {"not there", 44 + 16, 2},
		{"26 hours", 44 + 18, 1},    {"rule", 77, '!'},
	};
	struct file good = make_file("CET-1");
	size_t second = 44 + 6 + 4;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct file f = good;
		struct zone *z;
		const char *why = "";
		f.bytes[second + cases[i].at + (cases[i].at == 77 ? 5 : 0)] = cases[i].byte;
		if (strcmp(cases[i].why, "ascend") == 0)
			f.bytes[second + 44 + 6] = 0xff; /* 65,535 before 2,000 */
		cr_expect_neq(zone_parse(f.bytes, f.len, &z, &why), 0, "%s", cases[i].why);
		cr_expect(strstr(why, cases[i].why), "%s: %s", cases[i].why, why);
	}
}

/* --- rules ------------------------------------------------------------------------------------------- */

static struct zone_rule rule(const char *text)
{
	struct zone_rule r = {0};

	cr_assert(zone_rule_parse(text, strlen(text), &r), "%s", text);
	return r;
}

Test(zone_rule, offsets_of_a_year)
{
	/* Offsets of 2026, from date(1). */
	static const struct {
		const char *rule;
		int64_t begin, end; /* of summer time */
		int32_t standard, summer;
	} cases[] = {
		{"CET-1CEST,M3.5.0,M10.5.0/3", 1774746000, 1792890000, 3600, 7200},
		{"cet-1cest,M3.5.0,M10.5.0/3", 1774746000, 1792890000, 3600, 7200},
		{"EST5EDT,M3.2.0,M11.1.0", 1772953200, 1793512800, -18000, -14400},
		{"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 1791041400, 1775314800, 37800, 39600},
		{"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1774746000, 1792890000, -7200, -3600},
		{"XXX5YYY,J60/0,300/0", 1772341200, 1793160000, -18000, -14400},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct zone_rule r = rule(cases[i].rule);
		int64_t at;
		cr_expect_eq(zone_rule_offset(&r, cases[i].begin - 1), cases[i].standard, "%zu", i);
		cr_expect_eq(zone_rule_offset(&r, cases[i].begin), cases[i].summer, "%zu", i);
		cr_expect_eq(zone_rule_offset(&r, cases[i].end - 1), cases[i].summer, "%zu", i);
		cr_expect_eq(zone_rule_offset(&r, cases[i].end), cases[i].standard, "%zu", i);
		cr_expect(zone_rule_next(&r, cases[i].begin - 1, &at) && at == cases[i].begin);
		cr_expect(zone_rule_next(&r, cases[i].end - 1, &at) && at == cases[i].end);
	}
}

Test(zone_rule, summer_time_that_never_ends)
{
	struct zone_rule r = rule("XXX3EST4,0/0,J365/23");
	int64_t at;

	for (int64_t t = 1767225600 - 7200; t < 1767225600 + 90000; t += 1800)
		cr_expect_eq(zone_rule_offset(&r, t), -14400);
	cr_expect_not(zone_rule_next(&r, 1767225600, &at));
}

Test(zone_rule, what_is_refused)
{
	static const char *const texts[] = {
		"A1",
		"CET",
		"CET-",
		"CET-25",
		"CET-1CEST",
		"CET-1CEST,M3.5.0",
		"CET-1CEST,M13.5.0,M1.1.0",
		"CET-1CEST,M3.6.0,M10.5.0",
		"CET-1CEST,M3.5.7,M10.5.0",
		"CET-1CEST,M3.5.0,M10.5.0/168",
		"CET-1CEST,J0,J3",
		"CET-1CEST,366,3",
		"<CET-1",
		"CET-1CEST,M3.5.0,M10.5.0 ",
		"CET-1:60",
		"CET-1:x",
		"CET-1:30:60",
		"CET-1:30:x",
		"CET-1CEST-99,M3.5.0,M10.5.0",
		"CET-1CEST,M3x5.0,M10.5.0",
		"CET-1CEST,M3.5x0,M10.5.0",
		"CET-1C,M3.5.0,M10.5.0",
		"C{T-1",
		"C[T-1",
	};
	struct zone_rule r;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect_not(zone_rule_parse(texts[i], strlen(texts[i]), &r), "%s", texts[i]);
}

/* --- the calendar ------------------------------------------------------------------------------------ */

Test(calendar, days_and_dates_are_each_others_inverse)
{
	struct calendar_date before = calendar_date(-719163);

	for (int64_t days = -719162; days < 2932897; days++) {
		struct calendar_date d = calendar_date(days);
		bool next_day = d.day == before.day + 1 && d.month == before.month;
		bool new_month = d.day == 1 &&
				 before.day == calendar_month_length(before.year, before.month);
		cr_assert(next_day || new_month, "day %ld", (long)days);
		cr_assert_eq(calendar_days(d), days);
		before = d;
	}
	cr_assert_eq(before.year, 9999);
}
