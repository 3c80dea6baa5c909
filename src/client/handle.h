/* What is behind a handle of the C API, for the files that implement it. */
#ifndef ZKLEADER_CLIENT_HANDLE_H
#define ZKLEADER_CLIENT_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zkleader.h"
#include "base/buffer.h"
#include "client/link.h"
#include "wire/reader.h"

struct zkleader {
	struct link link;
	struct buffer out;
	uint32_t msgid;
	bool subscribed;
	char message[ZKLEADER_TEXT_SIZE];
};

/* Puts the failure into words and returns it. */
int handle_fail(struct zkleader *z, int e, int64_t timeout_ms);
/* What the caller gave cannot be sent; the connection is not to blame. */
int handle_refuse(struct zkleader *z, int e, const char *why);
/* A connection that broke while nobody used it is made anew, silently: nothing was lost with it. */
int handle_connect(struct zkleader *z, int64_t deadline);
void handle_hang_up(struct zkleader *z);
/* Into z->out: 0, -EINVAL for what is not one array, or -EMSGSIZE. */
int handle_pack_request(struct zkleader *z, const char *method, const void *params, size_t len);
/* The sidecar said no: its code, or -EBADMSG. */
int handle_take_refusal(struct zkleader *z, struct reader error);

#endif
