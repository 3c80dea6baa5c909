#include "config/text/section.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/text/value.h"
#include "config/text/words.h"

size_t section_key(const struct settings_form *form, const char *name, size_t len)
{
	for (size_t i = 0; i < form->n_keys; i++) {
		const char *key = form->keys[i].name;

		if (key[0] == name[0] && strlen(key) == len && memcmp(key, name, len) == 0)
			return i;
	}
	return SECTION_NO_KEY;
}

const struct settings_form *section_form_with(const struct settings_form *form, const char *name,
					      size_t len)
{
	while (form && (form->is_defaults || section_key(form, name, len) == SECTION_NO_KEY))
		form = form->next;
	return form;
}

void section_drop_values(struct setting *setting)
{
	words_free(setting->values, setting->n);
	setting->values = NULL;
	setting->n = 0;
}

/* Returns whether the values are good; bad ones are dropped, after a problem. */
static bool check(const struct settings *s, const struct setting_key *key, struct setting *setting,
		  struct problems *problems)
{
	if (setting->n == 0 || value_check(s->file, key, setting, problems))
		return true;
	section_drop_values(setting);
	return false;
}

/* --- the section defaults --------------------------------------------------- */

/* Whether one of the pairs has the name of this one. */
static bool has_name(const struct setting *setting, const char *pair)
{
	size_t len = strcspn(pair, "=");

	for (size_t i = 0; i < setting->n; i++)
		if (strncmp(setting->values[i], pair, len) == 0 &&
		    strcspn(setting->values[i], "=") == len)
			return true;
	return false;
}

/* Adds the default's pairs behind the section's own, but those of names that it sets itself. */
static void add_pairs(struct setting *own, const struct setting *preset)
{
	struct setting all = *own;

	all.values = mem_calloc(own->n + preset->n + 1, sizeof(*all.values));
	memcpy(all.values, own->values, own->n * sizeof(*all.values));
	for (size_t i = 0; i < preset->n; i++)
		if (!has_name(own, preset->values[i]))
			all.values[all.n++] = mem_strdup(preset->values[i]);
	free(own->values);
	*own = all;
}

/* Gives the default to all sections of that form that take it. */
static void give(struct settings *s, const struct settings_form *form, size_t index,
		 const struct setting *preset)
{
	const struct setting_key *key = &form->keys[index];

	for (size_t i = 0; i < s->n; i++) {
		struct section *section = &s->sections[i];
		struct setting *own = &section->settings[index];

		if (section->form != form || (form->takes && !form->takes(s, section, key->name)))
			continue;
		if (own->line == 0)
			*own = (struct setting){.line = preset->line,
						.inherited = true,
						.number = preset->number,
						.values = words_copy(preset->values, preset->n),
						.n = preset->n};
		else if (key->type == SETTING_PAIRS && own->n > 0)
			add_pairs(own, preset);
	}
}

static bool is_used(const struct settings *s, const struct settings_form *form)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->sections[i].form == form)
			return true;
	return false;
}

/*
 * Checks a default by the bounds of each kind of sections in the file, but reports it once, and
 * gives it to them. Where there are none, the bounds are those of any kind.
 */
static void apply(struct settings *s, const struct settings_form *of, const struct setting_key *key,
		  struct setting *preset, struct problems *problems)
{
	bool checked = false, good = true;

	for (const struct settings_form *form = s->form; form; form = form->next) {
		size_t index = section_key(form, key->name, strlen(key->name));

		if (form == of || index == SECTION_NO_KEY || !is_used(s, form))
			continue;
		good = good && check(s, &form->keys[index], preset, problems);
		checked = true;
		free(preset->unset);
		preset->unset = NULL;
		give(s, form, index, preset);
	}
	if (!checked)
		check(s, key, preset, problems);
}

/* --- all of them ------------------------------------------------------------ */

/* Gives a key that is not in the file its built-in default. */
static void preset(const struct settings *s, const struct setting_key *key, struct setting *setting,
		   struct problems *problems)
{
	bool good;

	if (setting->line > 0 || !key->preset)
		return;
	setting->values = mem_calloc(1, sizeof(*setting->values));
	setting->values[0] = mem_strdup(key->preset);
	setting->n = 1;
	good = check(s, key, setting, problems);
	assert(good);
	(void)good;
}

void sections_complete(struct settings *s, struct problems *problems)
{
	struct section *defaults = NULL;

	for (size_t i = 0; i < s->n; i++) {
		struct section *section = &s->sections[i];

		if (section->form->is_defaults && !defaults)
			defaults = section;
		for (size_t j = 0; !section->form->is_defaults && j < section->form->n_keys; j++)
			check(s, &section->form->keys[j], &section->settings[j], problems);
	}
	for (size_t j = 0; defaults && j < defaults->form->n_keys; j++)
		if (defaults->settings[j].line > 0)
			apply(s, defaults->form, &defaults->form->keys[j], &defaults->settings[j],
			      problems);
	for (size_t i = 0; i < s->n; i++) {
		struct section *section = &s->sections[i];

		for (size_t j = 0; !section->form->is_defaults && j < section->form->n_keys; j++)
			preset(s, &section->form->keys[j], &section->settings[j], problems);
	}
}
