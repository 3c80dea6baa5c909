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
#include "node/session/session.h"
#include "node/tree/paths.h"

/* A transaction that notes events. */
struct noting {
	struct notices *notices;
	store_reply_fn fn;
	void *arg;
	bool once;
	struct store_op *ops; /* the caller's, copied whole; behind them the notes */
	char **paths;	      /* of the caller's; owned, as is each, and the next */
	void **data;
	size_t n; /* the caller's */
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
	for (size_t i = 0; i < g->n; i++) {
		free(g->paths[i]);
		free(g->data[i]);
	}
	free(g->paths);
	free(g->data);
	free(g->ops);
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
	if (reply->code != STORE_OK && reply->failed_op >= (int)g->n) {
		notices_folder_missing(n, reply);
		if (!g->once) {
			store_multi(n->session->store, g->ops, g->n, on_plain, g);
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

/* Copies the operations, so that they can be sent again without the notes. */
static void copy_ops(struct noting *g, const struct store_op *ops, size_t n)
{
	g->ops = mem_calloc(n + g->n_made + 1, sizeof(*g->ops));
	g->paths = mem_calloc(n + 1, sizeof(*g->paths));
	g->data = mem_calloc(n + 1, sizeof(*g->data));
	for (; g->n < n; g->n++) {
		const struct store_op *op = &ops[g->n];

		g->ops[g->n] = *op;
		g->ops[g->n].path = g->paths[g->n] = mem_strdup(op->path);
		if (op->len == 0)
			continue;
		g->data[g->n] = mem_alloc(op->len);
		memcpy(g->data[g->n], op->data, op->len);
		g->ops[g->n].data = g->data[g->n];
	}
}

static void send(struct noting *g, const struct store_op *ops, size_t n)
{
	struct notices *notices = g->notices;
	struct buffer data[NOTICES_TASKS_MAX];
	char(*paths)[STORE_PATH_MAX];

	copy_ops(g, ops, n);
	if (!notices->there) {
		store_multi(notices->session->store, g->ops, n, on_plain, g);
		notices_make_folder(notices);
		return;
	}
	paths = mem_calloc(g->n_made, STORE_PATH_MAX);
	for (size_t i = 0; i < g->n_made; i++)
		g->ops[n + i] = notice_op(g->made[i], paths[i], &data[i]);
	store_multi(notices->session->store, g->ops, n + g->n_made, on_noted, g);
	for (size_t i = 0; i < g->n_made; i++)
		buffer_done(&data[i]);
	free(paths);
}

static void begin(const struct registry *r, const struct store_op *ops, size_t n,
		  const struct notice_record *events, size_t n_events, bool once, store_reply_fn fn,
		  void *arg)
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
	}
	if (!g) {
		store_multi(r->session->store, ops, n, fn, arg);
		return;
	}
	g->notices = notices;
	g->fn = fn;
	g->arg = arg;
	g->once = once;
	send(g, ops, n);
}

void notices_multi(const struct registry *r, const struct store_op *ops, size_t n,
		   const struct notice_record *events, size_t n_events, store_reply_fn fn,
		   void *arg)
{
	begin(r, ops, n, events, n_events, false, fn, arg);
}

void notices_claim(const struct registry *r, const struct store_op *ops, size_t n,
		   const struct notice_record *events, size_t n_events, store_reply_fn fn,
		   void *arg)
{
	begin(r, ops, n, events, n_events, true, fn, arg);
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
	n->end = &n->list;
	host_timer_init(&n->timer, session->host, notices_on_due, n);
	registry->notices = n;
}

void notices_done(struct notices *n)
{
	host_timer_done(&n->timer);
	notices_drop_all(n);
	forget_rules(n);
}
