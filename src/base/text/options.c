#include "base/text/options.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/duration.h"
#include "base/text/printable.h"

#define ID_LETTER_MAX 255
#define NAME_SHOWN    60
#define LEFT_SIZE     60
#define PROGRAM_WIDTH 23 /* columns of an option and its value, in the help of a program */

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

void options_print(FILE *out, const struct option_spec *specs, size_t width)
{
	for (const struct option_spec *s = specs; s && s->id != 0; s++) {
		bool letter = s->id <= ID_LETTER_MAX;
		char left[LEFT_SIZE];
		const char *line = s->help, *end;

		snprintf(left, sizeof(left), "%c%c%c --%s%s%s", letter ? '-' : ' ',
			 letter ? s->id : ' ', letter ? ',' : ' ', s->name,
			 s->value && s->value[0] != '[' ? " " : "", s->value ? s->value : "");
		if (strlen(left) > width) {
			fprintf(out, "  %s\n", left);
			left[0] = '\0';
		}
		for (; (end = strchr(line, '\n')); line = end + 1, left[0] = '\0')
			fprintf(out, "  %-*s %.*s\n", (int)width, left, (int)(end - line), line);
		fprintf(out, "  %-*s %s\n", (int)width, left, line);
	}
}

void options_help(FILE *out, const struct option_program *p)
{
	fprintf(out, "usage: %s %s\n%s\n", p->name, p->usage, p->about);
	options_print(out, p->specs, PROGRAM_WIDTH);
	fprintf(out, "\n%s", p->rest);
}

int options_program(struct options *o, const struct option_program *p, const char **ret_value,
		    int *ret_code)
{
	int id = options_next(o, ret_value);
	char shown[NAME_SHOWN];

	*ret_code = -1;
	switch (id) {
	case 'h': options_help(stdout, p); break;
	case 'V': printf("%s " ZKLEADER_VERSION "\n", p->name); break;
	case OPTION_OPERAND:
		assert(*ret_value); /* an operand has its text */
		printable(shown, sizeof(shown), *ret_value, strlen(*ret_value));
		snprintf(o->why, sizeof(o->why), "argument \"%s\": there are none", shown);
		/* fall through */
	case OPTION_BAD:
		fprintf(stderr, "%s: %s: %s -h lists the options\n", p->name, o->why, p->name);
		*ret_code = p->misuse;
		return OPTION_END;
	default: return id;
	}
	*ret_code = fflush(stdout) == 0 ? 0 : 1;
	if (*ret_code != 0)
		fprintf(stderr, "%s: the output could not be written\n", p->name);
	return OPTION_END;
}

int64_t options_number(const char *text, int64_t most)
{
	size_t digits = strspn(text, "0123456789");
	char longest[24];
	int room = snprintf(longest, sizeof(longest), "%" PRId64, most);

	if (digits == 0 || digits > (size_t)room || text[digits] != '\0')
		return -1;
	return strtoll(text, NULL, 10) <= most ? strtoll(text, NULL, 10) : -1;
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
