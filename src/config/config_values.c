#include "config/config_values.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "config/text/textfile.h"

void config_problem(const struct config_values *v, const char *key, const char *format, ...)
{
	const struct setting *setting = settings_get(v->settings, v->settings->sections, key);
	char text[PROBLEM_TEXT_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	/*
	 * A key that is not in the file has no line: a problem with it is reported for the first.
	 */
	problems_add(v->problems, v->c->file, setting->line ? setting->line : 1, "%s: %s", key,
		     text);
}

const char *config_text(const struct config_values *v, const char *key)
{
	return settings_text(v->settings, v->settings->sections, key);
}

int64_t config_number(const struct config_values *v, const char *key)
{
	return settings_get(v->settings, v->settings->sections, key)->number;
}

char *config_copy(const struct config_values *v, const char *key)
{
	const char *text = config_text(v, key);

	return text ? mem_strdup(text) : NULL;
}

char *config_path(const struct config_values *v, const char *key)
{
	const char *text = config_text(v, key);

	return text ? textfile_beside(v->c->file, text) : NULL;
}
