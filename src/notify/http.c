#include "notify/http.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "notify/input.h"
#include "notify/poster.h"

/* --- the poster ----------------------------------------------------------- */

/* Kills the poster whatever it is doing, as it has nothing to clean up, and reaps it. */
static void end_poster(struct http *h)
{
	if (h->fd < 0)
		return;
	close(h->fd);
	h->fd = -1;
	kill(h->pid, SIGKILL);
	while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Starts the poster if there is none. 0 or a negative errno. */
static int need_poster(struct http *h)
{
	int ends[2];

	if (h->fd >= 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	h->pid = fork();
	if (h->pid == 0)
		_exit(poster_run(ends[1]));
	close(ends[1]);
	if (h->pid < 0) {
		close(ends[0]);
		return -errno;
	}
	h->fd = fd_private(ends[0]);
	return 0;
}

/*
 * Hands a request to the poster without waiting: requests are few and short, and their texts are
 * passed as files. False: that failed.
 */
static bool hand_over(const struct http *h, const struct poster_request *request, int text)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec data = {.iov_base = (void *)(uintptr_t)request, .iov_len = sizeof(*request)};
	struct msghdr m = {.msg_iov = &data,
			   .msg_iovlen = 1,
			   .msg_control = control.space,
			   .msg_controllen = sizeof(control.space)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &text, sizeof(text));
	return sendmsg(h->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(*request);
}

/* --- requests ------------------------------------------------------------- */

static const char *begin(struct http *h, struct http_post *post, const char *url, bool is_json,
			 const char *headers, const char *body)
{
	struct poster_request request = {.id = ++h->last_id,
					 .url_len = strlen(url),
					 .headers_len = strlen(headers),
					 .is_json = is_json};
	struct input_part parts[] = {
		{url, strlen(url)}, {headers, strlen(headers)}, {body, strlen(body)}};
	int e = need_poster(h), text;
	bool taken;

	if (e < 0)
		return strerror(-e);
	text = input_of(parts, 3);
	if (text < 0)
		return strerror(errno);
	taken = hand_over(h, &request, text);
	close(text);
	if (!taken)
		return "its process takes no request";
	post->id = request.id;
	return NULL;
}

void http_post(struct http *h, struct http_post *post, const char *url, bool is_json,
	       const char *headers, const char *body)
{
	const char *why = begin(h, post, url, is_json, headers, body);

	if (why) {
		post->done(post->arg, why, 0);
		return;
	}
	post->late_ms = clock_boot_ms() + HTTP_LATE_MS;
	post->http = h;
	LIST_INSERT_HEAD(&h->list, post, link);
}

void http_cancel(struct http_post *post)
{
	if (!post->http)
		return;
	LIST_REMOVE(post, link);
	if (LIST_EMPTY(&post->http->list))
		post->http->idle_ms = clock_boot_ms() + HTTP_IDLE_MS;
	post->http = NULL;
}

/* --- answers -------------------------------------------------------------- */

static void fail_all(struct http *h, const char *why)
{
	end_poster(h);
	while (!LIST_EMPTY(&h->list)) {
		struct http_post *post = LIST_FIRST(&h->list);

		http_cancel(post);
		post->done(post->arg, why, 0);
	}
}

static void take(struct http *h, const struct poster_answer *a)
{
	struct http_post *post = LIST_FIRST(&h->list);

	while (post && post->id != a->id)
		post = LIST_NEXT(post, link);
	if (!post)
		return; /* the request was cancelled */
	http_cancel(post);
	post->done(post->arg, a->why[0] ? a->why : NULL, (long)a->status);
}

static int64_t first_late_ms(const struct http *h)
{
	int64_t first = INT64_MAX;

	for (const struct http_post *p = LIST_FIRST(&h->list); p; p = LIST_NEXT(p, link))
		first = p->late_ms < first ? p->late_ms : first;
	return first;
}

void http_advance(struct http *h)
{
	struct poster_answer a;
	ssize_t n = 0;

	while (h->fd >= 0 && (n = recv(h->fd, &a, sizeof(a), MSG_DONTWAIT)) == sizeof(a))
		take(h, &a);
	if (h->fd >= 0 && (n >= 0 || (errno != EAGAIN && errno != EINTR)))
		fail_all(h, "its process has ended");
	else if (h->fd >= 0 && clock_boot_ms() >= first_late_ms(h))
		fail_all(h, "its process hangs");
	if (LIST_EMPTY(&h->list) && clock_boot_ms() >= h->idle_ms)
		end_poster(h);
}

int64_t http_due_ms(const struct http *h)
{
	if (h->fd < 0)
		return INT64_MAX;
	return LIST_EMPTY(&h->list) ? h->idle_ms : first_late_ms(h);
}

void http_init(struct http *h)
{
	*h = (struct http){.fd = -1};
}

void http_done(struct http *h)
{
	end_poster(h);
}
