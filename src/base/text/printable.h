/* Text from outside made fit for a terminal: one line, no control characters, valid UTF-8. */
#ifndef ZKLEADER_BASE_TEXT_PRINTABLE_H
#define ZKLEADER_BASE_TEXT_PRINTABLE_H

#include <stddef.h>

/*
 * Copies len bytes as far as they fit (size at least 4) and terminates; returns the length. Control
 * characters, including C1 and those that change the direction of text, and invalid UTF-8 are
 * written as \n, \t or \xNN. A text that does not fit is cut at a whole character and ends with
 * "...".
 */
size_t printable(char *out, size_t size, const char *text, size_t len);
/* The same without a limit, on the heap. */
char *printable_dup(const char *text, size_t len);

#endif
