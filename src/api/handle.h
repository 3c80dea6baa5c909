/*
 * The implementation of a handle of the C API: a connection, the requests sent on it and the
 * messages received.
 */
#ifndef ZKLEADER_API_HANDLE_H
#define ZKLEADER_API_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zkleader.h"
#include "api/link.h"
#include "base/buffer.h"
#include "wire/reader.h"

#define HANDLE_ANSWER_MAX (64 * 1024) /* bytes of an answer's frame, unless it is a table */
#define HANDLE_AT_ONCE	  0	      /* as a deadline: without waiting */

struct zkleader {
	struct link link;
	struct buffer out;
	uint32_t msgid;
	bool subscribed;
	char message[ZKLEADER_TEXT_SIZE];
};

/* An answer, or a notification on a connection that has subscribed. */
struct message {
	bool is_answer;
	uint32_t id;			  /* id of the request that is answered */
	int code;			  /* code of a refusal, or 0; zkleader_message() says why */
	char method[ZKLEADER_STATE_SIZE]; /* method of a notification */
	struct reader data; /* the result, or a notification's parameter; until the next call */
};

/* Sets zkleader_message() to the failure in words, and returns it. */
int handle_fail(struct zkleader *z, int e, int64_t timeout_ms);
/* The same with a text of the caller's. */
int handle_refuse(struct zkleader *z, int e, const char *why);
void handle_say(struct zkleader *z, const char *format, ...) __attribute__((format(printf, 2, 3)));
void handle_hang_up(struct zkleader *z);

/*
 * Sends a request with these params: one MessagePack array, NULL for an empty one. Connects first
 * where there is no connection. Deadlines are in ms of CLOCK_BOOTTIME. 0 and the request's id;
 * -EINVAL, -EMSGSIZE or -ENOMEM where it cannot be packed; or another negative errno, after which
 * the connection is closed. zkleader_message() says why.
 */
int handle_send(struct zkleader *z, const char *method, const void *params, size_t len,
		int64_t deadline, uint32_t *ret_id);
/*
 * The next message, in a frame of at most max bytes. 0; -ETIMEDOUT if none has come before the
 * deadline; or another negative errno, after which the connection is closed.
 */
int handle_receive(struct zkleader *z, size_t max, int64_t deadline, struct message *ret);
/*
 * The answer to the request with this id: 0 and its result, or the positive code of a refusal, or
 * an error of handle_receive(). Notifications and answers to earlier requests are dropped.
 */
int handle_await(struct zkleader *z, uint32_t id, size_t max, int64_t deadline,
		 struct reader *ret_result);

/*
 * Copies one of zkleader.h's structs that begin with their size to the caller, whose struct may be
 * of an earlier or later release than ours. size is the size of ours, first that of the struct in
 * the release that introduced it.
 */
void handle_copy_out(void *to, const void *from, size_t size, size_t first);
/*
 * Copies the other way round, into our struct: fields that the caller does not have are 0. -E2BIG
 * if the caller's struct is of a later release and has a field set that is unknown here.
 */
int handle_copy_in(void *to, const void *from, size_t size, size_t first);

#endif
