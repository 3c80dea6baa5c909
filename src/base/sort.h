/* Sorting of arrays of pointers. */
#ifndef ZKLEADER_BASE_SORT_H
#define ZKLEADER_BASE_SORT_H

#include <stddef.h>

/*
 * Like qsort() for an array of n pointers, but fast if only elements added at its end are out of
 * order.
 */
void sort_pointers(void *list, size_t n, int (*compare)(const void *, const void *));

#endif
