/* The end of a job's output, in memory shared by all of its supervisors. */
#ifndef ZKLEADER_SUPERVISE_TAIL_H
#define ZKLEADER_SUPERVISE_TAIL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define TAIL_MAX 2048 /* bytes */

struct tail {
	char ring[TAIL_MAX];
	_Atomic size_t written; /* bytes in all; only one process writes */
	_Atomic bool all;	/* nothing more will come */
};

/* NULL, and errno says why. */
struct tail *tail_new(void);
/* t may be NULL. */
void tail_free(struct tail *t);
void tail_add(struct tail *t, const char *data, size_t len);
/* Copies the end to `last`, and returns its length in bytes. */
size_t tail_last(const struct tail *t, char last[TAIL_MAX]);

#endif
