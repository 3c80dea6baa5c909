/* Requests on the connection of a handle whose answers are waited for elsewhere, with poll(2). */
#ifndef ZKLEADER_CLIENT_ASYNC_H
#define ZKLEADER_CLIENT_ASYNC_H

#include <stdbool.h>
#include <stddef.h>
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

/*
 * Waits for the answer of the request with this id until then, in ms of CLOCK_BOOTTIME; answers of others are
 * dropped. As async_receive(), and -ETIMEDOUT, after which the connection is as before.
 */
int async_await(struct zkleader *z, uint32_t id, int64_t until, struct reader *ret_result);

/* What comes on a connection that has subscribed and on which questions are asked as well. */
struct async_message {
	bool is_answer;			  /* or a notification */
	uint32_t id;			  /* of the request that is answered */
	int code;			  /* 0, or that it was refused with; zkleader_message() */
	char method[ZKLEADER_STATE_SIZE]; /* of a notification */
	const void *data; /* the result, or a notification's parameter; until the next call */
	size_t len;
};

/*
 * The next message before the deadline: 0; -EAGAIN if none has come; otherwise the connection is
 * closed and zkleader_message() says why.
 */
int async_next(struct zkleader *z, int64_t deadline, struct async_message *ret);

#endif
