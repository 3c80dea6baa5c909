#include "runner/post.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * libcurl's macros for checking types replace its functions, which are called through pointers
 * here.
 */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>

#include "base/library.h"

#define RETRY_MAX_S (INT64_C(90) * 24 * 3600) /* the longest Retry-After; a queue may allow less */
#define HEADER_SIZE 300

#define LIBRARY	    "libcurl.so.4"

/*
 * libcurl is loaded only by the process that makes a request. It brings 25 libraries, whose pages
 * would cost memory in each of the three processes of a job.
 */
struct library {
	CURLcode (*global_init)(long flags);
	CURL *(*easy_init)(void);
	CURLcode (*setopt)(CURL *curl, CURLoption option, ...);
	CURLcode (*getinfo)(CURL *curl, CURLINFO info, ...);
	CURLcode (*perform)(CURL *curl);
	void (*cleanup)(CURL *curl);
	const char *(*error)(CURLcode code);
	CURLHcode (*header)(CURL *curl, const char *name, size_t index, unsigned origin,
			    int request, struct curl_header **ret);
	struct curl_slist *(*append)(struct curl_slist *list, const char *text);
	void (*free_all)(struct curl_slist *list);
	time_t (*getdate)(const char *text, const time_t *unused);
};

/* An outstanding request. */
struct sending {
	struct library lib;
	CURL *curl;
	struct curl_slist *headers;
	size_t taken, headed; /* bytes read of the body, and of the headers */
	bool newline;	      /* the body is empty, or ends with a newline */
	char error[CURL_ERROR_SIZE];
};

/*
 * Prints the answer's body. Beyond POST_ANSWER_MAX the transfer is aborted, as the status is known
 * by then.
 */
static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct sending *s = arg;
	size_t len = size * n, room = POST_ANSWER_MAX - s->taken;
	size_t take = len < room ? len : room;

	fwrite(data, 1, take, stdout);
	s->taken += take;
	if (take > 0)
		s->newline = data[take - 1] == '\n';
	return take == len ? len : 0;
}

static size_t on_header(char *data, size_t size, size_t n, void *arg)
{
	struct sending *s = arg;

	(void)data;
	s->headed += size * n;
	return s->headed <= POST_HEADERS_MAX ? size * n : 0;
}

