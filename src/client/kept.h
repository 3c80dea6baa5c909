/* The last of what a job writes, in memory that all of its supervisors share. */
#ifndef ZKLEADER_CLIENT_KEPT_H
#define ZKLEADER_CLIENT_KEPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define KEPT_MAX 2048 /* bytes */

struct kept {
	char ring[KEPT_MAX];
	_Atomic size_t written; /* bytes, all that there were; by one process alone */
	_Atomic bool all;	/* nothing more will come */
};

/* NULL, and errno says why. */
struct kept *kept_new(void);
/* k may be NULL. */
void kept_free(struct kept *k);
void kept_add(struct kept *k, const char *data, size_t len);
/* How many bytes of it there are in `last`. */
size_t kept_last(const struct kept *k, char last[KEPT_MAX]);

#endif
