#include "node/notices/notices.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "core/fleet/identity.h"
#include "node/fleet/registry.h"
#include "node/notices/notice_list.h"
#include "node/notices/ops_copy.h"
#include "node/notices/streak.h"
#include "node/session/session.h"
#include "node/tree/paths.h"

/* A transaction that notes events. */
struct noting {
	struct notices *notices;
	store_reply_fn fn;
	void *arg;
	bool once;
	bool (*may)(const void *arg); /* NULL: always */
	struct ops_copy ops;	      /* the caller's; behind them the notes */
	struct notice *made[NOTICES_TASKS_MAX];
	size_t n_made;
};

/* --- who wants what ------------------------------------------------------- */

bool notices_wanted(const struct registry *r, enum notice_event event, const char *task)
{
	const struct notices *n = r->notices;

	for (size_t i = 0; n && i < n->n_rules; i++) {
		const struct notice_wish *w = &n->rules[i];
		const struct notice_rule rule = {w->events, (const char *const *)w->patterns,
						 w->n_patterns};

		if (notice_rule_matches(&rule, event, task))
			return true;
	}
	return false;
}

static void forget_rules(struct notices *n)
{
	for (size_t i = 0; i < n->n_rules; i++) {
		for (size_t j = 0; j < n->rules[i].n_patterns; j++)
			free(n->rules[i].patterns[j]);
		free(n->rules[i].patterns);
	}
	free(n->rules);
	n->rules = NULL;
	n->n_rules = 0;
}

void notices_set_rules(struct notices *n, const struct notice_rule *rules, size_t n_rules)
{
	bool any = n->n_rules > 0;

	forget_rules(n);
	n->rules = mem_calloc(n_rules + 1, sizeof(*n->rules));
	for (; n->n_rules < n_rules; n->n_rules++) {
		const struct notice_rule *from = &rules[n->n_rules];
		struct notice_wish *w = &n->rules[n->n_rules];

		w->events = from->events;
		w->patterns = mem_calloc(from->n_patterns + 1, sizeof(*w->patterns));
		for (; w->n_patterns < from->n_patterns; w->n_patterns++)
			w->patterns[w->n_patterns] = mem_strdup(from->patterns[w->n_patterns]);
	}
	if (!any && n_rules > 0)
		notices_up(n);
}

void notice_init(const struct registry *r, struct notice_record *record, enum notice_event event,
		 const char *task)
{
	const struct member *self = registry_self(r);

	*record = (struct notice_record){
		.event = event, .time = host_wall_ms(r->session->host), .exit_status = -1};
	snprintf(record->task, sizeof(record->task), "%s", task);
	snprintf(record->node, sizeof(record->node), "%s",
		 self ? identity_name(self) : r->hostname);
	snprintf(record->version, sizeof(record->version), "%s", r->version);
}

/* --- by a transaction ----------------------------------------------------- */

static void noting_free(struct noting *g)
{
	for (size_t i = 0; i < g->n_made; i++)
		notice_free(g->made[i]);
	ops_copy_done(&g->ops);
	free(g);
}

/* The transaction succeeded; noted: so did the notes in it, else they are still to be made. */
static void keep_made(struct noting *g, const struct store_reply *reply, bool noted)
{
	for (size_t i = 0; i < g->n_made; i++) {
		struct notice *m = g->made[i];
		/* The number of the transaction is that of the claim in it. */
		if (m->record.event == NOTICE_LEADER && m->record.token == 0)
			m->record.token = reply->stat.mzxid;
		m->state = noted ? NOTICE_THERE : NOTICE_TO_NOTE;
		notice_keep(m);
	}
	g->n_made = 0;
}

static void on_plain(void *arg, const struct store_reply *reply)
{
	struct noting *g = arg;

	if (reply->code == STORE_OK)
		keep_made(g, reply, false);
	g->fn(g->arg, reply);
	noting_free(g);
}

static void on_noted(void *arg, const struct store_reply *reply)
{
	struct noting *g = arg;
	struct notices *n = g->notices;
	struct store_reply none = *reply;

	if (reply->code == STORE_ABANDONED) {
		g->fn(g->arg, reply);
		noting_free(g);
		return;
	}
	if (reply->code != STORE_OK && reply->failed_op >= (int)g->ops.n) {
		notices_folder_missing(n, reply);
		if (!g->once && (!g->may || g->may(g->arg))) {
			store_multi(n->session->store, g->ops.list, g->ops.n, on_plain, g);
			return;
		}
		none.code = STORE_NO_NODE;
	}
	if (reply->code == STORE_OK)
		keep_made(g, reply, true);
	else if (reply->code == STORE_UNKNOWN)
		notices_takeover_soon(n, 0);
	g->fn(g->arg, &none);
	noting_free(g);
}

