/* Sorting of arrays of pointers, and places in sorted arrays. */
#ifndef ZKLEADER_BASE_SORT_H
#define ZKLEADER_BASE_SORT_H

#include <stddef.h>

/*
 * Like qsort() for an array of n pointers, but fast if only elements added at its end are out of
 * order.
 */
void sort_pointers(void *list, size_t n, int (*compare)(const void *, const void *));

/*
 * The first place whose element is not before the key, n if all are; compare is given the key, and
 * then an element, as by bsearch(). Inline, so that the calls of compare are, too.
 */
static inline size_t sort_place(const void *key, const void *list, size_t n, size_t size,
				int (*compare)(const void *key, const void *element))
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;
		if (compare(key, (const char *)list + middle * size) > 0)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

#endif
