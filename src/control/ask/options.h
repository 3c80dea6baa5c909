/* The options of a request, a map, as a table of keys: all tables refuse the same mistakes. */
#ifndef ZKLEADER_CONTROL_ASK_OPTIONS_H
#define ZKLEADER_CONTROL_ASK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "control/ask/methods.h"
#include "wire/keys.h"

/* Keys of tables: `at` is a member of the struct `to`. The text says what the value is to be. */
#define OPTION_AT(to, at) .offset = offsetof(struct to, at), .size = sizeof(((struct to *)0)->at)
#define OPTION_INT(to, at, key, least, most, text)                                       \
	{                                                                                \
		.name = (key), .kind = KEY_INT, .need = KEY_OPTIONAL, OPTION_AT(to, at), \
		.min = (least), .max = (most), KEY_WHY(key, text)                        \
	}
#define OPTION_BOOL(to, at, key)                                                          \
	{                                                                                 \
		.name = (key), .kind = KEY_BOOL, .need = KEY_OPTIONAL, OPTION_AT(to, at), \
		KEY_WHY(key, "not a bool")                                                \
	}
#define OPTION_TEXT(to, at, key, check, text)                                             \
	{                                                                                 \
		.name = (key), .kind = KEY_TEXT, .need = KEY_OPTIONAL, OPTION_AT(to, at), \
		.is_good = (check), KEY_WHY(key, text)                                    \
	}
/* A key with a reader of its own. */
#define OPTION(key, read, text)                                                           \
	{                                                                                 \
		.name = (key), .kind = KEY_CUSTOM, .need = KEY_OPTIONAL, .parse = (read), \
		KEY_WHY(key, text)                                                        \
	}
/* The same for a reader that knows of the member alone. */
#define OPTION_READ(to, at, key, read, text)                                                \
	{                                                                                   \
		.name = (key), .kind = KEY_CUSTOM, .need = KEY_OPTIONAL, OPTION_AT(to, at), \
		.parse = (read), KEY_WHY(key, text)                                         \
	}
#define OPTIONS(table) (table), sizeof(table) / sizeof((table)[0])

/*
 * Takes the map into the struct; unknown keys are skipped. Returns what is wrong, a constant text;
 * NULL: nothing.
 */
const char *options_read(struct reader *r, const struct key *keys, size_t n, void *to);
/* The next parameter likewise; none is an empty map. False after an error answer. */
bool options_take(struct call *call, const struct key *keys, size_t n, void *to);

/*
 * Readers: any text, borrowed, the name of a tick, "" for none, and 16 hexadecimal digits, but 0.
 */
int options_read_text(struct reader *r, void *to); /* struct reader_text */
#define OPTIONS_TICK "the tick is none, such as 2026-11-20T02:00:00Z"
int options_read_tick(struct reader *r, void *to); /* char[TICK_NAME_SIZE] */
int options_read_id(struct reader *r, void *to);   /* uint64_t */

/* Texts for is_good: without control characters; and valid UTF-8 as well. */
bool options_is_plain(const char *text, size_t len);
bool options_is_line(const char *text, size_t len);

#endif
