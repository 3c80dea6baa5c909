#include "api/call.h"

#include "api/handle.h"
#include "wire/rpc.h"

struct pack *request_begin(struct request *r, size_t n)
{
	buffer_init_fallible(&r->params, RPC_REQUEST_MAX);
	pack_init(&r->p, &r->params);
	pack_array(&r->p, n);
	return &r->p;
}

int request_send(struct zkleader *z, const char *method, struct request *r, int64_t deadline,
		 uint32_t *ret_id)
{
	int e = r->p.failed
			? handle_fail(z, r->p.failed, 0)
			: handle_send(z, method, r->params.data, r->params.len, deadline, ret_id);

	buffer_done(&r->params);
	return e;
}

int request_call(struct zkleader *z, const char *method, struct request *r, int64_t timeout_ms,
		 struct reader *ret_result)
{
	const void *data = NULL;
	size_t len = 0;
	int e = r->p.failed ? handle_fail(z, r->p.failed, 0)
			    : zkleader_call(z, method, r->params.data, r->params.len, timeout_ms,
					    &data, &len);

	buffer_done(&r->params);
	reader_init(ret_result, data, len);
	return e;
}
