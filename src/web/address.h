/* The address of the web server: an address and a port, or a Unix socket. */
#ifndef ZKLEADER_WEB_ADDRESS_H
#define ZKLEADER_WEB_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_un un;
		struct sockaddr_storage storage;
	};
	socklen_t len;
	bool local; /* only programs of this machine get there: loopback, or a Unix socket */
};

/*
 * "127.0.0.1:9467", "[::1]:9467", "unix:/run/web.sock"; names are not looked up. 0, or -EINVAL and
 * what is wrong, a constant text.
 */
int address_parse(const char *text, struct address *ret, const char **ret_why);
/*
 * Opens a socket that listens there, without blocking. A Unix socket is open to all who may enter
 * its folder; one that a dead server has left is replaced. The descriptor, or a negative errno.
 */
int address_listen(const struct address *a);
/*
 * Whether a literal such as a Host header's, without a port and brackets, is that very address, or
 * any of the loopback.
 */
bool address_is(const struct address *a, const char *host);
bool address_is_loopback(const char *host);

#endif
