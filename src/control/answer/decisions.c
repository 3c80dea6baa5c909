#include "control/answer/decisions.h"

#include <string.h>

#include "control/answer/answers.h"
#include "control/ask/subject.h"

void decisions_pack_item(struct pack *p, const struct policy_item *item)
{
	const struct policy_record *r = &item->record;

	pack_kv_str(p, "kind", r->kind);
	pack_kv_str(p, "by", r->by);
	pack_kv_str(p, "host", r->host);
	pack_kv_text(p, "reason", r->reason);
	pack_kv_time(p, "since", r->since);
	pack_kv_time(p, "until", r->until);
	if (item->kind == POLICY_PIN)
		pack_kv_str(p, "version", r->version);
	else
		pack_kv_text(p, "node", r->node);
}

static void pack_decision(struct pack *p, const struct policy_item *item)
{
	pack_map(p, DECISIONS_FIELDS + 1);
	pack_kv_text(p, "task", item->record.task);
	decisions_pack_item(p, item);
}

/* Packs the decisions of that kind about exactly this name. If p is NULL, only counts them. */
static size_t decisions_of(struct pack *p, const struct node *s, enum policy_kind kind,
			   const char *name)
{
	size_t first = 0, n = policy_of_task(&s->policy, kind, name, &first);

	for (size_t i = 0; p && i < n; i++)
		pack_decision(p, s->policy.items[first + i]);
	return n;
}

/*
 * The decisions about the task; for a partition also those about its task. NULL: only counts them.
 */
static size_t decisions_of_task(struct pack *p, const struct node *s, const struct task *t)
{
	char task[NAME_ELECTION_MAX + 1];
	size_t n = 0;

	subject_task_of(t->name, task);
	for (enum policy_kind kind = 0; kind < POLICY_SHOWN; kind++) {
		n += decisions_of(p, s, kind, t->name);
		if (strcmp(task, t->name) != 0)
			n += decisions_of(p, s, kind, task);
	}
	return n;
}

static size_t decisions_of_listing(struct pack *p, const struct node *s, const struct listing *l)
{
	size_t n = 0;

	for (enum policy_kind kind = 0; kind < POLICY_SHOWN; kind++) {
		n += decisions_of(p, s, kind, l->name);
		for (size_t k = 0; k < l->n && s->policy.n > 0; k++)
			n += decisions_of(p, s, kind, l->tasks[k]->name);
	}
	return n;
}

void decisions_pack(struct pack *p, const struct node *s, const struct task *t)
{
	pack_str(p, "decisions");
	pack_array(p, decisions_of_task(NULL, s, t));
	decisions_of_task(p, s, t);
}

void decisions_pack_listing(struct pack *p, const struct node *s, const struct listing *l)
{
	pack_str(p, "decisions");
	pack_array(p, decisions_of_listing(NULL, s, l));
	decisions_of_listing(p, s, l);
}

void decisions_pack_drain(struct pack *p, const struct node *s, const char *node,
			  const char *machine)
{
	const struct policy_item *item =
		node[0] ? policy_find_node(&s->policy, POLICY_DRAIN, "", node, machine) : NULL;

	pack_str(p, "drain");
	if (item)
		pack_decision(p, item);
	else
		pack_nil(p);
}
