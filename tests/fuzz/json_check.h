/* Whether a text is one JSON value, as RFC 8259 says it: nothing more lenient, and nothing kept. */
#ifndef TESTS_FUZZ_JSON_CHECK_H
#define TESTS_FUZZ_JSON_CHECK_H

#include "fuzz.h"

#define JSON_DEPTH_MAX 64

struct json_scan {
	const uint8_t *p, *end;
};

FUZZ bool json_value(struct json_scan *s, int depth);

FUZZ void json_space(struct json_scan *s)
{
	while (s->p < s->end && strchr(" \t\r\n", *s->p) && *s->p)
		s->p++;
}

FUZZ bool json_take(struct json_scan *s, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(s->end - s->p) < len || memcmp(s->p, word, len) != 0)
		return false;
	s->p += len;
	return true;
}

FUZZ size_t json_digits(struct json_scan *s)
{
	const uint8_t *start = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return (size_t)(s->p - start);
}

FUZZ bool json_escape(struct json_scan *s)
{
	if (json_take(s, "u")) {
		for (int i = 0; i < 4; i++, s->p++)
			if (s->p == s->end || !*s->p || !strchr("0123456789abcdefABCDEF", *s->p))
				return false;
		return true;
	}
	if (s->p == s->end || !*s->p || !strchr("\"\\/bfnrt", *s->p))
		return false;
	s->p++;
	return true;
}

FUZZ bool json_string_(struct json_scan *s)
{
	if (!json_take(s, "\""))
		return false;
	while (s->p < s->end && *s->p != '"') {
		uint32_t code;
		size_t n = fuzz_utf8(s->p, (size_t)(s->end - s->p), &code);

		if (n == 0 || code < 0x20)
			return false;
		s->p += n;
		if (code == '\\' && !json_escape(s))
			return false;
	}
	return json_take(s, "\"");
}

FUZZ bool json_number_(struct json_scan *s)
{
	(void)json_take(s, "-");
	if (!json_take(s, "0") && json_digits(s) == 0)
		return false;
	if (json_take(s, ".") && json_digits(s) == 0)
		return false;
	if (json_take(s, "e") || json_take(s, "E")) {
		if (!json_take(s, "-"))
			(void)json_take(s, "+");
		return json_digits(s) > 0;
	}
	return true;
}

FUZZ bool json_members(struct json_scan *s, const char *end, bool keys, int depth)
{
	json_space(s);
	if (json_take(s, end))
		return true;
	do {
		json_space(s);
		if (keys) {
			if (!json_string_(s))
				return false;
			json_space(s);
			if (!json_take(s, ":"))
				return false;
		}
		if (!json_value(s, depth + 1))
			return false;
		json_space(s);
	} while (json_take(s, ","));
	return json_take(s, end);
}

FUZZ bool json_value(struct json_scan *s, int depth)
{
	json_space(s);
	if (depth > JSON_DEPTH_MAX || s->p == s->end)
		return false;
	if (json_take(s, "{"))
		return json_members(s, "}", true, depth);
	if (json_take(s, "["))
		return json_members(s, "]", false, depth);
	if (*s->p == '"')
		return json_string_(s);
	return json_take(s, "true") || json_take(s, "false") || json_take(s, "null") ||
	       json_number_(s);
}

FUZZ bool json_is_one(const char *text, size_t len)
{
	struct json_scan s = {(const uint8_t *)text, (const uint8_t *)text + len};

	if (!json_value(&s, 0))
		return false;
	json_space(&s);
	return s.p == s.end;
}

#endif
