/* The roll: what its head and its chunks say, how damage is noticed, and which parts of a log are kept. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/pack.h"
#include "wire/records/roll_record.h"

#define RAW(text)  text, sizeof(text) - 1
#define LOG_IS_BAD "log: no batches from base to zxid"

static struct buffer batches, bytes, joined, left, plain;
static char news[2000];
static struct roll_head out;
static const char *why;
static int64_t sum;

static void init(void)
{
	buffer_init(&batches, 2 * ROLL_LOG_MAX);
	buffer_init(&bytes, 2 * ROLL_LOG_MAX);
	buffer_init(&plain, ROLL_PLAIN_MAX);
	buffer_init(&joined, 4 * ROLL_BYTES_MAX);
	buffer_init(&left, 4 * ROLL_BYTES_MAX);
	why = "";
}

static void done(void)
{
	buffer_done(&batches);
	buffer_done(&bytes);
	buffer_done(&joined);
	buffer_done(&left);
	buffer_done(&plain);
}

TestSuite(roll_record, .init = init, .fini = done);

/* --- what is told --------------------------------------------------------------------------------------- */

static int64_t after; /* batches up to this one are passed over */

static bool on_batch(void *arg, int64_t zxid)
{
	size_t used = strlen(news);

	(void)arg;
	snprintf(news + used, sizeof(news) - used, "%d: ", (int)zxid);
	return zxid > after;
}

static void on_joined(void *arg, const struct roll_entry *e)
{
	size_t used = strlen(news);

	(void)arg;
	snprintf(news + used, sizeof(news) - used, "+%s %d %d %.*s ", e->id, (int)e->session,
		 (int)e->ctime, (int)e->record_len, e->record ? e->record : "");
}

static void on_left(void *arg, const char *id)
{
	size_t used = strlen(news);

	(void)arg;
	snprintf(news + used, sizeof(news) - used, "-%s ", id);
}

static const struct roll_changes changes = {on_batch, on_joined, on_left, NULL};

#define tells(expected) script_tells(expected, __LINE__)
static void script_tells(const char *expected, int line)
{
	cr_expect_str_eq(news, expected, "line %d: %s", line, news);
	news[0] = '\0';
}

/* --- what is written ------------------------------------------------------------------------------------ */

static void entry(struct buffer *to, const char *id, const char *record, size_t len)
{
	struct roll_entry e = {.session = 7, .ctime = 5, .record = record, .record_len = len};

	snprintf(e.id, sizeof(e.id), "%s", id);
	roll_pack_entry(to, &e);
}

/* A batch of one that joins and of one that leaves. */
static void batch(int64_t zxid, const char *comes, const char *goes)
{
	buffer_clear(&joined);
	buffer_clear(&left);
	entry(&joined, comes, RAW("abc"));
	roll_pack_id(&left, goes);
	roll_pack_batch(&batches, zxid, &joined, 1, &left, 1);
}

/* The head of the log, sealed. */
static int64_t seal(int64_t base, int64_t zxid)
{
	struct roll_head head = {.base = base,
				 .zxid = zxid,
				 .workers = 3,
				 .chunks = {11, 0, INT64_MAX},
				 .n_chunks = 3,
				 .log = (const char *)batches.data,
				 .log_len = batches.len};

	buffer_clear(&bytes);
	return roll_pack_head(&bytes, &head);
}

static int parse(void)
{
	return roll_parse_head(bytes.data, bytes.len, &plain, &out, &sum, &why);
}

#define refused(base, zxid, expected) script_refused(base, zxid, expected, __LINE__)
static void script_refused(int64_t base, int64_t zxid, const char *expected, int line)
{
	why = "";
	cr_assert_neq(seal(base, zxid), 0, "line %d", line);
	cr_expect_eq(parse(), -EBADMSG, "line %d", line);
	cr_expect_str_eq(why, expected, "line %d: %s", line, why);
	buffer_clear(&batches);
}

static const char *text_of(char c, size_t len)
{
	static char text[2 * ROLL_RECORD_MAX];

	memset(text, c, len);
	text[len] = '\0';
	return text;
}

/* --- there and back ------------------------------------------------------------------------------------- */

