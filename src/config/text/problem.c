#include "config/text/problem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void problems_init(struct problems *p)
{
	memset(p, 0, sizeof(*p));
}

static void drop(struct problem *p)
{
	free(p->file);
	free(p->message);
}

void problems_done(struct problems *p)
{
	for (size_t i = 0; i < p->n; i++)
		drop(&p->list[i]);
	for (size_t i = 0; i < p->n_warnings; i++)
		drop(&p->warnings[i]);
	problems_init(p);
}

/* The length of the printable UTF-8 character at s, 0 where there is none. */
static size_t printable_len(const unsigned char *s)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t code;
	size_t len;

	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	code = s[0] & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80) /* or the NUL at the end of the text */
			return 0;
		code = code << 6 | (s[i] & 0x3fu);
	}
	if (code < least[len] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return code < 0xa0 ? 0 : len; /* U+0080..U+009F are controls */
}

bool text_is_printable(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		size_t len = printable_len(s);

		if (len == 0)
			return false;
		s += len;
	}
	return true;
}

/* A printable copy of at most PROBLEM_TEXT_MAX bytes. */
static char *printable_copy(const char *text)
{
	static const char ellipsis[] = "...";
	const unsigned char *s = (const unsigned char *)text;
	char copy[PROBLEM_TEXT_MAX + 1];
	size_t n = 0;

	while (*s) {
		size_t len = printable_len(s);
		size_t room = PROBLEM_TEXT_MAX - n - (sizeof(ellipsis) - 1);

		if ((len ? len : 4) > room) {
			memcpy(copy + n, ellipsis, sizeof(ellipsis) - 1);
			n += sizeof(ellipsis) - 1;
			break;
		}
		if (len) {
			memcpy(copy + n, s, len);
			n += len;
			s += len;
		} else {
			n += (size_t)snprintf(copy + n, sizeof(copy) - n, "\\x%02X", *s);
			s++;
		}
	}
	return mem_strndup(copy, n);
}

static struct problem make(const char *file, int line, const char *message)
{
	return (struct problem){
		.file = printable_copy(file),
		.line = line,
		.message = printable_copy(message),
	};
}

/*
 * Appends a problem to a list with room. What the list has already is left out: all tasks may have
 * the same default.
 */
static void append(struct problem *list, size_t *n, const char *file, int line, const char *message)
{
	struct problem new = make(file, line, message);

	for (size_t i = *n; i-- > 0;) {
		if (list[i].line != line || strcmp(list[i].message, new.message) != 0 ||
		    strcmp(list[i].file, new.file) != 0)
			continue;
		drop(&new);
		return;
	}
	list[(*n)++] = new;
}

static void add(struct problems *p, const char *file, int line, const char *message)
{
	p->total++;
	if (p->n < PROBLEMS_MAX - 1)
		append(p->list, &p->n, file, line, message);
	else if (p->n == PROBLEMS_MAX - 1)
		p->list[p->n++] = make(
			file, line, "more problems follow: they are shown once these are mended");
}

void problems_vadd(struct problems *p, const char *file, int line, const char *format, va_list ap)
{
	char message[PROBLEM_TEXT_MAX + 2];

	vsnprintf(message, sizeof(message), format, ap);
	add(p, file, line, message);
}

void problems_add(struct problems *p, const char *file, int line, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	problems_vadd(p, file, line, format, ap);
	va_end(ap);
}

static void warn(struct problems *p, const char *file, int line, const char *message)
{
	if (p->n_warnings < WARNINGS_MAX)
		append(p->warnings, &p->n_warnings, file, line, message);
}

void problems_warn(struct problems *p, const char *file, int line, const char *format, ...)
{
	char message[PROBLEM_TEXT_MAX + 2];
	va_list ap;

	va_start(ap, format);
	vsnprintf(message, sizeof(message), format, ap);
	va_end(ap);
	warn(p, file, line, message);
}

void problems_append(struct problems *p, const struct problems *other)
{
	for (size_t i = 0; i < other->n_warnings; i++)
		warn(p, other->warnings[i].file, other->warnings[i].line,
		     other->warnings[i].message);
	for (size_t i = 0; i < other->n; i++)
		add(p, other->list[i].file, other->list[i].line, other->list[i].message);
	p->total += other->total - other->n;
}

void problems_sort(struct problems *p, size_t first)
{
	/* The message that there are more stays at the end. */
	size_t end = p->n == PROBLEMS_MAX ? p->n - 1 : p->n;

	for (size_t i = first + 1; i < end; i++) {
		struct problem moved = p->list[i];
		size_t j = i;

		for (; j > first && p->list[j - 1].line > moved.line; j--)
			p->list[j] = p->list[j - 1];
		p->list[j] = moved;
	}
}
