#include "client/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <libsmartcols/libsmartcols.h>

#include "base/mem.h"
#include "client/printable.h"

struct table {
	const struct output *output;
	struct libscols_table *lib;
	struct libscols_line *last;
	size_t n;
};

static int library_flags(int flags)
{
	int all = 0;

	if (flags & TABLE_RIGHT)
		all |= SCOLS_FL_RIGHT;
	if (flags & TABLE_CUT)
		all |= SCOLS_FL_TRUNC;
	if (flags & TABLE_WRAP)
		all |= SCOLS_FL_WRAP;
	return all;
}

/* The library fails for lack of memory only. */
static void *there(void *p)
{
	if (!p)
		abort();
	return p;
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
	/* Said rather than found out: it must agree with the rest of the output. */
	scols_table_set_termforce(t->lib,
				  o->width > 0 ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
	if (o->width > 0)
		scols_table_set_termwidth(t->lib, (size_t)o->width);
	for (size_t i = 0; i < n; i++)
		there(scols_table_new_column(t->lib, columns[i].name, 0,
					     library_flags(columns[i].flags)));
	return t;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	scols_unref_table(t->lib);
	free(t);
}

void table_row(struct table *t, const char *const *cells, enum color color)
{
	t->last = there(scols_table_new_line(t->lib, NULL));
	for (size_t i = 0; i < t->n; i++) {
		const char *cell = cells[i] ? cells[i] : "-";
		mem_auto char *text = printable_dup(cell, strlen(cell));

		scols_line_set_data(t->last, i, text);
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

void table_print(struct table *t)
{
	scols_print_table(t->lib);
}
