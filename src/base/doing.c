#include "base/doing.h"

#include <stdatomic.h>
#include <stddef.h>

static _Atomic(const char *) doing = NULL;

const char *doing_begin(const char *what)
{
	const char *before = atomic_load_explicit(&doing, memory_order_relaxed);

	atomic_store_explicit(&doing, what, memory_order_relaxed);
	return before;
}

void doing_end(const char *before)
{
	atomic_store_explicit(&doing, before, memory_order_relaxed);
}

const char *doing_now(void)
{
	return atomic_load_explicit(&doing, memory_order_relaxed);
}
