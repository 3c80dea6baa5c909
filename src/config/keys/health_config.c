#include "config/keys/health_config.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/text/textfile.h"
#include "config/text/words.h"

void health_config_check(const struct settings *s, const struct section *section,
			 struct problems *problems)
{
	const char *command = settings_text(s, section, "health-command");
	const char *file = settings_text(s, section, "health-file");

	if (command && (command[0] == '\0' || strlen(command) > HEALTH_COMMAND_MAX))
		problems_add(problems, s->file, settings_get(s, section, "health-command")->line,
			     "health-command: is %s",
			     command[0] ? "over 4096 bytes long" : "empty");
	if (file && file[0] == '\0')
		problems_add(problems, s->file, settings_get(s, section, "health-file")->line,
			     "health-file: is empty");
}

static const char *text_or_null(const char *text)
{
	return text && text[0] ? text : NULL;
}

void health_config_take(struct health_config *h, const struct settings *s,
			const struct section *section, const char *path)
{
	const char *command = text_or_null(settings_text(s, section, "health-command"));
	const char *file = text_or_null(settings_text(s, section, "health-file"));

	h->command = command ? mem_strdup(command) : NULL;
	h->file = file ? textfile_beside(path, file) : NULL;
	h->interval_ms = settings_get(s, section, "health-interval")->number;
	h->timeout_ms = settings_get(s, section, "health-timeout")->number;
	h->fall = (int)settings_get(s, section, "health-fall")->number;
	h->rise = (int)settings_get(s, section, "health-rise")->number;
}

void health_config_copy(struct health_config *to, const struct health_config *from)
{
	*to = *from;
	to->command = from->command ? mem_strdup(from->command) : NULL;
	to->file = from->file ? mem_strdup(from->file) : NULL;
}

bool health_config_equal(const struct health_config *a, const struct health_config *b)
{
	return word_same(a->command, b->command) && word_same(a->file, b->file) &&
	       a->interval_ms == b->interval_ms && a->timeout_ms == b->timeout_ms &&
	       a->fall == b->fall && a->rise == b->rise;
}

void health_config_done(struct health_config *h)
{
	free(h->command);
	free(h->file);
	h->command = h->file = NULL;
}
