#include "notify/pings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "config/ping_url.h"
#include "zkleader.h"

struct ping {
	struct ping *next;
	char *task, *url; /* url: as configured */
	char word[16];
	char *body;
	CURL *request; /* outstanding, NULL */
	size_t read;   /* bytes of its answer */
	int tries;
	int64_t due_ms; /* CLOCK_BOOTTIME: no try before */
	bool over;
};

/* --- one request ---------------------------------------------------------- */

static size_t on_answer(char *data, size_t size, size_t n, void *arg)
{
	struct ping *g = arg;

	(void)data;
	g->read += size * n;
	return g->read > PINGS_ANSWER_MAX ? 0 : size * n;
}

static void set_options(struct ping *g, CURL *r)
{
	char url[PING_URL_SIZE];

	ping_url_add(g->url, g->word, url);
	curl_easy_setopt(r, CURLOPT_URL, url);
	curl_easy_setopt(r, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(r, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(r, CURLOPT_TIMEOUT_MS, (long)PINGS_TIMEOUT_MS);
	curl_easy_setopt(r, CURLOPT_POST, 1L);
	curl_easy_setopt(r, CURLOPT_POSTFIELDSIZE, (long)strlen(g->body));
	curl_easy_setopt(r, CURLOPT_POSTFIELDS, g->body); /* lives as long as the request */
	curl_easy_setopt(r, CURLOPT_USERAGENT, "zkleader-notify/" ZKLEADER_VERSION);
	curl_easy_setopt(r, CURLOPT_WRITEFUNCTION, on_answer);
	curl_easy_setopt(r, CURLOPT_WRITEDATA, g);
	curl_easy_setopt(r, CURLOPT_PRIVATE, g);
}

static void hang_up(struct pings *p, struct ping *g)
{
	if (!g->request)
		return;
	curl_multi_remove_handle(p->multi, g->request);
	curl_easy_cleanup(g->request);
	g->request = NULL;
	p->n_sent--;
}

/* The line names neither path nor query nor password: any of them may be a secret. */
static void fail(struct ping *g, const char *why, long status, int64_t now_ms)
{
	char shown[PING_URL_SIZE];

	ping_url_shown(g->url, shown);
	g->over = g->tries >= PINGS_TRIES;
	g->due_ms = now_ms + ((int64_t)PINGS_RETRY_MS << (g->tries - 1));
	if (g->over)
		log_warning("a ping was given up", LOG_STR("task", g->task), LOG_STR("to", shown),
			    LOG_STR("word", g->word), LOG_STR("why", why),
			    LOG_INT("status", status), LOG_INT("tries", g->tries));
}

static void begin(struct pings *p, struct ping *g, int64_t now_ms)
{
	CURL *r = curl_easy_init();

	g->tries++;
	g->read = 0;
	if (r)
		set_options(g, r);
	if (!r || curl_multi_add_handle(p->multi, r) != CURLM_OK) {
		curl_easy_cleanup(r);
		fail(g, "no memory", 0, now_ms);
		return;
	}
	g->request = r;
	p->n_sent++;
}

static void take_end(struct pings *p, const CURLMsg *m, int64_t now_ms)
{
	CURLcode result = m->data.result;
	struct ping *g = NULL;
	long status = 0;

	curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &g);
	curl_easy_getinfo(m->easy_handle, CURLINFO_RESPONSE_CODE, &status);
	hang_up(p, g);
	if (result == CURLE_OK && status / 100 == 2)
		g->over = true;
	else
		fail(g, result == CURLE_OK ? "its answer" : curl_easy_strerror(result), status,
		     now_ms);
}

/* --- all of them ---------------------------------------------------------- */

static void ping_free(struct ping *g)
{
	free(g->task);
	free(g->url);
	free(g->body);
	free(g);
}

static void free_over(struct pings *p)
{
	struct ping **at = &p->list;

	while (*at) {
		struct ping *g = *at;
		if (!g->over) {
			at = &g->next;
			continue;
		}
		*at = g->next;
		p->n--;
		ping_free(g);
	}
}

/* Whether an older one goes to the same place. */
static bool waits(const struct pings *p, const struct ping *g)
{
	for (const struct ping *o = p->list; o != g; o = o->next)
		if (!o->over && strcmp(o->url, g->url) == 0)
			return true;
	return false;
}

int64_t pings_advance(struct pings *p)
{
	int64_t first = INT64_MAX, now_ms;
	const CURLMsg *m;
	int running, left;

	curl_multi_perform(p->multi, &running);
	now_ms = clock_boot_ms();
	while ((m = curl_multi_info_read(p->multi, &left)))
		if (m->msg == CURLMSG_DONE)
			take_end(p, m, now_ms);
	free_over(p);
	for (struct ping *g = p->list; g && p->n_sent < PINGS_AT_ONCE; g = g->next) {
		if (g->request || waits(p, g))
			continue;
		if (g->due_ms <= now_ms) {
			begin(p, g, now_ms);
			first = now_ms;
		} else if (g->due_ms < first) {
			first = g->due_ms;
		}
	}
	return first;
}

void pings_add(struct pings *p, const char *task, const char *url, const char *word,
	       const char *body)
{
	struct ping **end = &p->list;

	if (p->n >= PINGS_MAX) {
		log_warning("a ping was dropped: too many wait", LOG_STR("task", task),
			    LOG_STR("word", word));
		return;
	}
	struct ping *g = mem_calloc(1, sizeof(*g));
	g->task = mem_strdup(task);
	g->url = mem_strdup(url);
	g->body = mem_strdup(body);
	if (strlen(g->body) > PINGS_BODY_MAX)
		g->body[PINGS_BODY_MAX] = '\0';
	snprintf(g->word, sizeof(g->word), "%s", word);
	while (*end)
		end = &(*end)->next;
	*end = g;
	p->n++;
}

int pings_init(struct pings *p)
{
	*p = (struct pings){.multi = NULL};
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return -ENOMEM;
	p->multi = curl_multi_init();
	return p->multi ? 0 : -ENOMEM;
}

void pings_done(struct pings *p)
{
	for (struct ping *g = p->list, *next; g; g = next) {
		next = g->next;
		hang_up(p, g);
		ping_free(g);
	}
	curl_multi_cleanup(p->multi);
	curl_global_cleanup();
}
