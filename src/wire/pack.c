#include "wire/pack.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <msgpack/pack.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "wire/reader.h"

#define HEAD_MAX 5 /* bytes of the head of a map */

/* The packer's output function: the packer stops at anything but 0. */
static int append(void *data, const char *bytes, size_t len)
{
	struct pack *p = data;

	if (p->failed == 0)
		p->failed = buffer_append(p->buffer, bytes, len);
	if (p->failed == -ENOBUFS)
		p->failed = -EMSGSIZE;
	return p->failed;
}

/*
 * The packer is msgpack-c's inline one, which needs no library to link with. It is no more than
 * this pair of pointers, so one is made for each value instead of being kept in struct pack, where
 * the header of msgpack-c would be everybody's.
 */
static msgpack_packer packer(struct pack *p)
{
	msgpack_packer packer;

	msgpack_packer_init(&packer, p, append);
	return packer;
}

void pack_init(struct pack *p, struct buffer *buffer)
{
	*p = (struct pack){.buffer = buffer};
}

void pack_array(struct pack *p, size_t n)
{
	msgpack_packer to = packer(p);

	assert(n <= UINT32_MAX);
	msgpack_pack_array(&to, n);
}

void pack_map(struct pack *p, size_t n)
{
	msgpack_packer to = packer(p);

	assert(n <= UINT32_MAX);
	msgpack_pack_map(&to, n);
}

size_t pack_open(struct pack *p)
{
	size_t opened = p->buffer->len;

	pack_map(p, 0);
	return opened;
}

void pack_close(struct pack *p, size_t opened)
{
	size_t end = p->buffer->len, n = 0, head;
	uint8_t *map, bytes[HEAD_MAX];
	struct reader r;

	if (p->failed)
		return;
	reader_init(&r, p->buffer->data + opened + 1, end - opened - 1);
	for (; r.p < r.end && reader_skip(&r) == 0; n++)
		;
	assert(r.p == r.end && n % 2 == 0);
	/* The map's head is packed behind its pairs, then moved in front of them. */
	pack_map(p, n / 2);
	if (p->failed)
		return;
	map = p->buffer->data + opened;
	head = p->buffer->len - end;
	memcpy(bytes, p->buffer->data + end, head);
	memmove(map + head, map + 1, end - opened - 1);
	memcpy(map, bytes, head);
	buffer_truncate(p->buffer, end - 1 + head);
}

void pack_nil(struct pack *p)
{
	msgpack_packer to = packer(p);

	msgpack_pack_nil(&to);
}

void pack_bool(struct pack *p, bool value)
{
	msgpack_packer to = packer(p);

	if (value)
		msgpack_pack_true(&to);
	else
		msgpack_pack_false(&to);
}

void pack_int(struct pack *p, int64_t value)
{
	msgpack_packer to = packer(p);

	msgpack_pack_int64(&to, value);
}

void pack_uint(struct pack *p, uint64_t value)
{
	msgpack_packer to = packer(p);

	msgpack_pack_uint64(&to, value);
}

void pack_str(struct pack *p, const char *text)
{
	if (text)
		pack_strn(p, text, strlen(text));
	else
		pack_nil(p);
}

/* Nearly all texts are ASCII, and answers are mostly texts. */
static bool is_ascii(const char *text, size_t len)
{
	uint64_t eight, all = 0;
	size_t i = 0;

	for (; len - i >= sizeof(eight); i += sizeof(eight)) {
		memcpy(&eight, text + i, sizeof(eight));
		all |= eight;
	}
	for (; i < len; i++)
		all |= (unsigned char)text[i];
	return !(all & UINT64_C(0x8080808080808080));
}

/*
 * A string of MessagePack is UTF-8, and other readers insist on that: each byte that is none
 * becomes "?".
 */
static void mend(char *text, size_t len)
{
	uint32_t code;

	if (is_ascii(text, len))
		return;
	for (size_t i = 0; i < len;) {
		size_t n = utf8_decode(text + i, len - i, &code);

		if (n == 0)
			text[i] = '?';
		i += n > 0 ? n : 1;
	}
}

/* flatten: all that it calls is inlined, as an answer is mostly texts. */
__attribute__((flatten)) void pack_strn(struct pack *p, const char *text, size_t len)
{
	msgpack_packer to = packer(p);

	assert(len <= UINT32_MAX);
	msgpack_pack_str(&to, len);
	if (len > 0)
		msgpack_pack_str_body(&to, text, len);
	if (p->failed == 0 && len > 0)
		mend((char *)p->buffer->data + p->buffer->len - len, len);
}

void pack_kv_nil(struct pack *p, const char *key)
{
	pack_str(p, key);
	pack_nil(p);
}

void pack_kv_bool(struct pack *p, const char *key, bool value)
{
	pack_str(p, key);
	pack_bool(p, value);
}

void pack_kv_int(struct pack *p, const char *key, int64_t value)
{
	pack_str(p, key);
	pack_int(p, value);
}

void pack_kv_uint(struct pack *p, const char *key, uint64_t value)
{
	pack_str(p, key);
	pack_uint(p, value);
}

void pack_kv_str(struct pack *p, const char *key, const char *text)
{
	pack_str(p, key);
	pack_str(p, text);
}

void pack_kv_text(struct pack *p, const char *key, const char *text)
{
	pack_kv_str(p, key, text[0] ? text : NULL);
}

void pack_kv_strn(struct pack *p, const char *key, const char *text, size_t len)
{
	pack_str(p, key);
	if (text)
		pack_strn(p, text, len);
	else
		pack_nil(p);
}

void pack_kv_known(struct pack *p, const char *key, bool known, int64_t value)
{
	pack_str(p, key);
	if (known)
		pack_int(p, value);
	else
		pack_nil(p);
}

void pack_kv_time(struct pack *p, const char *key, int64_t wall_ms)
{
	char text[CLOCK_TEXT_SIZE] = "";

	if (wall_ms > 0)
		clock_format(wall_ms, text);
	pack_kv_text(p, key, text);
}

void pack_raw(struct pack *p, const void *data, size_t len)
{
	append(p, data, len);
}

void pack_bin(struct pack *p, const void *data, size_t len)
{
	msgpack_packer to = packer(p);

	assert(len <= UINT32_MAX);
	msgpack_pack_bin(&to, len);
	if (len > 0)
		msgpack_pack_bin_body(&to, data, len);
}

void pack_kv_bin(struct pack *p, const char *key, const void *data, size_t len)
{
	pack_str(p, key);
	pack_bin(p, data, len);
}
