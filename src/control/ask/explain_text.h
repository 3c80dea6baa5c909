/* Sentences for people, put together piece by piece. */
#ifndef ZKLEADER_CONTROL_ASK_EXPLAIN_TEXT_H
#define ZKLEADER_CONTROL_ASK_EXPLAIN_TEXT_H

#include <stddef.h>

#define EXPLAIN_TEXT_MAX 1200
#define EXPLAIN_LIST_MAX 5 /* entries of a list that are shown */

/* Appends to the text; the rest is cut off. */
void explain_say(char text[EXPLAIN_TEXT_MAX], const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Appends the entry with that index to a list, and `begin` before the first one. Those from
 * EXPLAIN_LIST_MAX on are left out: the end of the list, with their number, says so.
 */
void explain_entry(char text[EXPLAIN_TEXT_MAX], size_t index, const char *begin, const char *entry);
void explain_list_end(char text[EXPLAIN_TEXT_MAX], size_t n);

#endif
