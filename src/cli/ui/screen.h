/*
 * The terminal of `--watch`: a page in the alternate screen, whose table scrolls below its fixed
 * header lines, and the keys that move it.
 */
#ifndef ZKLEADER_CLI_UI_SCREEN_H
#define ZKLEADER_CLI_UI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "api/output.h"

#define SCREEN_FILTER_MAX 64

struct screen {
	const struct output *output; /* its size is read at each drawing */
	int keys;		     /* a terminal to read from, -1 */
	struct termios before;	     /* its settings from before */
	bool taken;		     /* the terminal is in our mode */
	size_t top;	      /* the first line of the table that is shown, without its head */
	size_t n_lines, room; /* of the table at the last drawing: all, and those visible */
	char filter[SCREEN_FILTER_MAX]; /* "": all rows */
	bool typing;			/* keys go into the filter */
	char *last;			/* the last page drawn, for screen_end() */
};

/* The texts of a page: lines, each with its newline. */
struct screen_page {
	const char *above, *table, *below;
	const char *note; /* an additional line; NULL */
	size_t n_all;	  /* rows without the filter */
};

enum screen_key { SCREEN_SAME, SCREEN_MOVED, SCREEN_FILTERED, SCREEN_QUIT };

/* Needs an output whose height is known. The terminal is taken over with the first page. */
void screen_init(struct screen *s, const struct output *o);
/* Restores the terminal, with the last page on it. The next page takes it over again. */
void screen_end(struct screen *s);
/* Draws nothing while this process is in the background. */
void screen_draw(struct screen *s, const struct screen_page *page);
/* Reads keys once `keys` is readable, and returns what has to be done. */
enum screen_key screen_read(struct screen *s);

#endif
