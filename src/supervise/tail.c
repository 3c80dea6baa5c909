#include "supervise/tail.h"

#include <sys/mman.h>

struct tail *tail_new(void)
{
	void *t = mmap(NULL, sizeof(struct tail), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return t == MAP_FAILED ? NULL : t;
}

void tail_free(struct tail *t)
{
	if (t)
		munmap(t, sizeof(*t));
}

void tail_add(struct tail *t, const char *data, size_t len)
{
	size_t written = t->written;

	for (size_t i = 0; i < len; i++)
		t->ring[(written + i) % TAIL_MAX] = data[i];
	t->written = written + len;
}

size_t tail_last(const struct tail *t, char last[TAIL_MAX])
{
	size_t written = t->written, n = written < TAIL_MAX ? written : TAIL_MAX;

	for (size_t i = 0; i < n; i++)
		last[i] = t->ring[(written - n + i) % TAIL_MAX];
	return n;
}
