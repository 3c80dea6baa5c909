/* The content of a barrier's znode. */
#ifndef ZKLEADER_WIRE_RECORDS_BARRIER_RECORD_H
#define ZKLEADER_WIRE_RECORDS_BARRIER_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "wire/keys.h"

#define RECORD_BARRIER_MAX (24 * 1024) /* bytes */
#define BARRIER_COUNT_MAX  1000	       /* members of a round */
#define BARRIER_IDS_MAX	   2000	       /* ids that are kept, of all rounds together */
#define BARRIER_ROUNDS_MAX 100	       /* rounds that are kept */

struct barrier_record {
	int64_t round; /* number of the last round opened; 0: none */
	/* The rounds that are kept, the newest first: their sizes, and the ids of their members. */
	size_t sizes[BARRIER_ROUNDS_MAX];
	size_t n_rounds; /* 0 where none was opened, else at least 1 */
	uint64_t ids[BARRIER_IDS_MAX];
	size_t n_ids;
};

/*
 * Opens a round of these n members. The oldest rounds are dropped, each as a whole, if there is no
 * room for them.
 */
void barrier_record_open(struct barrier_record *b, const uint64_t *ids, size_t n);

RECORD_DECLARE(barrier, barrier_record);

#endif
