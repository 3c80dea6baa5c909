#include "api/link.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "zkleader.h"
#include "base/clock.h"
#include "base/fd.h"
#include "wire/reader.h"
#include "wire/rpc.h"

#define READ_SIZE    4096 /* bytes of the first read; later ones double what is buffered */
#define PAUSE_MAX_MS 50
#define IN_LIMIT     (RPC_RESPONSE_MAX + 2 * READ_SIZE)

const char *link_path(const char *given)
{
	const char *path = given ? given : getenv(ZKLEADER_SOCKET_ENV);

	return given || (path && path[0]) ? path : ZKLEADER_SOCKET_DEFAULT;
}

int link_init(struct link *l, const char *path)
{
	size_t len = strlen(path);

	if (len == 0)
		return -EINVAL;
	if (len > LINK_PATH_MAX)
		return -ENAMETOOLONG;
	*l = (struct link){.fd = -1, .address.sun_family = AF_UNIX};
	memcpy(l->address.sun_path, path, len + 1);
	buffer_init_fallible(&l->in, IN_LIMIT);
	return 0;
}

void link_done(struct link *l)
{
	link_close(l);
	buffer_done(&l->in);
}

/* The timeout for poll(2) until the deadline: 0 once that has passed, -1 for LINK_FOREVER. */
static int poll_ms(int64_t deadline)
{
	int64_t now = clock_boot_ms();

	if (deadline == LINK_FOREVER)
		return -1;
	if (deadline <= now)
		return 0;
	return deadline - now < INT_MAX ? (int)(deadline - now) : INT_MAX;
}

int link_pause(int64_t ms, int64_t deadline)
{
	int64_t until = clock_boot_ms() + ms;
	int left = poll_ms(deadline);

	if (left == 0)
		return -ETIMEDOUT;
	left = poll_ms(until < deadline ? until : deadline);
	while (left > 0) {
		poll(NULL, 0, left);
		left = poll_ms(until < deadline ? until : deadline);
	}
	return 0;
}

/* Waits for one of these events until the deadline. A signal does not end the wait. */
static int wait_for(const struct link *l, short events, int64_t deadline)
{
	for (;;) {
		struct pollfd p = {.fd = l->fd, .events = events};
		int left = poll_ms(deadline);
		int n = poll(&p, 1, left);

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		/*
		 * poll(2) does not count the time that the machine is suspended, but the deadline
		 * does. So the time left is computed again before a timeout is reported.
		 */
		if (n == 0 && left == 0)
			return -ETIMEDOUT;
	}
}

/*
 * A socket that never has the number of a standard descriptor. Else output to a closed stdout would
 * go to the sidecar.
 */
static int new_socket(void)
{
	int fd = fd_private(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

	return fd < 0 ? -errno : fd;
}

int link_open(struct link *l, int64_t deadline)
{
	int fd = new_socket();
	int e = 0;

	if (fd < 0)
		return fd;
	/* For a Unix socket EAGAIN means that the backlog is full. */
	for (int64_t pause_ms = 1;; pause_ms *= 2) {
		if (connect(fd, (const struct sockaddr *)&l->address, sizeof(l->address)) == 0)
			break;
		e = -errno;
		if (e == -EAGAIN || e == -EINTR)
			e = link_pause(pause_ms < PAUSE_MAX_MS ? pause_ms : PAUSE_MAX_MS, deadline);
		if (e < 0) {
			close(fd);
			return e;
		}
		if (pause_ms > PAUSE_MAX_MS)
			pause_ms = PAUSE_MAX_MS;
	}
	link_close(l);
	l->fd = fd;
	return 0;
}

void link_close(struct link *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	l->frame = 0;
	l->measured = 0;
	l->eof = false;
	buffer_clear(&l->in);
}

bool link_is_up(const struct link *l)
{
	char byte;
	ssize_t n;

	if (l->fd < 0 || l->eof)
		return false;
	n = recv(l->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

int link_send(struct link *l, const void *data, size_t len, int64_t deadline)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = send(l->fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		int e = 0;

		if (n >= 0) {
			p += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			e = wait_for(l, POLLOUT, deadline);
		} else if (errno != EINTR) {
			e = -errno;
		}
		if (e < 0)
			return e;
	}
	return 0;
}

/* Whether the next frame is complete: 1 and its length; 0 if it is not; or a negative errno. */
static int measure(struct link *l, size_t max, size_t *ret_len)
{
	int r;

	if (l->in.len == 0 || l->in.len == l->measured)
		return 0;
	r = reader_measure(l->in.data, l->in.len, max, ret_len);
	l->measured = r == 0 ? l->in.len : 0;
	return r;
}

/*
 * Reads what is available, but at most as many bytes as are buffered already, or READ_SIZE. So a
 * long frame, which is measured again after each read, costs only a constant factor more, and an
 * endless stream does not fill the buffer. 1; 0 if nothing is available; or a negative errno.
 */
static int fill(struct link *l)
{
	size_t goal = l->in.len + (l->in.len > READ_SIZE ? l->in.len : READ_SIZE);
	size_t before = l->in.len;

	while (l->in.len < goal && !l->eof) {
		size_t room = buffer_reserve(&l->in, goal - l->in.len);
		ssize_t n;

		if (room == 0)
			return -ENOMEM; /* no valid frame reaches the buffer's limit */
		n = recv(l->fd, l->in.data + l->in.len, room, MSG_DONTWAIT);
		if (n > 0)
			buffer_added(&l->in, (size_t)n);
		else if (n == 0 || errno == ECONNRESET)
			l->eof = true;
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			return -errno;
	}
	if (l->in.len > before)
		return 1;
	return l->eof ? -ECONNRESET : 0;
}

int link_receive(struct link *l, size_t max, int64_t deadline, const void **ret_frame,
		 size_t *ret_len)
{
	size_t len;
	int r;

	buffer_consume(&l->in, l->frame);
	if (l->frame > 0)
		l->measured = 0;
	l->frame = 0;
	while ((r = measure(l, max, &len)) == 0) {
		r = fill(l);
		if (r == 0)
			r = wait_for(l, POLLIN, deadline);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	l->frame = len;
	*ret_frame = l->in.data;
	*ret_len = len;
	return 0;
}
