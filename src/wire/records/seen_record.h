/* The content of ROOT/seen/TASK: since when the task has had no run that ended well. */
#ifndef ZKLEADER_WIRE_RECORDS_SEEN_RECORD_H
#define ZKLEADER_WIRE_RECORDS_SEEN_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define RECORD_SEEN_MAX 512 /* bytes */

struct seen_record {
	int64_t since; /* ms since the epoch */
	bool ok;       /* a run ended well then; else a leader saw the task for the first time */
	bool told;     /* people were told that this is too long ago */
};

/* Appends to out; 0 or -ENOBUFS. */
int record_pack_seen(struct buffer *out, const struct seen_record *s);
/*
 * Decodes the content, as the functions in wire/records/record.h do: 0, or -EBADMSG and *ret_why.
 */
int record_parse_seen(const void *data, size_t len, struct seen_record *ret_seen,
		      const char **ret_why);

#endif
