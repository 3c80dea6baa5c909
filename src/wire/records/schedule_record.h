/* The content of ROOT/schedules/TASK: the schedule that is in force, and since when. */
#ifndef ZKLEADER_WIRE_RECORDS_SCHEDULE_RECORD_H
#define ZKLEADER_WIRE_RECORDS_SCHEDULE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define RECORD_SCHEDULE_MAX  1024 /* bytes */
#define SCHEDULE_RECORD_TEXT 200  /* bytes of the schedule */
#define SCHEDULE_RECORD_ZONE 100

struct schedule_record {
	char text[SCHEDULE_RECORD_TEXT + 1];
	char timezone[SCHEDULE_RECORD_ZONE + 1];
	int64_t since; /* ms since the epoch: no tick up to then is owed */
};

/* Appends to out; 0 or -ENOBUFS. */
int record_pack_schedule(struct buffer *out, const struct schedule_record *r);
/*
 * Decodes the content, as the functions in wire/records/record.h do: 0, or -EBADMSG and *ret_why.
 */
int record_parse_schedule(const void *data, size_t len, struct schedule_record *ret_schedule,
			  const char **ret_why);

#endif
