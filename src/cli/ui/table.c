#include "cli/ui/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <libsmartcols/libsmartcols.h>

#include "base/mem.h"
#include "base/text/printable.h"
#include "cli/ui/host.h"

#define CUT_MIN	 14		/* no column is cut below so many characters */
#define ELLIPSIS "\xe2\x80\xa6" /* three dots in one column */

struct table {
	const struct output *output;
	struct libscols_table *lib;
	struct libscols_line *last;
	size_t n;
	int flags[TABLE_COLUMNS_MAX];
	const char *names[TABLE_COLUMNS_MAX];
	size_t widths[TABLE_COLUMNS_MAX]; /* width of the widest cell */
	bool dropped[TABLE_COLUMNS_MAX];
};

/* Functions of the library return NULL only if memory is exhausted. */
static void *there(void *p)
{
	if (!p)
		abort();
	return p;
}

size_t table_char_width(const char *text, size_t *ret_len)
{
	mbstate_t state = {0};
	wchar_t c;
	size_t len = mbrtowc(&c, text, MB_CUR_MAX, &state);
	bool is_read = len > 0 && len <= MB_CUR_MAX;
	int columns = is_read ? wcwidth(c) : -1;

	*ret_len = is_read ? len : 1;
	return columns < 0 ? *ret_len : (size_t)columns;
}

const char *table_mark(void)
{
	return mbstowcs(NULL, ELLIPSIS, 0) == 1 ? ELLIPSIS : "~";
}

static size_t text_width(const char *text)
{
	size_t width = 0, len;

	for (; *text; text += len)
		width += table_char_width(text, &len);
	return width;
}

struct table *table_new(const struct output *o, const struct table_column *columns, size_t n)
{
	struct table *t = mem_calloc(1, sizeof(*t));

