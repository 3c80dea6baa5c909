#include "base/sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { STEP = sizeof(void *) };

void sort_pointers(void *list, size_t n, int (*compare)(const void *, const void *))
{
	char *p = list;
	size_t sorted = n > 0, tail, to = n;

	while (sorted < n && compare(p + (sorted - 1) * STEP, p + sorted * STEP) <= 0)
		sorted++;
	tail = n - sorted;
	if (tail == 0)
		return;
	void **rest = mem_calloc(tail, sizeof(*rest));
	memcpy(rest, p + sorted * STEP, tail * STEP);
	qsort(rest, tail, STEP, compare);
	while (tail > 0) {
		bool greater = sorted > 0 && compare(p + (sorted - 1) * STEP, &rest[tail - 1]) > 0;
		const void *last = greater ? p + --sorted * STEP : (const char *)&rest[--tail];

		memcpy(p + --to * STEP, last, STEP);
	}
	free(rest);
}
