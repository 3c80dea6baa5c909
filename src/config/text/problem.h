/* Problems and warnings of configuration files: bounded lists of FILE:LINE: text. */
#ifndef ZKLEADER_CONFIG_TEXT_PROBLEM_H
#define ZKLEADER_CONFIG_TEXT_PROBLEM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#define PROBLEMS_MAX	   100 /* the last place of a full list says that there are more */
#define WARNINGS_MAX	   50  /* more are left out */
#define PROBLEM_WHOLE_FILE 0   /* in place of a line, for a file that cannot be read */
#define PROBLEM_TEXT_MAX   600 /* bytes of a message; a longer one is cut and ends with "..." */

struct problem {
	char *file;    /* as people know it, printable; or the task or node that it is about */
	int line;      /* from 1 on, or PROBLEM_WHOLE_FILE */
	char *message; /* one printable line of UTF-8 that names the remedy */
};

struct problems {
	struct problem list[PROBLEMS_MAX];
	size_t n;
	size_t total; /* how many were added, shown or not */
	struct problem warnings[WARNINGS_MAX];
	size_t n_warnings;
};

void problems_init(struct problems *p);
void problems_done(struct problems *p);
/*
 * The text may quote anything: control characters and bytes that are no UTF-8 become \xNN. The same
 * text about the same line is listed once.
 */
void problems_add(struct problems *p, const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void problems_vadd(struct problems *p, const char *file, int line, const char *format, va_list ap)
	__attribute__((format(printf, 4, 0)));
/* Adds a warning likewise, for what is odd but accepted. */
void problems_warn(struct problems *p, const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Appends copies of the other's problems and warnings. */
void problems_append(struct problems *p, const struct problems *other);
/* Sorts the problems from index `first` on by line; those of one line keep their order. */
void problems_sort(struct problems *p, size_t first);
/* Whether the text is UTF-8 without control characters. */
bool text_is_printable(const char *text);

#endif
