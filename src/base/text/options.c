#include "base/text/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text/duration.h"
#include "base/text/printable.h"

#define ID_LETTER_MAX 255
#define NAME_SHOWN    60

void options_init(struct options *o, const char *const *argv, const struct option_spec *specs,
		  const struct option_spec *more)
{
	*o = (struct options){.specs = {specs, more}, .argv = argv};
}

static const struct option_spec *find(const struct options *o, int id, const char *name, size_t len)
{
	/*
	 * A command's own options come before those of every command, so it may have its own
	 * --version.
	 */
	for (size_t i = sizeof(o->specs) / sizeof(o->specs[0]); i-- > 0;) {
		for (const struct option_spec *s = o->specs[i]; s && s->id != 0; s++) {
			if (!name && s->id == id && id <= ID_LETTER_MAX)
				return s;
			if (name && s->name && strlen(s->name) == len &&
			    strncmp(s->name, name, len) == 0)
				return s;
		}
	}
	return NULL;
}

static int take_long(struct options *o, const char *name, const char **ret_value)
{
	size_t len = strcspn(name, "=");
	const struct option_spec *s = find(o, 0, name, len);

	if (!s) {
		snprintf(o->why, sizeof(o->why), "unknown option --%.*s",
			 (int)(len < NAME_SHOWN ? len : NAME_SHOWN), name);
		return OPTION_BAD;
	}
	if (!s->value && name[len] == '=') {
		snprintf(o->why, sizeof(o->why), "option --%s takes no value", s->name);
		return OPTION_BAD;
	}
	if (s->value && name[len] == '=') {
		*ret_value = name + len + 1;
	} else if (s->value && s->value[0] != '[') {
		if (!*o->argv) {
			snprintf(o->why, sizeof(o->why), "option --%s needs a value", s->name);
			return OPTION_BAD;
		}
		*ret_value = *o->argv++;
	}
	return s->id;
}

static int take_letter(struct options *o, const char **ret_value)
{
	char letter = *o->cluster++;
	const struct option_spec *s = find(o, (unsigned char)letter, NULL, 0);
	const char *rest = o->cluster;

	if (!s) {
		snprintf(o->why, sizeof(o->why), "unknown option -%c", letter);
		return OPTION_BAD;
	}
	if (!s->value)
		return s->id;
	o->cluster = NULL;
	if (rest[0] == '\0' && !*o->argv) {
		snprintf(o->why, sizeof(o->why), "option -%c needs a value", letter);
		return OPTION_BAD;
	}
	*ret_value = rest[0] != '\0' ? rest : *o->argv++;
	return s->id;
}

int options_next(struct options *o, const char **ret_value)
{
	const char *arg;

	*ret_value = NULL;
	if (o->cluster && *o->cluster != '\0')
		return take_letter(o, ret_value);
	o->cluster = NULL;
	arg = *o->argv;
	if (!arg)
		return OPTION_END;
	o->argv++;
	if (!o->only_operands && strcmp(arg, "--") == 0) {
		o->only_operands = true;
		return options_next(o, ret_value);
	}
	/* A lone "-" is an operand, as is usual. */
	if (o->only_operands || arg[0] != '-' || arg[1] == '\0') {
		*ret_value = arg;
		return OPTION_OPERAND;
	}
	if (arg[1] == '-')
		return take_long(o, arg + 2, ret_value);
	o->cluster = arg + 1;
	return take_letter(o, ret_value);
}

int options_duration(const char *name, const char *text, int64_t max_ms, int64_t *ret_ms,
		     char why[OPTIONS_WHY_SIZE])
{
	char shown[40], most[DURATION_TEXT_SIZE];
	int64_t ms = 0;
	int e = duration_parse(text, &ms);

	printable(shown, sizeof(shown), text, strlen(text));
	if (e == -ERANGE || (e == 0 && ms > max_ms)) {
		duration_format(max_ms, most);
		snprintf(why, OPTIONS_WHY_SIZE, "%s %s is longer than %s", name, shown, most);
		return -EINVAL;
	}
	if (e < 0) {
		snprintf(why, OPTIONS_WHY_SIZE, "%s \"%s\" is no duration such as 500ms, 10s or 5m",
			 name, shown);
		return e;
	}
	*ret_ms = ms;
	return 0;
}
