#include "cli/ui/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/mem.h"
#include "base/text/name.h"

void snapshot_done(struct snapshot *s)
{
	json_decref(s->tasks);
	json_decref(s->workers);
	json_decref(s->decisions);
	*s = (struct snapshot){NULL, NULL, NULL};
}

/*
 * The key of a decision: its kind, task and node. A later decision with the same key replaces it.
 */
static char *decision_key(const json_t *decision, const char *task)
{
	char *key = NULL;

	if (asprintf(&key, "%s %s %s", json_text(decision, "kind", "-"), task ? task : "",
		     json_text(decision, "node", "")) < 0)
		abort();
	return key;
}

static void put_decision(json_t *decisions, json_t *decision, const char *task)
{
	mem_auto char *key = decision_key(decision, task);
	json_t *copy = json_copy(decision);

	json_object_set_new(copy, "task", task ? json_string(task) : json_null());
	json_object_set_new(decisions, key, copy);
}

/* Adds a task. Each partition becomes an entry with its own name, TASK:K, as in notifications. */
static void put_task(json_t *tasks, json_t *task)
{
	const char *name = json_text(task, "task", "-");
	const json_t *owners = json_object_get(task, "owners");

	if (!json_is_array(owners))
		json_object_set(tasks, name, task);
	for (size_t i = 0; i < json_array_size(owners); i++) {
		json_t *copy = json_copy(json_array_get(owners, i));
		char partition[NAME_ELECTION_MAX + 24];

		snprintf(partition, sizeof(partition), "%.*s:%" PRId64, NAME_TASK_MAX, name,
			 json_number(copy, "partition", 0));
		json_object_set_new(copy, "task", json_string(partition));
		json_object_set_new(copy, "self",
				    json_boolean(json_number(copy, "lease_ms", 0) > 0));
		json_object_set_new(tasks, partition, copy);
	}
}

bool snapshot_make(struct snapshot *ret, const json_t *tasks, const json_t *workers)
{
	struct snapshot s = {json_object(), json_object(), json_object()};
	bool self = false, connected = true;

	for (size_t i = 0; i < json_array_size(tasks); i++) {
		json_t *task = json_array_get(tasks, i);
		const char *name = json_text(task, "task", "-");
		const json_t *decisions = json_object_get(task, "decisions");

		connected = connected &&
			    strcmp(json_text(task, "state", "disconnected"), "disconnected") != 0;
		put_task(s.tasks, task);
		for (size_t j = 0; j < json_array_size(decisions); j++)
			put_decision(s.decisions, json_array_get(decisions, j),
				     json_text(json_array_get(decisions, j), "task", name));
	}
	for (size_t i = 0; i < json_array_size(workers); i++) {
		json_t *worker = json_array_get(workers, i);
		json_t *drain = json_object_get(worker, "drain");

		self |= json_flag(worker, "self");
		json_object_set(s.workers, json_text(worker, "id", "-"), worker);
		if (json_is_object(drain)) {
			json_object_set(drain, "name", json_object_get(worker, "node"));
			put_decision(s.decisions, drain, NULL);
		}
	}
	if (self && connected)
		*ret = s;
	else
		snapshot_done(&s);
	return self && connected;
}

/* --- notifications -------------------------------------------------------- */

static bool same_leader(const json_t *a, const json_t *b)
{
	return json_number(a, "token", 0) == json_number(b, "token", 0) &&
	       json_is_object(json_object_get(a, "leader")) ==
		       json_is_object(json_object_get(b, "leader"));
}

/* Adds who led before, which a sidecar of 0.1.0 does not say. */
static void set_previous(json_t *change, const json_t *known)
{
	json_t *leader = json_object_get(known, "leader");

	if (!json_is_object(leader))
		leader = json_object_get(known, "previous");
	if (!json_object_get(change, "previous") && json_is_object(leader))
		json_object_set(change, "previous", leader);
}

bool snapshot_leadership(struct snapshot *s, json_t *change)
{
	const char *name = json_text(change, "task", "-");
	const json_t *known = json_object_get(s->tasks, name);

	if (known && same_leader(known, change))
		return false;
	set_previous(change, known);
	if (s->tasks)
		json_object_set_new(s->tasks, name, json_copy(change));
	return true;
}

bool snapshot_membership(struct snapshot *s, json_t *change)
{
	bool left = strcmp(json_text(change, "event", ""), "left") == 0;
	const char *id = json_text(change, "id", "-");
	bool known = json_object_get(s->workers, id) != NULL;

	if (s->workers && left)
		json_object_del(s->workers, id);
	else if (s->workers)
		json_object_set_new(s->workers, id, json_copy(change));
	return !s->workers || known == left;
}

static bool same_decision(const json_t *a, const json_t *b)
{
	static const char *const keys[] = {"since", "until", "by", "host", "reason", "version"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(json_text(a, keys[i], ""), json_text(b, keys[i], "")) != 0)
			return false;
	return true;
}

bool snapshot_decision(struct snapshot *s, json_t *change)
{
	bool ended = strcmp(json_text(change, "event", ""), "ended") == 0;
	const char *task = json_text(change, "task", NULL);
	mem_auto char *key = decision_key(change, task);
	const json_t *known = json_object_get(s->decisions, key);
	bool same = known && same_decision(known, change);

	if (!s->decisions)
		return true;
	if (ended && same)
		json_object_del(s->decisions, key);
	else if (!ended)
		put_decision(s->decisions, change, task);
	return ended == same;
}

/* --- comparing two snapshots ---------------------------------------------- */

struct comparison {
	const struct snapshot *before, *now;
	void (*tell)(void *arg, const char *method, json_t *change);
	void *arg;
};

static void tell(const struct comparison *c, const char *method, json_t *what, const char *event)
{
	json_auto_t *change = json_copy(what);

	if (event)
		json_object_set_new(change, "event", json_string(event));
	c->tell(c->arg, method, change);
}

static void compare_workers(const struct comparison *c)
{
	const char *id;
	json_t *worker;

	json_object_foreach(c->before->workers, id,
			    worker) if (!json_object_get(c->now->workers, id))
		tell(c, "membership", worker, "left");
	json_object_foreach(c->now->workers, id,
			    worker) if (!json_object_get(c->before->workers, id))
		tell(c, "membership", worker, "joined");
}

static void compare_decisions(const struct comparison *c)
{
	const char *key;
	json_t *decision;

	json_object_foreach(c->before->decisions, key,
			    decision) if (!json_object_get(c->now->decisions, key))
		tell(c, "decision", decision, "ended");
	json_object_foreach(c->now->decisions, key, decision)
	{
		const json_t *known = json_object_get(c->before->decisions, key);

		if (!known || !same_decision(known, decision))
			tell(c, "decision", decision, "decided");
	}
}

void snapshot_compare(const struct snapshot *before, const struct snapshot *now,
		      void (*fn)(void *arg, const char *method, json_t *change), void *arg)
{
	const struct comparison c = {before, now, fn, arg};
	const char *name;
	json_t *task;

	compare_workers(&c);
	compare_decisions(&c);
	json_object_foreach(now->tasks, name, task)
	{
		const json_t *known = json_object_get(before->tasks, name);

		if (known ? same_leader(known, task)
			  : !json_is_object(json_object_get(task, "leader")))
			continue;
		set_previous(task, known);
		tell(&c, "leadership", task, NULL);
	}
}
