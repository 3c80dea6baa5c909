/* Sentences for people, put together piece by piece. */
#ifndef ZKLEADER_CONTROL_ASK_EXPLAIN_TEXT_H
#define ZKLEADER_CONTROL_ASK_EXPLAIN_TEXT_H

#define EXPLAIN_TEXT_MAX 1200

/* Appends to the text; the rest is cut off. */
void explain_say(char text[EXPLAIN_TEXT_MAX], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
