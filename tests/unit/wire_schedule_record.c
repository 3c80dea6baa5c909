/* The schedule that is in force. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "wire/records/schedule_record.h"

#define RAW(text) text, sizeof(text) - 1
#define NOT_TEXT  "text: not a string of 1 to 200 bytes of UTF-8"

Test(schedule_record, there_and_back)
{
	struct schedule_record r = {.since = 253402300799999}, back;
	const char *why = "";
	struct buffer b;

	memset(r.text, 'x', SCHEDULE_RECORD_TEXT);
	memset(r.timezone, 'z', SCHEDULE_RECORD_ZONE);
	buffer_init(&b, RECORD_SCHEDULE_MAX);
	cr_assert_eq(record_pack_schedule(&b, &r), 0);
	cr_assert_eq(record_parse_schedule(b.data, b.len, &back, &why), 0, "%s", why);
	cr_expect_str_eq(back.text, r.text);
	cr_expect_str_eq(back.timezone, r.timezone);
	cr_expect_eq(back.since, r.since);
	for (size_t cut = 0; cut < b.len; cut++)
		cr_expect_eq(record_parse_schedule(b.data, cut, &back, &why), -EBADMSG);
	buffer_done(&b);
}

Test(schedule_record, what_cannot_be)
{
	static const struct {
		const char *data;
		size_t len;
		const char *why;
	} cases[] = {
		{RAW("\x83\xa4text\xa0\xa8timezone\xa1z\xa5since\x01"), NOT_TEXT},
		{RAW("\x83\xa4text\xa1\xff\xa8timezone\xa1z\xa5since\x01"), NOT_TEXT},
		{RAW("\x83\xa4text\xa1\x00\xa8timezone\xa1z\xa5since\x01"), NOT_TEXT},
		{RAW("\x82\xa4text\xa1x\xa8timezone\xa1z"), "since: missing"},
	};
	struct schedule_record seen = {.since = 7};
	const char *why = "";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_expect_eq(record_parse_schedule(cases[i].data, cases[i].len, &seen, &why),
			     -EBADMSG);
		cr_expect_str_eq(why, cases[i].why, "%zu: %s", i, why);
		cr_expect_eq(seen.since, 7, "untouched");
	}
}

/* A record that does not fit leaves nothing of it behind. */
Test(schedule_record, no_room)
{
	struct schedule_record r = {.text = "x"};
	struct buffer b;

	buffer_init(&b, 8);
	cr_assert_eq(buffer_append(&b, "abc", 3), 0);
	cr_expect_eq(record_pack_schedule(&b, &r), -ENOBUFS);
	cr_expect_eq(b.len, 3);
	buffer_done(&b);
}
