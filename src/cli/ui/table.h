/* Aligned tables, on libsmartcols. */
#ifndef ZKLEADER_CLI_UI_TABLE_H
#define ZKLEADER_CLI_UI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/output.h"

#define TABLE_COLUMNS_MAX 12

enum {
	TABLE_RIGHT = 1, /* numbers */
	/* If the terminal is too narrow, in this order until the table fits: */
	TABLE_HOST = 2,	     /* the common domain is dropped; later it is cut as TABLE_CUT */
	TABLE_REST = 4,	     /* a text that loses its end */
	TABLE_DROP = 8,	     /* the whole column is dropped, the last one first */
	TABLE_CUT = 16,	     /* a name that loses its middle */
	TABLE_CUT_LAST = 32, /* likewise, only if that is not enough */
};

struct table_column {
	const char *name;
	int flags;
};

struct table;

struct table *table_new(const struct output *o, const struct table_column *columns, size_t n);
/* n cells, copied; NULL is shown as "-" and "" as nothing. */
void table_row(struct table *t, const char *const *cells, enum color color);
/* Sets another colour for one cell of the last row. */
void table_color(struct table *t, size_t column, enum color color);
/* Prints the table, and frees it. */
void table_print(struct table *t);
/*
 * The width of the first character in columns of the terminal, and its length in bytes. A character
 * that the locale cannot decode or has no width for counts as many columns as bytes.
 */
size_t table_char_width(const char *text, size_t *ret_len);
/* The mark, of one column, for that which was cut out. */
const char *table_mark(void);

#endif
