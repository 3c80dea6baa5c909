/* A bounded pull reader for MessagePack: no allocation, and no trust in any length it is told. */
#ifndef ZKLEADER_WIRE_READER_H
#define ZKLEADER_WIRE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define READER_DEPTH_MAX 16 /* nested arrays and maps */

/* Reads from p to end. Each reader_* returns 0, or -EBADMSG with the position as it was. */
struct reader {
	const uint8_t *p;
	const uint8_t *end;
};

enum reader_type {
	READER_NIL,
	READER_BOOL,
	READER_INT,  /* fits int64_t */
	READER_UINT, /* above INT64_MAX */
	READER_FLOAT,
	READER_STR,
	READER_BIN,
	READER_EXT,
	READER_ARRAY,
	READER_MAP,
};

struct reader_text {
	const char *data; /* in the reader's bytes, not terminated */
	size_t len;
};

void reader_init(struct reader *r, const void *data, size_t len);
/*
 * Measures the one complete object at data: 1 and its length, 0 if bytes are missing, -EBADMSG if
 * it can never become one (the byte 0xc1), -EMSGSIZE beyond max bytes (also if only its header says
 * so) or READER_DEPTH_MAX levels.
 */
int reader_measure(const void *data, size_t len, size_t max, size_t *ret_len);
/* The type of the next object, which stays unread. */
int reader_peek(const struct reader *r, enum reader_type *ret_type);
int reader_nil(struct reader *r);
int reader_bool(struct reader *r, bool *ret_value);
int reader_int(struct reader *r, int64_t *ret_value);
int reader_uint(struct reader *r, uint64_t *ret_value); /* any non-negative integer */
int reader_float(struct reader *r, double *ret_value);
int reader_str(struct reader *r, struct reader_text *ret_text);
int reader_bin(struct reader *r, struct reader_text *ret_bytes);
/*
 * The header of an array or map of n elements or pairs; an n that the bytes left cannot hold is
 * bad.
 */
int reader_array(struct reader *r, size_t *ret_n);
int reader_map(struct reader *r, size_t *ret_n);
/* Passes over one whole object of any kind, at most READER_DEPTH_MAX deep. */
int reader_skip(struct reader *r);

bool reader_text_is(struct reader_text t, const char *text);
/* Copies into buf and terminates; -EBADMSG if it does not fit or has a NUL byte. */
int reader_text_copy(struct reader_text t, char *buf, size_t size);

#endif
