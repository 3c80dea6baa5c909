#include "cli/ui/ask.h"

#include <errno.h>

#include "api/call.h"
#include "api/json.h"
#include "base/clock.h"
#include "wire/pack.h"
#include "wire/rpc.h"

int ask_pack(const struct context *c, struct buffer *params)
{
	struct pack p;

	pack_init(&p, params);
	pack_array(&p, c->n_args);
	for (size_t i = 0; i < c->n_args; i++)
		pack_str(&p, c->args[i]);
	return p.failed;
}

static int call(struct context *c, const char *method, const void **ret_result, size_t *ret_len)
{
	struct buffer params;
	int r;

	buffer_init(&params, RPC_REQUEST_MAX);
	r = ask_pack(c, &params);
	if (r == 0)
		r = zkleader_call(c->z, method, params.data, params.len, CONTEXT_TIMEOUT_MS,
				  ret_result, ret_len);
	buffer_done(&params);
	return r;
}

int ask_raw(struct context *c, const char *method, const void **ret_result, size_t *ret_len)
{
	int r = c->z ? 0 : zkleader_open(c->socket, &c->z);

	return r < 0 ? r : call(c, method, ret_result, ret_len);
}

int ask_to_json(struct context *c, const void *result, size_t len, json_type type,
		json_t **ret_json)
{
	json_t *json;
	int r = json_from_msgpack(result, len, &json);

	if (r == 0 && json_typeof(json) != type) {
		json_decref(json);
		r = -EBADMSG;
	}
	if (r < 0) {
		output_error(&c->output, "the answer of the sidecar on %s %s", zkleader_path(c->z),
			     r == -E2BIG ? "is too big" : "makes no sense");
		return ZKLEADER_CANNOT_TELL;
	}
	*ret_json = json;
	return 0;
}

int ask(struct context *c, const char *method, json_type type, json_t **ret_json)
{
	const void *result;
	size_t len;
	int r = ask_raw(c, method, &result, &len);

	return r != 0 ? context_failed(c, r) : ask_to_json(c, result, len, type, ret_json);
}

int ask_packed(struct context *c, const char *method, struct pack *params, json_type type,
	       json_t **ret_json)
{
	struct reader result;
	int r = c->z ? 0 : zkleader_open(c->socket, &c->z);

	if (r != 0) {
		buffer_done(params->buffer);
		return context_failed(c, r);
	}
	r = call_packed(c->z, method, params, CONTEXT_TIMEOUT_MS, &result);
	return r != 0 ? context_failed(c, r)
		      : ask_to_json(c, result.p, (size_t)(result.end - result.p), type, ret_json);
}

json_t *ask_quietly(struct context *c, const char *method, json_type type)
{
	const void *result;
	json_t *json;
	size_t len;
	int r = c->z ? 0 : zkleader_open(c->socket, &c->z);

	if (r == 0)
		r = zkleader_call(c->z, method, NULL, 0, CONTEXT_TIMEOUT_MS, &result, &len);
	if (r != 0 || json_from_msgpack(result, len, &json) != 0)
		return NULL;
	if (json_typeof(json) == type)
		return json;
	json_decref(json);
	return NULL;
}

int ask_stale(struct context *c)
{
	json_auto_t *status = ask_quietly(c, "status", JSON_OBJECT);
	const char *since = json_text(status, "stale_since", NULL);
	char age[OUTPUT_AGE_SIZE];

	if (!since)
		return ZKLEADER_OK;
	age_text(since, c->output.now_ms, age);
	output_error(&c->output,
		     "as last known: no confirmed session with ZooKeeper since %s (%s ago)", since,
		     age);
	return ZKLEADER_CANNOT_TELL;
}

static int pack_params(const struct context *c, bool args, struct buffer *params)
{
	struct pack p;

	buffer_init(params, RPC_REQUEST_MAX);
	if (args)
		return ask_pack(c, params);
	pack_init(&p, params);
	pack_array(&p, 0);
	return 0;
}

int ask_follow(struct context *c, struct follow *f, bool args)
{
	struct buffer params;
	int e = zkleader_open(c->socket, &c->z);

	if (e < 0)
		return e;
	e = pack_params(c, args, &params);
	if (e == 0)
		e = follow_begin(f, c->z, &params, clock_boot_ms() + CONTEXT_TIMEOUT_MS);
	if (e < 0)
		follow_done(f);
	buffer_done(&params);
	return e;
}

/*
 * Asks on the connection of a subscription. If the arguments do not fit into a request nothing is
 * sent, but the subscription, which had the same ones, was refused before that.
 */
void ask_on(struct context *c, struct follow *f, int question, const char *method, bool args)
{
	struct buffer params;

	if (pack_params(c, args, &params) == 0)
		follow_ask(f, question, method, &params, clock_boot_ms() + CONTEXT_TIMEOUT_MS);
	buffer_done(&params);
}
