#include "scenario.h"

#include <stdio.h>

#include "oracle.h"
#include "server.h"
#include "ticks.h"

#define POLL	   (250 * MS)
#define EXCUSE_MAX (330 * SECOND) /* the longest pause after a yield that nobody took, and a bit */

static enum { PHASE_STORM, PHASE_SETTLE, PHASE_REST, PHASE_CHANGE } phase;
static int64_t phase_began, rest_began, storm_mean, storm_ends;
static unsigned changes_left;
static uint64_t cuts_before;
static enum change change;

static void on_poll(void *arg, uint64_t number);

/* From the last fault until all must be led: sessions run out, servers find a leader, and those who do
 * not know who led last wait for as long again. */
static int64_t settle_bound(void)
{
	return 3 * sim.timeout_ms * MS + 3 * sim.sync_ms * MS + 60 * SECOND;
}

/*
 * The same for one change: a session, the delay before a yield and the full minute. A server that learns only
 * now where a session is ends its connection: who loses a claim to that, and had waited for an owner's lease,
 * waits for it again, as somebody may have had the task meanwhile.
 */
static int64_t change_bound(void)
{
	int64_t again_ms = sim.cuts != cuts_before ? sim.timeout_ms : 0;

	return (sim.timeout_ms + 2 * sim.tick_ms + again_ms) * MS + 25 * SECOND;
}

bool scenario_is_storm(void)
{
	return phase == PHASE_STORM;
}

/* --- storms -------------------------------------------------------------------------------------------------- */

static void on_fault(void *arg, uint64_t number)
{
	(void)arg, (void)number;
	if (phase != PHASE_STORM)
		return;
	if (sim.now >= storm_ends && faults_waiting()) {
		event_at(sim.now + SECOND, on_fault, NULL, 0);
		return;
	}
	if (sim.now >= storm_ends) {
		/* What is given up while healing is no longer disturbed. */
		phase = PHASE_SETTLE;
		faults_heal();
		phase_began = sim.now;
		event_at(sim.now + POLL, on_poll, NULL, 0);
		return;
	}
	fault_inject();
	event_at(sim.now + random_exp(storm_mean), on_fault, NULL, 0);
}

static void begin_storm(void)
{
	static const int64_t means[] = {300 * MS, SECOND, 3 * SECOND, 10 * SECOND};

	phase = PHASE_STORM;
	storm_mean = means[random_range(0, 3)];
	storm_ends = sim.now + random_range(10 * SECOND, 200 * SECOND);
	TRACE("a storm begins");
	event_at(sim.now + random_exp(storm_mean), on_fault, NULL, 0);
}

/* --- one change ---------------------------------------------------------------------------------------------- */

static struct sidecar *pick(bool running)
{
	unsigned first = (unsigned)random_range(0, sim.n_sidecars - 1);

	for (unsigned i = 0; i < sim.n_sidecars; i++)
		if (sidecars[(first + i) % sim.n_sidecars].running == running)
			return &sidecars[(first + i) % sim.n_sidecars];
	return NULL;
}

static void on_blink(void *arg, uint64_t number)
{
	struct sidecar *s = arg;

	(void)number;
	if (s->running)
		sidecar_stop(s);
}

static bool make_change(void)
{
	change = (enum change)random_range(0, CHANGES - 1);
	struct sidecar *s = pick(change != CHANGE_JOIN && change != CHANGE_BLINK);

	if (!s)
		return false;
	oracle_before();
	switch (change) {
	case CHANGE_JOIN: sidecar_start(s); break;
	case CHANGE_LEAVE: sidecar_stop(s); break;
	case CHANGE_BLINK:
		sidecar_start(s);
		event_at(sim.now + random_range(0, 4 * SECOND), on_blink, s, 0);
		break;
	case CHANGE_KILL: sidecar_kill(s); break;
	case CHANGE_VERSION:
		s->version = (unsigned)random_range(0, n_version_names - 1);
		TRACE("sidecar %u has version %s now", s->id, version_names[s->version]);
		registry_publish(s);
		break;
	case CHANGE_DRAIN: drain(s->id, !(drained_now >> s->id & 1)); break;
	case CHANGE_TASKS:
		s->tasks_mask ^= UINT64_C(1) << random_range(0, sim.n_tasks - 1);
		leaders_fleet_changed(s);
		registry_publish(s);
		break;
	case CHANGES: break;
	}
	return true;
}

/* --- quiet times --------------------------------------------------------------------------------------------- */

static void settled(void)
{
	int64_t took = rest_began - phase_began;

	TRACE("at rest after %.3f s", (double)took / 1e6);
	if (phase == PHASE_SETTLE && took > sim.figures.worst_settle)
		sim.figures.worst_settle = took;
	if (phase == PHASE_SETTLE)
		changes_left = (unsigned)random_range(1, 6);
	phase = PHASE_REST;
	phase_began = sim.now;
}

