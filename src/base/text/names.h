/* Arrays of names. */
#ifndef ZKLEADER_BASE_TEXT_NAMES_H
#define ZKLEADER_BASE_TEXT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* For qsort() and bsearch() of char *. */
int names_compare(const void *a, const void *b);
/*
 * Compares like strcmp(), but numbers by their value: "job-9" before "job-10". 0 for equal strings
 * alone.
 */
int names_natural(const char *a, const char *b);
/* The same strings in order, in an array of the caller's (free() it alone). */
char **names_sorted(char *const *names, size_t n);
/* Copies the array and its strings; never NULL. */
char **names_copy(const char *const *names, size_t n);
/* Whether both arrays have the same strings in the same order. */
bool names_same(const char *const *a, size_t n_a, const char *const *b, size_t n_b);
/* Whether the name is among the sorted names. */
bool names_has(char *const *sorted, size_t n, const char *name);
/*
 * How many of the first names fit in max bytes, each with its quotes and a comma; at least one, if
 * there is any.
 */
size_t names_fit(const char *const *names, size_t n, size_t max);
/* Frees the array and its strings. */
void names_free(char **names, size_t n);

#endif
