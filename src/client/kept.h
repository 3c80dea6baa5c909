/* The end of a job's output, in memory shared by all of its supervisors. */
#ifndef ZKLEADER_CLIENT_KEPT_H
#define ZKLEADER_CLIENT_KEPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define KEPT_MAX 2048 /* bytes */

struct kept {
	char ring[KEPT_MAX];
	_Atomic size_t written; /* bytes in all; only one process writes */
	_Atomic bool all;	/* nothing more will come */
};

/* NULL, and errno says why. */
struct kept *kept_new(void);
/* k may be NULL. */
void kept_free(struct kept *k);
void kept_add(struct kept *k, const char *data, size_t len);
/* Copies the end to `last`, and returns its length in bytes. */
size_t kept_last(const struct kept *k, char last[KEPT_MAX]);

#endif