Test(roll_record, a_head_says_what_was_packed)
{
	batch(12, "a", "b");
	batch(14, "c", "d");
	int64_t sealed = seal(10, 14);
	cr_assert_gt(sealed, 0);
	cr_assert_eq(parse(), 0, "%s", why);
	cr_expect_eq(sum, sealed);
	cr_expect_eq(out.base, 10);
	cr_expect_eq(out.zxid, 14);
	cr_expect_eq(out.workers, 3);
	cr_assert_eq(out.n_chunks, 3);
	cr_expect_eq(out.chunks[0], 11);
	cr_expect_eq(out.chunks[1], 0);
	cr_expect_eq(out.chunks[2], INT64_MAX);
	cr_assert_eq(out.log_len, batches.len);
	cr_expect_eq(memcmp(out.log, batches.data, batches.len), 0);
	roll_each_change(&out, &changes);
	tells("12: +a 7 5 abc -b 14: +c 7 5 abc -d ");
	after = 12;
	roll_each_change(&out, &changes);
	tells("12: 14: +c 7 5 abc -d ");
}

Test(roll_record, a_head_without_changes)
{
	cr_assert_gt(seal(10, 10), 0);
	cr_assert_eq(parse(), 0, "%s", why);
	cr_expect_eq(out.log_len, 0);
	roll_each_change(&out, &changes);
	tells("");
}

Test(roll_record, a_chunk_says_what_was_packed)
{
	entry(&batches, "a", RAW("abc"));
	entry(&batches, "b", NULL, 0);
	int64_t sealed = roll_seal(&bytes, batches.data, batches.len);
	cr_assert_gt(sealed, 0);
	cr_assert_eq(roll_parse_chunk(bytes.data, bytes.len, sealed, &changes), 0);
	tells("+a 7 5 abc +b 7 5  ");
	buffer_clear(&bytes);
	sealed = roll_seal(&bytes, "", 0);
	cr_expect_gt(sealed, 0);
	cr_expect_eq(roll_parse_chunk(bytes.data, bytes.len, sealed, &changes), 0);
	tells("");
}

/* --- damage --------------------------------------------------------------------------------------------- */

Test(roll_record, no_bit_of_a_head_may_be_another)
{
	batch(12, "a", "b");
	cr_assert_gt(seal(10, 12), 0);
	for (size_t bit = 0; bit < 8 * bytes.len; bit++) {
		out.zxid = sum = -1;
		why = "";
		bytes.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
		cr_expect_eq(parse(), -EBADMSG, "bit %zu", bit);
		cr_expect_str_neq(why, "", "bit %zu", bit);
		cr_expect_eq(out.zxid, -1, "untouched");
		bytes.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
	}
	for (size_t cut = 0; cut < bytes.len; cut++)
		cr_expect_eq(roll_parse_head(bytes.data, cut, &plain, &out, &sum, &why), -EBADMSG);
	cr_expect_eq(parse(), 0);
}

Test(roll_record, no_bit_of_a_chunk_may_be_another)
{
	entry(&batches, "a", RAW("abc"));
	int64_t sealed = roll_seal(&bytes, batches.data, batches.len);
	for (size_t bit = 0; bit < 8 * bytes.len; bit++) {
		bytes.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
		cr_expect_eq(roll_parse_chunk(bytes.data, bytes.len, sealed, &changes), -EBADMSG,
			     "bit %zu", bit);
		bytes.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
	}
	for (size_t cut = 0; cut < bytes.len; cut++)
		cr_expect_eq(roll_parse_chunk(bytes.data, cut, sealed, &changes), -EBADMSG);
	cr_expect_eq(roll_parse_chunk(bytes.data, bytes.len, sealed + 1, &changes), -EBADMSG,
		     "it is an older one, or a newer one");
	tells("");
}

/* --- what cannot be ------------------------------------------------------------------------------------- */

Test(roll_record, batches_go_from_base_to_zxid)
{
	refused(10, 12, LOG_IS_BAD);
	batch(12, "a", "b");
	refused(10, 13, LOG_IS_BAD);
	batch(12, "a", "b");
	refused(10, 11, LOG_IS_BAD);
	batch(12, "a", "b");
	refused(12, 12, LOG_IS_BAD);
	batch(12, "a", "b");
	batch(12, "c", "d");
	refused(10, 12, LOG_IS_BAD);
	batch(14, "a", "b");
	batch(12, "c", "d");
	refused(10, 12, LOG_IS_BAD);
	refused(-1, 10, "base: not the number of a transaction");
	refused(0, 0, "zxid: not the number of a transaction");
}

