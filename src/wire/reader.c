#include "wire/reader.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* How the rest of an object depends on its first byte. */
enum form {
	FORM_VALUE,    /* nothing behind the header */
	FORM_BYTES,    /* str, bin, ext: as many bytes as the header says */
	FORM_ELEMENTS, /* array, map: as many objects as the header says */
	FORM_NEVER,    /* 0xc1, which the format never uses */
};

/*
 * The header of an object: its first byte, a big-endian number of `width` bytes, and for ext a
 * type. The number is the value itself, or how much follows.
 */
struct head {
	enum form form;
	enum reader_type type;
	uint8_t first;
	uint8_t width;
	uint8_t extra; /* bytes between the number and the payload: the type of an ext */
	uint64_t
		/* from the bytes behind the first; for the fix forms from the first itself */
		number;
	size_t len;	 /* length of the whole header */
	uint64_t follow; /* FORM_BYTES: bytes; FORM_ELEMENTS: objects, two for each pair of a map */
};

/* 0xc0 to 0xdf one by one. */
static const struct layout {
	uint8_t form;
	uint8_t type;
	uint8_t width;
	uint8_t extra;
	uint8_t fix; /* follow, where no number says it */
} layouts[32] = {
	{FORM_VALUE, READER_NIL, 0, 0, 0},
	{FORM_NEVER, READER_NIL, 0, 0, 0},
	{FORM_VALUE, READER_BOOL, 0, 0, 0},
	{FORM_VALUE, READER_BOOL, 0, 0, 0},
	{FORM_BYTES, READER_BIN, 1, 0, 0},
	{FORM_BYTES, READER_BIN, 2, 0, 0},
	{FORM_BYTES, READER_BIN, 4, 0, 0},
	{FORM_BYTES, READER_EXT, 1, 1, 0},
	{FORM_BYTES, READER_EXT, 2, 1, 0},
	{FORM_BYTES, READER_EXT, 4, 1, 0},
	{FORM_VALUE, READER_FLOAT, 4, 0, 0},
	{FORM_VALUE, READER_FLOAT, 8, 0, 0},
	{FORM_VALUE, READER_INT, 1, 0, 0}, /* unsigned from here */
	{FORM_VALUE, READER_INT, 2, 0, 0},
	{FORM_VALUE, READER_INT, 4, 0, 0},
	{FORM_VALUE, READER_INT, 8, 0, 0},
	{FORM_VALUE, READER_INT, 1, 0, 0}, /* signed from here */
	{FORM_VALUE, READER_INT, 2, 0, 0},
	{FORM_VALUE, READER_INT, 4, 0, 0},
	{FORM_VALUE, READER_INT, 8, 0, 0},
	{FORM_BYTES, READER_EXT, 0, 1, 1},
	{FORM_BYTES, READER_EXT, 0, 1, 2},
	{FORM_BYTES, READER_EXT, 0, 1, 4},
	{FORM_BYTES, READER_EXT, 0, 1, 8},
	{FORM_BYTES, READER_EXT, 0, 1, 16},
	{FORM_BYTES, READER_STR, 1, 0, 0},
	{FORM_BYTES, READER_STR, 2, 0, 0},
	{FORM_BYTES, READER_STR, 4, 0, 0},
	{FORM_ELEMENTS, READER_ARRAY, 2, 0, 0},
	{FORM_ELEMENTS, READER_ARRAY, 4, 0, 0},
	{FORM_ELEMENTS, READER_MAP, 2, 0, 0},
	{FORM_ELEMENTS, READER_MAP, 4, 0, 0},
};

#define FIRST_LAYOUT   0xc0
#define FIRST_TRUE     0xc3
#define FIRST_FLOAT32  0xca
#define FIRST_UINT64   0xcf
#define FIRST_INT8     0xd0
#define FIRST_INT64    0xd3
#define FIRST_NEGATIVE 0xe0

