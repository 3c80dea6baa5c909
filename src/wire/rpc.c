#include "wire/rpc.h"

#include <errno.h>

#include "wire/keys.h"

/* An error has the exit code of a program; 0 there would turn "no" into "leads". */
#define CODE_MIN 1
#define CODE_MAX 255

static int read_msgid(struct reader *r, uint32_t *ret_msgid)
{
	uint64_t value;
	int e = reader_uint(r, &value);

	if (e < 0)
		return e;
	if (value > UINT32_MAX)
		return -EBADMSG;
	*ret_msgid = (uint32_t)value;
	return 0;
}

/* Gives a reader of the next object alone. */
static int read_object(struct reader *r, struct reader *ret_object)
{
	struct reader object = *r;
	int e = reader_skip(r);

	if (e < 0)
		return e;
	object.end = r->p;
	*ret_object = object;
	return 0;
}

/* A method and its params. */
static int read_call(struct reader *r, struct rpc_message *m)
{
	int e = reader_str(r, &m->method);

	if (e < 0)
		return e;
	if (m->method.len > RPC_METHOD_MAX)
		return -EBADMSG;
	e = read_object(r, &m->params);
	if (e < 0)
		return e;
	return reader_array(&m->params, &m->n_params);
}

static int read_outcome(struct reader *r, struct rpc_message *m)
{
	enum reader_type type;
	int e = read_object(r, &m->error);

	if (e < 0)
		return e;
	e = read_object(r, &m->result);
	if (e < 0)
		return e;
	e = reader_peek(&m->error, &type);
	if (e < 0)
		return e;
	m->failed = type != READER_NIL;
	return 0;
}

static int read_message(struct reader *r, struct rpc_message *m)
{
	uint64_t type;
	size_t n;
	int e = reader_array(r, &n);

	if (e < 0)
		return e;
	e = reader_uint(r, &type);
	if (e < 0)
		return e;
	if (type > RPC_NOTIFY || n != (type == RPC_NOTIFY ? 3 : 4))
		return -EBADMSG;
	m->type = (enum rpc_type)type;
	if (m->type != RPC_NOTIFY) {
		e = read_msgid(r, &m->msgid);
		if (e < 0)
			return e;
	}
	return m->type == RPC_RESPONSE ? read_outcome(r, m) : read_call(r, m);
}

int rpc_parse(const void *frame, size_t len, struct rpc_message *ret_message)
{
	struct rpc_message m = {.type = RPC_REQUEST};
	struct reader r;
	int e;

	reader_init(&r, frame, len);
	e = read_message(&r, &m);
	if (e < 0)
		return e;
	if (r.p != r.end)
		return -EBADMSG;
	*ret_message = m;
	return 0;
}

void rpc_pack_request(struct pack *p, uint32_t msgid, const char *method, size_t n_params)
{
	pack_array(p, 4);
	pack_uint(p, RPC_REQUEST);
	pack_uint(p, msgid);
	pack_str(p, method);
	pack_array(p, n_params);
}

void rpc_pack_result(struct pack *p, uint32_t msgid)
{
	pack_array(p, 4);
	pack_uint(p, RPC_RESPONSE);
	pack_uint(p, msgid);
	pack_nil(p);
}

void rpc_pack_notify(struct pack *p, const char *method)
{
	pack_array(p, 3);
	pack_uint(p, RPC_NOTIFY);
	pack_str(p, method);
	pack_array(p, 1);
}

void rpc_pack_error(struct pack *p, uint32_t msgid, enum rpc_code code, const char *message)
{
	pack_array(p, 4);
	pack_uint(p, RPC_RESPONSE);
	pack_uint(p, msgid);
	pack_map(p, 2);
	pack_kv_int(p, "code", (int64_t)code);
	pack_kv_str(p, "message", message);
	pack_nil(p);
}

struct rpc_error {
	int64_t code;
	struct reader_text message;
};

static const struct key error_keys[] = {
	MESSAGE_KEY("code", rpc_error, code, KEY_INT, KEY_REQUIRED, .min = CODE_MIN,
		    .max = CODE_MAX),
	MESSAGE_KEY("message", rpc_error, message, KEY_BORROWED, KEY_REQUIRED),
};
static const struct keys error_form = KEYS(error_keys, rpc_error, RPC_RESPONSE_MAX);

int rpc_parse_error(struct reader error, int *ret_code, struct reader_text *ret_message)
{
	struct rpc_error x = {0};
	int e = keys_take(&error, &error_form, &x);

	if (e < 0)
		return e;
	if (error.p != error.end)
		return -EBADMSG;
	*ret_code = (int)x.code;
	*ret_message = x.message;
	return 0;
}
