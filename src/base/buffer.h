/* A growing byte buffer with a limit; bytes are appended at the end and consumed at the front. */
#ifndef ZKLEADER_BASE_BUFFER_H
#define ZKLEADER_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BUFFER_LIMIT_MAX (SIZE_MAX / 4)

struct buffer {
	uint8_t *data; /* the first byte not consumed */
	size_t len;    /* bytes at data */
	size_t room;   /* bytes behind them that can be written at once */
	size_t limit;  /* len never exceeds this */
	uint8_t *base; /* the allocation, NULL while empty */
	size_t cap;
	bool fallible; /* allocation may fail: see buffer_init_fallible() */
};

/* The limit is at most BUFFER_LIMIT_MAX. */
void buffer_init(struct buffer *b, size_t limit);
/*
 * Like buffer_init(), but the buffer's functions report a failed allocation and do not end the
 * process.
 */
void buffer_init_fallible(struct buffer *b, size_t limit);
void buffer_done(struct buffer *b);
/* The slow path of buffer_append(): there is no room yet, so more is allocated. */
int buffer_append_more(struct buffer *b, const void *data, size_t len);

/*
 * Returns 0, or -ENOBUFS (nothing appended) if the limit would be passed; for a fallible buffer
 * also -ENOMEM. Inline, because answers are made of very many pieces of a few bytes.
 */
static inline int buffer_append(struct buffer *b, const void *data, size_t len)
{
	if (len > b->room || len == 0)
		return buffer_append_more(b, data, len);
	memcpy(b->data + b->len, data, len);
	b->len += len;
	b->room -= len;
	return 0;
}

/*
 * Room for at least `want` more bytes at data + len (capped by the limit); returns how many there
 * are: 0 when full or, for a fallible buffer, without memory. The caller writes there and calls
 * buffer_added().
 */
size_t buffer_reserve(struct buffer *b, size_t want);
void buffer_added(struct buffer *b, size_t len);
/* Drops the first len bytes. Memory is kept for reuse until buffer_done(). */
void buffer_consume(struct buffer *b, size_t len);
/* Drops all but the first len bytes: takes back what was appended since. */
void buffer_truncate(struct buffer *b, size_t len);
void buffer_clear(struct buffer *b);

#endif
