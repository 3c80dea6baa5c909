/* The keys of the main file that take effect only with a restart. */
#ifndef ZKLEADER_CONFIG_RESTART_H
#define ZKLEADER_CONFIG_RESTART_H

#include "config/config.h"

#define RESTART_KEYS_MAX 24

/*
 * Gives the names of those keys that have changed since the start, constant texts; returns how
 * many.
 */
size_t restart_keys(const struct config *start, const struct config *now,
		    const char *ret_keys[RESTART_KEYS_MAX]);
/* Whether two texts of a key differ; NULL: it is not set. */
bool config_text_differs(const char *a, const char *b);

#endif
