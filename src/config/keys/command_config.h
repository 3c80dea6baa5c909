/* The command of a task or queue: its words, its variables, and the folder that it starts in. */
#ifndef ZKLEADER_CONFIG_KEYS_COMMAND_CONFIG_H
#define ZKLEADER_CONFIG_KEYS_COMMAND_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "config/text/settings.h"

#define COMMAND_BYTES_MAX     (64 * 1024) /* bytes of a command, its words together */
#define COMMAND_DIRECTORY_MAX 4095	  /* bytes, as PATH_MAX without its NUL */

/* Rows for a table of setting_key. */
#define COMMAND_KEYS                                                                               \
	{"environment",                                                                            \
	 SETTING_PAIRS,                                                                            \
	 NULL,                                                                                     \
	 "variables of the command, as \"NAME=VALUE\", besides those that it has anyway",          \
	 0,                                                                                        \
	 0,                                                                                        \
	 NULL},                                                                                    \
	{                                                                                          \
		"directory", SETTING_TEXT, NULL,                                                   \
			"the folder that the command starts in; by default the user's home", 0, 0, \
			NULL                                                                       \
	}

struct command_config {
	char **words; /* none: there is no command */
	size_t n_words;
	char **environment; /* "NAME=VALUE", each name once */
	size_t n_environment;
	char *directory; /* NULL: the user's home */
};

/*
 * Checks `command`, its companions and `user` in a section of any kind; adds a problem for each bad
 * value.
 */
void command_config_check(const struct settings *s, const struct section *section,
			  struct problems *problems);
/* Takes them from a section without a problem. */
void command_config_take(struct command_config *c, const struct settings *s,
			 const struct section *section);
void command_config_copy(struct command_config *to, const struct command_config *from);
bool command_config_equal(const struct command_config *a, const struct command_config *b);
void command_config_done(struct command_config *c);

#endif
