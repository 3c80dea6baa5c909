#include "base/utf8.h"

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

bool utf8_is_valid(const char *s, size_t len)
{
	uint32_t code;

	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_decode(s + i, len - i, &code);
		if (n == 0)
			return false;
	}
	return true;
}