	assert(n <= TABLE_COLUMNS_MAX);
	t->output = o;
	t->n = n;
	t->lib = there(scols_new_table());
	scols_table_set_stream(t->lib, o->out);
	scols_table_enable_colors(t->lib, o->color);
	scols_table_enable_noencoding(t->lib, 1); /* printable() has escaped all cells */
	/*
	 * The width is set here instead of detected by the library, so that it is that of the rest
	 * of the output.
	 */
	scols_table_set_termforce(t->lib,
				  o->width > 0 ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
	if (o->width > 0)
		scols_table_set_termwidth(t->lib, (size_t)o->width);
	for (size_t i = 0; i < n; i++) {
		int right = columns[i].flags & TABLE_RIGHT ? SCOLS_FL_RIGHT : 0;

		there(scols_table_new_column(t->lib, columns[i].name, 0, right));
		t->flags[i] = columns[i].flags;
		t->names[i] = columns[i].name;
		t->widths[i] = text_width(columns[i].name);
	}
	return t;
}

void table_row(struct table *t, const char *const *cells, enum color color)
{
	t->last = there(scols_table_new_line(t->lib, NULL));
	for (size_t i = 0; i < t->n; i++) {
		const char *cell = cells[i] ? cells[i] : "-";
		mem_auto char *text = printable_dup(cell, strlen(cell));

		scols_line_set_data(t->last, i, text);
		if (t->widths[i] < text_width(text))
			t->widths[i] = text_width(text);
	}
	if (t->output->color && color != COLOR_NONE)
		scols_line_set_color(t->last, output_color(t->output, color));
}

void table_color(struct table *t, size_t column, enum color color)
{
	if (t->output->color && color != COLOR_NONE)
		scols_cell_set_color(scols_line_get_cell(t->last, column),
				     output_color(t->output, color));
}

static char *cell_text(const struct table *t, size_t line, size_t column)
{
	struct libscols_line *l = scols_table_get_line(t->lib, line);

	return mem_strdup(scols_cell_get_data(scols_line_get_cell(l, column)));
}

static void set_cell(struct table *t, size_t line, size_t column, const char *text)
{
	scols_cell_set_data(scols_line_get_cell(scols_table_get_line(t->lib, line), column), text);
}

/*
 * Narrows the widest column with these flags, again and again, until the excess is gone or all have
 * the least width. Returns the excess that is left.
 */
static size_t narrow(struct table *t, int flags, size_t excess)
{
	while (excess > 0) {
		size_t widest = t->n;

		for (size_t i = 0; i < t->n; i++)
			if ((t->flags[i] & flags) && t->widths[i] > CUT_MIN &&
			    (widest == t->n || t->widths[i] > t->widths[widest]))
				widest = i;
		if (widest == t->n)
			break;
		t->widths[widest]--;
		excess--;
	}
	return excess;
}

/* Replaces the bytes between from and to by a mark. */
static void cut_out(char *text, size_t from, size_t to)
{
	/*
	 * The mark must not be longer than the bytes that it replaces. There is at least one,
	 * enough for "~".
	 */
	const char *mark = to - from >= strlen(ELLIPSIS) ? table_mark() : "~";

	/* The NUL follows below. NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
	memcpy(text + from, mark, strlen(mark));
	memmove(text + from + strlen(mark), text + to, strlen(text + to) + 1);
}

/* The number of bytes at the beginning of the text that fit into that width. */
static size_t bytes_within(const char *text, size_t width)
{
	size_t end = 0, used = 0;

	for (size_t len; text[end] != '\0'; end += len) {
		used += table_char_width(text + end, &len);
		if (used > width)
			break;
	}
	return end;
}

/* Shortens the text to that width, with a mark where something is missing. */
static void cut(char *text, size_t width, bool in_the_middle)
{
	size_t from, to, len;

	if (text_width(text) <= width)
		return;
	from = bytes_within(text, in_the_middle ? width / 2 : width - 1);
	to = from;
	while (text[to] != '\0' && text_width(text + to) > (in_the_middle ? (width - 1) / 2 : 0)) {
		table_char_width(text + to, &len);
		to += len;
	}
	cut_out(text, from, to);
}

/* Removes the domain that all hosts of a column share. "-" is no host. */
static void drop_domain(struct table *t, size_t column)
{
	size_t lines = scols_table_get_nlines(t->lib), width = text_width(t->names[column]);
	struct host_domain domain = {.seen = false};

	for (size_t line = 0; line < lines; line++) {
		mem_auto char *host = cell_text(t, line, column);

		if (strcmp(host, "-") != 0 && !strchr(host, ' '))
			host_domain_add(&domain, host);
	}
	for (size_t line = 0; line < lines; line++) {
		mem_auto char *host = cell_text(t, line, column);

		host[host_length(&domain, host)] = '\0';
		set_cell(t, line, column, host);
		width = text_width(host) > width ? text_width(host) : width;
	}
	t->widths[column] = width;
}

/* The number of terminal columns by which the table is too wide. */
static size_t missing(const struct table *t)
{
	size_t total = 0, shown = 0;

	for (size_t i = 0; i < t->n; i++) {
		total += t->dropped[i] ? 0 : t->widths[i];
		shown += !t->dropped[i];
	}
	total += shown - 1;
	return total > (size_t)t->output->width ? total - (size_t)t->output->width : 0;
}

/*
 * Cuts the cells so that the table fits. The library would cut all columns in the same way, a
 * version as much as a hostname.
 */
static void fit(struct table *t)
{
	static const int names = TABLE_HOST | TABLE_CUT;

	if (t->output->width == 0 || missing(t) == 0)
		return;
	for (size_t i = 0; i < t->n; i++)
		if (t->flags[i] & TABLE_HOST)
			drop_domain(t, i);
	narrow(t, TABLE_REST, missing(t));
	for (size_t i = t->n; i-- > 0;) {
		if (!(t->flags[i] & TABLE_DROP) || missing(t) == 0)
			continue;
		t->dropped[i] = true;
		scols_column_set_flags(scols_table_get_column(t->lib, i), SCOLS_FL_HIDDEN);
	}
	narrow(t, TABLE_CUT_LAST, narrow(t, names, missing(t)));
	for (size_t line = 0; line < scols_table_get_nlines(t->lib); line++) {
		for (size_t i = 0; i < t->n; i++) {
			mem_auto char *text = cell_text(t, line, i);

			if (t->flags[i] & (names | TABLE_CUT_LAST | TABLE_REST))
				cut(text, t->widths[i], !(t->flags[i] & TABLE_REST));
			set_cell(t, line, i, text);
		}
	}
}

void table_print(struct table *t)
{
	fit(t);
	scols_print_table(t->lib);
	scols_unref_table(t->lib);
	free(t);
}
