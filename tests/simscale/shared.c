/*
 * record_parse_worker() and worker_free() in the place of the real ones (ld --wrap): all nodes are in one process
 * and read the same records, so each is parsed once. A worker never changes once made, but that it gives its list
 * of tasks up for the same list of another.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "scale.h"
#include "wire/records/record.h"

#define SLOTS (1U << 16)

struct shared {
	struct shared *next;
	uint64_t hash;
	size_t len;
	unsigned refs;
	struct worker *worker;
};

static struct shared *by_hash[SLOTS], *by_worker[SLOTS];
static size_t count;

int __real_record_parse_worker(const void *data, size_t len, struct worker **ret_worker,
			       const char **ret_why);
void __real_worker_free(struct worker *w);
int __wrap_record_parse_worker(const void *data, size_t len, struct worker **ret_worker,
			       const char **ret_why);
void __wrap_worker_free(struct worker *w);

size_t shared_records(void)
{
	return count;
}

static size_t slot_of_worker(const struct worker *w)
{
	return ((uintptr_t)w >> 6) % SLOTS;
}

/* The link to that worker in the chain of its slot, or the chain's end if it is not in it. */
static struct shared **find(const struct worker *w)
{
	struct shared **at = &by_worker[slot_of_worker(w)];

	while (*at && (*at)->worker != w)
		at = &(*at)->next;
	return at;
}

int __wrap_record_parse_worker(const void *data, size_t len, struct worker **ret_worker,
			       const char **ret_why)
{
	uint64_t hash = hash_bytes(data, len, 0);
	struct shared **slot = &by_hash[hash % SLOTS], *s = *slot;

	/* The last one with that hash is the one that is read now; others are parsed anew. */
	if (s && s->hash == hash && s->len == len) {
		s->refs++;
		*ret_worker = s->worker;
		return 0;
	}
	int r = __real_record_parse_worker(data, len, ret_worker, ret_why);
	if (r != 0)
		return r;
	s = mem_alloc(sizeof(*s));
	*s = (struct shared){.hash = hash, .len = len, .refs = 1, .worker = *ret_worker};
	*find(s->worker) = s;
	*slot = s;
	count++;
	return 0;
}

void __wrap_worker_free(struct worker *w)
{
	struct shared **at = w ? find(w) : NULL, *s = at ? *at : NULL;

	if (s && --s->refs > 0)
		return;
	if (s) {
		*at = s->next;
		if (by_hash[s->hash % SLOTS] == s)
			by_hash[s->hash % SLOTS] = NULL;
		free(s);
		count--;
	}
	__real_worker_free(w);
}
