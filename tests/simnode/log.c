/* What nodes log goes to the trace, if there is one. */
#include <stdio.h>

#include "base/log.h"
#include "sim.h"

bool log_enabled(enum log_level level)
{
	return sim.tracing && level != LOG_DEBUG;
}

void log_write(enum log_level level, const char *message, const struct log_field *fields)
{
	char line[512];
	size_t n = 0;

	(void)level;
	line[0] = '\0';
	for (const struct log_field *f = fields; f->key && n < sizeof(line); f++) {
		if (f->type == LOG_TYPE_STRING && !f->string)
			continue;
		n += (size_t)(f->type == LOG_TYPE_STRING
				      ? snprintf(line + n, sizeof(line) - n, " %s=%s", f->key,
						 f->string)
				      : snprintf(line + n, sizeof(line) - n, " %s=%lld", f->key,
						 (long long)f->integer));
	}
	TRACE("    %s%s", message, line);
}
