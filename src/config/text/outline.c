#include "config/text/outline.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define SHOWN_MAX 40 /* bytes of a name in an error */

enum token { TOKEN_END, TOKEN_WORD, TOKEN_STRING, TOKEN_MARK, TOKEN_BAD };

struct scanner {
	struct outline *o;
	size_t pos;
	int line;
	/* The token that was read last. */
	enum token token;
	char mark; /* MARK: one of { } = , and + for += */
	size_t start, len;
	int token_line;
	/* The first variable of the statement that the environment does not have; 0: none. */
	size_t unset, unset_len;
	/* Sections that are open: indexes of their items. */
	size_t open[OUTLINE_DEPTH_MAX];
	size_t depth;
};

static void set_error(struct outline *o, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Only the first error is kept. */
static void set_error(struct outline *o, int line, const char *format, ...)
{
	va_list ap;

	if (o->error_line)
		return;
	o->error_line = line;
	va_start(ap, format);
	vsnprintf(o->error, sizeof(o->error), format, ap);
	va_end(ap);
}

static int shown_len(size_t len)
{
	return (int)(len < SHOWN_MAX ? len : SHOWN_MAX);
}

static enum token bad(struct scanner *s)
{
	return s->token = TOKEN_BAD;
}

static bool is_word(char c)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
		return true;
	return c != '\0' && strchr("_.:/@%-[]~", c);
}

/* Skips the comment that begins here; false: there is none, or it does not end. */
static bool skip_comment(struct scanner *s)
{
	const char *text = s->o->text, *end;

	if (text[s->pos] == '#' || (text[s->pos] == '/' && text[s->pos + 1] == '/')) {
		s->pos += strcspn(text + s->pos, "\n");
		return true;
	}
	if (text[s->pos] != '/' || text[s->pos + 1] != '*')
		return false;
	end = strstr(text + s->pos + 2, "*/");
	if (!end) {
		set_error(s->o, s->line, "the comment is not closed by \"*/\"");
		s->pos = s->o->len;
		return false;
	}
	for (; text + s->pos < end; s->pos++)
		s->line += text[s->pos] == '\n';
	s->pos += 2;
	return true;
}

/* Skips an escape, such as \n \\ \x41 \101; false: one that libconfuse would trip over. */
static bool skip_escape(struct scanner *s, char quote)
{
	const char *t = s->o->text + s->pos;
	unsigned int code = 0;
	size_t n = 0;

	if (t[1] == '\n')
		s->line++;
	s->pos += s->pos + 1 < s->o->len ? 2 : 1;
	if (quote == '\'')
		return true;
	if (t[1] == 'x') {
		while (n < 2 && strchr("0123456789abcdefABCDEF", t[2 + n]) && t[2 + n])
			code |= t[2 + n++] != '0';
		if (n == 0 || code)
			return true;
	} else if (t[1] >= '0' && t[1] <= '9') {
		while (n < 3 && t[1 + n] >= '0' && t[1 + n] <= '7')
			code = code * 8 + (unsigned int)(t[1 + n++] - '0');
		if (n > 0 && code > 0 && code <= 0xff && !(t[1 + n] >= '0' && t[1 + n] <= '9'))
			return true;
	} else {
		return true;
	}
	set_error(s->o, s->token_line,
		  "\"\\%c%c\" is no escape for a character that a value may have", t[1],
		  t[2] > ' ' && t[2] < 0x7f ? t[2] : ' ');
	return false;
}

/* Whether a variable, with what stands behind its name, has no value and no default. */
static bool is_unset(const char *variable, size_t len)
{
	mem_auto char *name = mem_strndup(variable, len);

	return !strstr(name, ":-") && !getenv(name);
}

/*
 * Skips a variable, "${NAME}" or "${NAME:-default}", within a string: libconfuse takes all up to a
 * "}".
 */
static bool skip_variable(struct scanner *s)
{
	const char *t = s->o->text;
	size_t start = s->pos += 2;

	while (t[s->pos] != '}') {
		if (s->pos >= s->o->len || strchr("\"\n\\", t[s->pos])) {
			set_error(s->o, s->token_line,
				  "\"${\" is not closed by \"}\" in its string");
			return false;
		}
		s->pos++;
	}
	if (!s->unset && is_unset(t + start, s->pos - start)) {
		s->unset = start;
		s->unset_len = s->pos - start;
	}
	s->pos++;
	return true;
}

static enum token read_string(struct scanner *s, char quote)
{
	const char *t = s->o->text;

