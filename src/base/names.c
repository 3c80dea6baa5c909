#include "base/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

int names_compare(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

char **names_sorted(char *const *names, size_t n)
{
	char **sorted = mem_calloc(n + 1, sizeof(*sorted));

	for (size_t i = 0; i < n; i++)
		sorted[i] = names[i];
	qsort(sorted, n, sizeof(*sorted), names_compare);
	return sorted;
}

bool names_has(char *const *sorted, size_t n, const char *name)
{
	return n > 0 && bsearch(&name, sorted, n, sizeof(*sorted), names_compare);
}

void names_free(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}
