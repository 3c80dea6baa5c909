/*
 * A shared library that is loaded where it is needed and by no other process: what is linked, each
 * process of a program pays for from its beginning, and libcurl brings 25 libraries.
 */
#ifndef ZKLEADER_CLIENT_LIBRARY_H
#define ZKLEADER_CLIENT_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct library_function {
	const char *name;
	void *to; /* a pointer to a function */
};

/* False, and dlerror() says why: it cannot be loaded, or lacks one of them. */
bool library_load(const char *name, const struct library_function *functions, size_t n);

#endif