	s->pos++;
	while (s->pos < s->o->len && t[s->pos] != quote) {
		if (t[s->pos] == '\n')
			break;
		if (t[s->pos] == '\\') {
			if (!skip_escape(s, quote))
				return bad(s);
		} else if (quote == '"' && t[s->pos] == '$' && t[s->pos + 1] == '{') {
			if (!skip_variable(s))
				return bad(s);
		} else {
			s->pos++;
		}
	}
	if (s->pos >= s->o->len || t[s->pos] != quote) {
		set_error(s->o, s->token_line, "the string is not closed by %c on its line", quote);
		return bad(s);
	}
	s->start++; /* until here at the quote, where the text is cut if the string is bad */
	s->len = s->pos - s->start;
	s->pos++;
	return s->token = TOKEN_STRING;
}

static enum token read_word(struct scanner *s)
{
	const char *t = s->o->text;

	while (is_word(t[s->pos])) {
		if (t[s->pos] == '/' && (t[s->pos + 1] == '/' || t[s->pos + 1] == '*')) {
			set_error(s->o, s->line, "\"/%c\" within a word: quote the value",
				  t[s->pos + 1]);
			return bad(s);
		}
		s->pos++;
	}
	s->len = s->pos - s->start;
	return s->token = TOKEN_WORD;
}

static enum token bad_character(struct scanner *s)
{
	unsigned char c = (unsigned char)s->o->text[s->pos];

	if (c == '(' || c == ')')
		set_error(s->o, s->line, "\"%c\": there are no functions here", c);
	else if (c > ' ' && c < 0x7f)
		set_error(s->o, s->line,
			  "\"%c\" is not expected here: quote the value it is part of", c);
	else
		set_error(s->o, s->line, "a byte \\x%02X that is no text, outside of a string", c);
	return bad(s);
}

static enum token next(struct scanner *s)
{
	const char *t = s->o->text;
	char c;

	for (;;) {
		while (s->pos < s->o->len && strchr(" \t\r\n", t[s->pos]) && t[s->pos])
			s->line += t[s->pos++] == '\n';
		if (!skip_comment(s))
			break;
	}
	s->start = s->pos;
	s->len = 1;
	s->token_line = s->line;
	if (s->o->error_line)
		return bad(s);
	if (s->pos >= s->o->len)
		return s->token = TOKEN_END;
	c = t[s->pos];
	if (c == '"' || c == '\'')
		return read_string(s, c);
	if (is_word(c))
		return read_word(s);
	if (c == '+' && t[s->pos + 1] == '=')
		s->len = 2;
	else if (c == '\0' || !strchr("{}=,", c))
		return bad_character(s);
	s->mark = c;
	s->pos += s->len;
	return s->token = TOKEN_MARK;
}

static bool is_mark(const struct scanner *s, char mark)
{
	return s->token == TOKEN_MARK && s->mark == mark;
}

static bool is_text(const struct scanner *s)
{
	return s->token == TOKEN_WORD || s->token == TOKEN_STRING;
}

static struct outline_item *new_item(struct outline *o)
{
	if (o->n == o->cap) {
		o->cap = o->cap ? o->cap * 2 : 64;
		o->items = mem_resize(o->items, o->cap, sizeof(*o->items));
	}
	o->items[o->n] = (struct outline_item){0};
	return &o->items[o->n++];
}

/* Adds the value that was read last, with its quotes, to those of its key. */
static void add_value(struct scanner *s, struct outline_item *item)
{
	struct outline *o = s->o;
	size_t quote = s->token == TOKEN_STRING;

	if (item->n_values++ == 0)
		item->first_value = o->n_values;
	o->n_values++;
	buffer_append(&o->values, o->text + s->start - quote, s->len + 2 * quote);
	buffer_append(&o->values, ",", 1);
}

/* Reads the values of a list, from behind its "{". */
static bool read_list(struct scanner *s, struct outline_item *item)
{
	item->kind = OUTLINE_LIST;
	for (;;) {
		next(s);
		if (is_mark(s, '}'))
			return true;
		if (!is_text(s))
			break;
		add_value(s, item);
		next(s);
		if (is_mark(s, '}'))
			return true;
		if (!is_mark(s, ','))
			break;
	}
	if (s->token == TOKEN_END)
		set_error(s->o, item->line, "the list is not closed by \"}\"");
	set_error(s->o, s->token_line,
		  "\"%.*s\" is not expected in a list: a comma goes between two values",
		  shown_len(s->len), s->o->text + s->start);
	return false;
}

/* Reads the value of a key, from behind the "=". */
static bool read_value(struct scanner *s, struct outline_item *item)
{
	const char *key = s->o->text + item->start;
	struct scanner ahead;

	next(s);
	if (is_mark(s, '{'))
		return read_list(s, item);
	if (!is_text(s)) {
		set_error(s->o, item->line, "the value of %.*s is missing",
			  shown_len(item->key_len), key);
		return false;
	}
	item->kind = OUTLINE_VALUE;
	add_value(s, item);
	ahead = *s;
	if (s->token == TOKEN_WORD && s->token_line > item->line && next(&ahead) == TOKEN_MARK &&
	    ahead.mark == '=') {
		set_error(s->o, item->line, "the value of %.*s is missing: what follows is a key",
			  shown_len(item->key_len), key);
		return false;
	}
	return true;
}

