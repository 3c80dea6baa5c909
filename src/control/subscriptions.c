#include "control/subscriptions.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "control/answers.h"
#include "daemon/sidecar.h"

struct subscription {
	struct task **tasks;
	size_t n_tasks;
	bool all;
};

static void pack_now(struct pack *p, const struct sidecar *s)
{
	char text[CLOCK_TEXT_SIZE];

	clock_format(host_wall_ms(s->session.host), text);
	pack_kv_str(p, "time", text);
}

static bool wants(const struct client *c, const struct task *t)
{
	const struct subscription *sub = c->subscription;

	if (!sub)
		return false;
	for (size_t i = 0; !sub->all && i < sub->n_tasks; i++)
		if (sub->tasks[i] == t)
			return true;
	return sub->all;
}

void subscription_end(struct client *c)
{
	struct subscription *sub = c->subscription;

	if (!sub)
		return;
	for (size_t i = 0; i < sub->n_tasks; i++)
		leaders_subscribe(sub->tasks[i], false);
	free(sub->tasks);
	free(sub);
	c->subscription = NULL;
	c->subscribed = 0;
}

static void add_task(const struct sidecar *s, struct subscription *sub, struct task *t)
{
	if (t->watchers == 0)
		t->told = false;
	sub->tasks = mem_resize(sub->tasks, sub->n_tasks + 1, sizeof(*sub->tasks));
	sub->tasks[sub->n_tasks++] = t;
	leaders_subscribe(t, true);
	/* Where the leader is known already, the next event is a change. */
	subscriptions_task_changed(s, t);
}

void subscription_begin(struct sidecar *s, struct client *c, struct task *const *tasks, size_t n)
{
	const struct leaders *l = &s->leaders;
	struct subscription *sub = mem_calloc(1, sizeof(*sub));

	subscription_end(c);
	sub->all = n == 0;
	c->subscription = sub;
	for (size_t i = 0; i < (sub->all ? l->n_tasks : n); i++)
		add_task(s, sub, sub->all ? l->tasks[i] : tasks[i]);
	c->subscribed = sub->n_tasks;
}

static void notify_leadership(const struct sidecar *s, struct task *t)
{
	struct client *next;

	for (struct client *c = s->control.clients; c; c = next) {
		next = c->next;
		if (!wants(c, t))
			continue;
		struct pack *p = control_begin_notification(c);
		if (!p)
			continue;
		rpc_pack_notify(p, "leadership");
		pack_map(p, ANSWERS_TASK_FIELDS + 1);
		pack_now(p, s);
		answers_pack_task(p, s, t);
		control_end(c, CONTROL_NOTIFICATION);
	}
}

void subscriptions_task_changed(const struct sidecar *s, struct task *t)
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

void subscriptions_membership(const struct sidecar *s, const char *event, const struct member *m)
{
	struct client *next;

	for (struct client *c = s->control.clients; c; c = next) {
		next = c->next;
		if (!c->subscription)
			continue;
		struct pack *p = control_begin_notification(c);
		if (!p)
			continue;
		rpc_pack_notify(p, "membership");
		pack_map(p, ANSWERS_WORKER_FIELDS + 2);
		pack_kv_str(p, "event", event);
		pack_now(p, s);
		answers_pack_worker(p, s, m, 0);
		control_end(c, CONTROL_NOTIFICATION);
	}
}

void subscriptions_decision(const struct sidecar *s, const struct policy_item *item, bool ended)
{
	const char *name = item->record.task;
	const struct task *t = leaders_find(&s->leaders, name, strlen(name));
	struct client *next;

	for (struct client *c = s->control.clients; c; c = next) {
		const struct subscription *sub = c->subscription;
		next = c->next;
		if (!sub || !(sub->all || name[0] == '\0' || (t && wants(c, t))))
			continue;
		struct pack *p = control_begin_notification(c);
		if (!p)
			continue;
		rpc_pack_notify(p, "decision");
		pack_map(p, ANSWERS_DECISION_FIELDS + 3);
		pack_kv_str(p, "event", ended ? "ended" : "decided");
		pack_now(p, s);
		pack_kv_str(p, "task", name[0] ? name : NULL);
		answers_pack_decision(p, item);
		control_end(c, CONTROL_NOTIFICATION);
	}
}

void subscriptions_task_added(const struct sidecar *s, struct task *t)
{
	for (struct client *c = s->control.clients; c; c = c->next)
		if (c->subscription && ((struct subscription *)c->subscription)->all)
			add_task(s, c->subscription, t);
}

void subscriptions_task_removed(const struct sidecar *s, const struct task *t)
{
	for (struct client *c = s->control.clients; c; c = c->next) {
		struct subscription *sub = c->subscription;
		for (size_t i = 0; sub && i < sub->n_tasks; i++)
			if (sub->tasks[i] == t)
				sub->tasks[i--] = sub->tasks[--sub->n_tasks];
	}
}
