#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <msgpack.h>

#include "base/mem.h"
#include "wire/reader.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BYTES(...)   {__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define ANY	     SIZE_MAX

/* --- every kind of object, as msgpack-c packs it ---------------------------------------------- */

static char filler[70000];

typedef void pack_fn(msgpack_packer *to, int64_t arg);

static void put_nil(msgpack_packer *to, int64_t arg)
{
	(void)arg;
	msgpack_pack_nil(to);
}

static void put_bool(msgpack_packer *to, int64_t arg)
{
	if (arg)
		msgpack_pack_true(to);
	else
		msgpack_pack_false(to);
}

static void put_int(msgpack_packer *to, int64_t arg)
{
	msgpack_pack_int64(to, arg);
}

static void put_uint(msgpack_packer *to, int64_t arg)
{
	msgpack_pack_uint64(to, (uint64_t)arg);
}

static void put_fix_int8(msgpack_packer *to, int64_t arg)
{
	msgpack_pack_fix_int8(to, (int8_t)arg);
}

static void put_fix_int16(msgpack_packer *to, int64_t arg)
{
	msgpack_pack_fix_int16(to, (int16_t)arg);
}

static void put_fix_int32(msgpack_packer *to, int64_t arg)
{
	msgpack_pack_fix_int32(to, (int32_t)arg);
}

static void put_fix_int64(msgpack_packer *to, int64_t arg)
{
	msgpack_pack_fix_int64(to, arg);
}

static void put_fix_uint8(msgpack_packer *to, int64_t arg)
{
	msgpack_pack_fix_uint8(to, (uint8_t)arg);
}

static void put_fix_uint16(msgpack_packer *to, int64_t arg)
{
	msgpack_pack_fix_uint16(to, (uint16_t)arg);
}

static void put_fix_uint32(msgpack_packer *to, int64_t arg)
{
	msgpack_pack_fix_uint32(to, (uint32_t)arg);
}

static void put_fix_uint64(msgpack_packer *to, int64_t arg)
{
	msgpack_pack_fix_uint64(to, (uint64_t)arg);
}

static void put_float(msgpack_packer *to, int64_t arg)
{
	msgpack_pack_float(to, (float)arg / 4);
}

static void put_double(msgpack_packer *to, int64_t arg)
{
	msgpack_pack_double(to, (double)arg / 4);
}

static void put_str(msgpack_packer *to, int64_t arg)
{
	msgpack_pack_str_with_body(to, filler, (size_t)arg);
}

static void put_bin(msgpack_packer *to, int64_t arg)
{
	msgpack_pack_bin_with_body(to, filler, (size_t)arg);
}

static void put_ext(msgpack_packer *to, int64_t arg)
{
	msgpack_pack_ext_with_body(to, filler, (size_t)arg, -5);
}

static void put_array(msgpack_packer *to, int64_t arg)
{
	msgpack_pack_array(to, (size_t)arg);
	for (int64_t i = 0; i < arg; i++)
		msgpack_pack_int64(to, i);
}

static void put_map(msgpack_packer *to, int64_t arg)
{
	msgpack_pack_map(to, (size_t)arg);
	for (int64_t i = 0; i < arg; i++) {
		msgpack_pack_int64(to, i);
		msgpack_pack_nil(to);
	}
}

