#include "node/session/session_hostage.h"

#include <stdio.h>
#include <string.h>

#include "base/log/log.h"

#define GRACE_MAX_MS 5000 /* for a confirmation, once servers are back */
#define ACCEPTS_MAX  3	  /* connections that are no chance: hung up on, and no grace is left */
#define RECENT_MS    (INT64_C(600) * 1000)
#define FRUGAL_MS    (INT64_C(3600) * 1000)
#define NEVER_MS     (INT64_MIN / 2)

static int64_t now_of(const struct session *s)
{
	return host_now_ms(s->host);
}

static int64_t deadline_of(const struct session *s)
{
	const struct session_hostage *h = &s->hostage;
	int64_t at = h->owed_ms + s->lease.timeout_ms;

	return h->accepts < ACCEPTS_MAX && at < h->grace_ms ? h->grace_ms : at;
}

static void set_timer(struct session *s)
{
	struct session_hostage *h = &s->hostage;
	int64_t now = now_of(s), at = deadline_of(s), told = now + session_told_left(s);

	h->due_ms = at > told ? at : told; /* others are let in once all promises are over */
	host_timer_start(&h->due, h->due_ms > now ? h->due_ms - now : 0);
}

/* The reason why servers keep the session, and where an operator has to look. */
static const char *reason_of(const struct session_hostage *h)
{
	if (h->refusal[0])
		return "the servers refuse confirmations: see the ACLs and quotas below the root";
	if (h->accepts >= ACCEPTS_MAX)
		return "servers take the session and hang up again and again: see their log, and "
		       "jute.maxbuffer";
	return "the connection stands, and requests are not answered: see the servers' log";
}

static void give_up(struct session *s)
{
	struct session_hostage *h = &s->hostage;
	const char *reason = reason_of(h);
	char problem[sizeof(s->problem)];
	int64_t now = now_of(s);

	log_warning("session given up", LOG_HEX("session", s->id), LOG_STR("reason", reason),
		    LOG_STR("refusal", h->refusal[0] ? h->refusal : NULL),
		    LOG_INT("unconfirmed_ms", now - h->owed_ms), LOG_INT("connections", h->accepts),
		    LOG_INT("watched_bytes", s->watches.bytes));
	snprintf(problem, sizeof(problem), "session given up, as nothing confirmed it: %s", reason);
	h->last_ms = now;
	if (!h->refusal[0] && h->accepts >= ACCEPTS_MAX)
		h->hung_up_ms = now;
	session_give_up(s, h->refusal[0] ? SESSION_REFUSED : SESSION_CONNECTING, problem);
}

static void on_due(void *arg)
{
	struct session *s = arg;
	struct session_hostage *h = &s->hostage;
	int64_t now = now_of(s), part = s->lease.timeout_ms / 4;
	bool away = h->lost_ms != 0 && (h->accepts < 2 || now - h->lost_ms >= part);

	if (h->owed_ms == 0 || !h->owns || !s->store || away)
		return;
	if (now > h->due_ms + part) {
		/* This process was stopped, so it first handles what has come meanwhile. */
		h->due_ms = now + part;
		host_timer_start(&h->due, part);
	} else if (now < deadline_of(s) || session_told_left(s) > 0) {
		set_timer(s);
	} else {
		give_up(s);
	}
}

void hostage_owed(struct session *s)
{
	struct session_hostage *h = &s->hostage;

	int64_t now = now_of(s);

	if (h->owed_ms != 0)
		return;
	/* While something is led, the next confirmation is owed from the last one on. */
	h->owed_ms = now - h->confirmed_ms < s->lease.timeout_ms / 4 ? h->confirmed_ms : now;
	h->accepts = 1;
	set_timer(s);
}

void hostage_accepted(struct session *s, bool inherited)
{
	struct session_hostage *h = &s->hostage;
	int64_t now = now_of(s), away_ms = h->lost_ms != 0 ? now - h->lost_ms : 0;
	int64_t timeout_ms = s->lease.timeout_ms;

	h->owns |= inherited;
	h->lost_ms = 0;
	/*
	 * No server was there for T: else the session, which sent no heartbeat, would have ended.
	 */
	if (away_ms >= timeout_ms)
		h->owed_ms = 0;
	if (away_ms >= timeout_ms / 4)
		h->grace_ms = now + (timeout_ms / 2 < GRACE_MAX_MS ? timeout_ms / 2 : GRACE_MAX_MS);
	if (h->owed_ms == 0) {
		hostage_owed(s);
	} else {
		h->accepts++;
		set_timer(s);
	}
}

void hostage_cut(struct session *s)
{
	if (s->hostage.lost_ms == 0)
		s->hostage.lost_ms = now_of(s);
}

void hostage_confirmed(struct session *s, int64_t sent_ms)
{
	struct session_hostage *h = &s->hostage;

	h->owns = true;
	h->confirmed_ms = sent_ms;
	h->owed_ms = h->grace_ms = 0;
	h->refusal[0] = '\0';
	host_timer_stop(&h->due);
}

bool hostage_refused(struct session *s, const char *text)
{
	bool first = !s->hostage.refusal[0];

	snprintf(s->hostage.refusal, sizeof(s->hostage.refusal), "%s", text ? text : "refused");
	return first;
}

void hostage_ended(struct session *s)
{
	struct session_hostage *h = &s->hostage;

	h->owns = false;
	h->owed_ms = h->grace_ms = h->lost_ms = 0;
	h->confirmed_ms = NEVER_MS;
	h->refusal[0] = '\0';
	host_timer_stop(&h->due);
}

bool hostage_is_recent(const struct session *s)
{
	return now_of(s) < s->hostage.last_ms + RECENT_MS;
}

bool hostage_is_frugal(const struct session *s)
{
	return now_of(s) < s->hostage.hung_up_ms + FRUGAL_MS;
}

void hostage_init(struct session *s)
{
	s->hostage.last_ms = s->hostage.hung_up_ms = s->hostage.confirmed_ms = NEVER_MS;
	host_timer_init(&s->hostage.due, s->host, on_due, s);
}

void hostage_done(struct session *s)
{
	host_timer_done(&s->hostage.due);
}
