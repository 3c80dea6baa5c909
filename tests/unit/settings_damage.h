/* Random damage to settings, for tests of what is said about it; the same in each run. */
#ifndef TESTS_SETTINGS_DAMAGE_H
#define TESTS_SETTINGS_DAMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static uint64_t random_state = 88172645463325252u;

static size_t random_below(size_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (size_t)(random_state % n);
}

/* Up to four changes to a text of len bytes, which has room for as many pieces: its length then. */
static size_t damage(char *text, size_t len)
{
	static const char pieces[][8] = {"\"",	 "'", "{",    "}",    "/*",   "*/", "#",
					 "\n",	 "=", "root", "task", "+=",   "\\", "${",
					 "\\x0", ",", "(",    "\r\n", "\xff", "//", "a {"};

	for (size_t k = random_below(5); k > 0; k--) {
		const char *piece = pieces[random_below(sizeof(pieces) / sizeof(pieces[0]))];
		size_t at = random_below(len), n = strlen(piece);

		switch (random_below(20)) {
		case 0: text[at] = (char)random_below(256); break;
		case 1: len = at + 1; break;
		case 2:
		case 3:
		case 4:
			memmove(text + at, text + at + 1, len - at - 1);
			len -= len > 1;
			break;
		default:
			memmove(text + at + n, text + at, len - at);
			memcpy(text + at, piece, n);
			len += n;
		}
	}
	return len;
}

/* Whether only libconfuse, and not the look before it, has found the mistake. */
static bool is_of_libconfuse(const char *message)
{
	static const char *const words[] = {"for certain", "libconfuse",     "premature end",
					    "unexpected ", "no such option", "unterminated"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strstr(message, words[i]))
			return true;
	}
	return false;
}

#endif
