#include "base/mem.h"

#include <malloc.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void out_of_memory(void)
{
	static const char line[] = "out of memory\n";
	struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};

	/*
	 * Only write(2), as stdio and the log may allocate; and only if that does not block, as
	 * this process has to end.
	 */
	if (poll(&fd, 1, 0) > 0 && write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
		abort();
	abort();
}

/* malloc(0) may be NULL, which would look like a failure here. */
static size_t at_least_one(size_t size)
{
	return size > 0 ? size : 1;
}

static size_t total(size_t n, size_t size)
{
	if (size > 0 && n > SIZE_MAX / size)
		out_of_memory();
	return at_least_one(n * size);
}

void *mem_alloc(size_t size)
{
	void *p = malloc(at_least_one(size));

	if (!p)
		out_of_memory();
	return p;
}

void *mem_calloc(size_t n, size_t size)
{
	void *p = calloc(1, total(n, size));

	if (!p)
		out_of_memory();
	return p;
}

void *mem_resize(void *old, size_t n, size_t size)
{
	void *p = realloc(old, total(n, size));

	if (!p)
		out_of_memory();
	return p;
}

char *mem_strdup(const char *text)
{
	return mem_strndup(text, strlen(text));
}

char *mem_strndup(const char *text, size_t len)
{
	size_t n = len > 0 ? strnlen(text, len) : 0;
	char *copy = mem_alloc(n + 1);

	if (n > 0)
		memcpy(copy, text, n);
	copy[n] = '\0';
	return copy;
}

FILE *mem_stream(char **text, size_t *len)
{
	FILE *f = open_memstream(text, len);

	if (!f)
		out_of_memory();
	return f;
}

void mem_stream_end(FILE *f)
{
	bool failed = ferror(f) != 0;

	if (fclose(f) != 0 || failed)
		out_of_memory();
}

void mem_trim(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

void mem_free_pointer(void *pointer_to_pointer)
{
	void *p;

	/* A copy, because the caller's pointer is of another type than void *. */
	memcpy(&p, pointer_to_pointer, sizeof(p));
	free(p);
}