/* Decodes a header of a single byte: below FIRST_LAYOUT, or from FIRST_NEGATIVE on. */
static void fix_head(uint8_t first, struct head *h)
{
	*h = (struct head){.form = FORM_VALUE, .type = READER_INT, .first = first, .len = 1};
	if (first < 0x80) {
		h->number = first;
	} else if (first < 0x90) {
		h->form = FORM_ELEMENTS;
		h->type = READER_MAP;
		h->number = first & 0x0fU;
	} else if (first < 0xa0) {
		h->form = FORM_ELEMENTS;
		h->type = READER_ARRAY;
		h->number = first & 0x0fU;
	} else if (first < FIRST_LAYOUT) {
		h->form = FORM_BYTES;
		h->type = READER_STR;
		h->number = first & 0x1fU;
	} else {
		h->number = (uint64_t)((int64_t)first - 0x100); /* -32 to -1 */
	}
	h->follow = h->number;
}

/* Decodes as much of a header as its first byte tells. */
static void begin_head(uint8_t first, struct head *h)
{
	const struct layout *layout;

	if (first < FIRST_LAYOUT || first >= FIRST_NEGATIVE) {
		fix_head(first, h);
		return;
	}
	layout = &layouts[first - FIRST_LAYOUT];
	*h = (struct head){
		.form = (enum form)layout->form,
		.type = (enum reader_type)layout->type,
		.first = first,
		.width = layout->width,
		.extra = layout->extra,
		.follow = layout->fix,
		.len = 1 + (size_t)layout->width + layout->extra,
	};
}

/* Decodes the rest of a header from all its h->len bytes. */
static void end_head(const uint8_t *p, struct head *h)
{
	if (h->width > 0) {
		for (size_t i = 1; i <= h->width; i++)
			h->number = h->number << 8 | p[i];
		if (h->form != FORM_VALUE)
			h->follow = h->number;
	}
	if (h->first >= FIRST_INT8 && h->first < FIRST_INT64) {
		/* Extends the sign. */
		assert(h->width > 0 && h->width < sizeof(h->number));
		if (h->number >> (8U * h->width - 1) != 0)
			h->number |= UINT64_MAX << (8U * h->width);
	}
	if (h->first == FIRST_UINT64 && h->number > INT64_MAX)
		h->type = READER_UINT;
	if (h->type == READER_MAP)
		h->follow *= 2;
}

/* Reads the header at p. -EBADMSG: it is incomplete, or announces more than is left. */
static int read_head(const struct reader *r, struct head *h)
{
	size_t left = (size_t)(r->end - r->p);

	if (left == 0)
		return -EBADMSG;
	begin_head(*r->p, h);
	if (h->form == FORM_NEVER || h->len > left)
		return -EBADMSG;
	end_head(r->p, h);
	/* An element takes a byte at least. */
	if (h->form != FORM_VALUE && h->follow > left - h->len)
		return -EBADMSG;
	return 0;
}

static int read_typed(const struct reader *r, enum reader_type type, struct head *h)
{
	int e = read_head(r, h);

	if (e < 0)
		return e;
	return h->type == type ? 0 : -EBADMSG;
}

void reader_init(struct reader *r, const void *data, size_t len)
{
	/* No arithmetic on NULL, which some callers have for no bytes at all. */
	r->p = data && len > 0 ? data : (const uint8_t *)"";
	r->end = r->p + (data ? len : 0);
}

/*
 * Walks the headers with a stack of how many objects each level still lacks. `owed` is their sum,
 * and each takes a byte at least, so an object is known to be too long as soon as any header says
 * so, and no count can make the walk longer than max steps.
 */
int reader_measure(const void *data, size_t len, size_t max, size_t *ret_len)
{
	const uint8_t *p = data;
	uint64_t lacking[READER_DEPTH_MAX + 1]; /* known up to [depth] */
	uint64_t owed = 1;
	uint64_t pos = 0; /* less than 2^64 by far: max and one header's lengths */
	size_t depth = 0;

	lacking[0] = 1;
	while (owed > 0) {
		struct head h;

		if (pos + owed > max)
			return -EMSGSIZE;
		if (pos >= len)
			return 0;
		begin_head(p[pos], &h);
		if (h.form == FORM_NEVER)
			return -EBADMSG;
		owed--;
		if (pos + h.len + owed > max)
			return -EMSGSIZE;
		if (pos + h.len > len)
			return 0;
		end_head(p + pos, &h);
		pos += h.len + (h.form == FORM_BYTES ? h.follow : 0);
		lacking[depth]--;
		if (h.form == FORM_ELEMENTS) {
			if (depth == READER_DEPTH_MAX)
				return -EMSGSIZE;
			lacking[++depth] = h.follow;
			owed += h.follow;
		}
		while (depth > 0 && lacking[depth] == 0)
			depth--;
	}
	/* The last object's bytes count here only; those before it were seen by the next round. */
	if (pos > max)
		return -EMSGSIZE;
	if (pos > len)
		return 0;
	*ret_len = (size_t)pos;
	return 1;
}

