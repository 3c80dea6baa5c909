#include "base/worker.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct worker *worker_new(void)
{
	return mem_calloc(1, sizeof(struct worker));
}

static void free_tasks(struct worker *w)
{
	for (size_t i = 0; i < w->n_tasks; i++)
		free(w->tasks[i]);
	free(w->tasks);
	w->tasks = NULL;
	w->n_tasks = 0;
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	free_tasks(w);
	free(w);
}

static int compare_names(const void *a, const void *b)
{
	const char *const *x = a;
	const char *const *y = b;

	return strcmp(*x, *y);
}

void worker_take_tasks(struct worker *w, char **names, size_t n)
{
	size_t kept = 0;

	if (n > 0)
		qsort(names, n, sizeof(names[0]), compare_names);
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && strcmp(names[kept - 1], names[i]) == 0)
			free(names[i]);
		else
			names[kept++] = names[i];
	}
	free_tasks(w);
	if (kept == 0) {
		free(names);
		return;
	}
	w->tasks = names;
	w->n_tasks = kept;
}

void worker_set_tasks(struct worker *w, const char *const *names, size_t n)
{
	char **copy = mem_calloc(n, sizeof(copy[0]));

	/* Copied before the old ones go: the names may be the worker's own. */
	for (size_t i = 0; i < n; i++)
		copy[i] = mem_strdup(names[i]);
	worker_take_tasks(w, copy, n);
}
