/*
 * Frames and requests of the control socket, against msgpack-c: the two agree on what is one whole
 * object, and on every value in it.
 */
#include "fuzz.h"

#include <errno.h>
#include <msgpack.h>

#include "wire/reader.h"
#include "wire/rpc.h"

#define PREFIXES_MAX 80 /* of longer inputs only the first are measured each */

/* Byte by byte as it would come over a socket: no verdict until there is one, and then no other. */
static void check_prefixes(const uint8_t *data, size_t size, size_t max)
{
	int verdict = 0;
	size_t len = 0;

	for (size_t n = 0; n <= size && n <= PREFIXES_MAX; n++) {
		size_t now_len = 0;
		int now = reader_measure(data, n, max, &now_len);

		FUZZ_CHECK(now == 0 || now == 1 || now == -EBADMSG || now == -EMSGSIZE);
		if (verdict == 0) {
			verdict = now;
			len = now_len;
			/* Only the last byte can complete an object. */
			FUZZ_CHECK(now != 1 || (len == n && n <= max));
			FUZZ_CHECK(now != 0 || n < max || max == 0);
		} else {
			FUZZ_CHECK(now == verdict && now_len == len);
		}
	}
}

static void check_text(struct reader *r, const msgpack_object *o)
{
	struct reader_text t = {0};

	FUZZ_CHECK(reader_str(r, &t) == 0);
	FUZZ_CHECK(t.len == o->via.str.size);
	FUZZ_CHECK(t.len == 0 || memcmp(t.data, o->via.str.ptr, t.len) == 0);
}

static void check_float(struct reader *r, const msgpack_object *o)
{
	double value = 0;

	FUZZ_CHECK(reader_float(r, &value) == 0);
	FUZZ_CHECK(memcmp(&value, &o->via.f64, sizeof(value)) == 0 ||
		   (value != value && o->via.f64 != o->via.f64));
}

static void check_integer(struct reader *r, const msgpack_object *o)
{
	struct reader copy = *r;
	uint64_t u = 0;
	int64_t i = 0;

	if (o->type == MSGPACK_OBJECT_NEGATIVE_INTEGER) {
		FUZZ_CHECK(reader_uint(r, &u) == -EBADMSG);
		FUZZ_CHECK(reader_int(r, &i) == 0 && i == o->via.i64);
		return;
	}
	FUZZ_CHECK(reader_uint(r, &u) == 0 && u == o->via.u64);
	if (u <= INT64_MAX)
		FUZZ_CHECK(reader_int(&copy, &i) == 0 && i == (int64_t)u);
	else
		FUZZ_CHECK(reader_int(&copy, &i) == -EBADMSG);
}

static enum reader_type type_of(const msgpack_object *o)
{
	switch (o->type) {
	case MSGPACK_OBJECT_NIL: return READER_NIL;
	case MSGPACK_OBJECT_BOOLEAN: return READER_BOOL;
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		return o->via.u64 > INT64_MAX ? READER_UINT : READER_INT;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER: return READER_INT;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64: return READER_FLOAT;
	case MSGPACK_OBJECT_STR: return READER_STR;
	case MSGPACK_OBJECT_BIN: return READER_BIN;
	case MSGPACK_OBJECT_EXT: return READER_EXT;
	case MSGPACK_OBJECT_ARRAY: return READER_ARRAY;
	case MSGPACK_OBJECT_MAP: return READER_MAP;
	}
	abort();
}

static void check_value(struct reader *r, const msgpack_object *o)
{
	struct reader whole = *r;
	enum reader_type type;
	bool flag = false;
	size_t n = 0;

	FUZZ_CHECK(reader_peek(r, &type) == 0 && type == type_of(o));
	switch (type) {
	case READER_NIL: FUZZ_CHECK(reader_nil(r) == 0); break;
	case READER_BOOL: FUZZ_CHECK(reader_bool(r, &flag) == 0 && flag == o->via.boolean); break;
	case READER_INT:
	case READER_UINT: check_integer(r, o); break;
	case READER_FLOAT: check_float(r, o); break;
	case READER_STR: check_text(r, o); break;
	case READER_BIN:
	case READER_EXT: FUZZ_CHECK(reader_skip(r) == 0); break;
	case READER_ARRAY:
		FUZZ_CHECK(reader_array(r, &n) == 0 && n == o->via.array.size);
		for (size_t i = 0; i < n; i++)
			check_value(r, &o->via.array.ptr[i]);
		break;
	case READER_MAP:
		FUZZ_CHECK(reader_map(r, &n) == 0 && n == o->via.map.size);
		for (size_t i = 0; i < n; i++) {
			check_value(r, &o->via.map.ptr[i].key);
			check_value(r, &o->via.map.ptr[i].val);
		}
		break;
	}
	/* Passing over it leads to the same place. */
	FUZZ_CHECK(reader_skip(&whole) == 0 && whole.p == r->p);
}

static bool is_message(const msgpack_object *o, uint64_t type, size_t n)
{
	const msgpack_object *e = o->via.array.ptr;

	return o->type == MSGPACK_OBJECT_ARRAY && o->via.array.size == n &&
	       e[0].type == MSGPACK_OBJECT_POSITIVE_INTEGER && e[0].via.u64 == type;
}

static bool is_id(const msgpack_object *o)
{
	return o->type == MSGPACK_OBJECT_POSITIVE_INTEGER && o->via.u64 <= UINT32_MAX;
}

static bool is_call(const msgpack_object *method, const msgpack_object *params)
{
	return method->type == MSGPACK_OBJECT_STR && method->via.str.size <= RPC_METHOD_MAX &&
	       params->type == MSGPACK_OBJECT_ARRAY;
}

