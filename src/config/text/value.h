/* Checks that the value of a key fits the type and the bounds of the key. */
#ifndef ZKLEADER_CONFIG_TEXT_VALUE_H
#define ZKLEADER_CONFIG_TEXT_VALUE_H

#include <stdbool.h>

#include "config/text/problem.h"
#include "config/text/settings.h"

/*
 * Checks the values of a setting and sets its number. False: they do not fit, and a problem on the
 * setting's line of the file says why. What is odd but fits is a warning.
 */
bool value_check(const char *file, const struct setting_key *key, struct setting *setting,
		 struct problems *problems);

#endif
