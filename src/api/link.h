/* A connection to the sidecar: whole frames in and out, each before a deadline. */
#ifndef ZKLEADER_API_LINK_H
#define ZKLEADER_API_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "base/buffer.h"

#define LINK_FOREVER  INT64_MAX /* as a deadline */
#define LINK_PATH_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)

/* Deadlines are in ms of CLOCK_BOOTTIME. */
struct link {
	struct sockaddr_un address;
	int fd; /* -1: not connected */
	struct buffer in;
	size_t frame;	 /* bytes of the last frame returned, consumed by the next receive */
	size_t measured; /* bytes known to be no whole frame */
	bool eof;
};

/*
 * The path of the sidecar's socket: the one given, or, if that is NULL, $ZKLEADER_SOCKET or the
 * default.
 */
const char *link_path(const char *given);
/* 0, -EINVAL for an empty path or -ENAMETOOLONG. */
int link_init(struct link *l, const char *path);
void link_done(struct link *l);
/* Connects: 0, -ETIMEDOUT or the errno of connect(2). Waits while the sidecar's backlog is full. */
int link_open(struct link *l, int64_t deadline);
void link_close(struct link *l);
/* Whether the link seems to be connected; sends nothing. */
bool link_is_up(const struct link *l);
/* 0, -ETIMEDOUT, -EPIPE, ... After a failure the link has to be closed. */
int link_send(struct link *l, const void *data, size_t len, int64_t deadline);
/*
 * Receives one frame of at most max bytes, valid until the next receive or close. 0; -ETIMEDOUT,
 * after which the link is as before; -ECONNRESET at the end of the stream; -EBADMSG or -EMSGSIZE
 * for an invalid or too big frame; -ENOMEM.
 */
int link_receive(struct link *l, size_t max, int64_t deadline, const void **ret_frame,
		 size_t *ret_len);
/* Sleeps for ms, but not beyond the deadline: -ETIMEDOUT if that had passed already. */
int link_pause(int64_t ms, int64_t deadline);

#endif
