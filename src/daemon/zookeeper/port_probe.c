#include "daemon/zookeeper/port_probe.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_MS 500 /* for each step: to connect, and for the first bytes */

/*
 * A ClientHello of TLS 1.2 with one cipher suite, which each TLS server answers, if by an alert.
 * Behind it the line ends as a request of HTTP does, so that such a server answers as well, if by
 * an error. It is one question, as a server may serve one connection at a time.
 */
static const unsigned char hello[] = {
	0x16, 0x03, 0x01, 0,	45,				      /* record: handshake */
	0x01, 0,    0,	  41,	0x03, 0x03,			      /* ClientHello, TLS 1.2 */
	'z',  'k',  'l',  'e',	'a',  'd',  'e',  'r', '-', 'a', 's', /* 32 random bytes */
	'k',  's',  '-',  'w',	'h',  'a',  't',  '-', 's', 'p', 'e', /* likewise */
	'a',  'k',  's',  '-',	'h',  'e',  'r',  'e', '-', '-',      /* likewise */
	0,    0,    2,	  0xc0, 0x2f, 1,    0, /* no session, a suite, no compression */
	'G',  'E',  'T',  ' ',	'/',  ' ',  'H',  'T', 'T', 'P', '/', /* of HTTP */
	'1',  '.',  '0',  '\r', '\n', '\r', '\n',
};

enum port_speaks port_speaks(const void *bytes, size_t len)
{
	const unsigned char *b = bytes;

	if (len >= 3 && (b[0] == 0x15 || b[0] == 0x16) && b[1] == 0x03 && b[2] <= 0x04)
		return PORT_TLS;
	return len >= 5 && memcmp(b, "HTTP/", 5) == 0 ? PORT_HTTP : PORT_UNKNOWN;
}

/* The address of "address:port"; a v6 one may be in brackets. NULL: it is none. */
static struct addrinfo *address_of(const char *server)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				       .ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	char text[128];

	snprintf(text, sizeof(text), "%s", server);
	char *port = strrchr(text, ':'), *host = text;
	if (!port || port == text)
		return NULL;
	*port = '\0';
	if (host[0] == '[' && port[-1] == ']') {
		port[-1] = '\0';
		host++;
	}
	return getaddrinfo(host, port + 1, &hints, &list) == 0 ? list : NULL;
}

static bool is_ready(int fd, short events)
{
	struct pollfd one = {.fd = fd, .events = events};

	return poll(&one, 1, WAIT_MS) == 1;
}

static enum port_speaks ask(const struct addrinfo *to)
{
	enum port_speaks speaks = PORT_UNKNOWN;
	char answer[16];
	int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return PORT_UNKNOWN;
	if ((connect(fd, to->ai_addr, to->ai_addrlen) == 0 || errno == EINPROGRESS) &&
	    is_ready(fd, POLLOUT) &&
	    send(fd, hello, sizeof(hello), MSG_NOSIGNAL) == (ssize_t)sizeof(hello) &&
	    is_ready(fd, POLLIN)) {
		ssize_t n = recv(fd, answer, sizeof(answer), 0);
		speaks = port_speaks(answer, n > 0 ? (size_t)n : 0);
	}
	close(fd);
	return speaks;
}

enum port_speaks port_probe(const char *server)
{
	struct addrinfo *to = address_of(server);

	if (!to)
		return PORT_UNKNOWN;
	enum port_speaks speaks = ask(to);
	freeaddrinfo(to);
	return speaks;
}
