#include "control/answer/troubles.h"

#include <string.h>

#include "control/answer/answers.h"
#include "control/answer/fleet_troubles.h"
#include "control/ask/nodes.h"
#include "core/fleet/identity.h"
#include "node/election/partitions.h"
#include "node/schedule/schedules.h"

static void find_blocked(const struct node *s, struct problems *problems)
{
	char text[LEADERS_BLOCKED_MAX];

	for (size_t i = 0; i < s->leaders.n_tasks; i++) {
		const struct task *t = s->leaders.tasks[i];
		if (!t->withdrawn && leaders_is_blocked(t, text))
			problems_add(problems, t->name, PROBLEM_WHOLE_FILE,
				     "nobody can lead it: %s", text);
	}
}

/* Only the node that would lead the task, and that ZooKeeper refuses, reports this. */
static void find_unclaimed(const struct node *s, struct problems *problems)
{
	for (size_t i = 0; i < s->leaders.n_tasks; i++) {
		const struct task *t = s->leaders.tasks[i];
		if (!t->withdrawn && t->leader.refused != STORE_OK && !leaders_is_led(t))
			problems_add(problems, t->name, PROBLEM_WHOLE_FILE,
				     "nobody leads it, and this node may not: %s",
				     store_refused_why(t->leader.refused));
	}
}

static void find_refused(const struct node *s, struct problems *problems)
{
	char text[PARTITIONS_TEXT_MAX];

	for (size_t i = 0; i < s->leaders.n_listings; i++)
		if (partitions_problem(s->leaders.listings[i], text))
			problems_add(problems, s->leaders.listings[i]->name, PROBLEM_WHOLE_FILE,
				     "%s", text);
}

static void find_wrong_clock(const struct node *s, struct problems *problems)
{
	const struct member *self = registry_self(&s->registry);
	char off[CLOCKS_TEXT_MAX];

	if (!clocks_is_off(&s->registry.clocks))
		return;
	clocks_say_own(&s->registry.clocks, off);
	problems_add(problems, self ? identity_name(self) : s->registry.hostname,
		     PROBLEM_WHOLE_FILE,
		     "its clock is %s and most workers', so it leads last and claims no tick: "
		     "set it, and have it kept right (chrony, systemd-timesyncd)",
		     off);
}

static void find_clock_of_jobs(const struct node *s, struct problems *problems)
{
	int64_t offset_ms = clocks_jobs_offset(&s->registry.clocks);
	char off[CLOCKS_TEXT_MAX];

	if (s->queues.n == 0 || offset_ms == 0)
		return;
	clocks_say(offset_ms, off);
	problems_add(problems, "jobs", PROBLEM_WHOLE_FILE,
		     "they go by a clock that is %s, as the servers of the fleet say: none begins "
		     "early, and no record of one is deleted, until those agree: set the clock "
		     "that is wrong, and have it kept right (chrony, systemd-timesyncd)",
		     off);
}

/* Each name is reported once, by the first of its members. */
static void find_twins(const struct node *s, struct problems *problems)
{
	const struct fleet *f = &s->registry.fleet;

	for (size_t i = 0; i < f->n_members; i++) {
		const struct worker *w = f->by_id[i]->worker, *other = NULL;
		bool first = f->by_id[i]->twin;
		for (size_t j = 0; first && j < f->n_members; j++) {
			if (strcmp(f->by_id[j]->worker->node, w->node) != 0)
				continue;
			first = j >= i;
			if (strcmp(f->by_id[j]->worker->machine, w->machine) != 0)
				other = f->by_id[j]->worker;
		}
		if (first && other)
			problems_add(
				problems, w->node, PROBLEM_WHOLE_FILE,
				"two machines have this name, with the addresses %s and %s: "
				"give one of them another by the key node, or another hostname",
				w->ip, other->ip);
	}
}

/*
 * Another worker has this node's name and machine id. That is reported once the newer of the two
 * has been registered for so long that the older cannot be the rest of an ended sidecar: its
 * session would be over.
 */
static void find_namesake(const struct node *s, struct problems *problems)
{
	const struct fleet *f = &s->registry.fleet;
	const struct member *self = registry_self(&s->registry);
	int64_t ahead = 0;

	clocks_offset(&s->registry.clocks, &ahead);
	for (size_t i = 0; self && self->worker->machine[0] && i < f->n_members; i++) {
		const struct member *m = f->by_id[i];
		bool newer = m->registered_at > self->registered_at;
		const struct member *first = newer ? self : m, *last = newer ? m : self;
		if (m == self || strcmp(m->worker->node, self->worker->node) != 0 ||
		    strcmp(m->worker->machine, self->worker->machine) != 0 ||
		    host_wall_ms(s->host) - ahead - last->registered_at <=
			    2 * first->worker->timeout_ms)
			continue;
		problems_add(problems, identity_name(self), PROBLEM_WHOLE_FILE,
			     "another worker has this name and this machine id, with the address "
			     "%s, and they count as one node: give one of them another name by "
			     "the key node, and cloned machines a machine id each "
			     "(/etc/machine-id)",
			     m->worker->ip);
		return;
	}
}

