#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "wire/pack.h"
#include "wire/reader.h"

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

/* Compares what was packed with the bytes of the specification, and begins anew. */
static void expect(struct pack *p, const char *what, const uint8_t *bytes, size_t len)
{
	struct buffer *b = p->buffer;

	cr_assert_not(p->failed < 0, "%s", what);
	cr_assert(b->len == len && memcmp(b->data, bytes, len) == 0, "%s: %zu bytes, first %#x",
		  what, b->len, b->data[0]);
	buffer_clear(b);
}

#define EXPECT(call, ...)                              \
	do {                                           \
		call;                                  \
		expect(&p, #call, BYTES(__VA_ARGS__)); \
	} while (0)

Test(pack, values)
{
	struct buffer b;
	struct pack p;

	buffer_init(&b, 1000);
	pack_init(&p, &b);
	EXPECT(pack_nil(&p), 0xc0);
	EXPECT(pack_bool(&p, false), 0xc2);
	EXPECT(pack_bool(&p, true), 0xc3);
	EXPECT(pack_int(&p, 0), 0x00);
	EXPECT(pack_int(&p, 127), 0x7f);
	EXPECT(pack_int(&p, -1), 0xff);
	EXPECT(pack_int(&p, -32), 0xe0);
	EXPECT(pack_int(&p, -33), 0xd0, 0xdf);
	EXPECT(pack_int(&p, INT64_MIN), 0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0);
	EXPECT(pack_int(&p, 128), 0xcc, 0x80);
	EXPECT(pack_uint(&p, 0), 0x00);
	EXPECT(pack_uint(&p, 256), 0xcd, 1, 0);
	EXPECT(pack_uint(&p, 65536), 0xce, 0, 1, 0, 0);
	EXPECT(pack_uint(&p, UINT64_MAX), 0xcf, 255, 255, 255, 255, 255, 255, 255, 255);
	EXPECT(pack_str(&p, ""), 0xa0);
	EXPECT(pack_str(&p, "ab"), 0xa2, 'a', 'b');
	EXPECT(pack_str(&p, NULL), 0xc0);
	EXPECT(pack_strn(&p, "ab\0c", 4), 0xa4, 'a', 'b', 0, 'c');
	EXPECT(pack_strn(&p, NULL, 0), 0xa0);
	EXPECT(pack_str(&p, "\xc3\xb6"), 0xa2, 0xc3, 0xb6);
	EXPECT(pack_str(&p, "a\xf6z"), 0xa3, 'a', '?', 'z');
	EXPECT(pack_str(&p, "\xff\xfe"), 0xa2, '?', '?');
	EXPECT(pack_strn(&p, "\xc3\xb6\xc3\xb6", 3), 0xa3, 0xc3, 0xb6,
	       '?'); /* cut within a character */
	EXPECT(pack_array(&p, 0), 0x90);
	EXPECT(pack_array(&p, 15), 0x9f);
	EXPECT(pack_array(&p, 16), 0xdc, 0, 16);
	EXPECT(pack_array(&p, 65536), 0xdd, 0, 1, 0, 0);
	EXPECT(pack_array(&p, UINT32_MAX), 0xdd, 255, 255, 255, 255);
	EXPECT(pack_map(&p, 0), 0x80);
	EXPECT(pack_map(&p, 15), 0x8f);
	EXPECT(pack_map(&p, 16), 0xde, 0, 16);
	EXPECT(pack_map(&p, 65536), 0xdf, 0, 1, 0, 0);
	buffer_done(&b);
}

Test(pack, pairs)
{
	struct buffer b;
	struct pack p;

	buffer_init(&b, 1000);
	pack_init(&p, &b);
	EXPECT(pack_kv_nil(&p, "k"), 0xa1, 'k', 0xc0);
	EXPECT(pack_kv_bool(&p, "k", true), 0xa1, 'k', 0xc3);
	EXPECT(pack_kv_int(&p, "k", -5), 0xa1, 'k', 0xfb);
	EXPECT(pack_kv_uint(&p, "k", 5), 0xa1, 'k', 0x05);
	EXPECT(pack_kv_str(&p, "k", "v"), 0xa1, 'k', 0xa1, 'v');
	EXPECT(pack_kv_str(&p, "k", NULL), 0xa1, 'k', 0xc0);
	buffer_done(&b);
}

Test(pack, long_strings)
{
	static const size_t lens[] = {31, 32, 255, 256, 65535, 65536};
	static char text[65537];

	memset(text, 'x', sizeof(text) - 1);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct reader_text t;
		struct buffer b;
		struct reader r;
		struct pack p;

		buffer_init(&b, 100000);
		pack_init(&p, &b);
		pack_strn(&p, text, lens[i]);
		cr_assert_not(p.failed < 0);
		reader_init(&r, b.data, b.len);
		cr_assert_eq(reader_str(&r, &t), 0);
		cr_assert_eq(t.len, lens[i]);
		cr_assert_eq(r.p, r.end);
		buffer_done(&b);
	}
}

