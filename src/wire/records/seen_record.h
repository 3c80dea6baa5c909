/*
 * The content of ROOT/seen/TASK: since when the task has had no run that ended well; and that of
 * ROOT/troubles/TASK: people were told that it failed, and not yet that it is well again.
 */
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

struct trouble_record {
	int64_t since; /* ms since the epoch: when the first of them was */
	/*
	 * How many they are, but for one for each version of the znode: another failure writes it
	 * anew, which counts it. None: the task was overdue.
	 */
	int64_t failed;
};

/* Each appends to out; 0 or -ENOBUFS. */
int record_pack_seen(struct buffer *out, const struct seen_record *s);
int record_pack_trouble(struct buffer *out, const struct trouble_record *t);
/*
 * Each decodes the content, as the functions in wire/records/record.h do: 0, or -EBADMSG and
 * *ret_why.
 */
int record_parse_seen(const void *data, size_t len, struct seen_record *ret_seen,
		      const char **ret_why);
int record_parse_trouble(const void *data, size_t len, struct trouble_record *ret_trouble,
			 const char **ret_why);

#endif