Test(roll_record, ids_that_are_none)
{
	static const char *const ids[] = {"", "a b", "a/b", "\xc3\xa4"};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		batch(12, ids[i], "b");
		refused(10, 12, LOG_IS_BAD);
		batch(12, "a", ids[i]);
		refused(10, 12, LOG_IS_BAD);
	}
	batch(12, "a", text_of('a', NAME_ID_MAX + 1));
	refused(10, 12, LOG_IS_BAD);
	batch(12, text_of('a', NAME_ID_MAX), text_of('a', NAME_ID_MAX));
	cr_assert_gt(seal(10, 12), 0);
	cr_expect_eq(parse(), 0, "%s", why);
}

Test(roll_record, what_is_no_batch)
{
	static const struct {
		const char *data;
		size_t len;
	} cases[] = {
		{RAW("\x01")},
		{RAW("\xc1")},
		{RAW("\x92\x0c\x90")},
		{RAW("\x93\xa1z\x90\x90")},
		{RAW("\x93\x0c\x91\x91\xa1z\x90")},
		{RAW("\x93\x0c\x91\x94\xa1z\x07\xff\xc4\x00\x90")}, /* before the epoch */
		{RAW("\x93\x0c\x91\x94\xa1z\x07\x05\xa0\x90")},	    /* no bytes */
		{RAW("\x93\x0c\x90\x92\xa1z")},			    /* it ends early */
		{RAW("\x93\x0c\x90\xdd\xff\xff\xff\xff")},
		{RAW("\x93\x0c\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"
		     "\x91\x91\x91\x91\x91\x91\x91\x91\x90\x90")},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		batch(11, "a", "b");
		buffer_append(&batches, cases[i].data, cases[i].len);
		refused(10, 12, LOG_IS_BAD);
	}
	buffer_append(&batches, RAW("\x93\x0c\x90\x90"));
	cr_assert_gt(seal(10, 12), 0);
	cr_expect_eq(parse(), 0, "the shortest: %s", why);
}

/* Nothing of a chunk counts that has a bad entry, not even those before it. */
Test(roll_record, what_is_no_chunk)
{
	static const char *const ids[] = {"", "a b"};

	for (size_t i = 0; i < 4; i++) {
		buffer_clear(&batches);
		buffer_clear(&bytes);
		entry(&batches, "a", RAW("abc"));
		if (i < 2)
			entry(&batches, ids[i], RAW("abc"));
		else if (i == 2)
			entry(&batches, "b", text_of('x', ROLL_RECORD_MAX + 1),
			      ROLL_RECORD_MAX + 1);
		else
			buffer_append(&batches, RAW("\x94\xa1z"));
		int64_t sealed = roll_seal(&bytes, batches.data, batches.len);
		cr_expect_eq(roll_parse_chunk(bytes.data, bytes.len, sealed, &changes), -EBADMSG);
		tells("");
	}
}

