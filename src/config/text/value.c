#include "config/text/value.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/duration.h"

#define CHOICES_TEXT_MAX 400
#define RESERVED	 "ZKLEADER_"
#define NO_VARIABLE	 "the environment has no %s: set it, or write ${%s:-DEFAULT}"

/* A setting that is being checked. */
struct checking {
	const char *file;
	const struct setting_key *key;
	struct setting *setting;
	struct problems *problems;
};

static void problem(const struct checking *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void problem(const struct checking *c, const char *format, ...)
{
	char text[PROBLEM_TEXT_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	problems_add(c->problems, c->file, c->setting->line, "%s: %s", c->key->name, text);
}

static void outside(const struct checking *c, const char *beyond, int64_t bound)
{
	char text[DURATION_TEXT_SIZE];

	if (c->key->type == SETTING_DURATION)
		duration_format(bound, text);
	else
		snprintf(text, sizeof(text), "%lld", (long long)bound);
	problem(c, "\"%.100s\" is %s %s", c->setting->values[0], beyond, text);
}

static bool check_range(const struct checking *c)
{
	if (c->setting->number < c->key->min)
		outside(c, "below", c->key->min);
	else if (c->setting->number > c->key->max)
		outside(c, "above", c->key->max);
	else
		return true;
	return false;
}

static bool check_duration(const struct checking *c)
{
	int r = duration_parse(c->setting->values[0], &c->setting->number);

	if (r == -ERANGE) {
		outside(c, "above", c->key->max);
		return false;
	}
	if (r < 0) {
		problem(c,
			"\"%.100s\" is not a duration such as \"500ms\", \"10s\", \"5m\", \"2h\" "
			"or \"1d\"",
			c->setting->values[0]);
		return false;
	}
	return check_range(c);
}

static bool check_integer(const struct checking *c)
{
	const char *text = c->setting->values[0];
	char *end;
	size_t digits = strspn(text, "0123456789");

	if (digits == 0 || text[digits] || digits > 18) {
		problem(c, "\"%.100s\" is not a number from %lld to %lld", text,
			(long long)c->key->min, (long long)c->key->max);
		return false;
	}
	c->setting->number = strtoll(text, &end, 10);
	return check_range(c);
}

static bool check_choice(const struct checking *c)
{
	char choices[CHOICES_TEXT_MAX] = "";
	size_t used = 0;

	for (size_t i = 0; c->key->choices[i]; i++) {
		if (strcmp(c->key->choices[i], c->setting->values[0]) == 0) {
			c->setting->number = (int64_t)i;
			return true;
		}
	}
	for (size_t i = 0; c->key->choices[i] && used < sizeof(choices); i++)
		used += (size_t)snprintf(choices + used, sizeof(choices) - used, "%s\"%s\"",
					 i ? ", " : "", c->key->choices[i]);
	problem(c, "\"%.100s\" is not one of %s", c->setting->values[0], choices);
	return false;
}

/* Whether a value is printable and not empty; adds a problem if it is not. */
static bool check_text(const struct checking *c, const char *value)
{
	if (value[0] == '\0' && c->setting->unset)
		problem(c, "is empty: " NO_VARIABLE, c->setting->unset, c->setting->unset);
	else if (value[0] == '\0')
		problem(c, "is empty: give it a value or leave the key out");
	else if (!text_is_printable(value))
		problem(c, "\"%.100s\" has a control character in it, or is not UTF-8", value);
	else
		return true;
	return false;
}

/* The length of the name of a variable at the beginning; 0: there is none. */
static size_t variable_len(const char *pair)
{
	size_t len = strspn(pair, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_");

	return pair[0] >= '0' && pair[0] <= '9' ? 0 : len;
}

static bool is_repeated(const struct setting *setting, size_t i, size_t len)
{
	for (size_t j = 0; j < i; j++)
		if (strncmp(setting->values[j], setting->values[i], len + 1) == 0)
			return true;
	return false;
}

static bool check_pairs(const struct checking *c)
{
	const struct setting *setting = c->setting;
	size_t bytes = 0, before = c->problems->total;

	for (size_t i = 0; i < setting->n; i++) {
		const char *pair = setting->values[i];
		size_t len = variable_len(pair);

		bytes += strlen(pair) + 1;
		if (len == 0 || pair[len] != '=')
			problem(c,
				"\"%.100s\" is not NAME=VALUE with a NAME of letters, digits and "
				"\"_\" that begins with no digit",
				pair);
		else if (strncmp(pair, RESERVED, strlen(RESERVED)) == 0)
			problem(c,
				"\"%.100s\": the names that begin with " RESERVED
				" are set for each run: give it another",
				pair);
		else if (is_repeated(setting, i, len))
			problem(c, "%.*s is there twice: keep one of them",
				(int)(len < 100 ? len : 100), pair);
	}
	if (setting->n > SETTINGS_PAIRS_MAX || bytes > SETTINGS_PAIRS_BYTES)
		problem(c, "has %zu variables in %zu bytes, more than %d or %d: leave some out",
			setting->n, bytes, SETTINGS_PAIRS_MAX, SETTINGS_PAIRS_BYTES);
	return c->problems->total == before;
}

bool value_check(const char *file, const struct setting_key *key, struct setting *setting,
		 struct problems *problems)
{
	const struct checking c = {file, key, setting, problems};
	char *tab;

	while (key->type == SETTING_FIELDS && setting->n > 0 &&
	       (tab = strchr(setting->values[0], '\t')))
		*tab = ' ';
	for (size_t i = 0; i < setting->n; i++) {
		if (!check_text(&c, setting->values[i]))
			return false;
	}
	if (setting->unset)
		problems_warn(problems, file, setting->line, "%s: " NO_VARIABLE, key->name,
			      setting->unset, setting->unset);
	switch (key->type) {
	case SETTING_DURATION: return check_duration(&c);
	case SETTING_INTEGER: return check_integer(&c);
	case SETTING_CHOICE: return check_choice(&c);
	case SETTING_PAIRS: return check_pairs(&c);
	case SETTING_TEXT:
	case SETTING_FIELDS:
	case SETTING_LIST:
	case SETTING_ARRAY: break;
	}
	return true;
}