int reader_peek(const struct reader *r, enum reader_type *ret_type)
{
	struct head h;
	int e = read_head(r, &h);

	if (e < 0)
		return e;
	*ret_type = h.type;
	return 0;
}

int reader_nil(struct reader *r)
{
	struct head h;
	int e = read_typed(r, READER_NIL, &h);

	if (e < 0)
		return e;
	r->p += h.len;
	return 0;
}

int reader_bool(struct reader *r, bool *ret_value)
{
	struct head h;
	int e = read_typed(r, READER_BOOL, &h);

	if (e < 0)
		return e;
	r->p += h.len;
	*ret_value = h.first == FIRST_TRUE;
	return 0;
}

int reader_int(struct reader *r, int64_t *ret_value)
{
	struct head h;
	int e = read_typed(r, READER_INT, &h);

	if (e < 0)
		return e;
	r->p += h.len;
	/*
	 * A copy: the conversion of an unsigned number beyond INT64_MAX is the compiler's choice.
	 */
	memcpy(ret_value, &h.number, sizeof(*ret_value));
	return 0;
}

int reader_uint(struct reader *r, uint64_t *ret_value)
{
	struct head h;
	int e = read_head(r, &h);

	if (e < 0)
		return e;
	/* A READER_INT with the top bit set is negative. */
	if (h.type != READER_UINT && (h.type != READER_INT || h.number > INT64_MAX))
		return -EBADMSG;
	r->p += h.len;
	*ret_value = h.number;
	return 0;
}

int reader_float(struct reader *r, double *ret_value)
{
	struct head h;
	int e = read_typed(r, READER_FLOAT, &h);

	if (e < 0)
		return e;
	r->p += h.len;
	if (h.first == FIRST_FLOAT32) {
		uint32_t bits = (uint32_t)h.number;
		float value;

		memcpy(&value, &bits, sizeof(value));
		*ret_value = (double)value;
	} else {
		memcpy(ret_value, &h.number, sizeof(*ret_value));
	}
	return 0;
}

static int read_bytes(struct reader *r, enum reader_type type, struct reader_text *ret_text)
{
	struct head h;
	int e = read_typed(r, type, &h);

	if (e < 0)
		return e;
	ret_text->data = (const char *)r->p + h.len;
	ret_text->len = (size_t)h.follow;
	r->p += h.len + (size_t)h.follow;
	return 0;
}

int reader_str(struct reader *r, struct reader_text *ret_text)
{
	return read_bytes(r, READER_STR, ret_text);
}

int reader_bin(struct reader *r, struct reader_text *ret_bytes)
{
	return read_bytes(r, READER_BIN, ret_bytes);
}

int reader_array(struct reader *r, size_t *ret_n)
{
	struct head h;
	int e = read_typed(r, READER_ARRAY, &h);

	if (e < 0)
		return e;
	r->p += h.len;
	*ret_n = (size_t)h.follow;
	return 0;
}

int reader_map(struct reader *r, size_t *ret_n)
{
	struct head h;
	int e = read_typed(r, READER_MAP, &h);

	if (e < 0)
		return e;
	r->p += h.len;
	*ret_n = (size_t)h.follow / 2;
	return 0;
}

int reader_skip(struct reader *r)
{
	size_t left = (size_t)(r->end - r->p);
	size_t len;

	if (reader_measure(r->p, left, left, &len) != 1)
		return -EBADMSG;
	r->p += len;
	return 0;
}

bool reader_text_is(struct reader_text t, const char *text)
{
	return strlen(text) == t.len && (t.len == 0 || memcmp(t.data, text, t.len) == 0);
}

int reader_text_copy(struct reader_text t, char *buf, size_t size)
{
	if (t.len >= size || (t.len > 0 && memchr(t.data, '\0', t.len)))
		return -EBADMSG;
	if (t.len > 0)
		memcpy(buf, t.data, t.len);
	buf[t.len] = '\0';
	return 0;
}
