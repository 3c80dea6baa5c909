#include "control/subscriptions.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "control/answers.h"
#include "node/node.h"

struct subscription {
	struct subscription *prev, *next;
	struct peer *client;
	struct task **tasks;
	size_t n_tasks;
	bool all;
};

static void pack_now(struct pack *p, const struct subscriptions *s)
{
	char text[CLOCK_TEXT_SIZE];

	clock_format(host_wall_ms(s->node->host), text);
	pack_kv_str(p, "time", text);
}

static bool wants(const struct subscription *sub, const struct task *t)
{
	for (size_t i = 0; !sub->all && i < sub->n_tasks; i++)
		if (sub->tasks[i] == t)
			return true;
	return sub->all;
}

void subscription_end(struct subscriptions *s, struct peer *c)
{
	struct subscription *sub = c->subscription;

	if (!sub)
		return;
	for (size_t i = 0; i < sub->n_tasks; i++)
		leaders_subscribe(sub->tasks[i], false);
	if (sub->prev)
		sub->prev->next = sub->next;
	else
		s->list = sub->next;
	if (sub->next)
		sub->next->prev = sub->prev;
	free(sub->tasks);
	free(sub);
	c->subscription = NULL;
	c->subscribed = 0;
}

static void add_task(struct subscriptions *s, struct subscription *sub, struct task *t)
{
	if (t->watchers == 0)
		t->told = false;
	sub->tasks = mem_resize(sub->tasks, sub->n_tasks + 1, sizeof(*sub->tasks));
	sub->tasks[sub->n_tasks++] = t;
	leaders_subscribe(t, true);
	/* Where the leader is known already, the next event is a change. */
	subscriptions_task_changed(s, t);
}

void subscription_begin(struct subscriptions *s, struct peer *c, struct task *const *tasks,
			size_t n)
{
	const struct leaders *l = &s->node->leaders;
	struct subscription *sub = mem_calloc(1, sizeof(*sub));

	subscription_end(s, c);
	sub->all = n == 0;
	sub->client = c;
	sub->next = s->list;
	if (sub->next)
		sub->next->prev = sub;
	s->list = sub;
	c->subscription = sub;
	for (size_t i = 0; i < (sub->all ? l->n_tasks : n); i++)
		add_task(s, sub, sub->all ? l->tasks[i] : tasks[i]);
	c->subscribed = sub->n_tasks;
}

static void notify_leadership(const struct subscriptions *s, struct task *t)
{
	struct subscription *next;

	/* A client may go, with its subscription, as it is told. */
	for (struct subscription *sub = s->list; sub; sub = next) {
		next = sub->next;
		if (!wants(sub, t))
			continue;
		struct peer *c = sub->client;
		struct pack *p = peer_begin_notification(c);
		if (!p)
			continue;
		rpc_pack_notify(p, "leadership");
		pack_map(p, ANSWERS_TASK_FIELDS + 1);
		pack_now(p, s);
		answers_pack_task(p, s->node, t);
		peer_end(c, PEER_NOTIFICATION);
	}
}

void subscriptions_task_changed(struct subscriptions *s, struct task *t)
{
	const struct election_node *node = &t->election.node;

	if (t->watchers == 0)
		return;
	bool certain = (t->election.state == ELECTION_LEADING && leaders_lease_left(t) > 0) ||
		       t->election.state == ELECTION_VACANT ||
		       (t->election.state == ELECTION_FOLLOWING && node->known);
	int64_t token = leaders_is_led(t) ? node->token : 0;
	if (!certain || (t->told && t->told_token == token))
		return;
	bool first = !t->told;
	t->told = true;
	t->told_token = token;
	if (!first)
		notify_leadership(s, t);
}

void subscriptions_membership(const struct subscriptions *s, const char *event,
			      const struct member *m)
{
	struct subscription *next;

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
		answers_pack_worker(p, s->node, m, 0);
		peer_end(c, PEER_NOTIFICATION);
	}
}

void subscriptions_decision(const struct subscriptions *s, const struct policy_item *item,
			    bool ended)
{
	const char *name = item->record.task;
	const struct task *t = leaders_find(&s->node->leaders, name, strlen(name));
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

void subscriptions_task_added(struct subscriptions *s, struct task *t)
{
	for (struct subscription *sub = s->list; sub; sub = sub->next)
		if (sub->all)
			add_task(s, sub, t);
}

void subscriptions_task_removed(const struct subscriptions *s, const struct task *t)
{
	for (struct subscription *sub = s->list; sub; sub = sub->next)
		for (size_t i = 0; i < sub->n_tasks; i++)
			if (sub->tasks[i] == t)
				sub->tasks[i--] = sub->tasks[--sub->n_tasks];
}

void subscriptions_init(struct subscriptions *s, const struct node *node)
{
	*s = (struct subscriptions){.node = node};
}
