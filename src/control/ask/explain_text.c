#include "control/ask/explain_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void explain_say(char text[EXPLAIN_TEXT_MAX], const char *format, ...)
{
	size_t len = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + len, EXPLAIN_TEXT_MAX - len, format, args);
	va_end(args);
}

void explain_entry(char text[EXPLAIN_TEXT_MAX], size_t index, const char *begin, const char *entry)
{
	if (index < EXPLAIN_LIST_MAX)
		explain_say(text, "%s%s", index > 0 ? ", " : begin, entry);
}

void explain_list_end(char text[EXPLAIN_TEXT_MAX], size_t n)
{
	if (n > EXPLAIN_LIST_MAX)
		explain_say(text, " and %zu more", n - EXPLAIN_LIST_MAX);
}
