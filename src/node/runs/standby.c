#include "node/runs/standby.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/election/leaders.h"
#include "node/election/tasks.h"

#define PREFERRED_MS 60000 /* for which the decision is made: it need not be taken back */
#define AGAIN_MS     1000  /* after one that could not be made */

/* An outstanding decision. The task may be gone when it is made. */
struct telling {
	struct leaders *leaders;
	char task[NAME_ELECTION_MAX + 1];
	bool on;
};

static struct standby *of(struct task *t)
{
	if (!t->standby)
		t->standby = mem_calloc(1, sizeof(*t->standby));
	return t->standby;
}

int64_t standby_again_ms(const struct task *t)
{
	return t->standby ? t->standby->again_ms : 0;
}

void standby_forget(struct task *t)
{
	free(t->standby);
	t->standby = NULL;
}

static void on_decided(void *arg, enum policy_result result)
{
	struct telling *telling = arg;
	struct leaders *l = telling->leaders;
	struct task *t = tasks_find(l, telling->task, strlen(telling->task));

	if (t) {
		struct standby *sb = of(t);
		sb->busy = false;
		if (result != POLICY_DONE)
			sb->again_ms = host_now_ms(l->session->host) + AGAIN_MS;
		standby_retry(t);
	}
	free(telling);
}

void standby_retry(struct task *t)
{
	struct leaders *l = t->leaders;
	struct standby *sb = of(t);
	bool on = sb->runs > 0;
	bool told = policy_find_node(l->policy, POLICY_RERUN, t->name, l->registry->node,
				     l->registry->machine) != NULL;

	if (sb->busy || on == told || host_now_ms(l->session->host) < sb->again_ms ||
	    !session_is_up(l->session) || !l->policy->folder.ready)
		return;
	struct policy_record record = {.since = host_wall_ms(l->session->host)};
	struct telling *telling = mem_calloc(1, sizeof(*telling));
	record.until = record.since + PREFERRED_MS;
	snprintf(record.kind, sizeof(record.kind), "%s", policy_kind_name(POLICY_RERUN));
	memcpy(record.task, t->name, strlen(t->name) + 1);
	memcpy(record.node, l->registry->node, sizeof(record.node));
	memcpy(record.machine, l->registry->machine, sizeof(record.machine));
	memcpy(record.host, l->registry->hostname, sizeof(record.host));
	snprintf(record.by, sizeof(record.by), "zkleader run");
	snprintf(record.reason, sizeof(record.reason), "the run of %s was lost", sb->tick);
	telling->leaders = l;
	telling->on = on;
	memcpy(telling->task, record.task, sizeof(telling->task));
	sb->busy = true;
	if (on)
		policy_put(l->policy, &record, on_decided, telling);
	else
		policy_remove(l->policy, &record, on_decided, telling);
}

void standby_check(struct leaders *l)
{
	for (size_t i = 0; i < l->policy->n; i++) {
		const struct policy_record *r = &l->policy->items[i]->record;
		if (l->policy->items[i]->kind != POLICY_RERUN ||
		    strcmp(r->node, l->registry->node) != 0)
			continue;
		struct task *t = tasks_find(l, r->task, strlen(r->task));
		if (t)
			standby_retry(t);
	}
}

void standby_set(struct task *t, bool on, const char *tick)
{
	struct standby *sb = of(t);

	if (on)
		sb->runs++;
	else
		sb->runs--;
	if (on)
		snprintf(sb->tick, sizeof(sb->tick), "%s", tick);
	standby_retry(t);
}
