#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/records/gang_record.h"
#include "wire/pack.h"

static struct gang_record record, back;

static void fill(size_t n)
{
	memset(&record, 0, sizeof(record));
	record.instance = n > 0;
	record.count = n > 0 ? (int64_t)n : 7;
	record.n = n;
	for (size_t i = 0; i < n; i++) {
		snprintf(record.members[i].key, sizeof(record.members[i].key), "k%zu", i);
		record.members[i].id = UINT64_MAX - i;
		strcpy(record.members[i].ip, "10.0.0.1");
		snprintf(record.members[i].hostname, sizeof(record.members[i].hostname), "h%zu", i);
	}
}

static int there_and_back(const char **ret_why)
{
	struct buffer b;

	buffer_init(&b, RECORD_GANG_MAX);
	cr_assert_eq(record_pack_gang(&b, &record), 0);
	memset(&back, 0xff, sizeof(back));
	int e = record_parse_gang(b.data, b.len, &back, ret_why);
	for (size_t cut = 0; cut<b.len; cut += b.len> 200 ? 97 : 1) {
		const char *why;
		cr_assert_eq(record_parse_gang(b.data, cut, &record, &why), -EBADMSG);
	}
	buffer_done(&b);
	return e;
}

Test(gang_record, there_and_back)
{
	const size_t sizes[] = {0, 1, 2, GANG_COUNT_MAX};
	const char *why = "";

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		fill(sizes[i]);
		record.goes_on = i % 2 == 0;
		record.lost = i % 2 != 0;
		record.empty = (int64_t)i;
		cr_assert_eq(there_and_back(&why), 0, "%s", why);
		cr_assert_eq(back.n, sizes[i]);
		cr_assert_eq(memcmp(&record, &back, sizeof(back)), 0);
	}
}

/* Members that do not go together are refused, and the reason is told. */
Test(gang_record, refusals)
{
	const char *why = "";

	fill(2);
	record.members[1].id = record.members[0].id;
	cr_assert_eq(there_and_back(&why), -EBADMSG);
	fill(2);
	strcpy(record.members[1].key, "k0");
	cr_assert_eq(there_and_back(&why), -EBADMSG);
	fill(2);
	record.count = 3;
	cr_assert_eq(there_and_back(&why), -EBADMSG);
	cr_assert_str_eq(why, "members: do not go with the count and the instance");
	fill(2);
	record.instance = 0;
	cr_assert_eq(there_and_back(&why), -EBADMSG);
	fill(0);
	record.count = GANG_COUNT_MAX + 1;
	cr_assert_eq(there_and_back(&why), -EBADMSG);
	fill(1);
	strcpy(record.members[0].ip, "x y");
	cr_assert_eq(there_and_back(&why), -EBADMSG);
}

Test(gang_record, who_is_behind_a_node)
{
	struct gang_member_record m = {
		.node = "host:/s", .machine = "m", .ip = "::1", .hostname = "host"};
	struct gang_member_record other;
	struct buffer b;
	const char *why = "";

	buffer_init(&b, RECORD_GANG_MEMBER_MAX);
	cr_assert_eq(record_pack_gang_member(&b, &m), 0);
	cr_assert_eq(record_parse_gang_member(b.data, b.len, &other, &why), 0, "%s", why);
	cr_assert_eq(memcmp(&m, &other, sizeof(m)), 0);
	for (size_t cut = 0; cut < b.len; cut++)
		cr_assert_eq(record_parse_gang_member(b.data, cut, &other, &why), -EBADMSG);
	buffer_done(&b);
}

enum odd {
	ODD_NOTHING,
	ODD_ARRAY,   /* members is none */
	ODD_MANY,    /* more members than a gang may have */
	ODD_PLACE,   /* a member is no array */
	ODD_LENGTH,  /* or one of another length */
	ODD_KEY_INT, /* its key is no string */
	ODD_KEY_EMPTY,
	ODD_KEY_LONG,
	ODD_KEY_NUL,
	ODD_KEY_BYTES, /* or no UTF-8 */
	ODD_ID,
	ODD_IP,
	ODDS
};

static void put_key(struct pack *p, enum odd odd)
{
	char text[GANG_KEY_MAX + 2];

	memset(text, 'k', sizeof(text));
	if (odd == ODD_KEY_INT)
		pack_int(p, 1);
	else if (odd == ODD_KEY_BYTES)
		buffer_append(p->buffer, "\xa1\xff", 2);
	else if (odd == ODD_KEY_NUL)
		pack_strn(p, "a\0b", 3);
	else
		pack_strn(p, text,
			  odd == ODD_KEY_EMPTY	? 0
			  : odd == ODD_KEY_LONG ? GANG_KEY_MAX + 1
						: 3);
}

static void put_odd(struct buffer *b, enum odd odd)
{
	struct pack p;

	buffer_init(b, RECORD_GANG_MAX);
	pack_init(&p, b);
	pack_map(&p, 3);
	pack_kv_int(&p, "instance", 1);
	pack_kv_int(&p, "count", 1);
	pack_str(&p, "members");
	if (odd == ODD_ARRAY) {
		pack_int(&p, 1);
		return;
	}
	pack_array(&p, odd == ODD_MANY ? GANG_COUNT_MAX + 1 : 1);
	for (size_t i = 0; odd == ODD_MANY && i < GANG_COUNT_MAX; i++)
		pack_nil(&p);
	if (odd == ODD_PLACE) {
		pack_nil(&p);
		return;
	}
	pack_array(&p, odd == ODD_LENGTH ? 3 : 4);
	put_key(&p, odd);
	if (odd == ODD_ID)
		pack_int(&p, -1);
	else
		pack_uint(&p, 1);
	pack_str(&p, odd == ODD_IP ? "no address" : "10.0.0.1");
	if (odd != ODD_LENGTH)
		pack_str(&p, "host");
}

Test(gang_record, members_that_make_no_sense)
{
	for (enum odd odd = ODD_NOTHING; odd < ODDS; odd++) {
		const char *why = "";
		struct buffer b;

		put_odd(&b, odd);
		int e = record_parse_gang(b.data, b.len, &back, &why);
		cr_expect_eq(e, odd == ODD_NOTHING ? 0 : -EBADMSG, "%d: %s", (int)odd, why);
		if (odd != ODD_NOTHING)
			cr_expect_str_eq(why,
					 "members: not an array of at most 256 different members");
		buffer_done(&b);
	}
}

Test(gang_record, a_full_buffer_takes_nothing)
{
	struct buffer b;

	fill(2);
	buffer_init(&b, 20);
	cr_expect_eq(record_pack_gang(&b, &record), -ENOBUFS);
	cr_expect_eq(b.len, 0);
	buffer_done(&b);
}
