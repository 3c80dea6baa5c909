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
#include "config/text/section.h"
#include "config/text/textfile.h"

#define KEY_NAME_MAX  64 /* bytes shown of an unknown key */
#define KEYS_TEXT_MAX 540
#define NO_KEY	      SECTION_NO_KEY

/* A file that is being read. */
struct load {
	const struct settings_form *form;
	struct settings *settings;
	struct problems *problems;
	struct outline outline;
	cfg_opt_t
		*values; /* those of the outline, as libconfuse has read them; NULL: it could not */
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

static bool is_array(enum setting_type type)
{
	return type == SETTING_ARRAY || type == SETTING_PAIRS;
}

static bool is_list(enum setting_type type)
{
	return type == SETTING_LIST || is_array(type);
}

static const char *title_of(const struct settings_form *form)
{
	return form->is_defaults ? "" : " \"...\"";
}

/* Reports a statement outside of all sections, in a file that consists of sections. */
static void misplaced(struct load *l, const struct outline_item *item)
{
	const char *name = l->outline.text + item->start;
	const struct settings_form *own = find_form(l, name, item->key_len);
	const struct settings_form *of = section_form_with(l->form, name, item->key_len);
	char kinds[KEYS_TEXT_MAX] = "";
	size_t used = 0;

	for (const struct settings_form *f = l->form; f && used < sizeof(kinds); f = f->next)
		used += (size_t)snprintf(kinds + used, sizeof(kinds) - used, "%s%s%s { }",
					 f == l->form ? "" : " and ", f->section, title_of(f));
	if (of)
		problem(l, item->line,
			"%.*s: stands outside of a section: it belongs within %s \"...\" { }",
			(int)item->key_len, name, of->section);
	else if (own)
		problem(l, item->line, "%s: is a section: write %s%s { }", own->section,
			own->section, title_of(own));
	else
		problem(l, item->line, "unknown section \"%.*s\": this file consists of %s",
			(int)(item->key_len < KEY_NAME_MAX ? item->key_len : KEY_NAME_MAX), name,
			kinds);
}

/* The setting of the section that this statement sets; NULL after a problem. */
static struct setting *check_statement(struct load *l, const struct outline_item *item,
				       const struct section *section)
{
	const char *name = l->outline.text + item->start;
	const struct settings_form *form = section ? section->form : l->form;
	const struct settings_form *other = find_form(l, name, item->key_len);
	size_t index = section_key(form, name, item->key_len);
	const char *key;

	if (l->form->section && item->depth == 0) {
		misplaced(l, item);
		return NULL;
	}
	if (index == NO_KEY && section && other && item->kind == OUTLINE_SECTION) {
		problem(l, item->line, "%s within the %s of line %d: is a \"}\" missing before it?",
			other->section, form->section, section->line);
		return NULL;
	}
	if (index == NO_KEY && form->is_defaults &&
	    section_form_with(l->form, name, item->key_len)) {
		problem(l, item->line, "%.*s: has no default: write it in each %s of its own",
			(int)item->key_len, name,
			section_form_with(l->form, name, item->key_len)->section);
		return NULL;
	}
	if (index == NO_KEY) {
		unknown_key(l, form, item->line, name, item->key_len);
		return NULL;
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
	else if (item->kind != OUTLINE_LIST && is_array(form->keys[index].type))
		problem(l, item->line,
			"%s: is an array, as no shell reads it: write %s = {%s\"...\"}", key, key,
			form->keys[index].type == SETTING_ARRAY ? "\"/bin/sh\", \"-c\", " : "");
	else if (item->n_values == 0 && is_array(form->keys[index].type))
		problem(l, item->line, "%s: is empty: give it a value or leave the key out", key);
	else if (item->kind == OUTLINE_LIST && !is_list(form->keys[index].type))
		problem(l, item->line, "%s: has one value, not a list: write it without { }", key);
	else if (item->n_values > SETTINGS_VALUES_MAX)
		problem(l, item->line, "%s: has more than %d values", key, SETTINGS_VALUES_MAX);
	else
		return &section->settings[index];
	if (!section->settings[index].line)
		section->settings[index].line = item->line;
	return NULL;
}

/* The section that has to be the only one of its kind, and before those that it is for. */
static void check_place(struct load *l, const struct outline_item *item, const struct section *new)
{
	for (const struct section *section = l->settings->sections; section < new; section++) {
		if (section->form == new->form) {
			problem(l, item->line, "%s: is in line %d already: write its keys there",
				new->form->section, section->line);
			return;
		}
		if (section->form->takes) {
			problem(l, item->line,
				"%s: stands behind the %s of line %d: put it before all of them",
				new->form->section, section->form->section, section->line);
			return;
		}
	}
	if (item->titled)
		problem(l, item->line, "%s: has no name: write %s { }", new->form->section,
			new->form->section);
}

/* Takes the title of a section, or says what is wrong with it. */
static void take_title(struct load *l, const struct outline_item *item, struct section *section)
{
	const char *title = l->outline.text + item->title;
	const struct settings_form *form = section->form;

	if (form->is_defaults)
		check_place(l, item, section);
	else if (!item->titled)
		problem(l, item->line,
			"%s: has no name: write %s \"...\" { }, where the name is %s",
			form->section, form->section, form->title_needed);
	else if (!form->title_ok(title, item->title_len))
		problem(l, item->line, "%s: \"%.*s\" is not %s", form->section,
			(int)(item->title_len < 100 ? item->title_len : 100), title,
			form->title_needed);
	else
		section->title = mem_strndup(title, item->title_len);
}

/* Takes over the values of a key. */
static void take_values(struct load *l, const struct outline_item *item, struct setting *setting)
{
	setting->line = item->line;
	if (item->unset)
		setting->unset = mem_strndup(l->outline.text + item->unset, item->unset_len);
	if (!l->values || item->n_values == 0)
		return;
	setting->values = mem_calloc(item->n_values, sizeof(*setting->values));
	for (; setting->n < item->n_values; setting->n++)
		setting->values[setting->n] = mem_strdup(
			cfg_opt_getnstr(l->values, (unsigned int)(item->first_value + setting->n)));
}

/* Takes over each statement that fits the form, and reports the others. */
static void take_statements(struct load *l)
{
	const struct outline *o = &l->outline;
	struct section *section = l->form->section ? NULL : new_section(l->settings, l->form, 1);
	size_t done = 0;

	for (size_t i = 0; i < o->n; i++) {
		const struct outline_item *item = &o->items[i];
		const struct settings_form *form;
		struct setting *setting;

		if (item->start < done)
			continue; /* within a statement that was refused */
		form = item->depth == 0 ? find_form(l, o->text + item->start, item->key_len) : NULL;
		if (form && item->kind == OUTLINE_SECTION) {
			if (l->settings->n == SETTINGS_SECTIONS_MAX) {
				problem(l, item->line, "more than %d sections in one file",
					SETTINGS_SECTIONS_MAX);
				return;
			}
			section = new_section(l->settings, form, item->line);
			take_title(l, item, section);
			continue;
		}
		setting = check_statement(l, item, section);
		if (setting)
			take_values(l, item, setting);
		else
			done = item->end;
	}
}

/* --- libconfuse ----------------------------------------------------------- */

/* Keeps libconfuse from writing to standard error; the outline has said what is wrong. */
static void no_message(cfg_t *cfg, const char *format, va_list ap)
	__attribute__((format(printf, 2, 0)));

static void no_message(cfg_t *cfg, const char *format, va_list ap)
{
	(void)cfg, (void)format, (void)ap;
}

/* Lets libconfuse read the values of the file, as one list, and takes over what fits the form. */
static void read_values(struct load *l)
{
	cfg_opt_t options[] = {CFG_STR_LIST(OUTLINE_VALUES, NULL, CFGF_NODEFAULT), CFG_END()};
	cfg_t *cfg = cfg_init(options, CFGF_NONE);

	if (!cfg)
		abort(); /* out of memory, as in base/mem.h */
	cfg_set_error_function(cfg, no_message);
	if (cfg_parse_buf(cfg, (const char *)l->outline.values.data) == CFG_SUCCESS &&
	    cfg_size(cfg, OUTLINE_VALUES) == l->outline.n_values)
		l->values = cfg_getopt(cfg, OUTLINE_VALUES);
	else
		problem(l, 1, "libconfuse cannot read its values");
	take_statements(l);
	cfg_free(cfg);
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
	read_values(&l);
	if (l.outline.error_line)
		problem(&l, l.outline.error_line, "%s", l.outline.error);
	sections_complete(ret_settings, problems);
	ret_settings->partial = !l.values || l.outline.error_line > 0;
	outline_done(&l.outline);
	problems_sort(problems, first);
	return 0;
}

void settings_done(struct settings *s)
{
	for (size_t i = 0; i < s->n; i++) {
		for (size_t j = 0; j < s->sections[i].form->n_keys; j++) {
			section_drop_values(&s->sections[i].settings[j]);
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
	size_t index = section_key(section->form, name, strlen(name));

	(void)s;
	assert(index != NO_KEY);
	return &section->settings[index];
}

const char *settings_text(const struct settings *s, const struct section *section, const char *name)
{
	const struct setting *setting = settings_get(s, section, name);

	return setting->n ? setting->values[0] : NULL;
}
