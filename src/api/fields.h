/* Reads maps in the sidecar's answers by tables of fields, and validates everything. */
#ifndef ZKLEADER_API_FIELDS_H
#define ZKLEADER_API_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/reader.h"

#define N_FIELDS(fields) (sizeof(fields) / sizeof((fields)[0]))

/* A key of a map, and how its value is read into `to`. */
struct field {
	const char *name;
	int (*read)(struct reader *r, void *to);
	void *to;
	bool optional;
};

/* The destination of a text. */
struct field_text {
	char *to;
	size_t size;
};

/*
 * Reads one map with at most 32 fields. Unknown keys are skipped. A missing or repeated key, or a
 * value that its reader refuses, is -EBADMSG.
 */
int fields_read(struct reader *r, const struct field *fields, size_t n_fields);

/* Readers of values, and what `to` points to. */
int field_bool(struct reader *r, void *to);	   /* bool */
int field_text(struct reader *r, void *to);	   /* struct field_text; made printable and cut */
int field_text_or_nil(struct reader *r, void *to); /* likewise, left alone by nil */
int field_token(struct reader *r, void *to);	   /* uint64_t, left alone by nil */
int field_uint(struct reader *r, void *to);	   /* uint64_t */
int field_int(struct reader *r, void *to);	   /* int64_t */
int field_lease(struct reader *r, void *to);	   /* int64_t in ms, at most ANSWER_LEASE_MAX_MS */
int field_task(struct reader *r, void *to);	   /* const char *: the value must be this text */

#endif
