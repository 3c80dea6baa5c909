/* Requests on the connection of a handle whose answers are waited for elsewhere, with poll(2). */
#ifndef ZKLEADER_CLIENT_ASYNC_H
#define ZKLEADER_CLIENT_ASYNC_H

#include <stdint.h>

#include "base/buffer.h"
#include "wire/reader.h"
#include "zkleader.h"

/*
 * Sends a request with these params (one MessagePack array) before the deadline, in ms of
 * CLOCK_BOOTTIME; one that has passed means: without waiting. 0 and the request's id, or a negative
 * errno, after which the connection is closed and zkleader_message() says why.
 */
int async_send(struct zkleader *z, const char *method, const struct buffer *params,
	       int64_t deadline, uint32_t *ret_id);
/*
 * Takes one answer without waiting: 0 and the result of the request with this id, good until the next
 * call on the handle; a positive code if that was refused; -EAGAIN if there is none yet; otherwise
 * the connection is closed.
 */
int async_receive(struct zkleader *z, uint32_t *ret_id, struct reader *ret_result);

#endif