/*
 * Whether the object is a message as the interface defines it, said once more in terms of
 * msgpack-c.
 */
static bool is_rpc(const msgpack_object *o)
{
	const msgpack_object *e = o->type == MSGPACK_OBJECT_ARRAY ? o->via.array.ptr : NULL;

	if (is_message(o, RPC_REQUEST, 4))
		return is_id(&e[1]) && is_call(&e[2], &e[3]);
	if (is_message(o, RPC_RESPONSE, 4))
		return is_id(&e[1]);
	return is_message(o, RPC_NOTIFY, 3) && is_call(&e[1], &e[2]);
}

static void check_response(const struct rpc_message *m, const msgpack_object *o)
{
	struct reader_text message = {0};
	int code = -1;

	FUZZ_CHECK(m->failed == (o->via.array.ptr[2].type != MSGPACK_OBJECT_NIL));
	check_value(&(struct reader){m->error.p, m->error.end}, &o->via.array.ptr[2]);
	check_value(&(struct reader){m->result.p, m->result.end}, &o->via.array.ptr[3]);
	if (rpc_parse_error(m->error, &code, &message) == 0)
		FUZZ_CHECK(m->failed && code >= 1 && code <= 255 && message.data);
	else
		FUZZ_CHECK(code == -1 && !message.data);
}

static void check_rpc(const uint8_t *data, size_t len, const msgpack_object *o)
{
	struct rpc_message m;
	struct reader r;
	int e = rpc_parse(data, len, &m);

	FUZZ_CHECK(e == 0 || e == -EBADMSG);
	FUZZ_CHECK((e == 0) == is_rpc(o));
	if (e < 0)
		return;
	if (m.type == RPC_RESPONSE) {
		check_response(&m, o);
		return;
	}
	r = m.params;
	for (size_t i = 0; i < m.n_params; i++)
		FUZZ_CHECK(reader_skip(&r) == 0);
	FUZZ_CHECK(r.p == r.end && r.end == data + len);
}

/* Hostile bytes go into every getter: none may read on or move without having read. */
static void check_getters(const uint8_t *data, size_t size)
{
	struct reader r, start;
	struct reader_text t;
	struct rpc_message m;
	uint64_t u;
	int64_t i;
	double d;
	size_t n;
	bool b;

	reader_init(&start, data, size);
	r = start;
	FUZZ_CHECK(reader_nil(&r) == 0 || r.p == start.p);
	r = start;
	FUZZ_CHECK(reader_bool(&r, &b) == 0 || r.p == start.p);
	r = start;
	FUZZ_CHECK(reader_int(&r, &i) == 0 || r.p == start.p);
	r = start;
	FUZZ_CHECK(reader_uint(&r, &u) == 0 || r.p == start.p);
	r = start;
	FUZZ_CHECK(reader_float(&r, &d) == 0 || r.p == start.p);
	r = start;
	if (reader_str(&r, &t) == 0)
		FUZZ_CHECK((const uint8_t *)t.data + t.len == r.p && r.p <= r.end);
	else
		FUZZ_CHECK(r.p == start.p);
	r = start;
	FUZZ_CHECK(reader_array(&r, &n) == 0 ? n <= (size_t)(r.end - r.p) : r.p == start.p);
	r = start;
	FUZZ_CHECK(reader_map(&r, &n) == 0 ? 2 * n <= (size_t)(r.end - r.p) : r.p == start.p);
	r = start;
	FUZZ_CHECK(reader_skip(&r) == 0 ? r.p > start.p && r.p <= r.end : r.p == start.p);
	(void)rpc_parse(data, size, &m);
}

/* msgpack-c adds the type to the length of an ext, and takes the sum of 2^32 for none: a fault of its own. */
static bool ends_in_the_biggest_ext(const uint8_t *data, size_t size)
{
	return size >= 5 && memcmp(data + size - 5, "\xc9\xff\xff\xff\xff", 5) == 0;
}

static void compare(const uint8_t *data, size_t size)
{
	msgpack_unpack_return theirs;
	msgpack_unpacked unpacked;
	size_t offset = 0, len = 0;
	int ours = reader_measure(data, size, RPC_REQUEST_MAX, &len);

	if (ours == -EMSGSIZE) {
		/*
		 * msgpack-c would allocate whatever is claimed, so it is not asked. But without the limit
		 * of length this can only be too deep or not whole, as so many bytes are not there.
		 */
		FUZZ_CHECK(size > RPC_REQUEST_MAX ||
			   reader_measure(data, size, SIZE_MAX / 4, &len) != 1);
		return;
	}
	msgpack_unpacked_init(&unpacked);
	theirs = msgpack_unpack_next(&unpacked, (const char *)data, size, &offset);
	if (ours == 1) {
		FUZZ_CHECK(theirs == MSGPACK_UNPACK_SUCCESS && offset == len);
		check_value(&(struct reader){data, data + len}, &unpacked.data);
		check_rpc(data, len, &unpacked.data);
	} else if (ours == 0) {
		FUZZ_CHECK(theirs == MSGPACK_UNPACK_CONTINUE ||
			   ends_in_the_biggest_ext(data, size));
	} else {
		FUZZ_CHECK(ours == -EBADMSG && theirs == MSGPACK_UNPACK_PARSE_ERROR);
	}
	msgpack_unpacked_destroy(&unpacked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t max;

	if (size < 1)
		return 0;
	/* The first byte: a small limit to meet, or that of a request. */
	max = data[0] < 0x80 ? data[0] : data[0] < 0xc0 ? size - 1 : RPC_REQUEST_MAX;
	check_prefixes(data + 1, size - 1, max);
	check_getters(data + 1, size - 1);
	compare(data + 1, size - 1);
	return 0;
}
