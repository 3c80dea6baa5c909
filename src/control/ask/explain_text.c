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