static const struct object {
	const char *name;
	pack_fn *put;
	int64_t arg;
	enum reader_type type;
	size_t len; /* as packed */
} objects[] = {
	{"nil", put_nil, 0, READER_NIL, 1},
	{"false", put_bool, 0, READER_BOOL, 1},
	{"true", put_bool, 1, READER_BOOL, 1},
	{"int", put_int, 0, READER_INT, 1},
	{"int", put_int, 1, READER_INT, 1},
	{"int", put_int, 127, READER_INT, 1},
	{"int", put_int, 128, READER_INT, 2},
	{"int", put_int, 255, READER_INT, 2},
	{"int", put_int, 256, READER_INT, 3},
	{"int", put_int, 65535, READER_INT, 3},
	{"int", put_int, 65536, READER_INT, 5},
	{"int", put_int, UINT32_MAX, READER_INT, 5},
	{"int", put_int, INT64_C(1) << 32, READER_INT, 9},
	{"int", put_int, INT64_MAX, READER_INT, 9},
	{"int", put_int, -1, READER_INT, 1},
	{"int", put_int, -32, READER_INT, 1},
	{"int", put_int, -33, READER_INT, 2},
	{"int", put_int, -128, READER_INT, 2},
	{"int", put_int, -129, READER_INT, 3},
	{"int", put_int, INT16_MIN, READER_INT, 3},
	{"int", put_int, INT16_MIN - 1, READER_INT, 5},
	{"int", put_int, INT32_MIN, READER_INT, 5},
	{"int", put_int, INT64_C(-1) + INT32_MIN, READER_INT, 9},
	{"int", put_int, INT64_MIN, READER_INT, 9},
	{"uint", put_uint, INT64_MAX, READER_INT, 9},
	{"uint", put_uint, INT64_MIN, READER_UINT, 9}, /* 2^63 */
	{"uint", put_uint, -1, READER_UINT, 9},	       /* 2^64 - 1 */
	/* Wider than they need to be, positive ones as signed and so on. */
	{"fix_int8", put_fix_int8, 5, READER_INT, 2},
	{"fix_int8", put_fix_int8, -5, READER_INT, 2},
	{"fix_int8", put_fix_int8, INT8_MIN, READER_INT, 2},
	{"fix_int8", put_fix_int8, INT8_MAX, READER_INT, 2},
	{"fix_int16", put_fix_int16, 5, READER_INT, 3},
	{"fix_int16", put_fix_int16, -5, READER_INT, 3},
	{"fix_int16", put_fix_int16, INT16_MAX, READER_INT, 3},
	{"fix_int32", put_fix_int32, 5, READER_INT, 5},
	{"fix_int32", put_fix_int32, -5, READER_INT, 5},
	{"fix_int32", put_fix_int32, INT32_MAX, READER_INT, 5},
	{"fix_int64", put_fix_int64, 5, READER_INT, 9},
	{"fix_int64", put_fix_int64, -5, READER_INT, 9},
	{"fix_int64", put_fix_int64, INT64_MIN, READER_INT, 9},
	{"fix_int64", put_fix_int64, INT64_MAX, READER_INT, 9},
	{"fix_uint8", put_fix_uint8, 5, READER_INT, 2},
	{"fix_uint16", put_fix_uint16, 5, READER_INT, 3},
	{"fix_uint32", put_fix_uint32, 5, READER_INT, 5},
	{"fix_uint64", put_fix_uint64, 5, READER_INT, 9},
	{"fix_uint64", put_fix_uint64, 0, READER_INT, 9},
	{"float", put_float, 0, READER_FLOAT, 5},
	{"float", put_float, -7, READER_FLOAT, 5},
	{"double", put_double, 0, READER_FLOAT, 9},
	{"double", put_double, -7, READER_FLOAT, 9},
	{"str", put_str, 0, READER_STR, 1},
	{"str", put_str, 31, READER_STR, 32},
	{"str", put_str, 32, READER_STR, 34},
	{"str", put_str, 255, READER_STR, 257},
	{"str", put_str, 256, READER_STR, 259},
	{"str", put_str, 65535, READER_STR, 65538},
	{"str", put_str, 65536, READER_STR, 65541},
	{"bin", put_bin, 0, READER_BIN, 2},
	{"bin", put_bin, 255, READER_BIN, 257},
	{"bin", put_bin, 256, READER_BIN, 259},
	{"bin", put_bin, 65536, READER_BIN, 65541},
	{"ext", put_ext, 0, READER_EXT, 3},
	{"ext", put_ext, 1, READER_EXT, 3},
	{"ext", put_ext, 2, READER_EXT, 4},
	{"ext", put_ext, 3, READER_EXT, 6},
	{"ext", put_ext, 4, READER_EXT, 6},
	{"ext", put_ext, 8, READER_EXT, 10},
	{"ext", put_ext, 16, READER_EXT, 18},
	{"ext", put_ext, 17, READER_EXT, 20},
	{"ext", put_ext, 255, READER_EXT, 258},
	{"ext", put_ext, 256, READER_EXT, 260},
	{"ext", put_ext, 65536, READER_EXT, 65542},
	{"array", put_array, 0, READER_ARRAY, 1},
	{"array", put_array, 15, READER_ARRAY, 16},
	{"array", put_array, 16, READER_ARRAY, 19},
	{"array", put_array, 65535, READER_ARRAY, 3 + 128 + 2 * 128 + 3 * (65535 - 256)},
	{"array", put_array, 65536, READER_ARRAY, 5 + 128 + 2 * 128 + 3 * (65536 - 256)},
	{"map", put_map, 0, READER_MAP, 1},
	{"map", put_map, 15, READER_MAP, 31},
	{"map", put_map, 16, READER_MAP, 35},
	{"map", put_map, 65536, READER_MAP, 5 + 2 * 128 + 3 * 128 + 4 * (65536 - 256)},
};

