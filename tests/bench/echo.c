/*
 * usage: echo SOCKET [REPLY]
 *
 * The barest server that there is, to compare with: one thread, epoll, on a Unix socket. What comes is
 * sent back; with REPLY, that is sent instead, once, and the connection closed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define EVENTS_MAX 64

static int listen_on(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 128) != 0)
		return -1;
	return fd;
}

static void answer(int fd, const char *reply)
{
	char buf[65536];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n < 0 && errno == EAGAIN)
		return;
	/* As much as a client may have in flight fits into the socket's buffer. */
	if (n <= 0 || write(fd, reply ? reply : buf, reply ? strlen(reply) : (size_t)n) < 0 ||
	    reply)
		close(fd);
}

int main(int argc, char **argv)
{
	struct epoll_event events[EVENTS_MAX];
	int poll = epoll_create1(EPOLL_CLOEXEC), listener = argc > 1 ? listen_on(argv[1]) : -1;

	if (listener < 0 || poll < 0) {
		fprintf(stderr, "echo: %s\n",
			argc > 1 ? strerror(errno) : "usage: echo SOCKET [REPLY]");
		return 1;
	}
	signal(SIGPIPE, SIG_IGN); /* a client may go with requests on their way */
	epoll_ctl(poll, EPOLL_CTL_ADD, listener,
		  &(struct epoll_event){.events = EPOLLIN, .data.fd = listener});
	for (;;) {
		int n = epoll_wait(poll, events, EVENTS_MAX, -1);
		for (int i = 0; i < n; i++) {
			if (events[i].data.fd != listener) {
				answer(events[i].data.fd, argc > 2 ? argv[2] : NULL);
				continue;
			}
			int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
			if (fd >= 0)
				epoll_ctl(poll, EPOLL_CTL_ADD, fd,
					  &(struct epoll_event){.events = EPOLLIN, .data.fd = fd});
		}
	}
}
