#include "web/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNIX_PREFIX   "unix:"
#define PORT_MAX      65535
#define BACKLOG	      128
#define IPV4_LOOP     127 /* the first byte of a loopback address */
#define SOCKET_RIGHTS 0666

static int parse_unix(const char *path, struct address *a, const char **ret_why)
{
	size_t len = strlen(path);

	if (path[0] != '/' || len >= sizeof(a->un.sun_path)) {
		*ret_why = "the path of a Unix socket begins with / and has at most 107 bytes";
		return -EINVAL;
	}
	a->un.sun_family = AF_UNIX;
	memcpy(a->un.sun_path, path, len + 1);
	a->len = sizeof(a->un);
	a->local = true;
	return 0;
}

static bool is_loopback(const struct sockaddr *any)
{
	if (any->sa_family == AF_INET) {
		struct in_addr v4;

		memcpy(&v4, (const char *)any + offsetof(struct sockaddr_in, sin_addr), sizeof(v4));
		return ntohl(v4.s_addr) >> 24 == IPV4_LOOP;
	}
	if (any->sa_family == AF_INET6) {
		struct in6_addr v6;

		memcpy(&v6, (const char *)any + offsetof(struct sockaddr_in6, sin6_addr),
		       sizeof(v6));
		return IN6_IS_ADDR_LOOPBACK(&v6);
	}
	return false;
}

/* Parses an IPv4 or IPv6 address. False: the text is neither. */
static bool parse_literal(const char *text, struct address *a)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
		memcpy(&a->storage, &v4, sizeof(v4));
		a->len = sizeof(v4);
	} else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1) {
		memcpy(&a->storage, &v6, sizeof(v6));
		a->len = sizeof(v6);
	} else {
		return false;
	}
	a->local = is_loopback(&a->any);
	return true;
}

static void set_port(struct address *a, uint16_t port)
{
	uint16_t n = htons(port);
	size_t at = a->any.sa_family == AF_INET ? offsetof(struct sockaddr_in, sin_port)
						: offsetof(struct sockaddr_in6, sin6_port);

	memcpy((char *)&a->storage + at, &n, sizeof(n));
}

int address_parse(const char *text, struct address *ret, const char **ret_why)
{
	struct address a = {.len = 0};
	char host[INET6_ADDRSTRLEN];
	const char *colon = strrchr(text, ':'), *begin = text, *end = colon;

	if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0) {
		int e = parse_unix(text + strlen(UNIX_PREFIX), &a, ret_why);
		if (e == 0)
			*ret = a;
		return e;
	}
	*ret_why = "not ADDRESS:PORT, [ADDRESS]:PORT, localhost:PORT or unix:PATH";
	if (!colon)
		return -EINVAL;
	bool bracketed = text[0] == '[' && colon > text && colon[-1] == ']';
	if (bracketed) {
		begin++;
		end--;
	}
	if ((size_t)(end - begin) >= sizeof(host))
		return -EINVAL;
	memcpy(host, begin, (size_t)(end - begin));
	host[end - begin] = '\0';
	if (!parse_literal(strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &a) ||
	    bracketed != (a.any.sa_family == AF_INET6))
		return -EINVAL;

	size_t digits = strspn(colon + 1, "0123456789");
	long port = strtol(colon + 1, NULL, 10);
	if (digits == 0 || digits > 5 || colon[1 + digits] != '\0' || port > PORT_MAX) {
		*ret_why = "a port is a number up to 65535";
		return -EINVAL;
	}
	set_port(&a, (uint16_t)port);
	*ret = a;
	return 0;
}

/* Removes a socket file that nobody listens on any more, which would be in the way of a new one. */
static int remove_stale(const struct address *a)
{
	struct stat st;

	if (lstat(a->un.sun_path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EADDRINUSE;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	bool alive = connect(fd, &a->any, a->len) == 0 || errno != ECONNREFUSED;
	close(fd);
	if (alive)
		return -EADDRINUSE;
	return unlink(a->un.sun_path) < 0 ? -errno : 0;
}

int address_listen(const struct address *a)
{
	bool is_unix = a->any.sa_family == AF_UNIX;
	int on = 1, e = is_unix ? remove_stale(a) : 0;
	if (e < 0)
		return e;
	int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (!is_unix)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, &a->any, a->len) < 0 ||
	    (is_unix && chmod(a->un.sun_path, SOCKET_RIGHTS) < 0) || listen(fd, BACKLOG) < 0)
		e = -errno;
	if (e < 0) {
		close(fd);
		return e;
	}
	return fd;
}

bool address_is_loopback(const char *host)
{
	struct address a = {.len = 0};

	return parse_literal(host, &a) && a.local;
}

bool address_is(const struct address *a, const char *host)
{
	struct address b = {.len = 0};
	uint16_t port;

	if (a->any.sa_family == AF_UNIX || !parse_literal(host, &b) ||
	    a->any.sa_family != b.any.sa_family)
		return false;
	memcpy(&port,
	       (const char *)&a->storage + (a->any.sa_family == AF_INET
						    ? offsetof(struct sockaddr_in, sin_port)
						    : offsetof(struct sockaddr_in6, sin6_port)),
	       sizeof(port));
	set_port(&b, ntohs(port));
	return a->len == b.len && memcmp(&a->storage, &b.storage, a->len) == 0;
}
