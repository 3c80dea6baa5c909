#include "config/keys/key_marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text/duration.h"

static void put(char *to, uint64_t digest)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

	for (size_t i = 0; i < MARK_NAME; i++, digest >>= 6)
		to[i] = digits[digest & 63];
}

static uint64_t name_digest(const char *name)
{
	return hash_bytes(name, strlen(name), 0);
}

/* The number of a key's default; the value that a file has is read by settings.c. */
static int64_t preset_number(const struct setting_key *key)
{
	int64_t number = 0;

	if (key->type == SETTING_DURATION)
		duration_parse(key->preset, &number);
	else if (key->type == SETTING_INTEGER)
		number = strtoll(key->preset, NULL, 10);
	for (size_t i = 0; key->type == SETTING_CHOICE && key->choices[i]; i++)
		if (strcmp(key->choices[i], key->preset) == 0)
			number = (int64_t)i;
	return number;
}

static bool is_number(const struct setting_key *key)
{
	return key->type == SETTING_DURATION || key->type == SETTING_INTEGER ||
	       key->type == SETTING_CHOICE;
}

static bool is_preset(const struct setting_key *key, const struct setting *setting)
{
	if (setting->n == 0)
		return true;
	if (!key->preset)
		return false;
	return is_number(key) ? setting->number == preset_number(key)
			      : setting->n == 1 && strcmp(setting->values[0], key->preset) == 0;
}

/* Equal for values that mean the same, such as "60s" and "1m". */
static uint64_t value_digest(const struct setting_key *key, const struct setting *setting)
{
	uint64_t digest = name_digest(key->name);

	if (is_number(key))
		return hash_bytes(&setting->number, sizeof(setting->number), digest);
	for (size_t i = 0; i < setting->n; i++)
		digest = hash_bytes(setting->values[i], strlen(setting->values[i]) + 1, digest);
	return digest;
}

char *key_marks(const struct settings *s, const struct section *section)
{
	const struct settings_form *form = section->form;
	char *text = mem_calloc(form->n_keys * MARK_LEN + 1, 1), *at = text;

	for (size_t i = 0; i < form->n_keys; i++) {
		const struct setting *setting = settings_get(s, section, form->keys[i].name);

		if (is_preset(&form->keys[i], setting))
			continue;
		put(at, name_digest(form->keys[i].name));
		put(at + MARK_NAME, value_digest(&form->keys[i], setting));
		at += MARK_LEN;
	}
	return text;
}

bool key_marks_have(const char *marks, const char *key)
{
	char own[MARK_NAME];

	put(own, name_digest(key));
	for (; *marks; marks += MARK_LEN)
		if (memcmp(marks, own, MARK_NAME) == 0)
			return true;
	return false;
}

const char *key_marks_name(const struct settings_form *form, const char mark[MARK_NAME])
{
	char own[MARK_NAME];

	for (; form; form = form->next) {
		for (size_t i = 0; i < form->n_keys; i++) {
			put(own, name_digest(form->keys[i].name));
			if (memcmp(own, mark, MARK_NAME) == 0)
				return form->keys[i].name;
		}
	}
	return NULL;
}
