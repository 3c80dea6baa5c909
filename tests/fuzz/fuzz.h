/*
 * Helpers of all fuzz targets: checks that are always compiled in, and a feed of values from the
 * input's bytes.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ __attribute__((unused)) static

/* An abort is what libFuzzer keeps the input for. */
#define FUZZ_CHECK(condition)                                                             \
	do {                                                                              \
		if (!(condition)) {                                                       \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, \
				#condition);                                              \
			abort();                                                          \
		}                                                                         \
	} while (0)

/* Called by libFuzzer. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Bytes from the input; zeroes once it is used up, so that every input is a whole story. */
struct feed {
	const uint8_t *p;
	size_t left;
};

FUZZ uint8_t feed_byte(struct feed *f)
{
	if (f->left == 0)
		return 0;
	f->left--;
	return *f->p++;
}

FUZZ uint64_t feed_number(struct feed *f, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | feed_byte(f);
	return value;
}

/* A number below n. */
FUZZ size_t feed_below(struct feed *f, size_t n)
{
	return n > 0 ? (size_t)feed_number(f, n > 256 ? 2 : 1) % n : 0;
}

/* At most max bytes, and no more than there are; *ret is in the input. */
FUZZ size_t feed_bytes(struct feed *f, size_t max, const uint8_t **ret)
{
	size_t n = max < f->left ? max : f->left;

	*ret = f->p;
	f->p += n;
	f->left -= n;
	return n;
}

/* A terminated copy on the heap, exactly as long as it is, so that a read behind it is seen. */
FUZZ char *fuzz_text(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);

	FUZZ_CHECK(text);
	if (len > 0)
		memcpy(text, data, len);
	text[len] = '\0';
	return text;
}

/* The same of what stands before the next byte of that value, or before the end. */
FUZZ char *feed_text(struct feed *f, uint8_t end)
{
	const uint8_t *stop = f->left > 0 ? memchr(f->p, end, f->left) : NULL;
	size_t len = stop ? (size_t)(stop - f->p) : f->left;
	const uint8_t *start;
	char *text;

	feed_bytes(f, len, &start);
	text = fuzz_text(start, len);
	feed_byte(f);
	return text;
}

/* The length of the UTF-8 character at s, 0 for what is none; len is at least 1. */
FUZZ size_t fuzz_utf8(const uint8_t *s, size_t len, uint32_t *ret_code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	uint32_t code = n == 1 ? s[0] : s[0] & (0xffU >> (n + 1));

	if (n == 0 || s[0] > 0xf7 || n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		code = code << 6 | (s[i] & 0x3fU);
	}
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return n;
}

/* Whether it is one line of UTF-8 without control characters. */
FUZZ bool fuzz_is_line(const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		uint32_t code;
		size_t n = fuzz_utf8((const uint8_t *)text + i, len - i, &code);

		if (n == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0))
			return false;
		i += n;
	}
	return true;
}

#endif