/* The exact bytes on the heap, so that the sanitizer sees a step beyond them. */
static uint8_t *pack_object(const struct object *o, size_t *ret_len)
{
	msgpack_sbuffer bytes;
	msgpack_packer to;
	uint8_t *copy;

	msgpack_sbuffer_init(&bytes);
	msgpack_packer_init(&to, &bytes, msgpack_sbuffer_write);
	o->put(&to, o->arg);
	copy = mem_alloc(bytes.size);
	memcpy(copy, bytes.data, bytes.size);
	*ret_len = bytes.size;
	msgpack_sbuffer_destroy(&bytes);
	return copy;
}

/* An object cut at len, in memory of just this length. */
static uint8_t *cut(const uint8_t *data, size_t len)
{
	uint8_t *copy = mem_alloc(len);

	if (len > 0)
		memcpy(copy, data, len);
	return copy;
}

Test(reader, measures_each_kind)
{
	for (size_t i = 0; i < COUNT(objects); i++) {
		const struct object *o = &objects[i];
		size_t len;
		mem_auto uint8_t *data = pack_object(o, &len);
		mem_auto uint8_t *longer = mem_calloc(len + 1, 1);
		size_t measured = 0;

		cr_assert_eq(len, o->len, "%s %" PRId64 ": %zu", o->name, o->arg, len);
		cr_assert_eq(reader_measure(data, len, len, &measured), 1);
		cr_assert_eq(measured, len);
		measured = 77;
		cr_assert_eq(reader_measure(data, len, len - 1, &measured), -EMSGSIZE);
		cr_assert_eq(measured, 77);
		/* Bytes that follow are not looked at. */
		memcpy(longer, data, len);
		longer[len] = 0xc1;
		cr_assert_eq(reader_measure(longer, len + 1, ANY, &measured), 1);
		cr_assert_eq(measured, len);
	}
}

Test(reader, measures_what_is_cut)
{
	for (size_t i = 0; i < COUNT(objects); i++) {
		size_t len;
		mem_auto uint8_t *data = pack_object(&objects[i], &len);
		size_t step = len > 1000 ? len / 100 : 1;

		for (size_t n = 0; n < len; n += step) {
			mem_auto uint8_t *part = cut(data, n);
			size_t measured = 77;
			struct reader r;

			cr_assert_eq(reader_measure(part, n, ANY, &measured), 0, "%s %zu of %zu",
				     objects[i].name, n, len);
			cr_assert_eq(reader_measure(part, n, len, &measured), 0);
			/* The first byte alone may not tell, but whatever is left never fits. */
			cr_assert(reader_measure(part, n, n, &measured) == -EMSGSIZE);
			cr_assert_eq(measured, 77);
			reader_init(&r, part, n);
			cr_assert_eq(reader_skip(&r), -EBADMSG);
			cr_assert_eq(r.p == (n > 0 ? part : r.end), true);
		}
	}
}

