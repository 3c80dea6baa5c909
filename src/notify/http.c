#include "notify/http.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "zkleader.h"

static size_t on_answer(char *data, size_t size, size_t n, void *arg)
{
	struct http_post *post = arg;

	(void)data;
	post->read += size * n;
	return post->read > HTTP_ANSWER_MAX ? 0 : size * n;
}

static void set_options(struct http_post *post, CURL *r, const char *url, const char *body)
{
	curl_easy_setopt(r, CURLOPT_URL, url);
	curl_easy_setopt(r, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(r, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(r, CURLOPT_TIMEOUT_MS, (long)HTTP_TIMEOUT_MS);
	curl_easy_setopt(r, CURLOPT_POST, 1L);
	curl_easy_setopt(r, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
	curl_easy_setopt(r, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(r, CURLOPT_USERAGENT, "zkleader-notify/" ZKLEADER_VERSION);
	curl_easy_setopt(r, CURLOPT_WRITEFUNCTION, on_answer);
	curl_easy_setopt(r, CURLOPT_WRITEDATA, post);
	curl_easy_setopt(r, CURLOPT_PRIVATE, post);
}

void http_post(struct http *h, struct http_post *post, const char *url, bool is_json,
	       const char *body)
{
	CURL *r = curl_easy_init();

	post->http = h;
	post->read = 0;
	if (r)
		set_options(post, r, url, body);
	if (r && is_json)
		curl_easy_setopt(r, CURLOPT_HTTPHEADER, h->json);
	if (!r || curl_multi_add_handle(h->multi, r) != CURLM_OK) {
		curl_easy_cleanup(r);
		post->done(post->arg, "no memory", 0);
		return;
	}
	post->request = r;
}

void http_cancel(struct http_post *post)
{
	if (!post->request)
		return;
	curl_multi_remove_handle(post->http->multi, post->request);
	curl_easy_cleanup(post->request);
	post->request = NULL;
}

void http_advance(struct http *h)
{
	const CURLMsg *m;
	int running, left;

	curl_multi_perform(h->multi, &running);
	while ((m = curl_multi_info_read(h->multi, &left))) {
		struct http_post *post = NULL;
		CURLcode result = m->data.result;
		long status = 0;
		const char *why;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &post);
		curl_easy_getinfo(m->easy_handle, CURLINFO_RESPONSE_CODE, &status);
		http_cancel(post);
		why = result != CURLE_OK ? curl_easy_strerror(result) : "its answer";
		post->done(post->arg, result == CURLE_OK && status / 100 == 2 ? NULL : why, status);
	}
}

int http_init(struct http *h)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return -ENOMEM;
	h->multi = curl_multi_init();
	h->json = curl_slist_append(NULL, "Content-Type: application/json");
	return h->multi && h->json ? 0 : -ENOMEM;
}

void http_done(struct http *h)
{
	curl_multi_cleanup(h->multi);
	curl_slist_free_all(h->json);
	curl_global_cleanup();
}
