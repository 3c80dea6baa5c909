#include "http/client.h"

#include <assert.h>
#include <signal.h>
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

#include "base/mem.h"

#define RETRY_MAX_S (INT64_C(90) * 24 * 3600) /* the longest Retry-After; a queue may allow less */
#define LIBRARY	    "libcurl.so.4"
#define WAIT_MS	    60000

static_assert(HTTP_ERROR_SIZE >= CURL_ERROR_SIZE, "libcurl writes that much");

struct http_client {
	CURLcode (*global_init)(long flags);
	CURLM *(*multi_init)(void);
	CURLMcode (*multi_cleanup)(CURLM *multi);
	CURLMcode (*add)(CURLM *multi, CURL *request);
	CURLMcode (*remove)(CURLM *multi, CURL *request);
	CURLMcode (*perform)(CURLM *multi, int *running);
	CURLMcode (*poll)(CURLM *multi, struct curl_waitfd fds[], unsigned n, int ms, int *ret);
	CURLMsg *(*info)(CURLM *multi, int *left);
	CURL *(*easy_init)(void);
	CURLcode (*setopt)(CURL *request, CURLoption option, ...);
	CURLcode (*getinfo)(CURL *request, CURLINFO info, ...);
	void (*cleanup)(CURL *request);
	const char *(*error)(CURLcode code);
	CURLHcode (*header)(CURL *request, const char *name, size_t index, unsigned origin,
			    int number, struct curl_header **ret);
	struct curl_slist *(*append)(struct curl_slist *list, const char *text);
	void (*free_all)(struct curl_slist *list);
	time_t (*getdate)(const char *text, const time_t *unused);
	CURLM *multi;
	const char *agent;
};

static bool load(struct http_client *c)
{
	const struct {
		const char *name;
		void *to; /* a pointer to a function */
	} functions[] = {
		{"curl_global_init", &c->global_init},
		{"curl_multi_init", &c->multi_init},
		{"curl_multi_cleanup", &c->multi_cleanup},
		{"curl_multi_add_handle", &c->add},
		{"curl_multi_remove_handle", &c->remove},
		{"curl_multi_perform", &c->perform},
		{"curl_multi_poll", &c->poll},
		{"curl_multi_info_read", &c->info},
		{"curl_easy_init", &c->easy_init},
		{"curl_easy_setopt", &c->setopt},
		{"curl_easy_getinfo", &c->getinfo},
		{"curl_easy_cleanup", &c->cleanup},
		{"curl_easy_strerror", &c->error},
		{"curl_easy_header", &c->header},
		{"curl_slist_append", &c->append},
		{"curl_slist_free_all", &c->free_all},
		{"curl_getdate", &c->getdate},
	};
	void *library = dlopen(LIBRARY, RTLD_NOW), *function;

	for (size_t i = 0; library && i < sizeof(functions) / sizeof(functions[0]); i++) {
		function = dlsym(library, functions[i].name);
		if (!function)
			return false;
		/* ISO C has no cast from void * to a function pointer. */
		memcpy(functions[i].to, &function, sizeof(function));
	}
	return library != NULL;
}

struct http_client *http_client_new(const char *agent, const char **ret_why)
{
	struct http_client *c = mem_calloc(1, sizeof(*c));

	signal(SIGPIPE, SIG_IGN);
	if (!load(c)) {
		*ret_why = dlerror();
		free(c);
		return NULL;
	}
	if (c->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(c->multi = c->multi_init()))
		abort(); /* out of memory, as in base/mem.h */
	c->agent = agent;
	return c;
}

void http_client_free(struct http_client *c)
{
	if (c)
		c->multi_cleanup(c->multi);
	free(c);
}

/* --- a request ------------------------------------------------------------ */

/* Beyond HTTP_ANSWER_MAX the transfer is aborted, as the status is known by then. */
static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct http_request *r = arg;
	size_t len = size * n, room = HTTP_ANSWER_MAX - r->taken;
	size_t take = len < room ? len : room;

	if (r->read && take > 0)
		r->read(r->arg, data, take);
	r->taken += take;
	return take == len ? len : 0;
}

static size_t on_header(char *data, size_t size, size_t n, void *arg)
{
	struct http_request *r = arg;

	(void)data;
	r->headed += size * n;
	return r->headed <= HTTP_HEADERS_MAX ? size * n : 0;
}

static void add_header(struct http_request *r, const char *line)
{
	r->lines = r->client->append(r->lines, line);
	if (!r->lines)
		abort(); /* out of memory, as in base/mem.h */
}

