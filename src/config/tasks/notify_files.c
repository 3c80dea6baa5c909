#include "config/tasks/notify_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

bool notify_configs_fit(const struct task_files *before, const struct task_file *file,
			struct problems *problems)
{
	size_t n, others;
	const struct notify_config **all = notify_configs_all(before, &others);
	bool fits = true;

	for (n = 0; n < file->notifies.n; n++) {
		const struct notify_config *c = &file->notifies.list[n];

		for (size_t i = 0; i < others; i++) {
			if (strcmp(c->name, all[i]->name) != 0)
				continue;
			problems_add(problems, c->file, c->line,
				     "notify \"%s\" is in %s:%d already: keep one of them", c->name,
				     all[i]->file, all[i]->line);
			fits = false;
		}
	}
	free(all);
	if (n > 0 && n + others > NOTICE_RULES_MAX) {
		problems_add(problems, file->path, 1,
			     "has %zu sections notify where there are %zu in the files before it: "
			     "no more than %d are allowed",
			     n, others, NOTICE_RULES_MAX);
		fits = false;
	}
	return fits;
}

const struct notify_config **notify_configs_all(const struct task_files *files, size_t *ret_n)
{
	const struct notify_config **all;
	size_t n = 0;

	for (size_t i = 0; i < files->n; i++)
		n += files->list[i].notifies.n;
	all = mem_calloc(n + 1, sizeof(const struct notify_config *));
	n = 0;
	for (size_t i = 0; i < files->n; i++)
		for (size_t j = 0; j < files->list[i].notifies.n; j++)
			all[n++] = &files->list[i].notifies.list[j];
	*ret_n = n;
	return all;
}
