/*
 * Access control: the token, the cookie that a browser gets for it, and the host names by which a
 * request may address this server. The names protect against a web page whose own name resolves to
 * this machine (DNS rebinding).
 */
#ifndef ZKLEADER_WEB_ACCESS_H
#define ZKLEADER_WEB_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "web/address.h"

#define ACCESS_TOKEN_SHORT 16 /* bytes; less can be guessed */
#define ACCESS_TOKEN_MAX   512
#define ACCESS_HOSTS_MAX   64
#define ACCESS_COOKIES_MAX 256 /* of browsers that have been let in; then the oldest goes */
#define ACCESS_COOKIE_SIZE 33  /* 128 random bits in hexadecimal, and a NUL */
#define ACCESS_COOKIE_NAME "zkleader"

struct access {
	const struct address *address;	     /* the address listened on; borrowed */
	const char *hosts[ACCESS_HOSTS_MAX]; /* of --host; borrowed */
	size_t n_hosts;
	char token[ACCESS_TOKEN_MAX + 1]; /* "": none is asked for */
	char cookies[ACCESS_COOKIES_MAX][ACCESS_COOKIE_SIZE];
	size_t n_cookies; /* cookies ever given; the last ACCESS_COOKIES_MAX are good */
};

/*
 * Reads the token: the first line of a file that only its owner and group can read. 0, or a
 * negative errno and what is wrong, a constant text.
 */
int access_read_token(struct access *a, const char *path, const char **ret_why);
/*
 * Whether a request with this Host header, NULL for none, is meant for this server. On a Unix
 * socket each is: no browser gets there, and others, such as curl, name what they like.
 */
bool access_host(const struct access *a, const char *host);
/* Whether a request with these headers, NULL for missing ones, may see more than health. */
bool access_granted(const struct access *a, const char *authorization, const char *cookie);
/* Whether the text is the token; takes the same time wherever they differ. */
bool access_is_token(const struct access *a, const char *text);
/* A cookie for a browser that has shown the token. 0, or a negative errno. */
int access_new_cookie(struct access *a, char ret_cookie[ACCESS_COOKIE_SIZE]);

#endif