/* All that a reader can be asked for: only the right question is answered. */
static void ask(const struct object *o, const uint8_t *data, size_t len)
{
	bool is_uint = o->type == READER_UINT ||
		       (o->type == READER_INT && (o->arg >= 0 || o->put == put_uint));
	struct reader_text text = {NULL, 77};
	double real = 77;
	uint64_t unsig = 77;
	int64_t integer = 77;
	bool boolean = true;
	size_t n = 77;
	const uint8_t *start;
	enum reader_type type;
	struct reader r;

#define ASK(call, answered)                                                                      \
	do {                                                                                     \
		reader_init(&r, data, len);                                                      \
		start = r.p;                                                                     \
		cr_assert_eq(call, (answered) ? 0 : -EBADMSG, "%s %" PRId64 ": " #call, o->name, \
			     o->arg);                                                            \
		cr_assert((answered) == (r.p != start));                                         \
	} while (0)
	reader_init(&r, data, len);
	cr_assert_eq(reader_peek(&r, &type), 0);
	cr_assert_eq(type, o->type, "%s %" PRId64, o->name, o->arg);
	cr_assert_eq(r.p, data);
	ASK(reader_nil(&r), o->type == READER_NIL);
	ASK(reader_bool(&r, &boolean), o->type == READER_BOOL);
	cr_assert_eq(boolean, o->type == READER_BOOL ? o->arg != 0 : true);
	ASK(reader_int(&r, &integer), o->type == READER_INT);
	cr_assert_eq(integer, o->type == READER_INT ? o->arg : 77);
	ASK(reader_uint(&r, &unsig), is_uint);
	cr_assert_eq(unsig, is_uint ? (uint64_t)o->arg : 77);
	ASK(reader_float(&r, &real), o->type == READER_FLOAT);
	cr_assert(real == (o->type == READER_FLOAT ? (double)o->arg / 4 : 77));
	ASK(reader_str(&r, &text), o->type == READER_STR);
	cr_assert_eq(text.len, o->type == READER_STR ? (size_t)o->arg : 77);
	if (o->type == READER_STR)
		cr_assert(r.p == r.end && memcmp(text.data, filler, text.len) == 0);
	ASK(reader_array(&r, &n), o->type == READER_ARRAY);
	cr_assert_eq(n, o->type == READER_ARRAY ? (size_t)o->arg : 77);
	n = 77;
	ASK(reader_map(&r, &n), o->type == READER_MAP);
	cr_assert_eq(n, o->type == READER_MAP ? (size_t)o->arg : 77);
	ASK(reader_skip(&r), true);
	cr_assert_eq(r.p, r.end);
#undef ASK
}

Test(reader, reads_each_kind)
{
	for (size_t i = 0; i < sizeof(filler); i++)
		filler[i] = (char)(i * 7);
	for (size_t i = 0; i < COUNT(objects); i++) {
		size_t len;
		mem_auto uint8_t *data = pack_object(&objects[i], &len);

		ask(&objects[i], data, len);
	}
}

/* A value needs all its bytes, and a container room for what it says to hold. */
Test(reader, reads_nothing_that_is_cut)
{
	for (size_t i = 0; i < COUNT(objects); i++) {
		const struct object *o = &objects[i];
		size_t least =
			o->type == READER_ARRAY ? 1 + (size_t)o->arg : 1 + 2 * (size_t)o->arg;
		bool holds = o->type == READER_ARRAY || o->type == READER_MAP;
		size_t len;
		mem_auto uint8_t *data = pack_object(o, &len);
		size_t step = len > 1000 ? len / 100 : 1;

		for (size_t n = 0; n < len; n += step) {
			mem_auto uint8_t *part = cut(data, n);
			enum reader_type type;
			struct reader r;

			if (holds && n >= least)
				continue;
			reader_init(&r, part, n);
			cr_assert_eq(reader_peek(&r, &type), -EBADMSG, "%s %zu", o->name, n);
			cr_assert_eq(reader_nil(&r), -EBADMSG);
			cr_assert_eq(reader_bool(&r, &(bool){0}), -EBADMSG);
			cr_assert_eq(reader_int(&r, &(int64_t){0}), -EBADMSG);
			cr_assert_eq(reader_uint(&r, &(uint64_t){0}), -EBADMSG);
			cr_assert_eq(reader_float(&r, &(double){0}), -EBADMSG);
			cr_assert_eq(reader_str(&r, &(struct reader_text){0}), -EBADMSG);
			cr_assert_eq(reader_array(&r, &(size_t){0}), -EBADMSG);
			cr_assert_eq(reader_map(&r, &(size_t){0}), -EBADMSG);
			cr_assert_eq((size_t)(r.end - r.p), n);
		}
	}
}

