#include "cli/ui/ask.h"

#include <errno.h>

#include "api/call.h"
#include "api/json.h"
#include "base/clock.h"
#include "wire/pack.h"

static void begin(const struct context *c, bool args, struct request *request)
{
	struct pack *p = request_begin(request, args ? c->n_args : 0);

	for (size_t i = 0; args && i < c->n_args; i++)
		pack_str(p, c->args[i]);
}

void ask_begin(const struct context *c, struct request *request)
{
	begin(c, true, request);
}

int ask_call(struct context *c, const char *method, struct request *request, int64_t timeout_ms,
	     struct reader *ret_result)
{
	int r = c->z ? 0 : zkleader_open(c->socket, &c->z);

	if (r == 0)
		return request_call(c->z, method, request, timeout_ms, ret_result);
	buffer_done(&request->params);
	return r;
}

int ask_to_json(struct context *c, struct reader result, json_type type, json_t **ret_json)
{
	json_t *json;
	int r = json_from_msgpack(result.p, (size_t)(result.end - result.p), &json);

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

int ask_packed(struct context *c, const char *method, struct request *request, json_type type,
	       json_t **ret_json)
{
	struct reader result;
	int r = ask_call(c, method, request, CONTEXT_TIMEOUT_MS, &result);

	return r != 0 ? context_failed(c, r) : ask_to_json(c, result, type, ret_json);
}

int ask(struct context *c, const char *method, json_type type, json_t **ret_json)
{
	struct request request;

	ask_begin(c, &request);
	return ask_packed(c, method, &request, type, ret_json);
}

int ask_and_show(struct context *c, const char *method, json_type type,
		 void (*show)(const struct context *c, const json_t *result))
{
	json_auto_t *result = NULL;
	int code = ask(c, method, type, &result);

	if (code == 0 && c->output.json)
		output_json(&c->output, result);
	else if (code == 0)
		show(c, result);
	return code;
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

int ask_follow(struct context *c, struct follow *f, bool args)
{
	struct request request;
	int e = zkleader_open(c->socket, &c->z);

	if (e < 0)
		return e;
	begin(c, args, &request);
	e = request.p.failed;
	if (e == 0)
		e = follow_begin(f, c->z, &request.params, clock_boot_ms() + CONTEXT_TIMEOUT_MS);
	if (e < 0)
		follow_done(f);
	buffer_done(&request.params);
	return e;
}

/*
 * Asks on the connection of a subscription. If the arguments do not fit into a request nothing is
 * sent, but the subscription, which had the same ones, was refused before that.
 */
void ask_on(struct context *c, struct follow *f, int question, const char *method, bool args)
{
	struct request request;

	begin(c, args, &request);
	if (request.p.failed == 0)
		follow_ask(f, question, method, &request.params,
			   clock_boot_ms() + CONTEXT_TIMEOUT_MS);
	buffer_done(&request.params);
}
