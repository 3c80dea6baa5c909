/* A key whose value is a list of local users: checked the same wherever it stands. */
#ifndef ZKLEADER_CONFIG_USER_LIST_H
#define ZKLEADER_CONFIG_USER_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "config/problem.h"
#include "config/settings.h"

#define USER_LIST_NAME_MAX 32 /* bytes of one name; there are TASK_USERS_MAX at most */

/* Whether it can be the name of a local user; whether there is one is not looked up. */
bool user_list_is_name(const char *name);
/* Adds a problem for each name that is none or is there twice, and where they are too many. */
void user_list_check(const struct setting *setting, const char *key, const char *file,
		     struct problems *problems);

#endif
