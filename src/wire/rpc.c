#include "wire/rpc.h"

#include <errno.h>

/* An error has the exit code of a program; 0 there would turn "no" into "leads". */
#define CODE_MIN     1
#define CODE_MAX     255

#define SEEN_CODE    1U
#define SEEN_MESSAGE 2U

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

static int read_error_code(struct reader *r, int *ret_code)
{
	int64_t value;
	int e = reader_int(r, &value);

	if (e < 0)
		return e;
	if (value < CODE_MIN || value > CODE_MAX)
		return -EBADMSG;
	*ret_code = (int)value;
	return 0;
}

/* Reads one key and its value; *seen has a bit for each key that has come already. */
static int read_error_pair(struct reader *r, unsigned *seen, int *code, struct reader_text *message)
{
	struct reader_text key = {0};
	unsigned bit = 0;

	/* A key that is not a string is an unknown key. */
	if (reader_str(r, &key) < 0 && reader_skip(r) < 0)
		return -EBADMSG;
	if (reader_text_is(key, "code"))
		bit = SEEN_CODE;
	else if (reader_text_is(key, "message"))
		bit = SEEN_MESSAGE;
	if (*seen & bit)
		return -EBADMSG;
	*seen |= bit;
	if (bit == SEEN_CODE)
		return read_error_code(r, code);
	if (bit == SEEN_MESSAGE)
		return reader_str(r, message);
	return reader_skip(r);
}

int rpc_parse_error(struct reader error, int *ret_code, struct reader_text *ret_message)
{
	struct reader_text message = {0};
	unsigned seen = 0;
	int code = 0;
	size_t n;
	int e = reader_map(&error, &n);

	for (; e >= 0 && n > 0; n--)
		e = read_error_pair(&error, &seen, &code, &message);
	if (e < 0)
		return e;
	if (seen != (SEEN_CODE | SEEN_MESSAGE) || error.p != error.end)
		return -EBADMSG;
	*ret_code = code;
	*ret_message = message;
	return 0;
}
