/* Preloaded: counts what the program allocates, in the file that ALLOCATIONS names. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

static atomic_uint_least64_t unshared;
static atomic_uint_least64_t *count = &unshared;

__attribute__((constructor)) static void share(void)
{
	const char *name = getenv("ALLOCATIONS");
	int fd = name ? open(name, O_RDWR | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	void *p = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p != MAP_FAILED)
		count = p;
}

void *malloc(size_t size)
{
	atomic_fetch_add(count, 1);
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	atomic_fetch_add(count, 1);
	return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	atomic_fetch_add(count, 1);
	return __libc_realloc(old, size);
}
