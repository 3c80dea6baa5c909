/*
 * Preloaded: a disk that does not answer. Whoever opens a *.conf or a file named VERSION waits for as long as
 * the file that SLOW_DISK names is there. Built by test_slow_disk.py.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int ends_with(const char *path, const char *end)
{
	size_t len = strlen(path), n = strlen(end);

	return len >= n && strcmp(path + len - n, end) == 0;
}

static void hang(const char *path)
{
	const char *file = getenv("SLOW_DISK");

	while (file && (ends_with(path, ".conf") || ends_with(path, "/VERSION")) &&
	       access(file, F_OK) == 0)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static int open_with(const char *name, const char *path, int flags, mode_t mode)
{
	int (*real)(const char *, int, ...);

	hang(path);
	*(void **)&real = dlsym(RTLD_NEXT, name);
	return real(path, flags, mode);
}

#define OPEN(name)                                          \
	int name(const char *path, int flags, ...)          \
	{                                                   \
		va_list ap;                                 \
		va_start(ap, flags);                        \
		mode_t mode = va_arg(ap, mode_t);           \
		va_end(ap);                                 \
		return open_with(#name, path, flags, mode); \
	}

OPEN(open)
OPEN(open64)