Test(reader, floats_to_the_bit)
{
	static const double values[] = {0.1, -0.0, 1e300, -1e-300, INFINITY, -INFINITY};

	for (size_t i = 0; i < COUNT(values); i++) {
		msgpack_sbuffer bytes;
		msgpack_packer to;
		struct reader r;
		double value;

		msgpack_sbuffer_init(&bytes);
		msgpack_packer_init(&to, &bytes, msgpack_sbuffer_write);
		msgpack_pack_double(&to, values[i]);
		reader_init(&r, bytes.data, bytes.size);
		cr_assert_eq(reader_float(&r, &value), 0);
		cr_assert_eq(memcmp(&value, &values[i], sizeof(value)), 0);
		msgpack_sbuffer_destroy(&bytes);
	}
}

/* --- limits and lies -------------------------------------------------------------------------- */

Test(reader, never_an_object)
{
	static const uint8_t nested[] = {0x92, 0x01, 0xc1};
	enum reader_type type;
	struct reader r;
	size_t len = 77;

	cr_assert_eq(reader_measure("\xc1", 1, ANY, &len), -EBADMSG);
	cr_assert_eq(reader_measure(nested, sizeof(nested), ANY, &len), -EBADMSG);
	cr_assert_eq(reader_measure(nested, sizeof(nested), 3, &len), -EBADMSG);
	cr_assert_eq(len, 77);
	reader_init(&r, "\xc1", 1);
	cr_assert_eq(reader_peek(&r, &type), -EBADMSG);
	cr_assert_eq(reader_skip(&r), -EBADMSG);
	reader_init(&r, nested, sizeof(nested));
	cr_assert_eq(reader_skip(&r), -EBADMSG);
	cr_assert_eq(r.p, nested);
}

Test(reader, nothing_at_all)
{
	enum reader_type type;
	struct reader r;
	size_t len = 77;

	cr_assert_eq(reader_measure(NULL, 0, 10, &len), 0);
	cr_assert_eq(reader_measure(NULL, 0, 0, &len), -EMSGSIZE);
	cr_assert_eq(reader_measure("\xc0", 1, 0, &len), -EMSGSIZE);
	cr_assert_eq(len, 77);
	reader_init(&r, NULL, 0);
	cr_assert_eq(reader_peek(&r, &type), -EBADMSG);
	cr_assert_eq(reader_skip(&r), -EBADMSG);
	cr_assert_eq(reader_nil(&r), -EBADMSG);
}

