#include "client/kept.h"

#include <sys/mman.h>

struct kept *kept_new(void)
{
	void *k = mmap(NULL, sizeof(struct kept), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return k == MAP_FAILED ? NULL : k;
}

void kept_free(struct kept *k)
{
	if (k)
		munmap(k, sizeof(*k));
}

void kept_add(struct kept *k, const char *data, size_t len)
{
	size_t written = k->written;

	for (size_t i = 0; i < len; i++)
		k->ring[(written + i) % KEPT_MAX] = data[i];
	k->written = written + len;
}

size_t kept_last(const struct kept *k, char last[KEPT_MAX])
{
	size_t written = k->written, n = written < KEPT_MAX ? written : KEPT_MAX;

	for (size_t i = 0; i < n; i++)
		last[i] = k->ring[(written - n + i) % KEPT_MAX];
	return n;
}
