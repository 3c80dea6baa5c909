#include "control/answer/subscriptions.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "control/answer/answers.h"
#include "control/answer/decisions.h"
#include "control/answer/handover.h"
#include "control/ask/nodes.h"
#include "control/ask/subject.h"
#include "core/fleet/identity.h"
#include "node/node.h"

#define UNTOLD	   (-1)
#define RUN_FIELDS 10

/* A task of a subscription, and what the client knows of it. */
struct topic {
	struct task *task;
	int64_t token; /* token of the leader last sent, 0: nobody leads; UNTOLD */
};

struct subscription {
	TAILQ_ENTRY(subscription) link;
	struct peer *client;
	struct topic *topics;
	size_t n;
	struct subjects names; /* names that the client gave; names.tasks is empty */
	size_t at;	       /* the topic with which the next turn goes on */
	bool all, mine;
	enum { CONNECTION_UNTOLD, CONNECTION_LOST, CONNECTION_CONFIRMED } connection;
};

static void pack_now(struct pack *p, const struct subscriptions *s)
{
	char text[CLOCK_TEXT_SIZE];

	clock_format(host_wall_ms(s->node->host), text);
	pack_kv_str(p, "time", text);
}

/* --- topics of a subscription --------------------------------------------- */

/* Whether the name is that of the task, or of the task that it is a partition of. */
static bool is_of(const char *task, const char *name)
{
	size_t len = strlen(name);

	return strncmp(task, name, len) == 0 && (task[len] == '\0' || task[len] == ':');
}

/* Whether the subscription covers a task that has just been added. */
static bool wants(const struct subscription *sub, const struct task *t)
{
	for (const char *name = NULL; (name = subjects_next(&sub->names, name));)
		if (is_of(t->name, name))
			return true;
	return sub->all;
}

