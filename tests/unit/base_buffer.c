#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

static void add(struct buffer *b, const char *text)
{
	cr_assert_eq(buffer_append(b, text, strlen(text)), 0);
}

static void expect(const struct buffer *b, const char *text)
{
	cr_assert_eq(b->len, strlen(text));
	cr_assert_eq(memcmp(b->data, text, b->len), 0);
}

Test(buffer, empty)
{
	struct buffer b;

	buffer_init(&b, 10);
	cr_assert_eq(b.len, 0);
	cr_assert_eq(buffer_append(&b, NULL, 0), 0);
	cr_assert_null(b.base);
	buffer_consume(&b, 0);
	buffer_clear(&b);
	buffer_truncate(&b, 0);
	buffer_done(&b);
	buffer_done(&b);
}

Test(buffer, append_and_consume)
{
	struct buffer b;

	buffer_init(&b, 10);
	add(&b, "0123");
	add(&b, "456");
	expect(&b, "0123456");
	buffer_consume(&b, 2);
	expect(&b, "23456");
	add(&b, "789ab");
	expect(&b, "23456789ab");
	buffer_consume(&b, 10);
	expect(&b, "");
	cr_assert_eq(b.data, b.base);
	buffer_done(&b);
	cr_assert_null(b.base);
	cr_assert_eq(b.limit, 10);
}

Test(buffer, limit)
{
	static const char bytes[12] = "0123456789a";
	volatile size_t endless = SIZE_MAX; /* the compiler must not know it: it would warn */
	struct buffer b;

	buffer_init(&b, 10);
	cr_assert_eq(buffer_append(&b, bytes, 11), -ENOBUFS);
	cr_assert_eq(b.len, 0);
	cr_assert_eq(buffer_append(&b, bytes, 10), 0);
	cr_assert_eq(buffer_append(&b, bytes, 1), -ENOBUFS);
	cr_assert_eq(buffer_append(&b, bytes, 0), 0);
	cr_assert_eq(buffer_append(&b, bytes, endless), -ENOBUFS);
	expect(&b, "0123456789");
	cr_assert_eq(buffer_reserve(&b, 1), 0);
	buffer_consume(&b, 1);
	cr_assert_eq(buffer_append(&b, bytes, 2), -ENOBUFS);
	cr_assert_eq(buffer_append(&b, bytes, 1), 0);
	expect(&b, "1234567890");
	buffer_done(&b);
}

Test(buffer, limit_of_nothing)
{
	struct buffer b;

	buffer_init(&b, 0);
	cr_assert_eq(buffer_append(&b, "", 0), 0);
	cr_assert_eq(buffer_append(&b, "a", 1), -ENOBUFS);
	cr_assert_eq(buffer_reserve(&b, 100), 0);
	buffer_done(&b);
}

Test(buffer, reserve)
{
	struct buffer b;
	size_t n;

	buffer_init(&b, 1000);
	n = buffer_reserve(&b, 300);
	cr_assert(n >= 300 && n <= 1000);
	memset(b.data, 'x', n);
	buffer_added(&b, n);
	cr_assert_eq(b.len, n);
	n = buffer_reserve(&b, SIZE_MAX);
	cr_assert_eq(n, 1000 - b.len);
	memset(b.data + b.len, 'y', n);
	buffer_added(&b, n);
	cr_assert_eq(buffer_reserve(&b, 1), 0);
	cr_assert_eq(b.data[0], 'x');
	cr_assert_eq(b.data[999], 'y');
	buffer_done(&b);
}

Test(buffer, truncate)
{
	struct buffer b;
	size_t room;

	buffer_init(&b, 100);
	add(&b, "kept");
	buffer_consume(&b, 1);
	room = b.room;
	add(&b, "dropped");
	buffer_truncate(&b, 3);
	expect(&b, "ept");
	cr_assert_eq(b.room, room);
	buffer_clear(&b);
	cr_assert_eq(b.room, 100);
	buffer_done(&b);
}

/* All lengths of steps, against a plain array; the allocation stays bounded by the limit. */
Test(buffer, like_a_queue)
{
	static uint8_t sent[200000];
	size_t written = 0;
	size_t read = 0;
	struct buffer b;

	srandom(7);
	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (uint8_t)random();
	buffer_init(&b, 5000);
	while (read < sizeof(sent)) {
		size_t in = (size_t)random() % 700;
		size_t out = (size_t)random() % 700;

		if (in > sizeof(sent) - written)
			in = sizeof(sent) - written;
		if (buffer_append(&b, sent + written, in) == 0)
			written += in;
		else
			cr_assert(b.len + in > 5000);
		if (out > b.len)
			out = b.len;
		cr_assert_eq(b.len, written - read);
		cr_assert(b.len == 0 || memcmp(b.data, sent + read, b.len) == 0);
		buffer_consume(&b, out);
		read += out;
		cr_assert(b.cap <= 5000 + 5000 / 4);
	}
	buffer_done(&b);
}

/* A full buffer that takes a byte for each that leaves does not move all of it each time. */
Test(buffer, small_steps_do_not_move_everything, .timeout = 20)
{
	enum { LIMIT = 4 * 1024 * 1024 };
	struct buffer b;
	size_t moves = 0;
	const uint8_t *at;

	buffer_init(&b, LIMIT);
	cr_assert_eq(buffer_reserve(&b, LIMIT), LIMIT);
	memset(b.data, 0, LIMIT);
	buffer_added(&b, LIMIT);
	for (size_t i = 0; i < LIMIT; i++) {
		buffer_consume(&b, 1);
		at = b.data;
		cr_assert_eq(buffer_append(&b, "x", 1), 0);
		moves += b.data != at;
	}
	cr_assert(moves <= 6, "%zu moves", moves);
	buffer_done(&b);
}

Test(buffer, consume_too_much, .signal = SIGABRT)
{
	struct buffer b;

	buffer_init(&b, 10);
	add(&b, "ab");
	buffer_consume(&b, 3);
}

Test(buffer, added_more_than_reserved, .signal = SIGABRT)
{
	struct buffer b;

	buffer_init(&b, 10);
	buffer_added(&b, 11);
}

Test(buffer, limit_too_big, .signal = SIGABRT)
{
	struct buffer b;

	buffer_init(&b, SIZE_MAX);
}
