/*
 * How zkleader prints: text for people or JSON, with colours on a terminal only. All text passes
 * through printable(), so nothing from outside reaches the terminal raw.
 */
#ifndef ZKLEADER_API_OUTPUT_H
#define ZKLEADER_API_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#define OUTPUT_AGE_SIZE 48

enum color {
	COLOR_NONE,
	COLOR_BOLD,
	COLOR_DIM,
	COLOR_GREEN,
	COLOR_YELLOW,
	COLOR_RED,
};

struct output {
	FILE *out;
	FILE *err;
	bool json;
	bool color;
	int width;	/* columns of the terminal; 0: no terminal, and nothing is cut */
	int height;	/* rows of a terminal with a cursor; 0: no such terminal */
	int64_t now_ms; /* wall clock, for ages */
};

/* Output to these streams, as the terminal, $NO_COLOR, $TERM and $COLUMNS say. */
void output_init(struct output *o, FILE *out, FILE *err);
/* Updates width and height after SIGWINCH. */
void output_resize(struct output *o);
/* Prints one line. */
void output_line(const struct output *o, enum color color, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Prints one line on the error stream, after "zkleader: ". */
void output_error(const struct output *o, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Prints JSON as the sidecar sent it, indented by 2, or on one line. In ASCII, safe for any
 * terminal.
 */
void output_json(const struct output *o, const json_t *json);
void output_json_line(const struct output *o, const json_t *json);
/*
 * Prints FILE:LINE: text for each problem, with `before` in front of the text. Returns how many
 * there are.
 */
size_t output_problems(FILE *file, const char *before, const json_t *problems);
/* Flushes `out`: 0, or -EIO if something could not be written. */
int output_flush(const struct output *o);
/* Whether the reader of the output, such as head(1), has closed it: then no error is reported. */
bool output_is_closed(const struct output *o);
/* The escape sequence, "" without colours. */
const char *output_color(const struct output *o, enum color color);

/* A time span in at most two units, like age_text(). */
void elapsed_text(int64_t ms, char text[OUTPUT_AGE_SIZE]);
/* Likewise for short spans: "41 ms", "3.2 s", "25 s", "2m5s". */
void duration_text(int64_t ms, char text[OUTPUT_AGE_SIZE]);
/*
 * The time since then in at most two units: "3d4h", "12m5s", "0s" for the future, "-" for no
 * time.
 */
void age_text(const char *since, int64_t now_ms, char text[OUTPUT_AGE_SIZE]);
/* The time until then, likewise; "now" if it is not in the future. */
void until_text(const char *at, int64_t now_ms, char text[OUTPUT_AGE_SIZE]);

#endif
