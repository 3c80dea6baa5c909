/* The keys about health, the same in the main file and in a task's section. */
#ifndef ZKLEADER_CONFIG_KEYS_HEALTH_CONFIG_H
#define ZKLEADER_CONFIG_KEYS_HEALTH_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text/duration.h"
#include "config/text/settings.h"

#define HEALTH_INTERVAL_MIN_MS INT64_C(100)
#define HEALTH_TIMEOUT_MIN_MS  INT64_C(10)
#define HEALTH_TIMES_MAX       100
#define HEALTH_COMMAND_MAX     4096 /* bytes */

/* Rows for a table of setting_key. */
#define HEALTH_KEYS                                                                              \
	{"health-command",                                                                       \
	 SETTING_TEXT,                                                                           \
	 NULL,                                                                                   \
	 "a shell command; while it fails this node is no candidate",                            \
	 0,                                                                                      \
	 0,                                                                                      \
	 NULL},                                                                                  \
		{"health-file",                                                                  \
		 SETTING_TEXT,                                                                   \
		 NULL,                                                                           \
		 "a file; while it is not there this node is no candidate",                      \
		 0,                                                                              \
		 0,                                                                              \
		 NULL},                                                                          \
		{"health-interval",	 SETTING_DURATION, "10s", "how often to look at these",  \
		 HEALTH_INTERVAL_MIN_MS, DURATION_MAX_MS,  NULL},                                \
		{"health-timeout",                                                               \
		 SETTING_DURATION,                                                               \
		 "5s",                                                                           \
		 "how long the command may take, before it is killed and has failed",            \
		 HEALTH_TIMEOUT_MIN_MS,                                                          \
		 DURATION_MAX_MS,                                                                \
		 NULL},                                                                          \
		{"health-fall",                                                                  \
		 SETTING_INTEGER,                                                                \
		 "3",                                                                            \
		 "how many failures in a row make it unhealthy",                                 \
		 1,                                                                              \
		 HEALTH_TIMES_MAX,                                                               \
		 NULL},                                                                          \
	{                                                                                        \
		"health-rise", SETTING_INTEGER, "2",                                             \
			"how many successes in a row make it healthy", 1, HEALTH_TIMES_MAX, NULL \
	}

struct health_config {
	char *command; /* NULL: none */
	char *file;    /* path to look at, NULL: none */
	int64_t interval_ms, timeout_ms;
	int fall, rise;
};

/* Checks what the table of keys cannot; adds a problem for each bad value. */
void health_config_check(const struct settings *s, const struct section *section,
			 struct problems *problems);
/*
 * Takes the keys from a section of the file at path. A relative health-file is taken as beside that
 * file.
 */
void health_config_take(struct health_config *h, const struct settings *s,
			const struct section *section, const char *path);
void health_config_copy(struct health_config *to, const struct health_config *from);
bool health_config_equal(const struct health_config *a, const struct health_config *b);
void health_config_done(struct health_config *h);

#endif
