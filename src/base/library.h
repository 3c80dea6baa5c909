/*
 * Loads a shared library only in the processes that need it. If it were linked, each process of the
 * program would load it at its start, and libcurl brings 25 libraries.
 */
#ifndef ZKLEADER_BASE_LIBRARY_H
#define ZKLEADER_BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct library_function {
	const char *name;
	void *to; /* a pointer to a function */
};

/* False, and dlerror() says why, if it cannot be loaded or lacks one of the functions. */
bool library_load(const char *name, const struct library_function *functions, size_t n);

#endif
