/* A call of the C API whose parameters were packed here. */
#ifndef ZKLEADER_API_CALL_H
#define ZKLEADER_API_CALL_H

#include "zkleader.h"
#include "wire/pack.h"
#include "wire/reader.h"

/*
 * Calls the method with the packed parameters, and frees their buffer. 0 and the result, valid
 * until the next call; or an error as of zkleader_call(), also if packing had failed.
 */
int call_packed(struct zkleader *z, const char *method, struct pack *params, int64_t timeout_ms,
		struct reader *ret_result);

#endif
