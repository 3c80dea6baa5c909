/* Lists of pointers that are put in order. */
#ifndef ZKLEADER_BASE_SORT_H
#define ZKLEADER_BASE_SORT_H

#include <stddef.h>

/*
 * As qsort() of an array of n pointers; one pass where it is in order already, but for
 * what was added at its end.
 */
void sort_pointers(void *list, size_t n, int (*compare)(const void *, const void *));

#endif
