#include "notify/pings.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "base/text/uuid_text.h"
#include "config/keys/ping_url.h"

struct ping {
	TAILQ_ENTRY(ping) link;
	char *task, *url; /* url: as configured, with its secrets */
	char word[16], rid[UUID_TEXT_SIZE];
	char *body;
	struct pings *pings;
	struct http_post post;
	int tries;
	int64_t due_ms; /* CLOCK_BOOTTIME: no try before */
	bool over;
};

/* --- one ping --------------------------------------------------------------- */

/*
 * Notes that a try failed. The log line has neither path nor query nor password of the URL, as any
 * of them may be a secret.
 */
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

static void on_done(void *arg, const char *why, long status)
{
	struct ping *g = arg;

	g->pings->n_sent--;
	if (why)
		fail(g, why, status, clock_boot_ms());
	else
		g->over = true;
}

static void begin(struct pings *p, struct ping *g)
{
	char url[PING_URL_SIZE];

	g->tries++;
	p->n_sent++;
	ping_url_add(g->url, g->word, g->rid, url);
	http_post(p->http, &g->post, url, false, "", g->body);
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
	for (struct ping *g = TAILQ_FIRST(&p->list), *next; g; g = next) {
		next = TAILQ_NEXT(g, link);
		if (!g->over)
			continue;
		TAILQ_REMOVE(&p->list, g, link);
		p->n--;
		ping_free(g);
	}
}

/* Whether an older ping has the same URL. */
static bool waits(const struct pings *p, const struct ping *g)
{
	for (const struct ping *o = TAILQ_FIRST(&p->list); o != g; o = TAILQ_NEXT(o, link))
		if (!o->over && strcmp(o->url, g->url) == 0)
			return true;
	return false;
}

int64_t pings_advance(struct pings *p)
{
	int64_t first = INT64_MAX, now_ms = clock_boot_ms();

	free_over(p);
	for (struct ping *g = TAILQ_FIRST(&p->list); g && p->n_sent < PINGS_AT_ONCE;
	     g = TAILQ_NEXT(g, link)) {
		if (g->post.http || waits(p, g))
			continue;
		if (g->due_ms <= now_ms) {
			begin(p, g);
			first = now_ms;
		} else if (g->due_ms < first) {
			first = g->due_ms;
		}
	}
	return first;
}

/* Takes a UUID with its hyphens, or without them as `zkleader run` draws it. */
static void set_rid(struct ping *g, const char *rid)
{
	if (strlen(rid) == 32)
		snprintf(g->rid, sizeof(g->rid), "%.8s-%.4s-%.4s-%.4s-%.12s", rid, rid + 8,
			 rid + 12, rid + 16, rid + 20);
	else
		snprintf(g->rid, sizeof(g->rid), "%s", rid);
	if (!uuid_text_is(g->rid, strlen(g->rid)))
		g->rid[0] = '\0';
}

void pings_add(struct pings *p, const char *task, const char *url, const char *word,
	       const char *rid, const char *body)
{
	if (p->n >= PINGS_MAX) {
		log_warning("a ping was dropped: too many wait", LOG_STR("task", task),
			    LOG_STR("word", word));
		return;
	}
	struct ping *g = mem_calloc(1, sizeof(*g));
	g->task = mem_strdup(task);
	g->url = mem_strdup(url);
	g->body = mem_strdup(body);
	g->pings = p;
	g->post = (struct http_post){.done = on_done, .arg = g};
	if (strlen(g->body) > PINGS_BODY_MAX)
		g->body[PINGS_BODY_MAX] = '\0';
	snprintf(g->word, sizeof(g->word), "%s", word);
	set_rid(g, rid);
	TAILQ_INSERT_TAIL(&p->list, g, link);
	p->n++;
}

void pings_init(struct pings *p, struct http *http)
{
	*p = (struct pings){.http = http};
	TAILQ_INIT(&p->list);
}

void pings_done(struct pings *p)
{
	for (struct ping *g = TAILQ_FIRST(&p->list), *next; g; g = next) {
		next = TAILQ_NEXT(g, link);
		http_cancel(&g->post);
		ping_free(g);
	}
}
