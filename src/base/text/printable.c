#include "base/text/printable.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define ESCAPE_LEN 4 /* \xNN */
#define CHAR_MAX_  (4 * ESCAPE_LEN)
#define DOTS	   "..."

/*
 * Whether a character can control a terminal. U+009B starts an escape sequence. Others end the line
 * or change the direction of the text.
 */
static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x200e || code == 0x200f ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/*
 * Makes the first character of the text printable, in at most CHAR_MAX_ bytes. *used: its bytes in
 * the text.
 */
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
		/* The last length at which the dots still fit behind the text. */
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