/* A header that says more than max is enough to know, with and without what it announces. */
Test(reader, header_alone_says_too_much)
{
	static const struct {
		uint8_t data[8];
		size_t len;
		size_t max;
		int result;
	} cases[] = {
		{BYTES(0xd9, 99), 100, -EMSGSIZE},
		{BYTES(0xd9, 98), 100, 0},
		{BYTES(0xda, 0, 98), 100, -EMSGSIZE},
		{BYTES(0xda, 0, 97), 100, 0},
		{BYTES(0xdb, 255, 255, 255, 255), 65536, -EMSGSIZE},
		{BYTES(0xdb, 255, 255, 255, 255), ANY, 0},
		{BYTES(0xc6, 255, 255, 255, 255), 65536, -EMSGSIZE},
		{BYTES(0xc9, 255, 255, 255, 255, 1), 65536, -EMSGSIZE},
		{BYTES(0xc9, 255, 255, 255, 255), 65536, 0}, /* its type is still to come */
		{BYTES(0xc7, 97, 1), 100, 0},
		{BYTES(0xc7, 98, 1), 100, -EMSGSIZE},
		{BYTES(0xd8), 17, 0}, /* the header is not whole yet */
		{BYTES(0xd8, 1), 17, -EMSGSIZE},
		{BYTES(0xd8, 1), 18, 0},
		{BYTES(0xdd, 255, 255, 255, 255), 65536, -EMSGSIZE},
		{BYTES(0xdf, 255, 255, 255, 255), 65536, -EMSGSIZE},
		{BYTES(0xdf, 255, 255, 255, 255), ANY, 0},
		{BYTES(0xdc, 0, 97), 100, 0},
		{BYTES(0xdc, 0, 98), 100, -EMSGSIZE},
		{BYTES(0xde, 0, 48), 100, 0},
		{BYTES(0xde, 0, 49), 100, -EMSGSIZE},
		{BYTES(0x9f), 16, 0},
		{BYTES(0x9f), 15, -EMSGSIZE},
		{BYTES(0x8f), 31, 0},
		{BYTES(0x8f), 30, -EMSGSIZE},
		{BYTES(0xbf), 32, 0},
		{BYTES(0xbf), 31, -EMSGSIZE},
		/* Elements that are still to come outside count too. */
		{BYTES(0x93, 0xa5), 9, 0},
		{BYTES(0x93, 0xa5), 8, -EMSGSIZE},
		{BYTES(0x92, 0x92, 0x92), 7, 0},
		{BYTES(0x92, 0x92, 0x92), 6, -EMSGSIZE},
		/* A number whose last byte would be beyond. */
		{BYTES(0xcf), 8, -EMSGSIZE},
		{BYTES(0xcf), 9, 0},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		mem_auto uint8_t *exact = cut(cases[i].data, cases[i].len);
		size_t len = 77;
		struct reader r;
		int e = reader_measure(exact, cases[i].len, cases[i].max, &len);

		cr_assert_eq(e, cases[i].result, "case %zu: %d", i, e);
		cr_assert_eq(len, 77);
		reader_init(&r, exact, cases[i].len);
		cr_assert_eq(reader_skip(&r), -EBADMSG);
	}
}

/* Levels of [[...]] or {{..}: ..}, with an empty one or a nil inside. */
static size_t nest(uint8_t *data, size_t levels, uint8_t header, uint8_t innermost)
{
	size_t len = 0;

	for (size_t i = 0; i < levels; i++)
		data[len++] = header;
	data[len++] = innermost;
	if (header == 0x81) /* the values */
		for (size_t i = 0; i < levels; i++)
			data[len++] = 0xc0;
	return len;
}

Test(reader, depth)
{
	static const uint8_t headers[] = {0x91, 0x81};

	for (size_t h = 0; h < COUNT(headers); h++) {
		for (size_t levels = 0; levels < 40; levels++) {
			bool fits = levels <= READER_DEPTH_MAX;
			uint8_t data[100];
			size_t len = nest(data, levels, headers[h], 0xc0);
			size_t measured = 77;
			struct reader r;

			cr_assert_eq(reader_measure(data, len, ANY, &measured),
				     fits ? 1 : -EMSGSIZE, "%zu levels", levels);
			cr_assert_eq(measured, fits ? len : 77);
			reader_init(&r, data, len);
			cr_assert_eq(reader_skip(&r), fits ? 0 : -EBADMSG);
			/* An empty array or map is a level as well. */
			len = nest(data, levels, headers[h], headers[h] - 1);
			fits = levels < READER_DEPTH_MAX;
			cr_assert_eq(reader_measure(data, len, ANY, &measured),
				     fits ? 1 : -EMSGSIZE, "%zu levels", levels);
		}
	}
}

