#include "config/user_list.h"

#include <string.h>

#include "core/task_settings.h"

bool user_list_is_name(const char *name)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-$";
	size_t len = strlen(name);

	return len <= USER_LIST_NAME_MAX && strspn(name, letters) == len && name[0] != '-';
}

void user_list_check(const struct setting *setting, const char *key, const char *file,
		     struct problems *problems)
{
	if (setting->n > TASK_USERS_MAX)
		problems_add(problems, file, setting->line, "%s: %zu names, more than %d", key,
			     setting->n, TASK_USERS_MAX);
	for (size_t i = 0; i < setting->n && i < TASK_USERS_MAX; i++) {
		const char *name = setting->values[i];

		if (!user_list_is_name(name))
			problems_add(problems, file, setting->line,
				     "%s: \"%.100s\" is not the name of a local user", key, name);
		for (size_t j = 0; j < i; j++) {
			if (strcmp(setting->values[j], name) == 0) {
				problems_add(problems, file, setting->line,
					     "%s: \"%s\" is there twice: keep one", key, name);
				break;
			}
		}
	}
}
