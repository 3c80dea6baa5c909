#include "control/subscriptions.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "control/answers.h"
#include "control/handover.h"
#include "node/node.h"
#include "node/tasks.h"

#define UNTOLD (-1)

/* A task of a subscription, and what the client knows of it. */
struct topic {
	struct task *task;
	int64_t token; /* of the leader, 0: nobody leads; UNTOLD */
};

struct subscription {
	struct subscription *prev, *next;
	struct peer *client;
	struct topic *topics;
	size_t n;
	size_t at; /* where telling goes on */
	bool all, mine;
	enum { CONNECTION_UNTOLD, CONNECTION_LOST, CONNECTION_CONFIRMED } connection;
};

static void pack_now(struct pack *p, const struct subscriptions *s)
{
	char text[CLOCK_TEXT_SIZE];

	clock_format(host_wall_ms(s->node->host), text);
	pack_kv_str(p, "time", text);
}

/* --- who wants what ------------------------------------------------------- */

static bool wants(const struct subscription *sub, const struct task *t)
{
	for (size_t i = 0; !sub->all && i < sub->n; i++)
		if (sub->topics[i].task == t)
			return true;
	return sub->all;
}

void subscription_end(struct subscriptions *s, struct peer *c)
{
	struct subscription *sub = c->subscription;

	if (!sub)
		return;
	for (size_t i = 0; !sub->mine && i < sub->n; i++)
		leaders_subscribe(sub->topics[i].task, false);
	if (sub->prev)
		sub->prev->next = sub->next;
	else
		s->list = sub->next;
	if (sub->next)
		sub->next->prev = sub->prev;
	free(sub->topics);
	free(sub);
	c->subscription = NULL;
	c->subscribed = 0;
}

static void add_topic(struct subscription *sub, struct task *t)
{
	sub->topics[sub->n++] = (struct topic){t, UNTOLD};
	sub->client->subscribed = sub->n;
	if (sub->mine)
		return;
	leaders_subscribe(t, true);
	handover_look(t);
}

void subscription_begin(struct subscriptions *s, struct peer *c, struct task *const *tasks,
			size_t n, bool mine)
{
	const struct leaders *l = &s->node->leaders;
	struct subscription *sub = mem_calloc(1, sizeof(*sub));
	size_t n_topics = n == 0 ? l->n_tasks : n;

	subscription_end(s, c);
	sub->all = n == 0;
	sub->mine = mine;
	sub->client = c;
	sub->next = s->list;
	if (sub->next)
		sub->next->prev = sub;
	s->list = sub;
	c->subscription = sub;
	sub->topics = mem_calloc(n_topics + 1, sizeof(*sub->topics));
	for (size_t i = 0; i < n_topics; i++)
		add_topic(sub, sub->all ? l->tasks[i] : tasks[i]);
	s->changed = true;
}

void subscriptions_task_added(struct subscriptions *s, struct task *t)
{
	for (struct subscription *sub = s->list; sub; sub = sub->next) {
		if (!sub->all)
			continue;
		sub->topics = mem_resize(sub->topics, sub->n + 1, sizeof(*sub->topics));
		add_topic(sub, t);
	}
	s->changed = true;
}

void subscriptions_task_removed(const struct subscriptions *s, const struct task *t)
{
	for (struct subscription *sub = s->list; sub; sub = sub->next) {
		for (size_t i = 0; i < sub->n; i++)
			if (sub->topics[i].task == t)
				sub->topics[i--] = sub->topics[--sub->n];
		sub->client->subscribed = sub->n;
		sub->at = 0;
	}
}

/* --- what is told as it becomes certain ----------------------------------- */

/*
 * The token of the leader as far as the subscription is about it, 0: nobody; UNTOLD: not certain.
 */
static int64_t token_of(const struct subscription *sub, const struct task *t)
{
	const struct election *e = &t->election;

	if (e->state == ELECTION_LEADING)
		return leaders_lease_left(t) > 0 ? e->node.token : UNTOLD;
	if (sub->mine)
		return election_leads(e) ? UNTOLD : 0;
	if (e->state == ELECTION_VACANT)
		return 0;
	if (e->state != ELECTION_FOLLOWING || !leaders_fresh(t))
		return UNTOLD;
	return leaders_is_led(t) ? e->node.token : 0;
}

/* False: the client is gone. */
static bool tell_leadership(const struct subscriptions *s, struct subscription *sub, struct task *t)
{
	struct peer *c = sub->client;
	struct pack *p = peer_begin(c);

	rpc_pack_notify(p, "leadership");
	pack_map(p, ANSWERS_TASK_FIELDS + HANDOVER_FIELDS + 1);
	pack_now(p, s);
	answers_pack_task(p, s->node, t);
	handover_pack(p, t);
	peer_end(c, PEER_NOTIFICATION);
	return !c->closing;
}

