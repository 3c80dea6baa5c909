#include "api/call.h"

#include "api/handle.h"

int call_packed(struct zkleader *z, const char *method, struct pack *params, int64_t timeout_ms,
		struct reader *ret_result)
{
	const struct buffer *b = params->buffer;
	const void *data = NULL;
	size_t len = 0;
	int e = params->failed;

	if (e < 0)
		handle_fail(z, e, 0);
	else
		e = zkleader_call(z, method, b->data, b->len, timeout_ms, &data, &len);
	buffer_done(params->buffer);
	reader_init(ret_result, data, len);
	return e;
}
