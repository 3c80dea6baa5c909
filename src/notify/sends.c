#include "notify/sends.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "config/keys/ping_url.h"
#include "notify/command.h"
#include "notify/message.h"
#include "config/keys/notify_secret.h"

/* An outstanding attempt to send a message. */
struct send {
	LIST_ENTRY(send) link;
	struct sends *sends;
	struct spooled *message;
	char *body;
	struct http_post post;
	char to[PING_URL_SIZE]; /* the receiver, for the log: without what may be secret */
	pid_t pid;		/* process of a command; 0: it is a request */
	int64_t until_ms;	/* CLOCK_BOOTTIME: when a command is killed */
	bool over;
};

/* --- the end of an attempt ------------------------------------------------ */

static int64_t pause_of(int tries)
{
	int64_t ms = tries < 11 ? (int64_t)SENDS_RETRY_MS << (tries - 1) : SENDS_RETRY_MAX;

	return ms < SENDS_RETRY_MAX ? ms : SENDS_RETRY_MAX;
}

static void give_up(struct sends *s, struct spooled *m)
{
	log_error("a message was given up", LOG_STR("notify", m->channel), LOG_STR("id", m->id),
		  LOG_STR("why", m->why), LOG_INT("tries", m->tries));
	spool_remove(s->spool, m);
}

/*
 * Whether a failure is logged. It is not if the failure logged before it was of the same channel,
 * and less than SENDS_SAY_MS ago.
 */
static bool is_news(struct sends *s, const char *channel)
{
	int64_t now_ms = clock_boot_ms();

	if (strcmp(s->said, channel) == 0 && now_ms - s->said_ms < SENDS_SAY_MS)
		return false;
	snprintf(s->said, sizeof(s->said), "%s", channel);
	s->said_ms = now_ms;
	return true;
}

static void fail(struct sends *s, struct spooled *m, const char *to, const char *why, long status)
{
	bool first = m->tries == 1;

	if (status > 0)
		snprintf(m->why, sizeof(m->why), "%s, status %ld", why, status);
	else
		snprintf(m->why, sizeof(m->why), "%s", why);
	m->due_ms = clock_boot_ms() + pause_of(m->tries);
	if (first && is_news(s, m->channel))
		log_warning("a message was not sent", LOG_STR("notify", m->channel),
			    LOG_STR("id", m->id), LOG_STR("to", to), LOG_STR("why", m->why));
	if (clock_wall_ms() - m->since >= SENDS_DAY_MS)
		give_up(s, m);
}

static void end(struct send *x, const char *why, long status)
{
	struct spooled *m = x->message;

	x->over = true;
	m->sending = false;
	if (why) {
		fail(x->sends, m, x->to, why, status);
		return;
	}
	log_info("told", LOG_STR("notify", m->channel), LOG_STR("id", m->id), LOG_STR("to", x->to),
		 LOG_INT("tries", m->tries));
	spool_remove(x->sends->spool, m);
}

static void on_posted(void *arg, const char *why, long status)
{
	end(arg, why, status);
}

void sends_reap(struct sends *s)
{
	int status;

	for (struct send *x = LIST_FIRST(&s->list); x; x = LIST_NEXT(x, link)) {
		if (x->over || x->pid == 0 || waitpid(x->pid, &status, WNOHANG) != x->pid)
			continue;
		if (WIFEXITED(status))
			end(x, WEXITSTATUS(status) == 0 ? NULL : "the command failed",
			    WEXITSTATUS(status));
		else
			end(x, "the command was ended by a signal", WTERMSIG(status));
	}
}

/* --- one attempt ---------------------------------------------------------- */

static void begin_command(struct send *x, const struct notify_config *c)
{
	struct sends *s = x->sends;
	pid_t pid = command_start(c->command, c->n_command, x->body, s->mask);

	snprintf(x->to, sizeof(x->to), "%.200s", c->command[0]);
	if (pid < 0)
		end(x, strerror((int)-pid), 0);
	else
		x->pid = pid;
}

/* Posts the event; body, headers and key are read anew for each attempt. */
static void begin_url(struct send *x, const struct notify_config *c, const json_t *event)
{
	char why[NOTIFY_WHY_SIZE];
	mem_auto char *headers = notify_secret_headers(c, why);
	mem_auto char *key = headers ? notify_secret_routing_key(c, why) : NULL;

	ping_url_shown(c->url, x->to);
	if (!key) {
		end(x, why, 0);
		return;
	}
	x->body = message_text(event, c->form, key);
	http_post(x->sends->http, &x->post, c->url, true, headers, x->body);
}