/* Adds drains that nothing ends: a slot or its record is gone. */
static void add_stray(struct problems *problems, const struct policy_record *r, const char *name)
{
	problems_add(problems, r->rolling, PROBLEM_WHOLE_FILE,
		     "%s is drained, and no slot of the rolling restart %s goes with that: nothing "
		     "ends it but zkleader rolling %s --release %s, by root on any node",
		     name, r->rolling, r->rolling, name);
}

static void find_rolling(const struct node *s, struct problems *problems)
{
	char name[WORKER_NODE_MAX + 1];

	for (size_t i = 0; i < s->policy.n; i++) {
		const struct policy_item *item = s->policy.items[i];
		const struct policy_record *r = &item->record;
		bool stray = rolling_is_stray(&s->recipes.rolling, item->name);
		nodes_name(s, r->node, name);
		if (stray)
			add_stray(problems, r, name);
		else if (r->halted)
			problems_add(problems, r->rolling, PROBLEM_WHOLE_FILE,
				     "the rolling restart is halted by %s: %s; zkleader rolling %s "
				     "--resume ends that",
				     name, r->reason, r->rolling);
	}
}

void troubles_pack_halted(struct pack *p, const struct node *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->policy.n; i++)
		n += s->policy.items[i]->record.halted;
	pack_str(p, "halted");
	pack_array(p, n);
	for (size_t i = 0; i < s->policy.n; i++) {
		const struct policy_record *r = &s->policy.items[i]->record;

		if (!r->halted)
			continue;
		pack_map(p, 3);
		pack_kv_str(p, "group", r->rolling);
		nodes_pack(p, s, "node", r->node);
		pack_kv_text(p, "reason", r->reason);
	}
}

void troubles_pack_error(struct pack *p, const struct session_error *error)
{
	pack_str(p, "last_error");
	if (!error->message[0]) {
		pack_nil(p);
		return;
	}
	pack_map(p, 3);
	pack_kv_text(p, "server", error->server);
	pack_kv_str(p, "message", error->message);
	pack_kv_time(p, "time", error->time);
}

static void add_unread(const struct node *s, const char *node, struct problems *problems)
{
	char name[WORKER_NODE_MAX + 1];

	nodes_name(s, node, name);
	problems_add(problems, name, PROBLEM_WHOLE_FILE,
		     "its entry in the roster cannot be read, and nobody else gets its number: "
		     "zkleader forget %s frees it, and if the node is there it gets a number anew",
		     name);
}

/* Reported by nodes that have read the roster, as the first in rank has, and by the node itself. */
static void find_unread_numbers(const struct node *s, struct problems *problems)
{
	const struct roster *r = &s->recipes.roster;
	bool own = s->recipes.index.unread;

	for (size_t i = 0; r->ready && i < r->n; i++) {
		if (!r->entries[i].unread)
			continue;
		add_unread(s, r->entries[i].node, problems);
		own &= strcmp(r->entries[i].node, s->registry.node) != 0;
	}
	if (own)
		add_unread(s, s->registry.node, problems);
}

static void add_queue(void *arg, const char *queue, const char *text)
{
	problems_add(arg, queue, PROBLEM_WHOLE_FILE, "%s", text);
}

static void find_standing(const struct node *s, struct problems *problems)
{
	char until[TICK_NAME_SIZE];

	for (size_t i = 0; i < s->leaders.n_tasks; i++) {
		const struct task *t = s->leaders.tasks[i];
		int64_t until_ms = schedules_decided_until(&s->schedules, t);
		if (until_ms == 0 || !election_leads(&t->election) || !tick_name(until_ms, until))
			continue;
		problems_add(problems, t->name, PROBLEM_WHOLE_FILE,
			     "its schedule stands still until %s, as a clock that was ahead has "
			     "decided the ticks up to then: zkleader trigger %s runs it meanwhile",
			     until, t->name);
	}
}

void troubles_find(const struct node *s, struct problems *problems)
{
	const struct session_error *error = &s->session.error;

	if (error->message[0])
		problems_add(problems, error->server[0] ? error->server : "zookeeper",
			     PROBLEM_WHOLE_FILE, "%s", error->message);
	if (!session_is_up(&s->session))
		return;
	find_wrong_clock(s, problems);
	find_clock_of_jobs(s, problems);
	find_twins(s, problems);
	find_namesake(s, problems);
	find_refused(s, problems);
	find_blocked(s, problems);
	find_unclaimed(s, problems);
	find_rolling(s, problems);
	find_unread_numbers(s, problems);
	find_standing(s, problems);
	fleet_troubles_find(s, problems);
	queues_troubles(&s->queues, add_queue, problems);
}
