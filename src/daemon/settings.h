/*
 * A file in libconfuse's syntax, read so that every problem in it is told.
 *
 * libconfuse stops at the first thing it does not like, and its lexer has traps: an unclosed
 * comment or
 * ${ swallows the rest in silence, line numbers run ahead after a comment, sections of one title
 * are merged, a NUL escape cuts a value short. So outline.c looks over the file first, and what
 * libconfuse gets to see has no comments, only known keys, each once and in its right form. Values,
 * quoting, lists and ${VARIABLES} are libconfuse's.
 */
#ifndef ZKLEADER_DAEMON_SETTINGS_H
#define ZKLEADER_DAEMON_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/problem.h"

#define SETTINGS_FILE_MAX     (1024 * 1024) /* bytes of a file */
#define SETTINGS_SECTIONS_MAX 10000
#define SETTINGS_VALUES_MAX   1000 /* of a list */

enum setting_type {
	SETTING_TEXT,
	SETTING_PATH, /* a relative one starts at the folder of the file */
	SETTING_DURATION,
	SETTING_INTEGER,
	SETTING_CHOICE,
	SETTING_LIST,
};

/* A key that a file may have, and whether it lies within a section is the table's matter. */
struct setting_key {
	const char *name;
	enum setting_type type;
	const char *preset;	    /* the default as it would be written, unquoted; NULL: none */
	const char *help;	    /* a line for people */
	int64_t min, max;	    /* DURATION (ms) and INTEGER */
	const char *const *choices; /* CHOICE: NULL ends them */
};

/* A key that has been set. */
struct setting {
	const struct setting_key *key;
	int line; /* of the key; 1 where it is the default */
	bool preset;
	char **values; /* one, but for a LIST */
	size_t n_values;
	int64_t number; /* DURATION, INTEGER, and the index of a CHOICE */
};

struct section {
	char *title; /* NULL: the file itself, outside of all sections */
	int line;
	struct setting
		*settings; /* one for each key of the table in its order; n_values 0: not set */
};

struct settings {
	struct section *sections;
	size_t n;
};

/* What a file is made of: either keys, or sections with a title that have keys. */
struct settings_form {
	const struct setting_key *keys;
	size_t n_keys;
	const char *section; /* "task"; NULL: the keys stand in the file itself */
	bool (*title_ok)(const char *text, size_t len);
	const char *title_text; /* what a title is, for people */
};

#endif