static void begin(struct sends *s, struct spooled *m)
{
	size_t len = strcspn(m->channel, "/");
	const struct notify_config *c = channels_find(s->channels, m->channel, len);
	bool url = strcmp(m->channel + len, "/url") == 0;
	json_t *event;

	m->tries++;
	if (!c || (url && !c->url) || (!url && c->n_command == 0)) {
		fail(s, m, NULL, "no task file that is trusted has this section", 0);
		return;
	}
	event = spool_read(s->spool, m);
	if (!event) {
		fail(s, m, NULL, "it cannot be read from the spool", 0);
		return;
	}
	struct send *x = mem_calloc(1, sizeof(*x));
	*x = (struct send){
		.sends = s, .message = m, .until_ms = clock_boot_ms() + SENDS_COMMAND_MS};
	x->post = (struct http_post){.done = on_posted, .arg = x};
	LIST_INSERT_HEAD(&s->list, x, link);
	s->n++;
	m->sending = true;
	if (url) {
		begin_url(x, c, event);
	} else {
		x->body = message_text(event, NOTIFY_JSON, "");
		begin_command(x, c);
	}
	json_decref(event);
}

/* --- all attempts --------------------------------------------------------- */

static void free_over(struct sends *s)
{
	for (struct send *x = LIST_FIRST(&s->list), *next; x; x = next) {
		next = LIST_NEXT(x, link);
		if (!x->over)
			continue;
		LIST_REMOVE(x, link);
		s->n--;
		free(x->body);
		free(x);
	}
}

static size_t count_of(const struct sends *s, const char *channel)
{
	size_t n = 0;

	for (const struct send *x = LIST_FIRST(&s->list); x; x = LIST_NEXT(x, link))
		n += !x->over && strcmp(x->message->channel, channel) == 0;
	return n;
}

/*
 * Kills commands whose time is over, with all that they have started. Returns when the next one's
 * time is.
 */
static int64_t watch_commands(const struct sends *s, int64_t now_ms)
{
	int64_t first = INT64_MAX;

	for (const struct send *x = LIST_FIRST(&s->list); x; x = LIST_NEXT(x, link)) {
		if (x->over || x->pid == 0)
			continue;
		if (x->until_ms <= now_ms)
			kill(-x->pid, SIGKILL);
		else if (x->until_ms < first)
			first = x->until_ms;
	}
	return first;
}

int64_t sends_advance(struct sends *s)
{
	int64_t now_ms = clock_boot_ms(), first;

	free_over(s);
	first = watch_commands(s, now_ms);
	for (struct spooled *m = TAILQ_FIRST(&s->spool->list), *next; m && s->n < SENDS_AT_ONCE;
	     m = next) {
		next = TAILQ_NEXT(m, link);
		if (m->sending ||
		    (m->due_ms <= now_ms && count_of(s, m->channel) >= SENDS_OF_CHANNEL))
			continue;
		if (m->due_ms <= now_ms) {
			begin(s, m);
			first = now_ms; /* the attempt may have ended already */
		} else if (m->due_ms < first) {
			first = m->due_ms;
		}
	}
	return first;
}

bool sends_problem(const struct sends *s, size_t i, const char **ret_channel, size_t *ret_n,
		   const char **ret_why)
{
	const struct spooled *found = NULL;

	for (const struct spooled *m = TAILQ_FIRST(&s->spool->list); m && !found;
	     m = TAILQ_NEXT(m, link)) {
		bool before = m->tries < SENDS_TROUBLED;

		for (const struct spooled *o = TAILQ_FIRST(&s->spool->list); o != m && !before;
		     o = TAILQ_NEXT(o, link))
			before = o->tries >= SENDS_TROUBLED && strcmp(o->channel, m->channel) == 0;
		if (!before && i-- == 0)
			found = m;
	}
	if (!found)
		return false;
	*ret_n = 0;
	for (const struct spooled *m = TAILQ_FIRST(&s->spool->list); m; m = TAILQ_NEXT(m, link))
		*ret_n += strcmp(m->channel, found->channel) == 0;
	*ret_channel = found->channel;
	*ret_why = found->why;
	return true;
}

void sends_init(struct sends *s, struct spool *spool, struct http *http,
		const struct channels *channels, const sigset_t *mask)
{
	*s = (struct sends){.spool = spool, .http = http, .channels = channels, .mask = mask};
}

void sends_done(struct sends *s)
{
	for (struct send *x = LIST_FIRST(&s->list); x; x = LIST_NEXT(x, link)) {
		http_cancel(&x->post);
		if (!x->over && x->pid > 0)
			kill(-x->pid, SIGKILL);
		x->over = true;
	}
	free_over(s);
}
