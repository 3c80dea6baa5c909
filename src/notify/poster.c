#include "notify/poster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * libcurl's macros for checking types replace its functions, which are called through pointers
 * here.
 */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>

#include "zkleader.h"
#include "base/library.h"
#include "base/mem.h"

#define LIBRARY	  "libcurl.so.4"
#define POSTER_FD 3 /* the socket; no descriptor above it is left open */
#define WAIT_MS	  60000

struct library {
	CURLcode (*global_init)(long flags);
	CURLM *(*multi_init)(void);
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
	struct curl_slist *(*append)(struct curl_slist *list, const char *text);
};

struct poster {
	struct library lib;
	const char *unloaded; /* why libcurl is not loaded; NULL: it is */
	CURLM *multi;
	struct curl_slist *json; /* headers of a request whose body is JSON */
	int fd;
};

struct request {
	uint64_t id;
	char *url, *body;
	size_t read; /* bytes of the answer that were read */
};

static bool load(struct library *l)
{
	const struct library_function functions[] = {
		{"curl_global_init", &l->global_init}, {"curl_multi_init", &l->multi_init},
		{"curl_multi_add_handle", &l->add},    {"curl_multi_remove_handle", &l->remove},
		{"curl_multi_perform", &l->perform},   {"curl_multi_poll", &l->poll},
		{"curl_multi_info_read", &l->info},    {"curl_easy_init", &l->easy_init},
		{"curl_easy_setopt", &l->setopt},      {"curl_easy_getinfo", &l->getinfo},
		{"curl_easy_cleanup", &l->cleanup},    {"curl_easy_strerror", &l->error},
		{"curl_slist_append", &l->append},
	};

	return library_load(LIBRARY, functions, sizeof(functions) / sizeof(functions[0]));
}

/* --- one request ---------------------------------------------------------- */

static void request_free(struct request *r)
{
	free(r->url);
	free(r->body);
	free(r);
}

/* Sends an answer to the parent. If the parent is gone, this process ends. */
static void answer(const struct poster *p, struct request *r, const char *why, long status)
{
	struct poster_answer a = {.id = r->id, .status = status};

	snprintf(a.why, sizeof(a.why), "%s", why);
	if (send(p->fd, &a, sizeof(a), MSG_NOSIGNAL) != (ssize_t)sizeof(a))
		_exit(EXIT_FAILURE);
	request_free(r);
}

static size_t on_answer(char *data, size_t size, size_t n, void *arg)
{
	struct request *r = arg;

	(void)data;
	r->read += size * n;
	return r->read > POSTER_ANSWER_MAX ? 0 : size * n;
}

/*
 * Sets the options of a request. Defaults that matter are set as well: no redirect, TLS verified.
 */
static CURLcode set_options(const struct poster *p, CURL *c, struct request *r)
{
	CURLcode (*set)(CURL *, CURLoption, ...) = p->lib.setopt;
	CURLcode e = CURLE_OK;

	e |= set(c, CURLOPT_URL, r->url);
	e |= set(c, CURLOPT_PROTOCOLS_STR, "http,https");
	e |= set(c, CURLOPT_FOLLOWLOCATION, 0L);
	e |= set(c, CURLOPT_SSL_VERIFYPEER, 1L);
	e |= set(c, CURLOPT_SSL_VERIFYHOST, 2L);
	e |= set(c, CURLOPT_NOSIGNAL, 1L);
	e |= set(c, CURLOPT_TIMEOUT_MS, (long)POSTER_TIMEOUT_MS);
	e |= set(c, CURLOPT_POST, 1L);
	e |= set(c, CURLOPT_POSTFIELDSIZE, (long)strlen(r->body));
	e |= set(c, CURLOPT_POSTFIELDS, r->body);
	e |= set(c, CURLOPT_USERAGENT, "zkleader-notify/" ZKLEADER_VERSION);
	e |= set(c, CURLOPT_WRITEFUNCTION, on_answer);
	e |= set(c, CURLOPT_WRITEDATA, r);
	e |= set(c, CURLOPT_PRIVATE, r);
	return e;
}

static void begin(struct poster *p, struct request *r, bool is_json)
{
	CURLcode e = CURLE_OK;
	CURL *c;

	if (p->unloaded) {
		answer(p, r, p->unloaded, 0);
		return;
	}
	c = p->lib.easy_init();
	if (!c)
		abort(); /* out of memory, as in base/mem.h */
	e = set_options(p, c, r);
	if (is_json)
		e |= p->lib.setopt(c, CURLOPT_HTTPHEADER, p->json);
	if (e == CURLE_OK && p->lib.add(p->multi, c) == CURLM_OK)
		return;
	p->lib.cleanup(c);
	answer(p, r, "no request can be made of it", 0);
}

static void end(struct poster *p, CURL *c, CURLcode result)
{
	struct request *r = NULL;
	const char *why;
	long status = 0;

	p->lib.getinfo(c, CURLINFO_PRIVATE, &r);
	p->lib.getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	p->lib.remove(p->multi, c);
	p->lib.cleanup(c);
	if (result != CURLE_OK)
		why = p->lib.error(result);
	else
		why = status / 100 == 2 ? "" : "its answer";
	answer(p, r, why, status);
}

/* --- requests of the parent ----------------------------------------------- */

static char *read_text(int fd, size_t from, size_t to)
{
	char *text = mem_calloc(1, to - from + 1);

	if (pread(fd, text, to - from, (off_t)from) != (ssize_t)(to - from))
		_exit(EXIT_FAILURE);
	return text;
}

/*
 * Takes a request of the parent. This process ends if the parent has ended, or if the message is
 * not one that the parent would send.
 */
static void take(struct poster *p)
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
	if (fstat(text, &st) < 0 || (size_t)st.st_size < q.url_len)
		_exit(EXIT_FAILURE);
	r = mem_calloc(1, sizeof(*r));
	r->id = q.id;
	r->url = read_text(text, 0, q.url_len);
	r->body = read_text(text, q.url_len, (size_t)st.st_size);
	close(text);
	begin(p, r, q.is_json);
}

static void loop(struct poster *p)
{
	struct curl_waitfd fd = {.fd = p->fd, .events = CURL_WAIT_POLLIN};
	int running, left;
	CURLMsg *m;

	for (;;) {
		fd.revents = 0;
		p->lib.poll(p->multi, &fd, 1, WAIT_MS, NULL);
		if (fd.revents)
			take(p);
		p->lib.perform(p->multi, &running);
		while ((m = p->lib.info(p->multi, &left)))
			if (m->msg == CURLMSG_DONE)
				end(p, m->easy_handle, m->data.result);
	}
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
	if (!load(&p.lib))
		p.unloaded = dlerror();
	if (p.unloaded)
		for (;;)
			take(&p);
	if (p.lib.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return EXIT_FAILURE;
	p.multi = p.lib.multi_init();
	p.json = p.lib.append(NULL, "Content-Type: application/json");
	if (!p.multi || !p.json)
		abort(); /* out of memory, as in base/mem.h */
	loop(&p);
	return EXIT_SUCCESS;
}
