/*
 * Reads a file in libconfuse's syntax, and reports every problem in it.
 *
 * libconfuse stops at the first thing it does not like, and its lexer has traps: an unclosed
 * comment swallows the rest in silence, as ${ does up to the next brace; line numbers run ahead
 * after each comment; sections of one title are merged; a NUL escape cuts a value short; an odd
 * character is skipped or even printed. So outline.c reads keys, sections and comments, and says
 * what is wrong with them. libconfuse reads the values, all of a file at once, as one list:
 * quoting, escapes and ${VARIABLES} are libconfuse's.
 */
#ifndef ZKLEADER_CONFIG_TEXT_SETTINGS_H
#define ZKLEADER_CONFIG_TEXT_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/text/problem.h"

#define SETTINGS_FILE_MAX     (1024 * 1024) /* bytes of a file */
#define SETTINGS_SECTIONS_MAX 10000
#define SETTINGS_VALUES_MAX   1000 /* values of a list */
#define SETTINGS_KEYS_MAX     64   /* keys of a form */
#define SETTINGS_PAIRS_MAX    100  /* variables of a PAIRS */
#define SETTINGS_PAIRS_BYTES  (64 * 1024)
/* The allowed titles of sections in a task file, for people. */
#define TASK_NAME_FORM \
	"up to 100 letters, digits, \".\", \"_\" and \"-\", beginning with a letter or digit"

/*
 * FIELDS are a TEXT in which a tab is a blank. An ARRAY is a LIST that is never written without its
 * braces. PAIRS is an array of "NAME=VALUE", variables of an environment; a section's own are added
 * to those of `defaults`.
 */
enum setting_type {
	SETTING_TEXT,
	SETTING_FIELDS,
	SETTING_DURATION,
	SETTING_INTEGER,
	SETTING_CHOICE,
	SETTING_LIST,
	SETTING_ARRAY,
	SETTING_PAIRS
};

/* A key that a file may have. */
struct setting_key {
	const char *name;
	enum setting_type type;
	const char *preset;	    /* the default as it is written, without quotes; NULL: none */
	const char *help;	    /* a line for people */
	int64_t min, max;	    /* DURATION in ms, and INTEGER */
	const char *const *choices; /* CHOICE: a NULL ends them */
};

/* The value of a key, from the file or by default. */
struct setting {
	int line; /* line of the key, or of its default in the file; 0: it is not in the file */
	bool inherited; /* the value is that of the section `defaults` */
	char **values;	/* one, or several for LIST, ARRAY and PAIRS; never an empty text */
	size_t n;	/* 0: not set, or bad, for which a problem was added */
	int64_t number; /* DURATION in ms, INTEGER, and the index of a CHOICE */
	char *unset;	/* the first ${NAME} in it that the environment does not have; NULL: none */
};

/* Keys that belong together: those of the file itself, or those of one of its sections. */
struct section {
	const struct settings_form *form;
	char *title; /* NULL: the file itself, or a title that is missing or bad */
	int line;
	struct setting *settings; /* in the order of the keys */
};

struct settings;

/* The keys of a kind of file, or of one kind of its sections. */
struct settings_form {
	const struct setting_key *keys;
	size_t n_keys;
	const char *section; /* the keys stand in sections of this name; NULL: in the file itself */
	const char *title_needed; /* the title that a section needs, for people */
	bool (*title_ok)(const char *text, size_t len);
	/* Whether the section, by its own keys, takes the default of a key; NULL: of any key. */
	bool (*takes)(const struct settings *s, const struct section *section, const char *key);
	/* The section without a title, once in a file, that has defaults for all behind it. */
	bool is_defaults;
	const struct settings_form *next; /* another kind of sections beside these; NULL: none */
};

struct settings {
	const struct settings_form *form;
	char *file;		  /* as people know it */
	struct section *sections; /* a single one if the form has no sections */
	size_t n;
	bool partial; /* a part of the file could not be read, and may have set more keys */
};

/*
 * Reads a file and checks every value by the type of its key. Returns 0 even if it has added
 * problems; or a negative errno, with one problem added, if the file itself cannot be read. An
 * empty LIST counts as not set. Only after 0 does ret_settings need settings_done().
 */
int settings_load(const char *path, const char *shown, const struct settings_form *form,
		  struct settings *ret_settings, struct problems *problems);
void settings_done(struct settings *s);
/* The setting of that name, which has to be a key of the section's form. */
const struct setting *settings_get(const struct settings *s, const struct section *section,
				   const char *name);
/* The single text of a key; NULL: it is not set. */
const char *settings_text(const struct settings *s, const struct section *section,
			  const char *name);

#endif
