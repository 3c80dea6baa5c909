/* The sidecars: where each runs, and what starts and ends it. Nothing outlives it but its name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "machine.h"
#include "node/node.h"
#include "scale.h"

#define AWAY_US (200 * MS) /* from the end of one to the start of the next */

struct place {
	struct machine *machine;
	struct node_settings settings;
	char hostname[24], name[48], machine_id[16];
	struct node *node; /* NULL: it does not run */
	unsigned version;
	uint64_t life;
};

static struct place places[HOSTS_MAX];
static struct task_settings *settings;

bool log_enabled(enum log_level level)
{
	(void)level;
	return false;
}

void log_write(enum log_level level, const char *message, const struct log_field *fields)
{
	(void)level, (void)message, (void)fields;
}

/* --- what the node tells -------------------------------------------------------------------------- */

static void on_task(void *arg, struct task *t)
{
	(void)arg, (void)t;
}

static void on_listing(void *arg, struct listing *listing)
{
	(void)arg, (void)listing;
}

static void on_told(void *arg)
{
	(void)arg;
}

static void on_membership(void *arg, const char *event, const struct member *m)
{
	(void)arg, (void)event, (void)m;
}

static void on_decision(void *arg, const struct policy_item *item, bool ended)
{
	(void)arg, (void)item, (void)ended;
}

static void on_handoff(void *arg, const struct handoff *handoff)
{
	(void)arg, (void)handoff;
}

static void on_handoff_runs(void *arg, const struct handoff_run *runs, size_t n)
{
	(void)arg, (void)runs, (void)n;
}

static void on_answer(void *arg, uint32_t request, const struct run_answer *answer)
{
	(void)arg, (void)request, (void)answer;
}

/* --- its life ------------------------------------------------------------------------------------- */

void place_start(unsigned number)
{
	const struct node_handlers handlers = {
		.task_changed = on_task,
		.task_added = on_task,
		.task_removed = on_task,
		.listing_changed = on_listing,
		.leased = on_told,
		.membership = on_membership,
		.decision = on_decision,
		.status = on_told,
		.handoff = on_handoff,
		.handoff_runs = on_handoff_runs,
		.runs = {.answer = on_answer, .released = on_told},
	};
	const struct node_timing timing = {.yield_delay_ms = plan.yield_delay_ms,
					   .tick_guard_ms = 5000,
					   .clock_tolerance_ms = 5000};
	const struct node_health health = {.known = true, .says = ""};
	struct place *p = &places[number];
	struct task_settings *mine = mem_calloc(plan.tasks, sizeof(*mine));
	char version[16];
	size_t n = 0;

	for (unsigned k = number % groups; k < plan.tasks; k += groups)
		mine[n++] = settings[k];
	snprintf(version, sizeof(version), "1.%u", p->version);
	machine_start(p->machine, NULL, NULL);
	p->life++;
	p->node = mem_calloc(1, sizeof(*p->node));
	node_init(p->node, machine_host(p->machine), &p->settings, &handlers);
	node_set_version(p->node, version);
	node_configure(p->node, &timing, mine, n);
	node_set_health(p->node, &health);
	node_start(p->node);
	free(mine);
}

static void end(struct place *p)
{
	p->machine->silent = true;
	node_done(p->node);
	machine_end(p->machine);
	free(p->node);
	p->node = NULL;
	p->life++;
}

static void on_next(void *arg, uint64_t life)
{
	struct place *p = arg;

	if (life != p->life)
		return;
	end(p);
	p->version++;
	place_start((unsigned)(p - places));
}

void place_restart(unsigned number)
{
	struct place *p = &places[number];

	node_stop(p->node, on_told, NULL);
	machine_wake(p->machine, 0);
	event_at(sim.now + AWAY_US, on_next, p, p->life);
}

void place_kill(unsigned number)
{
	struct place *p = &places[number];

	p->machine->silent = true;
	node_stop(p->node, on_told, NULL);
	end(p);
}

/* --- all of them ---------------------------------------------------------------------------------- */

void places_begin(void)
{
	settings = mem_calloc(plan.tasks, sizeof(*settings));
	for (unsigned k = 0; k < plan.tasks; k++)
		settings[k] = (struct task_settings){.name = task_name[k],
						     .rank_position = -1,
						     .tick_ms = 60000,
						     .hold_max_ms = 24 * 3600 * 1000,
						     .history = 50};
	for (unsigned i = 0; i < plan.workers; i++) {
		struct place *p = &places[i];
		*p = (struct place){.machine = &machines[i], .life = p->life};
		p->machine->clock = (struct clock){.start = 1000 * SECOND};
		snprintf(p->hostname, sizeof(p->hostname), "host%04u.example.net", i);
		snprintf(p->name, sizeof(p->name), "%s:/run/zkleader/zkleader.sock", p->hostname);
		snprintf(p->machine_id, sizeof(p->machine_id), "%012u", i);
		p->settings = (struct node_settings){.servers = "zookeeper:2181",
						     .root = SCALE_ROOT,
						     .session_timeout_ms = plan.timeout_ms,
						     .roll_from = plan.roll_from,
						     .hostname = p->hostname,
						     .name = p->name,
						     .machine = p->machine_id};
	}
}

void places_end(void)
{
	for (unsigned i = 0; i < plan.workers; i++)
		if (places[i].node)
			place_kill(i);
	free(settings);
	settings = NULL;
}