/* Sets the options of a request. Defaults that matter are set as well. */
static bool set_options(CURL *curl, struct http_request *r)
{
	CURLcode (*set)(CURL *, CURLoption, ...) = r->client->setopt;
	CURLcode e = CURLE_OK;

	e |= set(curl, CURLOPT_URL, r->url);
	e |= set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	e |= set(curl, CURLOPT_USERAGENT, r->client->agent);
	e |= set(curl, CURLOPT_FOLLOWLOCATION, 0L);
	e |= set(curl, CURLOPT_SSL_VERIFYPEER, 1L);
	e |= set(curl, CURLOPT_SSL_VERIFYHOST, 2L);
	e |= set(curl, CURLOPT_NOSIGNAL, 1L);
	e |= set(curl, CURLOPT_TIMEOUT_MS, r->timeout_ms);
	e |= set(curl, CURLOPT_POST, 1L);
	e |= set(curl, CURLOPT_POSTFIELDS, r->body);
	e |= set(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->len);
	e |= set(curl, CURLOPT_HTTPHEADER, r->lines);
	e |= set(curl, CURLOPT_HEADERFUNCTION, on_header);
	e |= set(curl, CURLOPT_HEADERDATA, r);
	e |= set(curl, CURLOPT_WRITEFUNCTION, on_body);
	e |= set(curl, CURLOPT_WRITEDATA, r);
	e |= set(curl, CURLOPT_ERRORBUFFER, r->error);
	e |= set(curl, CURLOPT_PRIVATE, r);
	return e == CURLE_OK;
}

static void end(struct http_request *r, CURL *curl, const struct http_answer *answer)
{
	struct http_client *c = r->client;

	r->done(r->arg, answer); /* this may free the request */
	c->cleanup(curl);
}

void http_client_post(struct http_client *c, struct http_request *r)
{
	CURL *curl = c->easy_init();

	if (!curl)
		abort(); /* out of memory, as in base/mem.h */
	r->client = c;
	add_header(r, "Expect:"); /* a body is sent without asking whether it may be */
	for (const char *const *h = r->headers; *h; h++)
		add_header(r, *h);
	if (set_options(curl, r) && c->add(c->multi, curl) == CURLM_OK)
		return;
	c->free_all(r->lines);
	end(r, curl, &(struct http_answer){.why = "no request can be made of it", .retry_ms = -1});
}

/* --- its answer ----------------------------------------------------------- */

/* The delay of a Retry-After, which has seconds or a date. */
static int64_t retry_after_ms(const struct http_client *c, CURL *curl)
{
	struct curl_header *header;
	int64_t seconds;
	char *end;

	if (c->header(curl, "Retry-After", 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
		return -1;
	if (header->value[0] >= '0' && header->value[0] <= '9') {
		seconds = strtoll(header->value, &end, 10);
		if (*end)
			return -1;
	} else {
		time_t at = c->getdate(header->value, NULL);
		if (at < 0)
			return -1;
		seconds = (int64_t)at - (int64_t)time(NULL);
	}
	return (seconds < 0 ? 0 : seconds > RETRY_MAX_S ? RETRY_MAX_S : seconds) * 1000;
}

static void finish(struct http_client *c, CURL *curl, CURLcode e)
{
	struct http_answer answer = {.retry_ms = retry_after_ms(c, curl)};
	struct http_request *r = NULL;

	c->getinfo(curl, CURLINFO_PRIVATE, &r);
	c->getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
	/* The body was longer than what is read, which makes the answer no failure. */
	if (e == CURLE_WRITE_ERROR && r->taken == HTTP_ANSWER_MAX)
		e = CURLE_OK;
	if (r->headed > HTTP_HEADERS_MAX)
		answer.why = "it has over 64 KiB of headers";
	else if (e != CURLE_OK)
		answer.why = r->error[0] ? r->error : c->error(e);
	if (answer.why)
		answer.status = 0;
	c->remove(c->multi, curl);
	c->free_all(r->lines);
	end(r, curl, &answer);
}

bool http_client_wait(struct http_client *c, int fd)
{
	struct curl_waitfd wait = {.fd = fd, .events = CURL_WAIT_POLLIN};
	int running, left;
	CURLMsg *m;

	c->perform(c->multi, &running);
	while ((m = c->info(c->multi, &left)))
		if (m->msg == CURLMSG_DONE)
			finish(c, m->easy_handle, m->data.result);
	c->poll(c->multi, &wait, fd >= 0, running > 0 || fd >= 0 ? WAIT_MS : 0, NULL);
	return wait.revents != 0;
}
