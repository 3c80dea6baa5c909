/*
 * Input from a browser to zkleader-web, a line each: Host, Cookie, Authorization and the path; and
 * behind them, as JSON, the data of its pages. Only a request with the token is let in, only the
 * names of loopback and its own are answered, and no text of the fleet becomes a tag of the page.
 */
#include "fuzz.h"

#include <jansson.h>

#include "base/text/name.h"
#include "web/access.h"
#include "web/address.h"
#include "web/metrics.h"
#include "web/page/page.h"
#include "web/routes.h"

#define TOKEN "a-token-of-good-length"

static size_t count_of(const char *text, size_t len, const char *word)
{
	size_t n = 0;

	for (const char *at = text;
	     (at = memmem(at, len - (size_t)(at - text), word, strlen(word))); at++)
		n++;
	return n;
}

static void doors(struct feed *f)
{
	struct address address = {0};
	const char *why;
	FUZZ_CHECK(address_parse("192.0.2.1:9467", &address, &why) == 0);
	struct access a = {.address = &address, .hosts = {"app1"}, .n_hosts = 1, .token = TOKEN};
	char cookie[ACCESS_COOKIE_SIZE];
	FUZZ_CHECK(access_new_cookie(&a, cookie) == 0);
	char *host = feed_text(f, '\n'), *cookies = feed_text(f, '\n'), *key = feed_text(f, '\n');

	if (access_host(&a, host))
		FUZZ_CHECK(strcasestr(host, "app1") || strcasestr(host, "localhost") ||
			   strstr(host, "192.0.2.1") || strstr(host, "127.") || strstr(host, ":"));
	if (access_granted(&a, key[0] ? key : NULL, cookies))
		FUZZ_CHECK(strstr(key, TOKEN) || strstr(cookies, cookie));
	free(host);
	free(cookies);
	free(key);
}

static void path(struct feed *f)
{
	char *text = feed_text(f, '\n');
	struct route r = route_find(text);

	FUZZ_CHECK(r.n_asks <= ROUTE_ASKS_MAX && r.n_optional <= r.n_asks);
	if (r.named)
		FUZZ_CHECK(name_is_election(r.name, strlen(r.name)));
	free(text);
}

/* No parameter of a page's address is given. */
static const char *nothing(void *arg, const char *name)
{
	(void)arg, (void)name;
	return NULL;
}

/* The same parts as in a page about nothing: whatever the data are, they are text. */
static void pages(struct feed *f)
{
	json_t *data = json_loadb((const char *)f->p, f->left, 0, NULL), *none = json_array();
	size_t len, none_len;

	if (json_is_array(data)) {
		json_t *first = json_array_get(data, 0);
		struct query query;
		char why[QUERY_WHY_SIZE];
		FUZZ_CHECK(query_take(&query, QUERY_HOME, 0, nothing, NULL, why));
		char *page = page_fleet(
			&(struct page_home){data, data, first, data, data, &query, false}, &len);
		char *empty =
			page_fleet(&(struct page_home){none, none, NULL, NULL, NULL, &query, false},
				   &none_len);
		FUZZ_CHECK(count_of(page, len, "<script") == count_of(empty, none_len, "<script"));
		FUZZ_CHECK(count_of(page, len, "<img") == 0 && count_of(page, len, "<b>x") == 0);
		free(page);
		free(empty);
		page = page_task(&(struct page_task){data, first, first, data, data}, &len);
		FUZZ_CHECK(count_of(page, len, "<script") == 1 && count_of(page, len, "<img") == 0);
		free(page);
		page = page_queue(data, first, first, first, data, &len);
		FUZZ_CHECK(count_of(page, len, "<script") == 1 && count_of(page, len, "<img") == 0);
		free(page);
		free(metrics_text(first, first, data, true, &len));
	}
	json_decref(data);
	json_decref(none);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = {data, size};

	doors(&f);
	path(&f);
	if (f.left > 0)
		pages(&f);
	return 0;
}