/* Whether the client is to hear of decisions about that name, and of its runs. */
static bool hears_of(const struct subscription *sub, const char *name)
{
	for (size_t i = 0; !sub->all && i < sub->n; i++)
		if (is_of(sub->topics[i].task->name, name))
			return true;
	for (const char *own = NULL; (own = subjects_next(&sub->names, own));)
		if (strcmp(own, name) == 0)
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
	TAILQ_REMOVE(&s->list, sub, link);
	free(sub->topics);
	subjects_done(&sub->names);
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

void subscription_begin(struct subscriptions *s, struct peer *c, struct subjects *subjects,
			bool mine)
{
	const struct leaders *l = &s->node->leaders;
	struct subscription *sub = mem_calloc(1, sizeof(*sub));
	bool all = subjects->n == 0;
	size_t n = all ? l->n_tasks : subjects->n_tasks;

	subscription_end(s, c);
	sub->all = all;
	sub->names = (struct subjects){.names = subjects->names, .n = subjects->n};
	buffer_init(&subjects->names, 0);
	sub->mine = mine;
	sub->client = c;
	TAILQ_INSERT_HEAD(&s->list, sub, link);
	c->subscription = sub;
	sub->topics = mem_calloc(n + 1, sizeof(*sub->topics));
	for (size_t i = 0; i < n; i++)
		add_topic(sub, all ? l->tasks[i] : subjects->tasks[i]);
	s->changed = true;
}

void subscriptions_task_added(struct subscriptions *s, struct task *t)
{
	struct subscription *sub;

	TAILQ_FOREACH (sub, &s->list, link) {
		if (!wants(sub, t))
			continue;
		sub->topics = mem_resize(sub->topics, sub->n + 1, sizeof(*sub->topics));
		add_topic(sub, t);
	}
	s->changed = true;
}

void subscriptions_task_removed(const struct subscriptions *s, const struct task *t)
{
	struct subscription *sub;

	TAILQ_FOREACH (sub, &s->list, link) {
		for (size_t i = 0; i < sub->n; i++)
			if (sub->topics[i].task == t)
				sub->topics[i--] = sub->topics[--sub->n];
		sub->client->subscribed = sub->n;
		sub->at = 0;
	}
}

/* --- notifications of states, once they are certain ----------------------- */

/*
 * The token of the leader to report; 0: nobody leads, or for `mine` another node; UNTOLD: not
 * certain.
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

static void tell_leadership(const struct subscriptions *s, struct subscription *sub, struct task *t)
{
	struct peer *c = sub->client;
	struct pack *p = peer_begin(c);

	rpc_pack_notify(p, "leadership");
	pack_map(p, ANSWERS_TASK_FIELDS + HANDOVER_FIELDS + 1);
	pack_now(p, s);
	answers_pack_task(p, s->node, t);
	handover_pack(p, t);
	peer_end(c, PEER_NOTIFICATION);
}

static void tell_connection(const struct subscriptions *s, struct subscription *sub)
{
	bool up = session_is_up(&s->node->session);
	struct peer *c = sub->client;

	if (sub->connection == (up ? CONNECTION_CONFIRMED : CONNECTION_LOST))
		return;
	sub->connection = up ? CONNECTION_CONFIRMED : CONNECTION_LOST;
	struct pack *p = peer_begin(c);
	rpc_pack_notify(p, "connection");
	pack_map(p, 2);
	pack_kv_bool(p, "confirmed", up);
	pack_now(p, s);
	peer_end(c, PEER_NOTIFICATION);
}

/*
 * Sends up to SUBSCRIPTIONS_PART changes to a client. True: all are sent, or the client takes no
 * more until methods_drained().
 */
static bool tell_some(const struct subscriptions *s, struct subscription *sub)
{
	struct peer *c = sub->client;
	int told = 0;

	if (!peer_takes_more(c))
		return true;
	tell_connection(s, sub);
	for (size_t left = sub->n; left > 0; left--) {
		sub->at = sub->at < sub->n ? sub->at : 0;
		struct topic *topic = &sub->topics[sub->at];
		int64_t token = token_of(sub, topic->task);
		if (token != UNTOLD && token != topic->token) {
			if (told++ == SUBSCRIPTIONS_PART)
				return false;
			topic->token = token;
			tell_leadership(s, sub, topic->task);
			if (!peer_takes_more(c))
				return true;
		}
		sub->at++;
	}
	return true;
}

bool subscriptions_tell(struct subscriptions *s)
{
	int64_t until_us = clock_boot_us() + SUBSCRIPTIONS_US;
	struct subscription *sub;
	size_t n = 0;
	bool all = true;

	if (s->up != session_is_up(&s->node->session))
		s->changed = true;
	s->up = session_is_up(&s->node->session);
	if (!s->changed)
		return true;
	TAILQ_FOREACH (sub, &s->list, link)
		n++;
	for (; n > 0; n--) {
		/* The other clients come first in the next turn. */
		sub = TAILQ_FIRST(&s->list);
		TAILQ_REMOVE(&s->list, sub, link);
		TAILQ_INSERT_TAIL(&s->list, sub, link);
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

/* --- notifications of events ---------------------------------------------- */

void subscriptions_membership(const struct subscriptions *s, const char *event,
			      const struct member *m)
{
	size_t led = !TAILQ_EMPTY(&s->list) ? answers_count_led(s->node, m) : 0;
	struct subscription *sub;

	TAILQ_FOREACH (sub, &s->list, link) {
		struct peer *c = sub->client;
		struct pack *p = peer_begin_notification(c, "membership");
		if (!p)
			continue;
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
	struct subscription *sub;

	TAILQ_FOREACH (sub, &s->list, link) {
		struct peer *c = sub->client;
		if (name[0] != '\0' && !hears_of(sub, name))
			continue;
		struct pack *p = peer_begin_notification(c, "decision");
		if (!p)
			continue;
		pack_map(p, DECISIONS_FIELDS + 4);
		pack_kv_str(p, "event", ended ? "ended" : "decided");
		pack_now(p, s);
		pack_kv_text(p, "task", name);
		decisions_pack_item(p, item);
		nodes_pack(p, s->node, "name", item->record.node);
		peer_end(c, PEER_NOTIFICATION);
	}
}

void subscriptions_run(const struct subscriptions *s, const char *task, const char *tick,
		       const struct run_record *record)
{
	const struct member *self = registry_self(&s->node->registry);
	struct subscription *sub;

	TAILQ_FOREACH (sub, &s->list, link) {
		struct peer *c = sub->client;
		if (!hears_of(sub, task))
			continue;
		struct pack *p = peer_begin_notification(c, "run");
		if (!p)
			continue;
		pack_map(p, RUN_FIELDS);
		pack_now(p, s);
		pack_kv_str(p, "task", task);
		pack_kv_text(p, "tick", tick);
		pack_kv_text(p, "run", record->run);
		pack_kv_str(p, "state", record->state);
		pack_kv_int(p, "attempt", record->attempt);
		pack_kv_str(p, "node", self ? identity_name(self) : NULL);
		pack_kv_int(p, "token", record->token);
		pack_kv_known(p, "exit_status", record->exit_status >= 0, record->exit_status);
		bool output = record->output_len > 0 && peer_may_change(c);
		pack_kv_strn(p, "output", output ? record->output : NULL, record->output_len);
		peer_end(c, PEER_NOTIFICATION);
	}
}

struct subscriptions *subscriptions_new(const struct node *node)
{
	struct subscriptions *s = mem_calloc(1, sizeof(*s));

	s->node = node;
	TAILQ_INIT(&s->list);
	return s;
}