static void at_rest(void)
{
	int64_t length = phase_began + random_range(2 * SECOND, 20 * SECOND);

	/* The sessions of those who are no more have to end first. */
	if (sim.now < length || oracle_sessions_left())
		return;
	if (changes_left == 0) {
		begin_storm();
		return;
	}
	changes_left--;
	cuts_before = sim.cuts;
	if (make_change()) {
		phase = PHASE_CHANGE;
		phase_began = sim.now;
	}
}

static void on_poll(void *arg, uint64_t number)
{
	int64_t until;
	const char *problem = oracle_at_rest(&until);
	int64_t bound = phase_began + (phase == PHASE_SETTLE ? settle_bound() : change_bound());

	(void)arg, (void)number;
	switch (phase) {
	case PHASE_REST:
		/* With ticks nobody waits for the fleet to be at rest, so it may not be quite. */
		if (problem && !sim.options.ticks)
			sim_violation("nothing happened, and %s", problem);
		else if (!problem)
			at_rest();
		break;
	case PHASE_SETTLE:
	case PHASE_CHANGE:
		/* What a change begins takes a moment to show, and leases one to be as long as ever. */
		if (problem || rest_began < phase_began)
			rest_began = sim.now;
		if (!problem && sim.now >= rest_began + 3 * SECOND + sim.timeout_ms * MS / 2) {
			if (phase == PHASE_CHANGE &&
			    sim.now < phase_began + (sim.timeout_ms + 2 * sim.tick_ms) * MS &&
			    change == CHANGE_KILL)
				break;
			if (phase == PHASE_CHANGE && sim.options.ticks)
				sim.figures.changes++;
			else if (phase == PHASE_CHANGE)
				oracle_after(change);
			settled();
		} else if (problem && sim.now > bound &&
			   (sim.now > until + SECOND || sim.now > bound + EXCUSE_MAX)) {
			sim_violation("%.1f s after the last %s, %s",
				      (double)(sim.now - phase_began) / 1e6,
				      phase == PHASE_SETTLE ? "fault" : "change", problem);
		}
		break;
	case PHASE_STORM: break;
	}
	if (phase != PHASE_STORM)
		event_at(sim.now + POLL, on_poll, NULL, 0);
}

/* --- the beginning --------------------------------------------------------------------------------------------- */

static void on_start(void *arg, uint64_t number)
{
	struct sidecar *s = arg;

	(void)number;
	if (!s->running)
		sidecar_start(s);
}

static void draw_tasks(void)
{
	static char names[TASKS_MAX][16];

	for (unsigned k = 0; k < TASKS_MAX; k++) {
		snprintf(names[k], sizeof(names[k]), "task-%02u", k);
		task_names[k] = names[k];
		task_minimum[k] = random_chance(100) ? "1.1" : NULL;
		task_configs[k] = (struct election_config){
			.yield = random_chance(700) ? ELECTION_YIELD_RANK
						    : (enum election_yield)random_range(1, 2),
			.yield_delay_ms = random_range(0, 3) * 1000,
			.tick_guard_ms = random_range(0, 5) * 1000};
	}
}

void scenario_begin(void)
{
	static const int64_t ticks[] = {2000, 2000, 2000, 1000, 500};
	static const int64_t timeouts[] = {2, 2, 3, 5, 5, 10, 20}; /* in ticks */
	static const int64_t syncs[] = {2, 5, 5, 5, 10, 20};

	sim.n_servers = random_chance(700) ? 3 : random_chance(500) ? 1 : 5;
	sim.n_sidecars = sim.options.workers ? sim.options.workers : (unsigned)random_range(2, 8);
	sim.n_tasks = sim.options.tasks ? sim.options.tasks : (unsigned)random_range(1, 8);
	sim.tick_ms = ticks[random_range(0, 4)];
	sim.timeout_ms = sim.tick_ms * timeouts[random_range(0, 6)];
	sim.sync_ms = sim.tick_ms * syncs[random_range(0, 5)];
	sim.delay_us = random_range(100, 20 * MS);
	sim.server_delay_us = random_range(100, random_chance(850) ? 5 * MS : 80 * MS);
	/* Below, slow links eat the lease up. */
	int64_t least_ms =
		sim.server_delay_us < 5 * MS ? 2000 : 2000 + 60 * sim.server_delay_us / MS;
	if (sim.timeout_ms < least_ms)
		sim.timeout_ms = least_ms / sim.tick_ms * sim.tick_ms + sim.tick_ms;
	TRACE("%u servers, %u sidecars, %u tasks, T %lld ms, tick %lld ms", sim.n_servers,
	      sim.n_sidecars, sim.n_tasks, (long long)sim.timeout_ms, (long long)sim.tick_ms);
	net_reset();
	draw_tasks();
	servers_reset();
	sidecars_reset();
	oracle_reset();
	faults_reset();
	if (sim.options.ticks)
		ticks_reset();
	for (unsigned i = 0; i < sim.n_sidecars; i++)
		if (i == 0 || random_chance(800))
			event_at(random_range(0, 3 * SECOND), on_start, &sidecars[i], 0);
	phase = PHASE_SETTLE;
	phase_began = 0;
	rest_began = -1;
	event_at(POLL, on_poll, NULL, 0);
}