static bool tell_connection(const struct subscriptions *s, struct subscription *sub)
{
	bool up = session_is_up(&s->node->session);
	struct peer *c = sub->client;

	if (sub->connection == (up ? CONNECTION_CONFIRMED : CONNECTION_LOST))
		return true;
	sub->connection = up ? CONNECTION_CONFIRMED : CONNECTION_LOST;
	struct pack *p = peer_begin(c);
	rpc_pack_notify(p, "connection");
	pack_map(p, 2);
	pack_kv_bool(p, "confirmed", up);
	pack_now(p, s);
	peer_end(c, PEER_NOTIFICATION);
	return !c->closing;
}

/* Whether all has been told, or the client takes no more: drained() tells when it does again. */
static bool tell_some(const struct subscriptions *s, struct subscription *sub)
{
	struct peer *c = sub->client;
	int told = 0;

	if (!peer_takes_more(c) || !tell_connection(s, sub))
		return true;
	for (size_t left = sub->n; left > 0; left--) {
		sub->at = sub->at < sub->n ? sub->at : 0;
		struct topic *topic = &sub->topics[sub->at];
		int64_t token = token_of(sub, topic->task);
		if (token != UNTOLD && token != topic->token) {
			if (told++ == SUBSCRIPTIONS_PART)
				return false;
			topic->token = token;
			if (!tell_leadership(s, sub, topic->task) || !peer_takes_more(c))
				return true;
		}
		sub->at++;
	}
	return true;
}

/* It comes last the next time. */
static void rotate(struct subscriptions *s)
{
	struct subscription *first = s->list, *last = first;

	if (!first || !first->next)
		return;
	while (last->next)
		last = last->next;
	s->list = first->next;
	first->next->prev = NULL;
	first->next = NULL;
	first->prev = last;
	last->next = first;
}

bool subscriptions_tell(struct subscriptions *s)
{
	int64_t until_us = clock_boot_us() + SUBSCRIPTIONS_US;
	size_t n = 0;
	bool all = true;

	if (s->up != session_is_up(&s->node->session))
		s->changed = true;
	s->up = session_is_up(&s->node->session);
	if (!s->changed)
		return true;
	for (struct subscription *sub = s->list; sub; sub = sub->next)
		n++;
	for (; n > 0 && s->list; n--) {
		struct subscription *sub = s->list;
		rotate(s);
		all &= tell_some(s, sub);
		if (clock_boot_us() >= until_us && n > 1)
			all = false;
		if (clock_boot_us() >= until_us)
			break;
	}
	s->changed = !all;
	return all;
}

void subscriptions_changed(struct subscriptions *s)
{
	s->changed = true;
}

/* --- what is told as it happens ------------------------------------------- */

void subscriptions_membership(const struct subscriptions *s, const char *event,
			      const struct member *m)
{
	size_t led = s->list ? answers_count_led(s->node, m) : 0;
	struct subscription *next;

	/* A client may go, with its subscription, as it is told. */
	for (struct subscription *sub = s->list; sub; sub = next) {
		struct peer *c = sub->client;
		next = sub->next;
		struct pack *p = peer_begin_notification(c);
		if (!p)
			continue;
		rpc_pack_notify(p, "membership");
		pack_map(p, ANSWERS_WORKER_FIELDS + 2);
		pack_kv_str(p, "event", event);
		pack_now(p, s);
		answers_pack_worker(p, s->node, m, led);
		peer_end(c, PEER_NOTIFICATION);
	}
}

void subscriptions_decision(const struct subscriptions *s, const struct policy_item *item,
			    bool ended)
{
	const char *name = item->record.task;
	const struct task *t = tasks_find(&s->node->leaders, name, strlen(name));
	struct subscription *next;

	for (struct subscription *sub = s->list; sub; sub = next) {
		struct peer *c = sub->client;
		next = sub->next;
		if (!(sub->all || name[0] == '\0' || (t && wants(sub, t))))
			continue;
		struct pack *p = peer_begin_notification(c);
		if (!p)
			continue;
		rpc_pack_notify(p, "decision");
		pack_map(p, ANSWERS_DECISION_FIELDS + 3);
		pack_kv_str(p, "event", ended ? "ended" : "decided");
		pack_now(p, s);
		pack_kv_str(p, "task", name[0] ? name : NULL);
		answers_pack_decision(p, item);
		peer_end(c, PEER_NOTIFICATION);
	}
}

void subscriptions_init(struct subscriptions *s, const struct node *node)
{
	*s = (struct subscriptions){.node = node};
}