Test(roll_record, sealed_bytes_that_are_no_head)
{
	static const struct {
		const char *data;
		size_t len;
		const char *why;
	} cases[] = {
		{RAW(""), "the record is empty"},
		{RAW("\x90"), "the record is not a map"},
		{RAW("\x84"), "the record ends too early"},
		{RAW("\x82\xa4zxid\x0a\xa6"
		     "chunks\x90"),
		 "base: missing"},
		{RAW("\x83\xa4zxid\x0a\xa4"
		     "base\x0a\xa6"
		     "chunks\x91\xff"),
		 "chunks: not an array of at most 128 sums"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buffer_clear(&bytes);
		cr_assert_gt(roll_seal(&bytes, cases[i].data, cases[i].len), 0);
		cr_expect_eq(parse(), -EBADMSG);
		cr_expect_str_eq(why, cases[i].why, "case %zu: %s", i, why);
	}
}

/* --- limits --------------------------------------------------------------------------------------------- */

Test(roll_record, a_record_has_its_limit)
{
	entry(&joined, "a", text_of('x', ROLL_RECORD_MAX), ROLL_RECORD_MAX);
	roll_pack_batch(&batches, 12, &joined, 1, &left, 0);
	cr_assert_gt(seal(10, 12), 0);
	cr_expect_eq(parse(), 0, "%s", why);
	buffer_clear(&joined);
	buffer_clear(&batches);
	entry(&joined, "a", text_of('x', ROLL_RECORD_MAX + 1), ROLL_RECORD_MAX + 1);
	roll_pack_batch(&batches, 12, &joined, 1, &left, 0);
	refused(10, 12, LOG_IS_BAD);
}

/* Batches that say nothing, of 12 bytes each, and before them one of 4: of the transactions from 1 to n. */
static void fill_log(int64_t n)
{
	uint8_t empty[12] = {0x93, 0xd3, 0, 0, 0, 0, 0, 0, 0, 0, 0x90, 0x90};

	buffer_clear(&batches);
	buffer_append(&batches, RAW("\x93\x01\x90\x90"));
	for (int64_t i = 2; i <= n; i++) {
		empty[7] = (uint8_t)(i / 65536);
		empty[8] = (uint8_t)(i / 256);
		empty[9] = (uint8_t)(i % 256);
		buffer_append(&batches, empty, sizeof(empty));
	}
}

Test(roll_record, the_log_has_its_limit)
{
	int64_t n = 1 + (int64_t)ROLL_LOG_MAX / 12;

	fill_log(n);
	cr_assert_leq(batches.len, ROLL_LOG_MAX);
	cr_assert_gt(batches.len + 12, ROLL_LOG_MAX);
	cr_assert_gt(seal(0, n), 0);
	cr_expect_eq(parse(), 0, "%s", why);
	n++;
	fill_log(n);
	refused(0, n, "log: not at most 512 KiB");
}

Test(roll_record, chunks_have_their_number)
{
	for (size_t n = ROLL_CHUNKS_MAX; n <= ROLL_CHUNKS_MAX + 1; n++) {
		struct pack p;
		buffer_clear(&batches);
		buffer_clear(&bytes);
		pack_init(&p, &batches);
		pack_map(&p, 5);
		pack_kv_int(&p, "base", 10);
		pack_kv_int(&p, "zxid", 10);
		pack_kv_int(&p, "set", 0);
		pack_kv_int(&p, "workers", 0);
		pack_str(&p, "chunks");
		pack_array(&p, n);
		for (size_t i = 0; i < n; i++)
			pack_int(&p, INT64_MAX);
		cr_assert_gt(roll_seal(&bytes, batches.data, batches.len), 0);
		cr_expect_eq(parse(), n > ROLL_CHUNKS_MAX ? -EBADMSG : 0);
	}
	cr_expect_str_eq(why, "chunks: not an array of at most 128 sums");
}

/* A full head has room for all of its chunks. */
Test(roll_record, what_does_not_fit_is_not_written)
{
	struct roll_head head = {.zxid = 1 + (int64_t)ROLL_LOG_MAX / 12,
				 .n_chunks = ROLL_CHUNKS_MAX};

	for (size_t i = 0; i < ROLL_CHUNKS_MAX; i++)
		head.chunks[i] = INT64_MAX;
	fill_log(head.zxid);
	head.log = (const char *)batches.data;
	head.log_len = batches.len;
	cr_assert_gt(roll_pack_head(&bytes, &head), 0);
	cr_expect_eq(parse(), 0, "%s", why);
	buffer_clear(&bytes);
	fill_log(2 + (int64_t)ROLL_PLAIN_MAX / 12);
	head.log = (const char *)batches.data;
	head.log_len = batches.len;
	cr_expect_eq(roll_pack_head(&bytes, &head), 0);
	cr_expect_eq(roll_seal(&bytes, batches.data, batches.len), 0);
	cr_expect_eq(bytes.len, 0);
}

/* --- which part of a log is kept ------------------------------------------------------------------------- */

Test(roll_record, the_newest_batches_are_kept_whole)
{
	size_t ends[4] = {0};

	for (int i = 1; i < 4; i++) {
		batch(10 + i, text_of('a', 10 * (size_t)i), "b");
		ends[i] = batches.len;
	}
	for (size_t most = 0; most <= batches.len + 1; most++) {
		size_t kept = 0;
		for (int i = 0; i < 4; i++)
			if (batches.len - ends[i] <= most && batches.len - ends[i] > kept)
				kept = batches.len - ends[i];
		cr_expect_eq(roll_log_newest(batches.data, batches.len, most), kept, "%zu", most);
	}
	cr_expect_eq(roll_log_newest("", 0, 10), 0);
	cr_expect_eq(roll_log_newest(NULL, 0, 0), 0);
	cr_expect_eq(roll_log_zxid("", 0), 0);
	cr_expect_eq(roll_log_zxid(NULL, 0), 0);
	for (int i = 1; i < 4; i++)
		cr_expect_eq(roll_log_zxid(batches.data, ends[i]), 10 + i);
}
