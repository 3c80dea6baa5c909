#include "daemon/files/task_changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The index of the next task, or of the next queue, from i on; n: there is none. */
static size_t next_of_kind(const struct task_config *const *list, size_t n, size_t i, bool queues)
{
	while (i < n && (list[i]->queue != NULL) != queues)
		i++;
	return i;
}

void task_changes_find(struct task_changes *c, const struct task_config *const *was, size_t n_was,
		       const struct task_config *const *is, size_t n_is, bool queues)
{
	size_t i = 0, j = 0;

	*c = (struct task_changes){.removed = mem_calloc(n_was + 1, sizeof(const char *)),
				   .added = mem_calloc(n_is + 1, sizeof(const char *)),
				   .changed = mem_calloc(n_is + 1, sizeof(const char *))};
	for (;;) {
		i = next_of_kind(was, n_was, i, queues);
		j = next_of_kind(is, n_is, j, queues);
		if (i == n_was && j == n_is)
			return;
		int order = i == n_was ? 1 : j == n_is ? -1 : strcmp(was[i]->name, is[j]->name);
		if (order < 0) {
			c->removed[c->n_removed++] = was[i++]->name;
		} else if (order > 0) {
			c->added[c->n_added++] = is[j++]->name;
		} else {
			if (!task_config_equal(was[i], is[j]))
				c->changed[c->n_changed++] = is[j]->name;
			i++, j++;
		}
	}
}

void task_changes_done(struct task_changes *c)
{
	free(c->removed);
	free(c->added);
	free(c->changed);
}
