/* Requests whose parameters are packed here. */
#ifndef ZKLEADER_API_CALL_H
#define ZKLEADER_API_CALL_H

#include "zkleader.h"
#include "base/buffer.h"
#include "wire/pack.h"
#include "wire/reader.h"

/* The parameters of a request. */
struct request {
	struct buffer params;
	struct pack p;
};

/*
 * Begins n parameters, which are packed next. Whether they fit into a request, and there is memory
 * for them, is told once it is sent. All functions that send it free it.
 */
struct pack *request_begin(struct request *r, size_t n);
/* Sends it as handle_send(). */
int request_send(struct zkleader *z, const char *method, struct request *r, int64_t deadline,
		 uint32_t *ret_id);
/* Calls the method. 0 and the result, valid until the next call; or as zkleader_call(). */
int request_call(struct zkleader *z, const char *method, struct request *r, int64_t timeout_ms,
		 struct reader *ret_result);

#endif
