#include "notify/poster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zkleader.h"
#include "base/mem.h"
#include "http/client.h"

#define POSTER_LINES_MAX 100 /* headers of a request */
#define POSTER_FD	 3   /* the socket; no descriptor above it is left open */

struct poster {
	struct http_client *client;
	const char *unloaded; /* why there is none; NULL */
	int fd;
};

struct request {
	struct http_request http;
	const struct poster *poster;
	uint64_t id;
	char *url, *headers, *body;
	const char *lines[POSTER_LINES_MAX + 2]; /* of the headers */
};

/* Sends an answer to the parent. If the parent is gone, this process ends. */
static void answer(void *arg, const struct http_answer *answer)
{
	struct request *r = arg;
	struct poster_answer a = {.id = r->id, .status = answer->status};
	const char *why = answer->status / 100 == 2 ? "" : "its answer";

	snprintf(a.why, sizeof(a.why), "%s", answer->why ? answer->why : why);
	if (send(r->poster->fd, &a, sizeof(a), MSG_NOSIGNAL) != (ssize_t)sizeof(a))
		_exit(EXIT_FAILURE);
	free(r->url);
	free(r->headers);
	free(r->body);
	free(r);
}

/* --- requests of the parent ----------------------------------------------- */

static char *read_text(int fd, size_t from, size_t to)
{
	char *text = mem_calloc(1, to - from + 1);

	if (pread(fd, text, to - from, (off_t)from) != (ssize_t)(to - from))
		_exit(EXIT_FAILURE);
	return text;
}

/* Splits the headers into lines. */
static void split(struct request *r, bool is_json)
{
	size_t n = 0;

	if (is_json)
		r->lines[n++] = "Content-Type: application/json";
	for (char *at = r->headers, *end; *at && n < POSTER_LINES_MAX + 1; at = end + 1) {
		end = strchr(at, '\n');
		if (!end)
			_exit(EXIT_FAILURE);
		*end = '\0';
		r->lines[n++] = at;
	}
	r->lines[n] = NULL;
}

/*
 * Takes a request of the parent. This process ends if the parent has ended, or if the message is
 * not one that the parent would send.
 */
static void take(const struct poster *p)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct poster_request q;
	struct iovec data = {.iov_base = &q, .iov_len = sizeof(q)};
	struct msghdr m = {.msg_iov = &data,
			   .msg_iovlen = 1,
			   .msg_control = control.space,
			   .msg_controllen = sizeof(control.space)};
	struct request *r;
	struct stat st;
	int text;

	if (recvmsg(p->fd, &m, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(q) || !CMSG_FIRSTHDR(&m))
		_exit(EXIT_SUCCESS);
	memcpy(&text, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(text));
	if (fstat(text, &st) < 0 || (size_t)st.st_size < q.url_len + q.headers_len)
		_exit(EXIT_FAILURE);
	r = mem_calloc(1, sizeof(*r));
	r->id = q.id;
	r->url = read_text(text, 0, q.url_len);
	r->headers = read_text(text, q.url_len, q.url_len + q.headers_len);
	r->body = read_text(text, q.url_len + q.headers_len, (size_t)st.st_size);
	split(r, q.is_json);
	close(text);
	r->poster = p;
	r->http = (struct http_request){.url = r->url,
					.headers = r->lines,
					.body = r->body,
					.len = strlen(r->body),
					.timeout_ms = POSTER_TIMEOUT_MS,
					.done = answer,
					.arg = r};
	if (p->client)
		http_client_post(p->client, &r->http);
	else
		answer(r, &(struct http_answer){.why = p->unloaded});
}

/*
 * Closes all descriptors but the socket. The parent's connection to the sidecar, for example, must
 * not stay open in this process after the parent has ended.
 */
static int keep_alone(int fd)
{
	if (dup2(fd, POSTER_FD) < 0)
		return -1;
	return close_range(POSTER_FD + 1, ~0U, 0) == 0 ? POSTER_FD : -1;
}

int poster_run(int fd)
{
	struct poster p = {.fd = keep_alone(fd)};

	if (p.fd < 0)
		return EXIT_FAILURE;
	p.client = http_client_new("zkleader-notify/" ZKLEADER_VERSION, &p.unloaded);
	for (;;)
		if (!p.client || http_client_wait(p.client, p.fd))
			take(&p);
}
