/* Texts of marks: each is a digest of a key's name and one of its value. */
#ifndef ZKLEADER_BASE_TEXT_MARKS_H
#define ZKLEADER_BASE_TEXT_MARKS_H

#include <stdbool.h>
#include <stddef.h>

#define MARK_NAME  3 /* characters for the name, 18 bits */
#define MARK_VALUE 3 /* likewise for the value */
#define MARK_LEN   (MARK_NAME + MARK_VALUE)
#define MARKS_MAX  (64 * MARK_LEN) /* characters of a text of marks */

/* Whether the text is one of marks: whole ones, of letters, digits, "-" and "_". */
bool marks_is(const char *text, size_t len);

#endif
