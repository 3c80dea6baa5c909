#include "base/sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define STEP sizeof(void *)

void sort_pointers(void *list, size_t n, int (*compare)(const void *, const void *))
{
	char *p = list;
	size_t sorted = n > 0, tail, to = n;

	while (sorted < n && compare(p + (sorted - 1) * STEP, p + sorted * STEP) <= 0)
		sorted++;
	tail = n - sorted;
	if (tail == 0)
		return;
	char *rest = mem_calloc(tail, STEP);
	memcpy(rest, p + sorted * STEP, tail * STEP);
	qsort(rest, tail, STEP, compare);
	while (tail > 0) {
		bool greater = sorted > 0 &&
			       compare(p + (sorted - 1) * STEP, rest + (tail - 1) * STEP) > 0;
		memcpy(p + --to * STEP, greater ? p + --sorted * STEP : rest + --tail * STEP, STEP);
	}
	free(rest);
}