/* Reads the opening of a section, from behind its key: a title, if it has one, and "{". */
static bool read_opening(struct scanner *s, struct outline_item *item)
{
	item->kind = OUTLINE_SECTION;
	if (is_text(s)) {
		item->titled = true;
		item->title = s->start;
		item->title_len = s->len;
		next(s);
	}
	if (!is_mark(s, '{') && s->o->text[item->start + item->key_len - 1] == ':') {
		set_error(s->o, item->line, "write %.*s = ..., with \"=\" in place of \":\"",
			  shown_len(item->key_len - 1), s->o->text + item->start);
		return false;
	}
	if (!is_mark(s, '{')) {
		set_error(s->o, item->line, "\"=\" is missing after %.*s, or \"{\"",
			  shown_len(item->key_len), s->o->text + item->start);
		return false;
	}
	if (s->depth == OUTLINE_DEPTH_MAX) {
		set_error(s->o, item->line, "more than %d sections within each other",
			  OUTLINE_DEPTH_MAX);
		return false;
	}
	s->open[s->depth++] = (size_t)(item - s->o->items);
	return true;
}

/* Reads a statement, from its key on; of a section only the opening. */
static bool read_statement(struct scanner *s)
{
	struct outline_item *item;

	if (s->token == TOKEN_STRING) {
		set_error(s->o, s->token_line,
			  "a string where a key is expected: a key has no quotes");
		return false;
	}
	item = new_item(s->o);
	item->line = s->token_line;
	item->depth = s->depth;
	item->start = s->start;
	item->key_len = s->len;
	next(s);
	if (s->token == TOKEN_BAD)
		return false;
	item->append = is_mark(s, '+');
	if (!is_mark(s, '=') && !is_mark(s, '+'))
		return read_opening(s, item);
	s->unset = 0;
	if (!read_value(s, item))
		return false;
	item->end = s->pos;
	item->unset = s->unset;
	item->unset_len = s->unset_len;
	return true;
}

/* Drops the statement that could not be read; the sections that are open end before it. */
static void cut(struct scanner *s, size_t start)
{
	struct outline *o = s->o;

	while (o->n > 0 && o->items[o->n - 1].start >= start)
		o->n--;
	while (s->depth > 0)
		if (s->open[--s->depth] < o->n)
			o->items[s->open[s->depth]].end = start;
}

static void scan(struct scanner *s)
{
	struct outline *o = s->o;

	for (;;) {
		next(s);
		if (is_text(s)) {
			size_t start = s->token == TOKEN_STRING ? s->start - 1 : s->start;

			if (!read_statement(s)) {
				cut(s, start);
				return;
			}
		} else if (is_mark(s, '}') && s->depth > 0) {
			o->items[s->open[--s->depth]].end = s->pos;
		} else if (s->token == TOKEN_END && s->depth == 0) {
			return;
		} else {
			break;
		}
	}
	if (s->token == TOKEN_END) {
		const struct outline_item *item = &o->items[s->open[s->depth - 1]];

		set_error(o, item->line, "the section %.*s is not closed by \"}\"",
			  shown_len(item->key_len), o->text + item->start);
	} else if (is_mark(s, '}')) {
		set_error(o, s->token_line, "\"}\" closes nothing");
	} else if (s->token == TOKEN_MARK) {
		set_error(o, s->token_line, "\"%.*s\" where a key is expected", (int)s->len,
			  o->text + s->start);
	}
	cut(s, s->start);
}

/* The line of a NUL byte, 0: there is none. */
static int nul_line(const char *text, size_t len)
{
	const char *nul = memchr(text, '\0', len);
	int line = 1;

	for (const char *t = text; nul && t < nul; t++)
		line += *t == '\n';
	return nul ? line : 0;
}

void outline_init(struct outline *o, const char *text, size_t len)
{
	struct scanner s = {.o = o, .line = 1};
	int bad_line = nul_line(text, len);

	*o = (struct outline){.text = text, .len = len};
	buffer_init(&o->values, BUFFER_LIMIT_MAX);
	buffer_append(&o->values, OUTLINE_VALUES "={", strlen(OUTLINE_VALUES "={"));
	if (bad_line)
		set_error(o, bad_line, "a NUL byte: this is no text file");
	else
		scan(&s);
	buffer_append(&o->values, "}", sizeof("}"));
}

void outline_done(struct outline *o)
{
	free(o->items);
	buffer_done(&o->values);
}
