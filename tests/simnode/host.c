/* A node's host is the machine itself. A fuzz target, which has one machine, has another file for this. */
#include "machine.h"

struct machine *machine_of(const struct host *h)
{
	return (struct machine *)(uintptr_t)h;
}

struct host *machine_host(struct machine *m)
{
	return (struct host *)(uintptr_t)m;
}
