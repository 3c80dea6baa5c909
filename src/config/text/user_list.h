/* A key whose value is a list of local users, which is checked alike for all such keys. */
#ifndef ZKLEADER_CONFIG_TEXT_USER_LIST_H
#define ZKLEADER_CONFIG_TEXT_USER_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "config/text/problem.h"
#include "config/text/settings.h"

/* Adds a problem for each name that is not valid or is there twice, and if there are too many. */
void user_list_check(const struct setting *setting, const char *key, const char *file,
		     struct problems *problems);

#endif
