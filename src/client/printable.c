#include "client/printable.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

#define ESCAPE_LEN 4 /* \xNN */
#define CHAR_MAX_  (4 * ESCAPE_LEN)
#define DOTS	   "..."

size_t utf8_decode(const char *text, size_t n, uint32_t *ret_code)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *s = (const unsigned char *)text;
	uint32_t code = s[0];
	size_t len = 1;

	if (code >= 0x80) {
		if ((code & 0xe0) == 0xc0)
			len = 2;
		else if ((code & 0xf0) == 0xe0)
			len = 3;
		else if ((code & 0xf8) == 0xf0)
			len = 4;
		if (len == 1 || len > n)
			return 0;
		code &= 0x7fU >> len;
	}
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3fU);
	}
	if ((len > 1 && code < smallest[len]) || code > 0x10ffff ||
	    (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return len;
}

/* What acts instead of being seen. A terminal takes U+009B for the start of an escape. */
static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x200e || code == 0x200f ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/* One character as it is to be printed, at most CHAR_MAX_ bytes; *used is how many of text it took. */
static size_t print_char(char out[CHAR_MAX_], const char *text, size_t len, size_t *used)
{
	static const char digits[] = "0123456789abcdef";
	uint32_t code = 0;
	size_t n = utf8_decode(text, len, &code);
	size_t at = 0;

	*used = n > 0 ? n : 1;
	if (n > 0 && !is_control(code)) {
		memcpy(out, text, n);
		return n;
	}
	if (code == '\n' || code == '\t') {
		out[0] = '\\';
		out[1] = code == '\n' ? 'n' : 't';
		return 2;
	}
	for (size_t i = 0; i < *used; i++) {
		unsigned byte = (unsigned char)text[i];

		out[at++] = '\\';
		out[at++] = 'x';
		out[at++] = digits[byte >> 4];
		out[at++] = digits[byte & 0xf];
	}
	return at;
}

size_t printable(char *out, size_t size, const char *text, size_t len)
{
	const size_t dots = sizeof(DOTS) - 1;
	size_t n = 0, before_dots = 0;

	assert(size > dots);
	for (size_t i = 0, used; i < len; i += used) {
		char c[CHAR_MAX_];
		size_t n_char = print_char(c, text + i, len - i, &used);

		if (n_char >= size - n) {
			memcpy(out + before_dots, DOTS, dots);
			n = before_dots + dots;
			break;
		}
		memcpy(out + n, c, n_char);
		n += n_char;
		/* The last place from which the dots still fit. */
		if (n + dots < size)
			before_dots = n;
	}
	out[n] = '\0';
	return n;
}

char *printable_dup(const char *text, size_t len)
{
	size_t size = len * ESCAPE_LEN + sizeof(DOTS);
	char *out = mem_alloc(size);

	printable(out, size, text, len);
	return out;
}
