/*
 * A hostile sidecar within the process, and within the one thread: connect(), poll() and the clock of
 * the client library are replaced when linking (see Makefile). Whenever the client waits for bytes,
 * the next piece of the input is acted out; time passes only while it waits.
 */
#ifndef TESTS_FUZZ_FAKE_SIDECAR_H
#define TESTS_FUZZ_FAKE_SIDECAR_H

#include "fuzz.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "wire/pack.h"
#include "wire/rpc.h"

#define FAKE_FRAME_MAX (1 << 20)

static struct fake {
	struct feed feed;
	int peer; /* -1: not connected */
	int64_t now;
	uint32_t msgid; /* of the last request */
	bool asked;	/* it was not answered yet */
} fake = {.peer = -1};

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
int64_t __wrap_clock_boot_ms(void);

int64_t __wrap_clock_boot_ms(void)
{
	return fake.now;
}

FUZZ void fake_hang_up(void)
{
	if (fake.peer >= 0)
		close(fake.peer);
	fake.peer = -1;
	fake.asked = false;
}

FUZZ void fake_begin(const struct feed *f)
{
	fake_hang_up();
	fake.feed = *f;
	fake.now = 1000000;
	fake.msgid = 0;
}

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len)
{
	int pair[2];

	(void)address, (void)len;
	fake_hang_up();
	if (fake.feed.left > 0 && *fake.feed.p == 0xff) {
		feed_byte(&fake.feed);
		errno = ECONNREFUSED;
		return -1;
	}
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	FUZZ_CHECK(dup2(pair[0], fd) == fd);
	close(pair[0]);
	fake.peer = pair[1];
	return 0;
}

/* What the client sent has to be whole, good requests. */
FUZZ void fake_take_requests(void)
{
	static uint8_t data[RPC_REQUEST_MAX];
	ssize_t n = recv(fake.peer, data, sizeof(data), MSG_DONTWAIT);
	size_t at = 0, left = n > 0 ? (size_t)n : 0;

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
}

FUZZ void fake_send(struct buffer *b)
{
	FUZZ_CHECK(b->len == 0 ||
		   send(fake.peer, b->data, b->len, MSG_NOSIGNAL | MSG_DONTWAIT) != 0);
	buffer_done(b);
}

/* One piece: a kind, two bytes of length, and that many bytes. */
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

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	/* Never less: a loop that waits for a time to come must come to its end. */
	fake.now += timeout > 0 && (n == 0 || fake.feed.left == 0) ? timeout : 1;
	if (n == 0)
		return 0;
	FUZZ_CHECK(n == 1);
	if (fds[0].events == POLLOUT || fake.peer < 0) {
		fds[0].revents = fds[0].events;
		return 1;
	}
	fake_take_requests();
	if (fake.feed.left > 0)
		fake_act();
	else
		fake_end();
	fds[0].revents = POLLIN;
	return 1;
}

#endif
