/* Since when a task has had no good run. */
#include <criterion/criterion.h>
#include <errno.h>

#include "wire/records/seen_record.h"

#define RAW(text) text, sizeof(text) - 1

Test(seen_record, there_and_back)
{
	static const struct seen_record cases[] = {
		{.since = 0}, {.since = 253402300799999, .ok = true}, {.since = 5, .told = true}};
	const char *why = "";
	struct buffer b;

	buffer_init(&b, RECORD_SEEN_MAX);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seen_record back = {.since = -1};

		buffer_truncate(&b, 0);
		cr_assert_eq(record_pack_seen(&b, &cases[i]), 0);
		cr_assert_eq(record_parse_seen(b.data, b.len, &back, &why), 0, "%s", why);
		cr_expect_eq(back.since, cases[i].since);
		cr_expect_eq(back.ok, cases[i].ok);
		cr_expect_eq(back.told, cases[i].told);
		for (size_t cut = 0; cut < b.len; cut++)
			cr_expect_eq(record_parse_seen(b.data, cut, &back, &why), -EBADMSG);
	}
	buffer_done(&b);
}

Test(seen_record, what_cannot_be)
{
	static const struct {
		const char *data;
		size_t len;
		const char *why;
	} cases[] = {
		{RAW("\x82\xa5since\xff\xa2ok\xc3"),
		 "since: not milliseconds since the epoch, before the year 10000"},
		{RAW("\x82\xa5since\x01\xa2ok\x01"), "ok: not true or false"},
		{RAW("\x81\xa5since\x01"), "ok: missing"},
	};
	struct seen_record seen = {.since = 7};
	const char *why = "";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_expect_eq(record_parse_seen(cases[i].data, cases[i].len, &seen, &why), -EBADMSG);
		cr_expect_str_eq(why, cases[i].why);
		cr_expect_eq(seen.since, 7, "untouched");
	}
}

/* A record that does not fit leaves nothing of it behind. */
Test(seen_record, no_room)
{
	struct seen_record seen = {.since = 1};
	struct buffer b;

	buffer_init(&b, 8);
	cr_assert_eq(buffer_append(&b, "abc", 3), 0);
	cr_expect_eq(record_pack_seen(&b, &seen), -ENOBUFS);
	cr_expect_eq(b.len, 3);
	buffer_done(&b);
}

Test(trouble_record, there_and_back)
{
	static const struct trouble_record cases[] = {{.since = 0},
						      {.since = 1789000000000, .failed = 3}};
	struct buffer b;
	const char *why = "";

	buffer_init(&b, RECORD_SEEN_MAX);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trouble_record back = {.since = -1};

		buffer_truncate(&b, 0);
		cr_assert_eq(record_pack_trouble(&b, &cases[i]), 0);
		cr_assert_eq(record_parse_trouble(b.data, b.len, &back, &why), 0, "%s", why);
		cr_expect_eq(back.since, cases[i].since);
		cr_expect_eq(back.failed, cases[i].failed);
		for (size_t cut = 0; cut < b.len; cut++)
			cr_expect_eq(record_parse_trouble(b.data, cut, &back, &why), -EBADMSG);
	}
	buffer_done(&b);
}
