/* One sidecar as the fleet knows it: the content of ROOT/workers/ID. It never changes once made. */
#ifndef ZKLEADER_BASE_WORKER_H
#define ZKLEADER_BASE_WORKER_H

#include <stddef.h>
#include <stdint.h>

#include "base/name.h"

#define WORKER_RANDOM_INTS 5
#define WORKER_TASKS_MAX   10000

struct worker {
	char id[NAME_ID_MAX + 1];
	char version[NAME_VERSION_MAX + 1];
	char ip[NAME_IP_MAX + 1];
	char hostname[NAME_HOST_MAX + 1];
	int32_t random_ints[WORKER_RANDOM_INTS];
	int64_t started_at; /* ms since the epoch */
	int64_t timeout_ms; /* its negotiated session timeout; 0 where the record does not say */
	char **tasks;	    /* owned, as is each name; sorted by strcmp, no duplicates */
	size_t n_tasks;
};

/* A zeroed worker on the heap. */
struct worker *worker_new(void);
void worker_free(struct worker *w);
/* Takes a copy of n names, sorts them and drops duplicates; replaces what was there. */
void worker_set_tasks(struct worker *w, const char *const *names, size_t n);
/* The same with a heap array of heap strings, which the worker now owns. */
void worker_take_tasks(struct worker *w, char **names, size_t n);

#endif
