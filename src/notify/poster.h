/* The process that makes the requests of notify/http.c. */
#ifndef ZKLEADER_NOTIFY_POSTER_H
#define ZKLEADER_NOTIFY_POSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POSTER_TIMEOUT_MS 10000 /* limit of each request */

/* A request, sent with a file that holds the URL, behind it the headers, and then the body. */
struct poster_request {
	uint64_t id;
	size_t url_len, headers_len; /* headers: lines, each with its end */
	bool is_json;		     /* its body */
};

struct poster_answer {
	uint64_t id;
	int64_t status; /* 0: there was none */
	char why[128];	/* "": it was a 2xx */
};

/* Runs in a child, at the other end of a socket, until that is closed. Returns the exit code. */
int poster_run(int fd);

#endif
