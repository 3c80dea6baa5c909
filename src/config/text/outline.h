/*
 * Scans a file in libconfuse's syntax before libconfuse reads it: its keys and sections, and the
 * line of each. Accepts a part of what libconfuse accepts, the part that the two certainly read
 * alike: no functions, nothing unquoted but plain words, strings that end on their line.
 */
#ifndef ZKLEADER_CONFIG_TEXT_OUTLINE_H
#define ZKLEADER_CONFIG_TEXT_OUTLINE_H

#include <stdbool.h>
#include <stddef.h>

#define OUTLINE_DEPTH_MAX 8   /* sections within sections */
#define OUTLINE_ERROR_MAX 200 /* bytes of the text of an error */

enum outline_kind { OUTLINE_VALUE, OUTLINE_LIST, OUTLINE_SECTION };

struct outline_item {
	enum outline_kind kind;
	int line;		     /* line of the key */
	size_t depth;		     /* 0: outside of all sections */
	size_t start, end;	     /* the whole statement, in the text */
	size_t key_len;		     /* the key is at start */
	size_t title, title_len;     /* SECTION: without its quotes */
	size_t opening, opening_len; /* SECTION: from the end of the key up to its "{" */
	bool titled;
	bool append;	 /* += */
	size_t n_values; /* VALUE: 1 */
};

struct outline {
	char *text; /* without comments; cut at an error, with all sections closed */
	size_t len;
	struct outline_item *items; /* a section comes before what is in it */
	size_t n;
	size_t cap;
	int error_line; /* 0: there is none */
	char error[OUTLINE_ERROR_MAX];
};

/* Takes any text. Never fails: if the text cannot be read, error says why. */
void outline_init(struct outline *o, const char *text, size_t len);
void outline_done(struct outline *o);
/*
 * The name of the first ${NAME} in the item's values that is not in the environment and has no
 * default; on the heap, NULL: there is none.
 */
char *outline_unset_variable(const struct outline *o, const struct outline_item *item);

#endif
