#include "config/text/user_list.h"

#include <string.h>

#include "base/text/name.h"
#include "core/election/task_settings.h"

void user_list_check(const struct setting *setting, const char *key, const char *file,
		     struct problems *problems)
{
	if (setting->n > TASK_USERS_MAX)
		problems_add(problems, file, setting->line, "%s: %zu names, more than %d", key,
			     setting->n, TASK_USERS_MAX);
	for (size_t i = 0; i < setting->n && i < TASK_USERS_MAX; i++) {
		const char *name = setting->values[i];

		if (!name_is_user(name, strlen(name)))
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
