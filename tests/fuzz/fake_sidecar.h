/*
 * A hostile sidecar within the process, and within the one thread: the socket, poll() and the clock of
 * the client library are replaced when linking (see Makefile). Whenever the client waits for bytes,
 * the next piece of the input is acted out; time passes only while it waits.
 */
#ifndef TESTS_FUZZ_FAKE_SIDECAR_H
#define TESTS_FUZZ_FAKE_SIDECAR_H

#include "fuzz.h"

#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "wire/pack.h"
#include "wire/rpc.h"

#define FAKE_FRAME_MAX (1 << 20)
#define FAKE_FD	       1000 /* and one more where the last one is not closed yet */
#define FAKE_SIGNALS   (FAKE_FD + 2)

static struct fake {
	struct feed feed;
	int fd;		    /* the client's end, 0: it has none */
	int spare;	    /* a socket that is not connected, 0 */
	int signals;	    /* a signalfd, 0 */
	bool up;	    /* our end is there */
	struct buffer sent; /* by us, and not read yet */
	struct buffer got;  /* from the client */
	int64_t now;
	uint32_t msgid; /* of the last request */
	bool asked;	/* it was not answered yet */
} fake;

int __wrap_socket(int domain, int type, int protocol);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len);
int __wrap_close(int fd);
int __wrap_signalfd(int fd, const sigset_t *mask, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *data, size_t len, int flags);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
int64_t __wrap_clock_boot_ms(void);

int64_t __wrap_clock_boot_ms(void)
{
	return fake.now;
}

FUZZ void fake_hang_up(void)
{
	fake.up = false;
	fake.asked = false;
}

FUZZ void fake_begin(const struct feed *f)
{
	fake_hang_up();
	buffer_init(&fake.sent, FAKE_FRAME_MAX);
	buffer_init(&fake.got, RPC_REQUEST_MAX);
	fake.feed = *f;
	fake.now = 1000000;
	fake.msgid = 0;
}

/* The client has closed all that it had. */
FUZZ void fake_over(void)
{
	FUZZ_CHECK(fake.fd == 0 && fake.spare == 0 && fake.signals == 0);
	buffer_done(&fake.sent);
	buffer_done(&fake.got);
}

int __wrap_socket(int domain, int type, int protocol)
{
	(void)protocol;
	FUZZ_CHECK(domain == AF_UNIX && (type & SOCK_STREAM) && fake.spare == 0);
	fake.spare = fake.fd == FAKE_FD ? FAKE_FD + 1 : FAKE_FD;
	return fake.spare;
}

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len)
{
	(void)address, (void)len;
	FUZZ_CHECK(fd == fake.spare);
	if (fake.feed.left > 0 && *fake.feed.p == 0xff) {
		feed_byte(&fake.feed);
		errno = ECONNREFUSED;
		return -1;
	}
	buffer_clear(&fake.sent);
	buffer_clear(&fake.got);
	fake_hang_up();
	fake.up = true;
	/* The one before, if there is one, is closed next: nothing comes over it any more. */
	fake.spare = fake.fd;
	fake.fd = fd;
	return 0;
}

int __wrap_signalfd(int fd, const sigset_t *mask, int flags)
{
	FUZZ_CHECK(fd == -1 && mask && (flags & SFD_NONBLOCK) && fake.signals == 0);
	fake.signals = FAKE_SIGNALS;
	return fake.signals;
}

int __wrap_close(int fd)
{
	FUZZ_CHECK(fd != 0 && (fd == fake.fd || fd == fake.spare || fd == fake.signals));
	if (fd == fake.signals) {
		fake.signals = 0;
	} else if (fd == fake.fd) {
		fake.fd = 0;
		fake_hang_up();
	} else {
		fake.spare = 0;
	}
	return 0;
}

ssize_t __wrap_send(int fd, const void *data, size_t len, int flags)
{
	FUZZ_CHECK(fd == fake.fd && (flags & MSG_NOSIGNAL));
	if (!fake.up) {
		errno = EPIPE;
		return -1;
	}
	FUZZ_CHECK(buffer_append(&fake.got, data, len) == 0);
	return (ssize_t)len;
}