Test(reader, depth_is_no_length)
{
	static uint8_t data[60001];
	size_t len;

	/* Many beside each other at the deepest level are fine. */
	memset(data, 0x91, READER_DEPTH_MAX - 2);
	data[READER_DEPTH_MAX - 2] = 0xdc;
	data[READER_DEPTH_MAX - 1] = 0x27;
	data[READER_DEPTH_MAX] = 0x10; /* 10000 */
	memset(data + READER_DEPTH_MAX + 1, 0x90, 10000);
	cr_assert_eq(reader_measure(data, sizeof(data), ANY, &len), 1);
	cr_assert_eq(len, READER_DEPTH_MAX + 1 + 10000);
	/* Nothing but openings ends at once, however many. */
	memset(data, 0x91, sizeof(data));
	cr_assert_eq(reader_measure(data, sizeof(data), ANY, &len), -EMSGSIZE);
}

Test(reader, counts_that_cannot_be)
{
	static const struct {
		uint8_t data[8];
		size_t len;
		int array;
		int map;
	} cases[] = {
		{BYTES(0x93, 1, 2), -EBADMSG, -EBADMSG},
		{BYTES(0x93, 1, 2, 3), 0, -EBADMSG},
		{BYTES(0xdc, 0, 3, 1, 2), -EBADMSG, -EBADMSG},
		{BYTES(0xdc, 0, 3, 1, 2, 3), 0, -EBADMSG},
		{BYTES(0xdd, 255, 255, 255, 255, 1), -EBADMSG, -EBADMSG},
		{BYTES(0x82, 1, 2, 3), -EBADMSG, -EBADMSG},
		{BYTES(0x82, 1, 2, 3, 4), -EBADMSG, 0},
		{BYTES(0xde, 0, 2, 1, 2, 3), -EBADMSG, -EBADMSG},
		{BYTES(0xde, 0, 2, 1, 2, 3, 4), -EBADMSG, 0},
		{BYTES(0xdf, 255, 255, 255, 255, 1), -EBADMSG, -EBADMSG},
		{BYTES(0xdf, 128, 0, 0, 0, 1), -EBADMSG, -EBADMSG}, /* 2^32 objects */
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct reader r;
		size_t n = 77;

		reader_init(&r, cases[i].data, cases[i].len);
		cr_assert_eq(reader_array(&r, &n), cases[i].array, "case %zu", i);
		if (cases[i].array == 0)
			cr_assert_eq(n, 3);
		reader_init(&r, cases[i].data, cases[i].len);
		n = 77;
		cr_assert_eq(reader_map(&r, &n), cases[i].map, "case %zu", i);
		cr_assert_eq(n, cases[i].map == 0 ? 2 : 77);
	}
}

/* --- many objects ----------------------------------------------------------------------------- */

/* A random tree by msgpack-c, at most `depth` deep. */
static void put_tree(msgpack_packer *to, int depth)
{
	const struct object *o;
	size_t n = (size_t)random() % 6;
	long what = random() % 8; /* less than one child on average, so that trees end */

	if (depth > 0 && what == 0) {
		msgpack_pack_array(to, n);
		while (n-- > 0)
			put_tree(to, depth - 1);
	} else if (depth > 0 && what == 1) {
		msgpack_pack_map(to, n);
		for (n *= 2; n > 0; n--)
			put_tree(to, depth - 1);
	} else {
		do
			o = &objects[(size_t)random() % COUNT(objects)];
		while (o->len > 300 || o->type == READER_ARRAY || o->type == READER_MAP);
		o->put(to, o->arg);
	}
}

/* Reads a tree by its types alone and returns how many objects it had. */
static size_t walk(struct reader *r)
{
	enum reader_type type;
	size_t n = 0;
	size_t sum = 1;

	cr_assert_eq(reader_peek(r, &type), 0);
	if (type == READER_ARRAY) {
		cr_assert_eq(reader_array(r, &n), 0);
	} else if (type == READER_MAP) {
		cr_assert_eq(reader_map(r, &n), 0);
		n *= 2;
	} else {
		cr_assert_eq(reader_skip(r), 0);
	}
	while (n-- > 0)
		sum += walk(r);
	return sum;
}

