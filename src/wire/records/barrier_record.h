/* What the znode of a barrier holds. */
#ifndef ZKLEADER_WIRE_RECORDS_BARRIER_RECORD_H
#define ZKLEADER_WIRE_RECORDS_BARRIER_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define RECORD_BARRIER_MAX (24 * 1024) /* bytes */
#define BARRIER_COUNT_MAX  1000	       /* members of a round */
#define BARRIER_IDS_MAX	   2000	       /* that a barrier remembers, of all rounds together */
#define BARRIER_ROUNDS_MAX 100	       /* that it remembers */

struct barrier_record {
	int64_t round; /* of the last opened; 0: none was yet */
	/* The members of the last rounds, the newest round first, one round behind the other. */
	size_t sizes[BARRIER_ROUNDS_MAX];
	size_t n_rounds; /* 0 where none was opened, else at least 1 */
	uint64_t ids[BARRIER_IDS_MAX];
	size_t n_ids;
};

/*
 * One round more, of these n members; the oldest rounds for which there is no room are forgotten
 * whole.
 */
void barrier_record_open(struct barrier_record *b, const uint64_t *ids, size_t n);

/* Appends to out; 0 or -ENOBUFS. */
int record_pack_barrier(struct buffer *out, const struct barrier_record *b);
/* As the others (wire/records/record.h): 0, or -EBADMSG and *ret_why. */
int record_parse_barrier(const void *data, size_t len, struct barrier_record *ret_barrier,
			 const char **ret_why);

#endif