static void add_header(struct sending *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_header(struct sending *s, const char *format, ...)
{
	char line[HEADER_SIZE];
	struct curl_slist *longer;
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	longer = s->lib.append(s->headers, line);
	if (!longer)
		abort(); /* out of memory, as in base/mem.h */
	s->headers = longer;
}

/*
 * Prepares the request. Defaults that matter are set as well: no redirect, TLS verified. There is
 * no proxy, whatever the environment says.
 */
static bool prepare(struct sending *s, const struct post *p)
{
	CURLcode (*set)(CURL *, CURLoption, ...) = s->lib.setopt;
	CURL *c = s->curl;
	CURLcode e = CURLE_OK;

	add_header(s, "Content-Type: %s", p->type);
	add_header(s, "Zkleader-Job: %s", p->job);
	add_header(s, "Zkleader-Attempt: %" PRId64, p->attempt);
	add_header(s, "Zkleader-Token: %" PRId64, p->token);
	add_header(s, "Expect:");
	e |= set(c, CURLOPT_URL, p->url);
	e |= set(c, CURLOPT_PROTOCOLS_STR, "http,https");
	e |= set(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	e |= set(c, CURLOPT_USERAGENT, "zkleader-runner/" ZKLEADER_VERSION);
	e |= set(c, CURLOPT_PROXY, "");
	e |= set(c, CURLOPT_FOLLOWLOCATION, 0L);
	e |= set(c, CURLOPT_SSL_VERIFYPEER, 1L);
	e |= set(c, CURLOPT_SSL_VERIFYHOST, 2L);
	e |= set(c, CURLOPT_NOSIGNAL, 1L);
	e |= set(c, CURLOPT_POST, 1L);
	e |= set(c, CURLOPT_POSTFIELDS, p->body);
	e |= set(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)p->len);
	e |= set(c, CURLOPT_HTTPHEADER, s->headers);
	e |= set(c, CURLOPT_HEADERFUNCTION, on_header);
	e |= set(c, CURLOPT_HEADERDATA, s);
	e |= set(c, CURLOPT_WRITEFUNCTION, on_body);
	e |= set(c, CURLOPT_WRITEDATA, s);
	e |= set(c, CURLOPT_ERRORBUFFER, s->error);
	return e == CURLE_OK;
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

/*
 * The delay of a Retry-After, which has seconds or a date; -1: there is none, or it makes no sense.
 */
static int64_t retry_after_ms(const struct sending *s)
{
	struct curl_header *header;
	int64_t seconds;
	char *end;

	if (s->lib.header(s->curl, "Retry-After", 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
		return -1;
	if (header->value[0] >= '0' && header->value[0] <= '9') {
		seconds = strtoll(header->value, &end, 10);
		if (*end)
			return -1;
	} else {
		time_t at = s->lib.getdate(header->value, NULL);
		if (at < 0)
			return -1;
		seconds = (int64_t)at - (int64_t)time(NULL);
	}
	return (seconds < 0 ? 0 : seconds > RETRY_MAX_S ? RETRY_MAX_S : seconds) * 1000;
}

/* Decides what a status other than 2xx means, and returns the exit code. */
static int judge(const struct sending *s, long status, struct job_delivery *d)
{
	d->how = status == 408 || status == 425 || status == 429 || (status >= 500 && status < 600)
			 ? JOB_AGAIN
			 : JOB_REFUSED;
	if (d->how == JOB_AGAIN)
		d->retry_ms = retry_after_ms(s);
	if (d->retry_ms >= 0)
		say(s, "HTTP status %ld, Retry-After in %" PRId64 " s", status, d->retry_ms / 1000);
	else
		say(s, "HTTP status %ld%s", status,
		    d->how == JOB_AGAIN ? "" : ", which is not tried again");
	return EXIT_FAILURE;
}

static int perform(struct sending *s, const struct post *p)
{
	struct job_delivery *d = p->delivery;
	CURLcode e = s->lib.perform(s->curl);
	long status = 0;

	s->lib.getinfo(s->curl, CURLINFO_RESPONSE_CODE, &status);
	/* The body was longer than what is read, which makes the answer no failure. */
	if (e == CURLE_WRITE_ERROR && s->taken == POST_ANSWER_MAX)
		e = CURLE_OK;
	if (s->headed > POST_HEADERS_MAX) {
		say(s, "no answer: over %d bytes of headers", POST_HEADERS_MAX);
		return EXIT_FAILURE;
	}
	if (e != CURLE_OK) {
		say(s, "no answer: %s", s->error[0] ? s->error : s->lib.error(e));
		return EXIT_FAILURE;
	}
	if (status < 200 || status > 299)
		return judge(s, status, d);
	d->how = JOB_DELIVERED;
	return EXIT_SUCCESS;
}

static bool load(struct library *l)
{
	const struct library_function functions[] = {
		{"curl_global_init", &l->global_init}, {"curl_easy_init", &l->easy_init},
		{"curl_easy_setopt", &l->setopt},      {"curl_easy_getinfo", &l->getinfo},
		{"curl_easy_perform", &l->perform},    {"curl_easy_cleanup", &l->cleanup},
		{"curl_easy_strerror", &l->error},     {"curl_easy_header", &l->header},
		{"curl_slist_append", &l->append},     {"curl_slist_free_all", &l->free_all},
		{"curl_getdate", &l->getdate},
	};

	return library_load(LIBRARY, functions, sizeof(functions) / sizeof(functions[0]));
}

int post_send(void *arg)
{
	const struct post *p = arg;
	struct sending s = {.newline = true};
	int code = EXIT_FAILURE;

	signal(SIGPIPE, SIG_IGN);
	if (p->refused) {
		p->delivery->how = JOB_REFUSED;
		say(&s, "not sent: %s", p->refused);
		return EXIT_FAILURE;
	}
	if (!load(&s.lib)) {
		say(&s, "not sent: %s", dlerror());
		return EXIT_FAILURE;
	}
	if (s.lib.global_init(CURL_GLOBAL_DEFAULT) != 0 || !(s.curl = s.lib.easy_init()))
		abort(); /* out of memory, as in base/mem.h */
	if (prepare(&s, p))
		code = perform(&s, p);
	else
		say(&s, "no request can be made of it");
	s.lib.free_all(s.headers);
	s.lib.cleanup(s.curl);
	return code;
}
