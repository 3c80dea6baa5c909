#include "runner/post.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "zkleader.h"
#include "http/client.h"

#define HEADER_SIZE 300
#define HEADERS	    4

/* An outstanding request. */
struct sending {
	const struct post *post;
	bool newline; /* the body is empty, or ends with a newline */
	bool ended;
	int code;
};

static void on_body(void *arg, const char *data, size_t len)
{
	struct sending *s = arg;

	fwrite(data, 1, len, stdout);
	s->newline = data[len - 1] == '\n';
}

static void say(const struct sending *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct sending *s, const char *format, ...)
{
	va_list ap;

	if (!s->newline)
		putchar('\n');
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
}

/* Decides what a status other than 2xx means. */
static void judge(const struct sending *s, const struct http_answer *a, struct job_delivery *d)
{
	long status = a->status;

	d->how = status == 408 || status == 425 || status == 429 || (status >= 500 && status < 600)
			 ? JOB_AGAIN
			 : JOB_REFUSED;
	if (d->how == JOB_AGAIN)
		d->retry_ms = a->retry_ms;
	if (d->retry_ms >= 0)
		say(s, "HTTP status %ld, Retry-After in %" PRId64 " s", status, d->retry_ms / 1000);
	else
		say(s, "HTTP status %ld%s", status,
		    d->how == JOB_AGAIN ? "" : ", which is not tried again");
}

static void on_answer(void *arg, const struct http_answer *a)
{
	struct sending *s = arg;
	struct job_delivery *d = s->post->delivery;

	s->ended = true;
	if (a->why) {
		say(s, "no answer: %s", a->why);
	} else if (a->status < 200 || a->status > 299) {
		judge(s, a, d);
	} else {
		d->how = JOB_DELIVERED;
		s->code = EXIT_SUCCESS;
	}
}

static void send_by(struct http_client *c, struct sending *s)
{
	const struct post *p = s->post;
	char lines[HEADERS][HEADER_SIZE];
	const char *headers[HEADERS + 1] = {lines[0], lines[1], lines[2], lines[3]};
	struct http_request r = {.url = p->url,
				 .headers = headers,
				 .body = p->body,
				 .len = p->len,
				 .read = on_body,
				 .done = on_answer,
				 .arg = s};

	snprintf(lines[0], HEADER_SIZE, "Content-Type: %s", p->type);
	snprintf(lines[1], HEADER_SIZE, "Zkleader-Job: %s", p->job);
	snprintf(lines[2], HEADER_SIZE, "Zkleader-Attempt: %" PRId64, p->attempt);
	snprintf(lines[3], HEADER_SIZE, "Zkleader-Token: %" PRId64, p->token);
	http_client_post(c, &r);
	while (!s->ended)
		http_client_wait(c, -1);
}

int post_send(void *arg)
{
	struct sending s = {.post = arg, .newline = true, .code = EXIT_FAILURE};
	struct http_client *c;
	const char *why;

	if (s.post->refused) {
		s.post->delivery->how = JOB_REFUSED;
		say(&s, "not sent: %s", s.post->refused);
		return EXIT_FAILURE;
	}
	c = http_client_new("zkleader-runner/" ZKLEADER_VERSION, &why);
	if (c)
		send_by(c, &s);
	else
		say(&s, "not sent: %s", why);
	http_client_free(c);
	return s.code;
}