ssize_t __wrap_recv(int fd, void *data, size_t len, int flags)
{
	size_t n = len < fake.sent.len ? len : fake.sent.len;

	FUZZ_CHECK(fd == fake.fd && (flags & MSG_DONTWAIT));
	if (n == 0 && fake.up)
		errno = EAGAIN;
	if (n == 0)
		return fake.up ? -1 : 0;
	memcpy(data, fake.sent.data, n);
	if (!(flags & MSG_PEEK))
		buffer_consume(&fake.sent, n);
	return (ssize_t)n;
}

/* Takes what the client has sent, which has to be whole, valid requests. */
FUZZ void fake_take_requests(void)
{
	const uint8_t *data = fake.got.data;
	size_t at = 0, left = fake.got.len;

	while (left > 0) {
		struct rpc_message m;
		size_t len;

		FUZZ_CHECK(reader_measure(data + at, left, RPC_REQUEST_MAX, &len) == 1);
		FUZZ_CHECK(rpc_parse(data + at, len, &m) == 0 && m.type == RPC_REQUEST);
		fake.msgid = m.msgid;
		fake.asked = true;
		at += len;
		left -= len;
	}
	buffer_clear(&fake.got);
}

FUZZ void fake_send(struct buffer *b)
{
	if (fake.up)
		FUZZ_CHECK(b->len == 0 || buffer_append(&fake.sent, b->data, b->len) == 0);
	buffer_done(b);
}

/* Plays one piece of the input: a kind, two bytes of length, and that many bytes. */
FUZZ void fake_act(void)
{
	static const char *const methods[] = {"leadership", "membership", "decision", "check"};
	const uint8_t *piece;
	uint8_t kind = feed_byte(&fake.feed);
	size_t len = feed_bytes(&fake.feed, (size_t)feed_number(&fake.feed, 2), &piece);
	struct buffer b;
	struct pack p;

	buffer_init(&b, FAKE_FRAME_MAX);
	pack_init(&p, &b);
	switch (kind & 7) {
	case 0:
	case 1:
		rpc_pack_result(&p, fake.msgid);
		fake.asked = false;
		break;
	case 2: /* an error; the result is nil */
		pack_array(&p, 4);
		pack_uint(&p, RPC_RESPONSE);
		pack_uint(&p, fake.msgid);
		fake.asked = false;
		break;
	case 3: rpc_pack_notify(&p, methods[(kind >> 3) % 4]); break;
	case 4: fake_hang_up(); return;
	case 5: return; /* just silence */
	default: break; /* the bytes alone */
	}
	buffer_append(&b, piece, len);
	if ((kind & 7) == 2)
		pack_nil(&p);
	fake_send(&b);
}

/* Once the input is used up a question is refused and a subscriber hung up on: all comes to an end. */
FUZZ void fake_end(void)
{
	struct buffer b;
	struct pack p;

	if (!fake.asked) {
		fake_hang_up();
		return;
	}
	buffer_init(&b, FAKE_FRAME_MAX);
	pack_init(&p, &b);
	rpc_pack_error(&p, fake.msgid, RPC_MISUSE, "over");
	fake.asked = false;
	fake_send(&b);
}

/* Beside the connection there may be signals and the output, of which nothing is ever heard. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	struct pollfd *link = NULL;

	for (nfds_t i = 0; i < n; i++) {
		fds[i].revents = 0;
		if (fds[i].fd > 0 && (fds[i].fd == fake.fd || fds[i].fd == fake.spare))
			link = &fds[i];
	}
	FUZZ_CHECK(n == 0 || link || fds[0].fd == fake.signals);
	/* Never less: a loop that waits for a time to come must come to its end. */
	fake.now += timeout > 0 && (!link || fake.feed.left == 0) ? timeout : 1;
	if (!link)
		return 0;
	if (link->events == POLLOUT || !fake.up) {
		link->revents = link->events;
		return 1;
	}
	fake_take_requests();
	if (fake.feed.left > 0)
		fake_act();
	else
		fake_end();
	link->revents = POLLIN;
	return 1;
}

#endif