static void send(struct noting *g, const struct store_op *ops, size_t n)
{
	struct notices *notices = g->notices;
	struct buffer data[NOTICES_TASKS_MAX];
	char(*paths)[STORE_PATH_MAX];

	ops_copy(&g->ops, ops, n, g->n_made);
	if (!notices->there) {
		store_multi(notices->session->store, g->ops.list, n, on_plain, g);
		notices_make_folder(notices);
		return;
	}
	paths = mem_calloc(g->n_made, STORE_PATH_MAX);
	for (size_t i = 0; i < g->n_made; i++)
		g->ops.list[n + i] = notice_op(g->made[i], paths[i], &data[i]);
	store_multi(notices->session->store, g->ops.list, n + g->n_made, on_noted, g);
	for (size_t i = 0; i < g->n_made; i++)
		buffer_done(&data[i]);
	free(paths);
}

/* The events that are wanted; NULL: none is. */
static struct noting *begin(const struct registry *r, const struct notice_record *events,
			    size_t n_events)
{
	struct notices *notices = r->notices;
	struct noting *g = NULL;

	for (size_t i = 0; i < n_events; i++) {
		if (!notices_wanted(r, events[i].event, events[i].task) ||
		    !notices_has_room(notices, g ? g->n_made : 0))
			continue;
		if (!g)
			g = mem_calloc(1, sizeof(*g));
		assert(g->n_made < NOTICES_TASKS_MAX);
		g->made[g->n_made++] = notice_new(notices, &events[i]);
		g->notices = notices;
	}
	return g;
}

static void send_with(const struct registry *r, struct noting *g, const struct store_op *ops,
		      size_t n, store_reply_fn fn, void *arg)
{
	if (!g) {
		store_multi(r->session->store, ops, n, fn, arg);
		return;
	}
	g->fn = fn;
	g->arg = arg;
	send(g, ops, n);
}

void notices_alone(const struct registry *r, const struct store_op *ops, size_t n,
		   const struct notice_record *event, bool tells, bool (*may)(const void *arg),
		   store_reply_fn fn, void *arg)
{
	struct noting *g = begin(r, event, tells ? 1 : 0);

	if (g)
		g->may = may;
	send_with(r, g, ops, n, fn, arg);
}

void notices_multi_if(const struct registry *r, const struct store_op *ops, size_t n,
		      const struct notice_record *event, bool (*may)(const void *arg),
		      store_reply_fn fn, void *arg)
{
	if (event && streak_counts(r, event))
		streak_multi(r, ops, n, event, may, fn, arg);
	else
		notices_alone(r, ops, n, event, event && event->event != NOTICE_RECOVERED, may, fn,
			      arg);
}

void notices_multi(const struct registry *r, const struct store_op *ops, size_t n,
		   const struct notice_record *event, store_reply_fn fn, void *arg)
{
	notices_multi_if(r, ops, n, event, NULL, fn, arg);
}

void notices_claim(const struct registry *r, const struct store_op *ops, size_t n,
		   const struct notice_record *events, size_t n_events, store_reply_fn fn,
		   void *arg)
{
	struct noting *g = begin(r, events, n_events);

	if (g)
		g->once = true;
	send_with(r, g, ops, n, fn, arg);
}

/* --- by itself ------------------------------------------------------------ */

static void note(const struct registry *r, const struct notice_record *event,
		 enum notice_state state)
{
	struct notices *n = r->notices;

	if (!n || !notices_wanted(r, event->event, event->task) || !notices_has_room(n, 0))
		return;
	struct notice *m = notice_new(n, event);
	m->state = state;
	notice_keep(m);
}

void notices_note(const struct registry *r, const struct notice_record *event)
{
	if (streak_counts(r, event) && session_is_up(r->session))
		streak_note(r, event);
	else if (event->event != NOTICE_RECOVERED)
		note(r, event, NOTICE_TO_NOTE);
}

void notices_note_here(const struct registry *r, const struct notice_record *event)
{
	note(r, event, NOTICE_HERE);
}

/* --- begin and end -------------------------------------------------------- */

void notices_init(struct notices *n, struct session *session, struct registry *registry)
{
	*n = (struct notices){.session = session, .registry = registry};
	TAILQ_INIT(&n->list);
	host_timer_init(&n->timer, session->host, notices_on_due, n);
	registry->notices = n;
}

void notices_done(struct notices *n)
{
	host_timer_done(&n->timer);
	notices_drop_all(n);
	forget_rules(n);
}
