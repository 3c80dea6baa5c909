/*
 * The outline of a file in libconfuse's syntax: its keys and sections, the line of each, and its
 * values as they are written, which libconfuse reads. Accepts a part of what libconfuse accepts:
 * no functions, nothing unquoted but plain words, strings that end on their line.
 */
#ifndef ZKLEADER_CONFIG_TEXT_OUTLINE_H
#define ZKLEADER_CONFIG_TEXT_OUTLINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

#define OUTLINE_DEPTH_MAX 8   /* sections within sections */
#define OUTLINE_ERROR_MAX 200 /* bytes of the text of an error */
#define OUTLINE_VALUES	  "values"

enum outline_kind { OUTLINE_VALUE, OUTLINE_LIST, OUTLINE_SECTION };

struct outline_item {
	enum outline_kind kind;
	int line;		 /* line of the key */
	size_t depth;		 /* 0: outside of all sections */
	size_t start, end;	 /* the whole statement, in the text */
	size_t key_len;		 /* the key is at start */
	size_t title, title_len; /* SECTION: without its quotes */
	bool titled;
	bool append;	    /* += */
	size_t first_value; /* its values among those of the file */
	size_t n_values;    /* VALUE: 1 */
	size_t unset,
		unset_len; /* the first ${NAME} without a value or default; 0: there is none */
};

struct outline {
	const char *text;
	size_t len;
	struct outline_item *items; /* a section comes before what is in it */
	size_t n;
	size_t cap;
	struct buffer
		values; /* OUTLINE_VALUES={...}: a text that libconfuse can read as one list */
	size_t n_values;
	int error_line; /* 0: there is none */
	char error[OUTLINE_ERROR_MAX];
};

/*
 * Takes any text; text[len] is a NUL, and the outline borrows it. Never fails: if the text cannot
 * be read, error says why, and the items are those before the statement that is wrong.
 */
void outline_init(struct outline *o, const char *text, size_t len);
void outline_done(struct outline *o);

#endif
