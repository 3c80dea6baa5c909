#include "config/text/settings.h"

#include <assert.h>
#include <confuse.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/nearest.h"
#include "config/text/outline.h"
#include "config/text/textfile.h"
#include "config/text/value.h"

#define KEY_NAME_MAX  64 /* bytes shown of an unknown key */
#define KEYS_TEXT_MAX 540
#define NO_KEY	      SIZE_MAX

/* A file that is being read. */
struct load {
	const struct settings_form *form;
	struct settings *settings;
	struct problems *problems;
	struct outline outline;
	bool failed; /* libconfuse has refused the text */
};

static void problem(struct load *l, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void problem(struct load *l, int line, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	problems_vadd(l->problems, l->settings->file, line, format, ap);
	va_end(ap);
}

/* --- keys ----------------------------------------------------------------- */

static size_t find_key(const struct settings_form *form, const char *name, size_t len)
{
	for (size_t i = 0; i < form->n_keys; i++) {
		const char *key = form->keys[i].name;

		if (key[0] == name[0] && strlen(key) == len && memcmp(key, name, len) == 0)
			return i;
	}
	return NO_KEY;
}

/* The kind of sections of that name; NULL: the file has none such. */
static const struct settings_form *find_form(const struct load *l, const char *name, size_t len)
{
	for (const struct settings_form *f = l->form; f && f->section; f = f->next)
		if (strlen(f->section) == len && memcmp(f->section, name, len) == 0)
			return f;
	return NULL;
}

static void unknown_key(struct load *l, const struct settings_form *form, int line,
			const char *name, size_t len)
{
	struct nearest nearest;
	int shown = (int)(len < KEY_NAME_MAX ? len : KEY_NAME_MAX);
	char keys[KEYS_TEXT_MAX] = "";
	size_t used = 0;

	nearest_init(&nearest, name, len);
	for (size_t i = 0; i < form->n_keys; i++)
		nearest_offer(&nearest, form->keys[i].name);
	if (nearest.best) {
		problem(l, line, "unknown key \"%.*s\": did you mean \"%s\"?", shown, name,
			nearest.best);
		return;
	}
	for (size_t i = 0; i < form->n_keys && used < sizeof(keys); i++)
		used += (size_t)snprintf(keys + used, sizeof(keys) - used, "%s%s", i ? ", " : "",
					 form->keys[i].name);
	problem(l, line, "unknown key \"%.*s\": the keys are %s", shown, name, keys);
}

/* --- the outline against the form ----------------------------------------- */

static struct section *new_section(struct settings *s, const struct settings_form *form, int line)
{
	struct section *section;

	/* The array doubles whenever it is full: at each power of two. */
	if ((s->n & (s->n - 1)) == 0)
		s->sections = mem_resize(s->sections, s->n ? s->n * 2 : 1, sizeof(*s->sections));
	section = &s->sections[s->n++];
	*section = (struct section){
		.form = form,
		.line = line,
		.settings = mem_calloc(form->n_keys, sizeof(*section->settings)),
	};
	return section;
}

static void blank(struct outline *o, size_t start, size_t end)
{
	for (size_t i = start; i < end; i++) {
		if (o->text[i] != '\n')
			o->text[i] = ' ';
	}
}

static bool is_list(enum setting_type type)
{
	return type == SETTING_LIST || type == SETTING_ARRAY;
}

/* The index of the key that this statement sets in its section; NO_KEY after a problem. */
static size_t check_statement(struct load *l, const struct outline_item *item,
			      const struct section *section)
{
	const char *name = l->outline.text + item->start;
	const struct settings_form *form = section ? section->form : l->form;
	const struct settings_form *other = find_form(l, name, item->key_len);
	size_t index = find_key(form, name, item->key_len);
	const char *key;

	if (index == NO_KEY && section && other && item->kind == OUTLINE_SECTION) {
		problem(l, item->line, "%s within the %s of line %d: is a \"}\" missing before it?",
			other->section, form->section, section->line);
		return NO_KEY;
	}
	if (index == NO_KEY) {
		unknown_key(l, form, item->line, name, item->key_len);
		return NO_KEY;
	}
	assert(section);
	key = form->keys[index].name;
	if (section->settings[index].line)
		problem(l, item->line, "%s: is set in line %d already: keep one of them", key,
			section->settings[index].line);
	else if (item->kind == OUTLINE_SECTION)
		problem(l, item->line, "%s: is no section: write %s = ...", key, key);
	else if (item->append)
		problem(l, item->line, "%s: nothing to add to: write = for +=", key);
	else if (item->kind != OUTLINE_LIST && form->keys[index].type == SETTING_ARRAY)
		problem(l, item->line,
			"%s: is an array, as no shell reads it: write %s = {\"...\"}", key, key);
	else if (item->n_values == 0 && form->keys[index].type == SETTING_ARRAY)
		problem(l, item->line, "%s: is empty: give it a value or leave the key out", key);
	else if (item->kind == OUTLINE_LIST && !is_list(form->keys[index].type))
		problem(l, item->line, "%s: has one value, not a list: write it without { }", key);
	else if (item->n_values > SETTINGS_VALUES_MAX)
		problem(l, item->line, "%s: has more than %d values", key, SETTINGS_VALUES_MAX);
	else
		return index;
	if (!section->settings[index].line)
		section->settings[index].line = item->line;
	return NO_KEY;
}

/* Reports a statement outside of all sections, in a file that consists of sections. */
static void misplaced(struct load *l, const struct outline_item *item)
{
	const char *name = l->outline.text + item->start;
	const struct settings_form *own = find_form(l, name, item->key_len);
	const struct settings_form *of = l->form;
	char kinds[KEYS_TEXT_MAX] = "";
	size_t used = 0;

	while (of && find_key(of, name, item->key_len) == NO_KEY)
		of = of->next;
	for (const struct settings_form *f = l->form; f && used < sizeof(kinds); f = f->next)
		used += (size_t)snprintf(kinds + used, sizeof(kinds) - used, "%s%s \"...\" { }",
					 f == l->form ? "" : " and ", f->section);
	if (of)
		problem(l, item->line,
			"%.*s: stands outside of a section: it belongs within %s \"...\" { }",
			(int)item->key_len, name, of->section);
	else if (own)
		problem(l, item->line, "%s: is a section: write %s \"...\" { }", own->section,
			own->section);
	else
		problem(l, item->line, "unknown section \"%.*s\": this file consists of %s",
			(int)(item->key_len < KEY_NAME_MAX ? item->key_len : KEY_NAME_MAX), name,
			kinds);
}

/* Takes the title, and blanks it: libconfuse would merge sections of one title. */
static void take_title(struct load *l, const struct outline_item *item, struct section *section)
{
	const char *title = l->outline.text + item->title;
	const struct settings_form *form = section->form;

	if (!item->titled)
		problem(l, item->line,
			"%s: has no name: write %s \"...\" { }, where the name is %s",
			form->section, form->section, form->title_needed);
	else if (!form->title_ok(title, item->title_len))
		problem(l, item->line, "%s: \"%.*s\" is not %s", form->section,
			(int)(item->title_len < 100 ? item->title_len : 100), title,
			form->title_needed);
	else
		section->title = mem_strndup(title, item->title_len);
	blank(&l->outline, item->opening, item->opening + item->opening_len);
}

/* Reports each statement that does not fit the form, and blanks it in the text. */
static void check_outline(struct load *l)
{
	struct outline *o = &l->outline;
	struct section *section = l->form->section ? NULL : new_section(l->settings, l->form, 1);
	size_t done = 0;

	for (size_t i = 0; i < o->n; i++) {
		const struct outline_item *item = &o->items[i];
		size_t index = NO_KEY;

		if (item->start < done)
			continue; /* within a statement that was blanked */
		if (l->form->section && item->depth == 0) {
			const struct settings_form *form =
				find_form(l, o->text + item->start, item->key_len);
			if (item->kind == OUTLINE_SECTION && form) {
				if (l->settings->n == SETTINGS_SECTIONS_MAX) {
					problem(l, item->line, "more than %d sections in one file",
						SETTINGS_SECTIONS_MAX);
					blank(o, item->start, o->len);
					return;
				}
				section = new_section(l->settings, form, item->line);
				take_title(l, item, section);
				continue;
			}
			misplaced(l, item);
		} else {
			index = check_statement(l, item, section);
		}
		if (index != NO_KEY) {
			section->settings[index].line = item->line;
			section->settings[index].n = item->n_values;
			section->settings[index].unset = outline_unset_variable(o, item);
		} else {
			blank(o, item->start, item->end);
			done = item->end;
		}
	}
}

/* --- libconfuse ----------------------------------------------------------- */

/*
 * The file that is being read, for libconfuse's error function, which has no argument for it. The
 * lexer is global anyway.
 */
static struct load *loading;

static void confuse_error(cfg_t *cfg, const char *format, va_list ap)
	__attribute__((format(printf, 2, 0)));

static void confuse_error(cfg_t *cfg, const char *format, va_list ap)
{
	loading->failed = true;
	problems_vadd(loading->problems, loading->settings->file, cfg->line, format, ap);
}

/* The keys of a form that the file sets in any section, a bit for each. */
static uint64_t find_used(const struct load *l, const struct settings_form *form)
{
	uint64_t used = 0;

	for (size_t i = 0; i < l->settings->n; i++) {
		const struct section *section = &l->settings->sections[i];

		for (size_t j = 0; section->form == form && j < form->n_keys; j++)
			used |= (uint64_t)(section->settings[j].line > 0) << j;
	}
	return used;
}

/*
 * Makes options for the keys in use; the names are borrowed. libconfuse copies all options for each
 * section: with all keys that took most of the time for thousands of tasks that set none.
 */
static void make_options(const struct settings_form *form, uint64_t used, cfg_opt_t *options)
{
	size_t n = 0;

	for (size_t i = 0; i < form->n_keys; i++) {
		if (!(used >> i & 1))
			continue;
		options[n++] = (cfg_opt_t){
			.name = form->keys[i].name,
			.type = CFGT_STR,
			.flags = CFGF_NODEFAULT |
				 (is_list(form->keys[i].type) ? CFGF_LIST : CFGF_NONE),
		};
	}
	options[n] = (cfg_opt_t)CFG_END();
}

/* Takes over what libconfuse has read for one section. */
static void take_values(struct load *l, cfg_t *cfg, uint64_t used, struct section *section)
{
	const struct settings_form *form = section->form;

	for (size_t i = 0; i < form->n_keys; i++) {
		struct setting *setting = &section->settings[i];

		if (!(used >> i & 1))
			continue;
		cfg_opt_t *option = cfg_getopt(cfg, form->keys[i].name);
		size_t expected = setting->n;

		setting->n = 0;
		if (cfg_opt_size(option) != expected) {
			if (!l->failed)
				problem(l, setting->line ? setting->line : section->line,
					"%s: cannot be read for certain: quote its value",
					form->keys[i].name);
			continue;
		}
		if (expected == 0)
			continue;
		setting->values = mem_calloc(expected, sizeof(*setting->values));
		for (; setting->n < expected; setting->n++)
			setting->values[setting->n] =
				mem_strdup(cfg_opt_getnstr(option, (unsigned int)setting->n));
	}
}

/* libconfuse counts the sections of each kind by themselves. */
static void take_sections(struct load *l, cfg_t *cfg, const struct settings_form *form)
{
	uint64_t used = find_used(l, form);
	unsigned int n = 0;

	for (size_t i = 0; i < l->settings->n; i++) {
		struct section *section = &l->settings->sections[i];
		cfg_t *read;

		if (section->form != form)
			continue;
		read = form->section ? cfg_getnsec(cfg, form->section, n++) : cfg;
		if (read) {
			take_values(l, read, used, section);
			continue;
		}
		for (size_t j = 0; j < form->n_keys; j++)
			section->settings[j].n = 0;
		if (!l->failed)
			problem(l, section->line, "%s cannot be read for certain", form->section);
	}
}

/* Lets libconfuse read the text that check_outline() has left. */
static void read_values(struct load *l)
{
	cfg_opt_t keys[SETTINGS_FORMS_MAX][SETTINGS_KEYS_MAX + 1];
	cfg_opt_t sections[SETTINGS_FORMS_MAX + 1] = {CFG_END()};
	size_t n = 0;
	cfg_t *cfg;

	assert(l->form);
	for (const struct settings_form *form = l->form; form; form = form->next) {
		const cfg_opt_t section[] = {CFG_SEC("", keys[n], CFGF_MULTI), CFG_END()};

		assert(form->n_keys <= SETTINGS_KEYS_MAX && n < SETTINGS_FORMS_MAX);
		make_options(form, find_used(l, form), keys[n]);
		sections[n] = section[0];
		sections[n].name = form->section;
		sections[++n] = section[1];
	}
	cfg = cfg_init(l->form->section ? sections : keys[0], CFGF_NONE);
	if (!cfg)
		abort(); /* out of memory, as in base/mem.h */
	cfg_set_error_function(cfg, confuse_error);
	loading = l;
	if (cfg_parse_buf(cfg, l->outline.text) != CFG_SUCCESS && !l->failed) {
		l->failed = true;
		problem(l, 1, "libconfuse cannot read it");
	}
	loading = NULL;
	for (const struct settings_form *form = l->form; form; form = form->next)
		take_sections(l, cfg, form);
	cfg_free(cfg);
}

/* --- values --------------------------------------------------------------- */

static void drop_values(struct setting *setting)
{
	for (size_t i = 0; i < setting->n; i++)
		free(setting->values[i]);
	free(setting->values);
	setting->values = NULL;
	setting->n = 0;
}

/* Checks the values of the keys, and gives keys that are not in the file their defaults. */
static void check_values(struct load *l, struct section *section)
{
	for (size_t i = 0; i < section->form->n_keys; i++) {
		const struct setting_key *key = &section->form->keys[i];
		struct setting *setting = &section->settings[i];

		if (setting->line == 0 && key->preset) {
			bool ok;

			setting->values = mem_calloc(1, sizeof(*setting->values));
			setting->values[0] = mem_strdup(key->preset);
			setting->n = 1;
			ok = value_check(l->settings->file, key, setting, l->problems);
			assert(ok);
			(void)ok;
		} else if (setting->n > 0 &&
			   !value_check(l->settings->file, key, setting, l->problems)) {
			drop_values(setting);
		}
	}
}

/* --- the whole ------------------------------------------------------------ */

int settings_load(const char *path, const char *shown, const struct settings_form *form,
		  struct settings *ret_settings, struct problems *problems)
{
	static const char byte_order_mark[] = "\xef\xbb\xbf";
	struct load l = {.form = form, .settings = ret_settings, .problems = problems};
	mem_auto char *text = NULL;
	size_t len, skip = 0, first = problems->n;
	int r = textfile_read(path, SETTINGS_FILE_MAX, &text, &len, NULL);

	if (r == -EFBIG)
		problems_add(problems, shown, PROBLEM_WHOLE_FILE, "is over %d bytes long",
			     SETTINGS_FILE_MAX);
	else if (r < 0)
		problems_add(problems, shown, PROBLEM_WHOLE_FILE, "%s", textfile_error(r));
	if (r < 0)
		return r;
	if (len >= 3 && memcmp(text, byte_order_mark, 3) == 0)
		skip = 3;
	*ret_settings = (struct settings){.form = form, .file = mem_strdup(shown)};
	outline_init(&l.outline, text + skip, len - skip);
	check_outline(&l);
	if (l.outline.error_line)
		problem(&l, l.outline.error_line, "%s", l.outline.error);
	read_values(&l);
	for (size_t i = 0; i < ret_settings->n; i++)
		check_values(&l, &ret_settings->sections[i]);
	ret_settings->partial = l.failed || l.outline.error_line > 0;
	outline_done(&l.outline);
	problems_sort(problems, first);
	return 0;
}

void settings_done(struct settings *s)
{
	for (size_t i = 0; i < s->n; i++) {
		for (size_t j = 0; j < s->sections[i].form->n_keys; j++) {
			drop_values(&s->sections[i].settings[j]);
			free(s->sections[i].settings[j].unset);
		}
		free(s->sections[i].settings);
		free(s->sections[i].title);
	}
	free(s->sections);
	free(s->file);
	memset(s, 0, sizeof(*s));
}

const struct setting *settings_get(const struct settings *s, const struct section *section,
				   const char *name)
{
	size_t index = find_key(section->form, name, strlen(name));

	(void)s;
	assert(index != NO_KEY);
	return &section->settings[index];
}

const char *settings_text(const struct settings *s, const struct section *section, const char *name)
{
	const struct setting *setting = settings_get(s, section, name);

	return setting->n ? setting->values[0] : NULL;
}
