/*
 * Preloaded: a disk that does not answer. Whoever opens a *.conf or a file named VERSION, or asks for the state of
 * such a file or of a folder conf.d, waits for as long as the file that SLOW_DISK names is there. Built by
 * test_slow_disk.py.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
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
	int slow = ends_with(path, ".conf") || ends_with(path, "/VERSION") ||
		   ends_with(path, "/conf.d");

	while (file && slow && access(file, F_OK) == 0)
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

#define STAT(name, type)                                   \
	int name(const char *path, struct type *st)        \
	{                                                  \
		int (*real)(const char *, struct type *);  \
		hang(path);                                \
		*(void **)&real = dlsym(RTLD_NEXT, #name); \
		return real(path, st);                     \
	}

STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)

int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
	int (*real)(int, const char *, uint32_t);

	hang(path);
	*(void **)&real = dlsym(RTLD_NEXT, "inotify_add_watch");
	return real(fd, path, mask);
}
