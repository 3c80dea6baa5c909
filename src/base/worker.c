#include "base/worker.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct worker *worker_new(void)
{
	return mem_calloc(1, sizeof(struct worker));
}

static void free_names(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	free_names(w->tasks, w->n_tasks);
	free_names(w->unhealthy, w->n_unhealthy);
	free(w->digests);
	free(w);
}

static int compare_names(const void *a, const void *b)
{
	const char *const *x = a;
	const char *const *y = b;

	return strcmp(*x, *y);
}

/* Sorts the names, drops duplicates, and puts them in the place of those that were there. */
static void take_names(char ***list, size_t *n_list, char **names, size_t n)
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
	free_names(*list, *n_list);
	if (kept == 0) {
		free(names);
		names = NULL;
	}
	*list = names;
	*n_list = kept;
}

void worker_take_tasks(struct worker *w, char **names, size_t n)
{
	take_names(&w->tasks, &w->n_tasks, names, n);
}

void worker_take_unhealthy(struct worker *w, char **names, size_t n)
{
	take_names(&w->unhealthy, &w->n_unhealthy, names, n);
}

bool worker_is_unhealthy(const struct worker *w, const char *task)
{
	return w->sick || (w->n_unhealthy > 0 && bsearch(&task, w->unhealthy, w->n_unhealthy,
							 sizeof(w->unhealthy[0]), compare_names));
}

void worker_set_tasks(struct worker *w, const char *const *names, size_t n)
{
	char **copy = mem_calloc(n, sizeof(copy[0]));

	/* Copied before the old ones go: the names may be the worker's own. */
	for (size_t i = 0; i < n; i++)
		copy[i] = mem_strdup(names[i]);
	worker_take_tasks(w, copy, n);
}
