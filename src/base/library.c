#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

bool library_load(const char *name, const struct library_function *functions, size_t n)
{
	void *library = dlopen(name, RTLD_NOW), *function;

	for (size_t i = 0; library && i < n; i++) {
		function = dlsym(library, functions[i].name);
		if (!function)
			return false;
		/* ISO C has no cast from void * to a function pointer. */
		memcpy(functions[i].to, &function, sizeof(function));
	}
	return library != NULL;
}
