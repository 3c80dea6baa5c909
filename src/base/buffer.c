#include "base/buffer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BUFFER_CAP_MIN 256

/*
 * Bytes are moved to the front only when at least a quarter as many were consumed since, so that
 * the moves cost at most four copies for each byte that went through, however small the steps. In
 * return the allocation may be a quarter longer than the limit.
 */
#define BUFFER_MOVE_SHARE 4

void buffer_init(struct buffer *b, size_t limit)
{
	assert(limit <= BUFFER_LIMIT_MAX);
	*b = (struct buffer){.limit = limit};
}

void buffer_init_fallible(struct buffer *b, size_t limit)
{
	buffer_init(b, limit);
	b->fallible = true;
}

void buffer_done(struct buffer *b)
{
	free(b->base);
	*b = (struct buffer){.limit = b->limit, .fallible = b->fallible};
}

/* Counts the room anew: what is allocated behind the last byte, as far as the limit goes. */
static void count_room(struct buffer *b)
{
	size_t left = b->limit - b->len;

	b->room = b->base ? b->cap - (size_t)(b->data - b->base) - b->len : 0;
	if (b->room > left)
		b->room = left;
}

static size_t wanted_cap(const struct buffer *b, size_t needed)
{
	size_t max = b->limit + b->limit / BUFFER_MOVE_SHARE;
	size_t cap = needed * 2;

	if (cap > max)
		cap = max;
	return cap > BUFFER_CAP_MIN ? cap : BUFFER_CAP_MIN;
}

/* Makes room for `more` bytes, which the limit allows. False: there is no memory for it. */
static bool make_room(struct buffer *b, size_t more)
{
	size_t needed = b->len + more;
	size_t consumed = b->base ? (size_t)(b->data - b->base) : 0;
	size_t cap;
	uint8_t *base;

	if (needed <= b->cap && consumed >= b->len / BUFFER_MOVE_SHARE) {
		assert(b->base);
		memmove(b->base, b->data, b->len);
		b->data = b->base;
		count_room(b);
		return true;
	}
	cap = wanted_cap(b, needed);
	base = b->fallible ? malloc(cap) : mem_alloc(cap);
	if (!base)
		return false;
	if (b->len > 0)
		memcpy(base, b->data, b->len);
	free(b->base);
	b->base = base;
	b->data = base;
	b->cap = cap;
	count_room(b);
	return true;
}

int buffer_append_more(struct buffer *b, const void *data, size_t len)
{
	if (len > b->limit - b->len)
		return -ENOBUFS;
	if (len == 0)
		return 0;
	if (b->room < len && !make_room(b, len))
		return -ENOMEM;
	memcpy(b->data + b->len, data, len);
	buffer_added(b, len);
	return 0;
}

size_t buffer_reserve(struct buffer *b, size_t want)
{
	size_t left = b->limit - b->len;

	if (want > left)
		want = left;
	if (b->room < want && !make_room(b, want))
		return 0;
	return b->room;
}

void buffer_added(struct buffer *b, size_t len)
{
	assert(len <= b->room);
	b->len += len;
	b->room -= len;
}

void buffer_consume(struct buffer *b, size_t len)
{
	assert(len <= b->len);
	if (len == b->len) {
		buffer_clear(b);
		return;
	}
	b->data += len;
	b->len -= len;
	count_room(b);
}

void buffer_truncate(struct buffer *b, size_t len)
{
	assert(len <= b->len);
	b->len = len;
	count_room(b);
}

void buffer_clear(struct buffer *b)
{
	b->data = b->base;
	b->len = 0;
	count_room(b);
}
