#include "core/fleet/version_form.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define HASH_MIN 7 /* digits of an abbreviated one */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool has(const char *text, size_t len, bool (*is)(char c))
{
	for (size_t i = 0; i < len; i++)
		if (is(text[i]))
			return true;
	return false;
}

/*
 * Letters and digits in one piece, as git writes it, and both: a date has no letters, a word no
 * digits.
 */
static bool is_hash(const char *version)
{
	size_t len = strlen(version);

	for (size_t i = 0; i < len; i++)
		if (!is_digit(version[i]) && !(version[i] >= 'a' && version[i] <= 'f'))
			return false;
	return len >= HASH_MIN && has(version, len, is_digit) && has(version, len, is_letter);
}

static bool looks_like_digit(char c)
{
	return c == 'O' || c == 'o' || c == 'I' || c == 'l';
}

/*
 * A part between two dots, and the last one up to whatever follows: of digits and such letters
 * alone.
 */
static bool is_typo(const char *part, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!is_digit(part[i]) && !looks_like_digit(part[i]))
			return false;
	return has(part, len, looks_like_digit);
}

static bool has_typo(const char *version)
{
	for (const char *part = version;; part++) {
		size_t len = strcspn(part, ".-_+~");

		if (is_typo(part, len))
			return true;
		part += len;
		if (*part != '.')
			return false;
	}
}

static bool is_word(const char *text, size_t len, const char *word)
{
	for (size_t i = 0; i < len; i++) {
		char c = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + ('a' - 'A')) : text[i];

		if (word[i] == '\0' || c != word[i])
			return false;
	}
	return word[len] == '\0';
}

/* Words that people take for "before the release", and that the order does not know. */
static bool is_early(const char *version)
{
	static const char *const words[] = {"dev",     "devel",	     "develop", "pre",
					    "preview", "prerelease", "nightly", "unstable"};
	size_t len;

	for (const char *s = version; *s != '\0'; s += len) {
		if (*s == '~')
			return true;
		for (len = 0; is_letter(s[len]); len++)
			;
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (is_word(s, len, words[i]))
				return true;
		len += len == 0;
	}
	return false;
}

/* A number of four digits or more is taken for a year, or a date. */
#define YEAR_DIGITS 4

void version_outline(const char *version, char ret_outline[VERSION_OUTLINE_MAX])
{
	size_t n = 0;
	bool dots = false;

	for (const char *s = version; *s != '\0' && n + 2 < VERSION_OUTLINE_MAX; s++) {
		size_t digits = 0;

		while (is_digit(s[digits]))
			digits++;
		if (digits == 0)
			break;
		ret_outline[n++] = digits >= YEAR_DIGITS ? 'Y' : 'N';
		s += digits;
		/* A word behind it, as in -rc1, is no part of it, nor is the number of a build. */
		if (*s == '\0' || !is_digit(s[1]) || (dots && *s != '.'))
			break;
		dots |= *s == '.';
		ret_outline[n++] = *s;
	}
	ret_outline[n] = '\0';
}

enum version_form version_form(const char *version)
{
	size_t len = strlen(version);

	if (is_hash(version))
		return VERSION_HASH;
	if (!has(version, len, is_digit))
		return VERSION_WORDS;
	if (has_typo(version))
		return VERSION_TYPO;
	if (!is_digit(version[0]))
		return VERSION_PREFIXED;
	return is_early(version) ? VERSION_EARLY : VERSION_PLAIN;
}

const char *version_form_text(enum version_form form)
{
	switch (form) {
	case VERSION_PLAIN: break;
	case VERSION_PREFIXED:
		return "begins with no number, so every version that does is newer: take what is "
		       "in front of it off with version-strip";
	case VERSION_HASH:
		return "looks like a commit's hash, which says nothing of newer and older: use a "
		       "number that grows";
	case VERSION_TYPO:
		return "has a letter in the place of a digit, so it is sorted as a word: write "
		       "0 or 1";
	case VERSION_WORDS:
		return "has no number in it, so every version that begins with one is newer";
	case VERSION_EARLY:
		return "is sorted after the release of that number, not before it: write -alpha, "
		       "-beta, -rc1 or -SNAPSHOT for one before it";
	}
	return "";
}
