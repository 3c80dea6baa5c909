/* A call of the C API whose parameters were packed here. */
#ifndef ZKLEADER_CLIENT_CALL_H
#define ZKLEADER_CLIENT_CALL_H

#include "wire/pack.h"
#include "wire/reader.h"
#include "zkleader.h"

/*
 * Calls the method with what was packed, and gives the buffer's memory back. 0 and the result,
 * until the next call; or as zkleader_call(), also where it could not be packed.
 */
int call_packed(struct zkleader *z, const char *method, struct pack *params, int64_t timeout_ms,
		struct reader *ret_result);

#endif
