#include "web/access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define BEARER	    "Bearer "
#define HOST_MAX    255
#define OTHERS_READ (S_IROTH | S_IWOTH | S_IWGRP)

/* --- the token -------------------------------------------------------------- */

static int take_token(struct access *a, const char *data, size_t len, const char **ret_why)
{
	size_t n = 0;

	while (n < len && data[n] != '\n' && data[n] != '\r')
		n++;
	*ret_why = "its first line, the token, has to have 1 to 512 printable characters";
	if (n == 0 || n > ACCESS_TOKEN_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (data[i] <= ' ' || data[i] > '~')
			return -EINVAL;
	memcpy(a->token, data, n);
	a->token[n] = '\0';
	return 0;
}

int access_read_token(struct access *a, const char *path, const char **ret_why)
{
	char data[ACCESS_TOKEN_MAX + 2];
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int e = 0;

	if (fd < 0 || fstat(fd, &st) < 0) {
		e = -errno;
		*ret_why = strerror(errno);
	} else if (!S_ISREG(st.st_mode)) {
		e = -EINVAL;
		*ret_why = "not a file";
	} else if (st.st_mode & OTHERS_READ) {
		e = -EPERM;
		*ret_why = "others can read it, or its group can write it: chmod 640";
	}
	if (e == 0) {
		ssize_t n = read(fd, data, sizeof(data));
		if (n < 0) {
			e = -errno;
			*ret_why = strerror(errno);
		} else {
			e = take_token(a, data, (size_t)n, ret_why);
		}
	}
	if (fd >= 0)
		close(fd);
	return e;
}

/* Compares two texts in a time that does not depend on where they differ, only on their lengths. */
static bool is_equal(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned char differ = a_len != b_len;

	for (size_t i = 0; i < a_len && i < b_len; i++)
		differ |= (unsigned char)((unsigned char)a[i] ^ (unsigned char)b[i]);
	return differ == 0;
}

bool access_is_token(const struct access *a, const char *text)
{
	return a->token[0] && is_equal(a->token, strlen(a->token), text, strlen(text));
}

static bool is_good_cookie(const struct access *a, const char *value, size_t len)
{
	size_t n = a->n_cookies < ACCESS_COOKIES_MAX ? a->n_cookies : ACCESS_COOKIES_MAX;
	bool good = false;

	for (size_t i = 0; i < n; i++)
		good |= is_equal(a->cookies[i], ACCESS_COOKIE_SIZE - 1, value, len);
	return good;
}

/* Whether the header Cookie, such as "a=1; zkleader=…; b=2", has a valid cookie of ours. */
static bool has_cookie(const struct access *a, const char *header)
{
	size_t name_len = strlen(ACCESS_COOKIE_NAME);

	while (*header) {
		header += strspn(header, " ;");
		size_t len = strcspn(header, ";");
		if (len > name_len && strncmp(header, ACCESS_COOKIE_NAME "=", name_len + 1) == 0 &&
		    is_good_cookie(a, header + name_len + 1, len - name_len - 1))
			return true;
		header += len;
	}
	return false;
}

bool access_granted(const struct access *a, const char *authorization, const char *cookie)
{
	if (!a->token[0])
		return true;
	if (authorization && strncasecmp(authorization, BEARER, strlen(BEARER)) == 0)
		return access_is_token(a, authorization + strlen(BEARER));
	return cookie && has_cookie(a, cookie);
}

int access_new_cookie(struct access *a, char ret_cookie[ACCESS_COOKIE_SIZE])
{
	unsigned char bytes[(ACCESS_COOKIE_SIZE - 1) / 2];
	char *cookie = a->cookies[a->n_cookies % ACCESS_COOKIES_MAX];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(cookie + 2 * i, 3, "%02x", bytes[i]);
	a->n_cookies++;
	memcpy(ret_cookie, cookie, ACCESS_COOKIE_SIZE);
	return 0;
}

/* --- the Host header -------------------------------------------------------- */

/*
 * Takes the name out of a header Host: without the port, and without the brackets of an IPv6
 * address.
 */
static bool take_name(const char *host, char ret_name[HOST_MAX + 1])
{
	const char *end = host + strlen(host), *colon = strrchr(host, ':');

	if (host[0] == '[') {
		end = strchr(host, ']');
		if (!end || (end[1] != '\0' && end[1] != ':'))
			return false;
		colon = end[1] ? end + 1 : NULL;
		host++;
	} else if (colon) {
		end = colon;
	}
	if (colon && colon[1 + strspn(colon + 1, "0123456789")] != '\0')
		return false;
	if (end == host || end - host > HOST_MAX)
		return false;
	memcpy(ret_name, host, (size_t)(end - host));
	ret_name[end - host] = '\0';
	return true;
}

bool access_host(const struct access *a, const char *host)
{
	char name[HOST_MAX + 1];

	if (a->address->any.sa_family == AF_UNIX)
		return true;
	if (!host || !take_name(host, name))
		return false;
	if (strcasecmp(name, "localhost") == 0 || address_is_loopback(name) ||
	    address_is(a->address, name))
		return true;
	for (size_t i = 0; i < a->n_hosts; i++)
		if (strcasecmp(name, a->hosts[i]) == 0)
			return true;
	return false;
}