Test(reader, random_trees)
{
	srandom(11);
	for (int i = 0; i < 3000; i++) {
		msgpack_sbuffer bytes;
		msgpack_packer to;
		struct reader r;
		size_t len = 0;

		msgpack_sbuffer_init(&bytes);
		msgpack_packer_init(&to, &bytes, msgpack_sbuffer_write);
		put_tree(&to, READER_DEPTH_MAX);
		cr_assert_eq(reader_measure(bytes.data, bytes.size, bytes.size, &len), 1);
		cr_assert_eq(len, bytes.size);
		for (size_t n = 0; n < len; n += 1 + len / 50) {
			size_t other = 77;

			cr_assert_eq(reader_measure(bytes.data, n, len, &other), 0);
			cr_assert_eq(reader_measure(bytes.data, len, n, &other), -EMSGSIZE);
		}
		reader_init(&r, bytes.data, bytes.size);
		cr_assert(walk(&r) > 0);
		cr_assert_eq(r.p, r.end);
		msgpack_sbuffer_destroy(&bytes);
	}
}

/* Whatever the bytes: no step outside them, and the parts agree with each other. */
Test(reader, random_bytes)
{
	srandom(12);
	for (int i = 0; i < 200000; i++) {
		size_t n = (size_t)random() % 40;
		mem_auto uint8_t *data = mem_alloc(n);
		enum reader_type type;
		struct reader r;
		size_t len = 77;
		int e;

		for (size_t j = 0; j < n; j++)
			data[j] = (uint8_t)(random() % 2 ? 0x80 + random() % 0x60 : random());
		e = reader_measure(data, n, 64, &len);
		cr_assert(e == 0 || e == 1 || e == -EBADMSG || e == -EMSGSIZE);
		cr_assert(e == 1 ? len > 0 && len <= n : len == 77);
		reader_init(&r, data, n);
		if (e == 1)
			cr_assert_eq(reader_peek(&r, &type), 0);
		cr_assert_eq(reader_skip(&r), e == 1 ? 0 : -EBADMSG);
		cr_assert(e != 1 || r.p == data + len);
	}
}

/* --- text ------------------------------------------------------------------------------------- */

Test(reader, text_is)
{
	struct reader_text t = {"leader", 6};
	struct reader_text zero = {"a\0b", 3};
	struct reader_text none = {NULL, 0};

	cr_assert(reader_text_is(t, "leader"));
	cr_assert_not(reader_text_is(t, "leaders"));
	cr_assert_not(reader_text_is(t, "leade"));
	cr_assert_not(reader_text_is(t, "Leader"));
	cr_assert_not(reader_text_is(t, ""));
	cr_assert_not(reader_text_is(zero, "a"));
	cr_assert(reader_text_is(none, ""));
	cr_assert_not(reader_text_is(none, "a"));
}

Test(reader, text_copy)
{
	struct reader_text t = {"leader", 6};
	struct reader_text zero = {"a\0b", 3};
	struct reader_text last_zero = {"ab", 3};
	struct reader_text none = {NULL, 0};
	char buf[8] = "kept";

	cr_assert_eq(reader_text_copy(t, buf, 0), -EBADMSG);
	cr_assert_eq(reader_text_copy(t, buf, 6), -EBADMSG);
	cr_assert_eq(reader_text_copy(zero, buf, 8), -EBADMSG);
	cr_assert_eq(reader_text_copy(last_zero, buf, 8), -EBADMSG);
	cr_assert_str_eq(buf, "kept");
	cr_assert_eq(reader_text_copy(t, buf, 7), 0);
	cr_assert_str_eq(buf, "leader");
	cr_assert_eq(reader_text_copy(none, buf, 0), -EBADMSG);
	cr_assert_eq(reader_text_copy(none, buf, 1), 0);
	cr_assert_str_eq(buf, "");
}
