/* Operators: they ask a node at random to drain, resign, pause and pin, and to take that back. */
#include <stdio.h>
#include <string.h>

#include "core/fleet/identity.h"
#include "scenario.h"
#include "server.h"
#include "wall.h"
#include "wire/records/record.h"

static bool drained[HOSTS_MAX];

void orders_reset(void)
{
	memset(drained, 0, sizeof(drained));
}

static void on_done(void *arg, enum policy_result result)
{
	(void)arg, (void)result;
}

/* A site whose socket would take the order, NULL: none. */
struct site *order_any_node(void)
{
	unsigned first = (unsigned)random_range(0, sim.n_hosts - 1);

	for (unsigned i = 0; i < sim.n_hosts; i++) {
		struct site *s = &sites[(first + i) % sim.n_hosts];
		if (s->running && !s->stopping && machine_listens(s->machine) &&
		    session_is_up(&s->node.session))
			return s;
	}
	return NULL;
}

static bool give(struct site *by, enum policy_kind kind, const char *task, const char *node,
		 const char *version, bool on)
{
	struct policy_record r = {.since = host_wall_ms(machine_host(by->machine))};

	snprintf(r.kind, sizeof(r.kind), "%s", policy_kind_name(kind));
	snprintf(r.task, sizeof(r.task), "%s", task);
	snprintf(r.node, sizeof(r.node), "%s", node);
	snprintf(r.version, sizeof(r.version), "%s", version);
	snprintf(r.by, sizeof(r.by), "operator");
	snprintf(r.host, sizeof(r.host), "%s", by->hostname);
	identity_machine(&by->node.registry.fleet, node, by->name, by->machine_id, r.machine);
	TRACE("site %u is told: %s%s %s %s %s", by->id, on ? "" : "no longer ", r.kind, r.task,
	      r.node, r.machine);
	/* In quiet times a change is one; and who has not seen it made goes by its end. */
	if (on && scenario_is_storm() && wall_is_near(by->machine->wall_ms) && random_chance(500))
		r.until = r.since + random_range(1, 60) * 1000;
	if (on)
		policy_put(&by->node.policy, &r, on_done, NULL);
	else
		policy_remove(&by->node.policy, &r, on_done, NULL);
	machine_wake(by->machine, 0);
	return true;
}

bool order_pause(const char *task, bool on)
{
	struct site *by = order_any_node();

	return by && give(by, POLICY_PAUSE, task, "", "", on);
}

bool order_drain(struct site *s, bool on)
{
	struct site *by = order_any_node();

	if (!by)
		return false;
	drained[s->id] = on;
	return give(by, POLICY_DRAIN, "", s->name, "", on);
}

bool order_is_drained(const struct site *s)
{
	return drained[s->id];
}

bool order_at_random(void)
{
	struct site *by = order_any_node();
	const char *task = task_settings[random_range(0, sim.n_tasks - 1)].name;
	struct site *about = &sites[random_range(0, sim.n_hosts - 1)];
	const char *version = version_names[random_range(0, n_version_names - 1)];
	bool on = random_chance(500);

	if (!by)
		return false;
	switch (random_range(0, 3)) {
	case 0: drained[about->id] = on; return give(by, POLICY_DRAIN, "", about->name, "", on);
	case 1: return give(by, POLICY_RESIGN, task, about->name, "", on);
	case 2: return give(by, POLICY_PAUSE, task, "", "", on);
	default: return give(by, POLICY_PIN, task, "", version, on);
	}
}
