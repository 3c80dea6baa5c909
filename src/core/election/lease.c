#include "core/election/lease.h"

#include <string.h>

static int64_t slack(const struct lease *l)
{
	return l->timeout_ms / 100 + 100;
}

/* Until when "leads" may be said, by the last proof that the session is alive. */
static int64_t deadline_of(const struct lease *l)
{
	return l->alive_ms + l->timeout_ms - slack(l);
}

void lease_begin(struct lease *l, int64_t timeout_ms, int64_t opened_ms)
{
	*l = (struct lease){.timeout_ms = timeout_ms > 0 ? timeout_ms : 0, .alive_ms = opened_ms};
}

void lease_set_tick(struct lease *l, int64_t tick_ms)
{
	l->tick_ms = tick_ms;
}

/* The longest from a heartbeat's answer to its report to the quorum's leader. */
static int64_t report_ms(const struct lease *l)
{
	return l->tick_ms > l->timeout_ms / 4 ? l->tick_ms : l->timeout_ms / 4;
}

void lease_end(struct lease *l)
{
	*l = (struct lease){0};
}

void lease_heard(struct lease *l, int64_t sent_ms, int64_t now_ms)
{
	if (l->n_heard > 0 &&
	    sent_ms - l->heard[l->n_heard - 1].sent_ms < l->timeout_ms / LEASE_HEARD_MAX)
		return;
	if (l->n_heard == LEASE_HEARD_MAX) {
		l->n_heard--;
		memmove(l->heard, l->heard + 1, l->n_heard * sizeof(l->heard[0]));
	}
	l->heard[l->n_heard].sent_ms = sent_ms;
	l->heard[l->n_heard++].heard_ms = now_ms;
}

void lease_moved(struct lease *l, int64_t timeout_ms)
{
	if (l->n_heard > 0 && l->heard[l->n_heard - 1].sent_ms > l->alive_ms)
		l->alive_ms = l->heard[l->n_heard - 1].sent_ms;
	l->longer_ms = 0;
	if (timeout_ms >= l->timeout_ms)
		return;
	l->timeout_ms = timeout_ms > 0 ? timeout_ms : 0;
	/* Without a commit yet, there is no lease to shorten. */
	if (deadline_of(l) < l->deadline_ms)
		l->deadline_ms = deadline_of(l);
}

void lease_lengthen(struct lease *l, int64_t timeout_ms, int64_t from_ms)
{
	if (l->timeout_ms <= 0 || timeout_ms <= l->timeout_ms)
		return;
	l->longer_ms = timeout_ms;
	l->longer_from = from_ms;
}

/* When the newest heartbeat answered by then was sent; 0: none. */
static int64_t heard_before(const struct lease *l, int64_t before_ms)
{
	for (size_t i = l->n_heard; i > 0; i--)
		if (l->heard[i - 1].heard_ms <= before_ms)
			return l->heard[i - 1].sent_ms;
	return 0;
}

static void remember_commit(struct lease *l, int64_t sent_ms, int64_t now_ms)
{
	/* Only the first of several commits close together is kept: it will be old enough first. */
	if (l->n_commits > 0 && now_ms - l->commits[l->n_commits - 1].heard_ms < slack(l) / 4)
		return;
	if (l->n_commits == LEASE_COMMITS_MAX) {
		l->n_commits--;
		memmove(l->commits, l->commits + 1, l->n_commits * sizeof(l->commits[0]));
	}
	l->commits[l->n_commits].heard_ms = now_ms;
	l->commits[l->n_commits++].base_ms = heard_before(l, sent_ms - report_ms(l) - slack(l));
}

void lease_committed(struct lease *l, int64_t sent_ms, int64_t now_ms)
{
	if (l->timeout_ms <= 0)
		return;
	for (size_t i = l->n_commits; i > 0; i--) {
		if (l->commits[i - 1].heard_ms > sent_ms - slack(l))
			continue;
		if (l->commits[i - 1].base_ms > l->alive_ms)
			l->alive_ms = l->commits[i - 1].base_ms;
		break;
	}
	remember_commit(l, sent_ms, now_ms);
	if (l->longer_ms > 0 && l->alive_ms >= l->longer_from) {
		l->timeout_ms = l->longer_ms;
		l->longer_ms = 0;
	}
	/* Answers may be handled in another order than the requests were sent in. */
	if (deadline_of(l) > l->deadline_ms)
		l->deadline_ms = deadline_of(l);
}

int64_t lease_left(const struct lease *l, int64_t now_ms)
{
	return now_ms < l->deadline_ms ? l->deadline_ms - now_ms : 0;
}

int64_t lease_next(const struct lease *l, int64_t now_ms, bool leading)
{
	int64_t soon = slack(l) + slack(l) / 16;
	int64_t usual = l->timeout_ms / 12;

	if (!leading)
		return l->timeout_ms / 6;
	return lease_left(l, now_ms) < l->timeout_ms / 3 && soon < usual ? soon : usual;
}
