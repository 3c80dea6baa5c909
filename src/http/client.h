/*
 * The one wrapper of libcurl: POSTs over HTTP, several at a time, each of which ends with one call.
 *
 * libcurl is loaded only by the processes that make requests. If it were linked, each process of a
 * program would load its 25 libraries at its start, and their pages would cost memory in each of
 * the three processes of a job.
 *
 * All requests are made alike: to http and https alone, TLS is verified, no redirect is followed,
 * and a proxy is used where the environment names one for the URL (http_proxy, https_proxy,
 * no_proxy). Whoever lives behind a proxy reaches nothing without these variables, and whoever sets
 * them can except a host.
 */
#ifndef ZKLEADER_HTTP_CLIENT_H
#define ZKLEADER_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_ANSWER_MAX	 (64 * 1024) /* bytes of an answer's body that are read */
#define HTTP_HEADERS_MAX (64 * 1024) /* bytes of its headers; with more it is no answer */
#define HTTP_ERROR_SIZE	 256

struct http_client;

struct http_answer {
	long status;	  /* 0: there was none */
	const char *why;  /* there was none; NULL */
	int64_t retry_ms; /* delay of Retry-After; -1: there is none, or it makes no sense */
};

/* The caller's, with all that it points to, until done is called. */
struct http_request {
	const char *url;
	const char *const *headers; /* lines, up to NULL */
	const void *body;
	size_t len;
	long timeout_ms; /* 0: none */
	/* Takes a piece of the answer's body. NULL: nobody reads it. */
	void (*read)(void *arg, const char *data, size_t len);
	void (*done)(void *arg, const struct http_answer *answer); /* may be called at once */
	void *arg;
	/* --- client.c --- */
	struct http_client *client;
	void *lines;	      /* the headers */
	size_t taken, headed; /* bytes read of the body, and of the headers */
	char error[HTTP_ERROR_SIZE];
};

/* NULL, and *ret_why says why, if libcurl cannot be loaded. The process then ignores SIGPIPE. */
struct http_client *http_client_new(const char *agent, const char **ret_why);
/* Frees the client, which has no outstanding request. */
void http_client_free(struct http_client *c);
void http_client_post(struct http_client *c, struct http_request *r);
/* Goes on with all requests, and waits for them or for fd (-1: none). True: fd can be read. */
bool http_client_wait(struct http_client *c, int fd);

#endif