/* With every limit below what is needed it fails, stays failed and never passes the limit. */
Test(pack, limit)
{
	struct buffer b;
	struct pack p;

	for (size_t limit = 0; limit <= 12; limit++) {
		size_t len;

		buffer_init(&b, limit);
		pack_init(&p, &b);
		pack_map(&p, 1);
		pack_kv_str(&p, "key", "value");
		cr_assert_eq(p.failed < 0, limit < 11, "limit %zu", limit);
		cr_assert(b.len <= limit);
		len = b.len;
		pack_nil(&p);
		cr_assert_eq(b.len, limit < 12 ? len : 12, "limit %zu", limit);
		cr_assert_eq(p.failed < 0, limit < 12);
		buffer_done(&b);
	}
}

/* A smaller value that would still fit is not written behind one that did not. */
Test(pack, stays_failed)
{
	struct buffer b;
	struct pack p;

	buffer_init(&b, 3);
	pack_init(&p, &b);
	pack_str(&p, "too long");
	cr_assert(p.failed < 0);
	cr_assert_eq(b.len, 1);
	pack_nil(&p);
	pack_str(&p, "");
	cr_assert_eq(b.len, 1);
	buffer_done(&b);
}

Test(pack, a_map_that_is_counted_as_it_is_closed)
{
	static const size_t sizes[] = {0, 1, 15, 16, 65535, 65536};
	char key[] = "k";

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct buffer counted, open;
		struct pack a, b;
		size_t map, inner;

		buffer_init(&counted, 1 << 24);
		buffer_init(&open, 1 << 24);
		pack_init(&a, &counted);
		pack_init(&b, &open);
		pack_array(&a, 2);
		pack_map(&a, sizes[i]);
		pack_array(&b, 2);
		map = pack_open(&b);
		for (size_t n = 0; n < sizes[i]; n++) {
			pack_str(&a, key);
			pack_map(&a, 1);
			pack_kv_int(&a, key, (int64_t)n);
			pack_str(&b, key);
			inner = pack_open(&b);
			pack_kv_int(&b, key, (int64_t)n);
			pack_close(&b, inner);
		}
		pack_close(&b, map);
		pack_nil(&a);
		pack_nil(&b);
		cr_expect_eq(a.failed, 0);
		cr_expect_eq(b.failed, 0);
		cr_expect_eq(counted.len, open.len, "%zu", sizes[i]);
		cr_expect_eq(memcmp(counted.data, open.data, open.len), 0, "%zu", sizes[i]);
		buffer_done(&counted);
		buffer_done(&open);
	}
}

Test(pack, an_open_map_that_does_not_fit)
{
	struct buffer b;
	struct pack p;
	size_t map;

	buffer_init(&b, 40);
	pack_init(&p, &b);
	map = pack_open(&p);
	for (int i = 0; i < 20; i++)
		pack_kv_int(&p, "k", i);
	pack_close(&p, map);
	cr_expect_eq(p.failed, -EMSGSIZE);
	buffer_done(&b);
}
