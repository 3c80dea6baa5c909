#include "scenario.h"

#include "jobs.h"
#include "node/ledger/ledger.h"
#include "node/schedule/schedules.h"
#include "oracle.h"
#include "alerts.h"
#include "crowd.h"
#include "disagree.h"
#include "hostages.h"
#include "lists.h"
#include "notices.h"
#include "recipes.h"
#include "roll.h"
#include "renames.h"
#include "rest.h"
#include "schedules.h"
#include "server.h"
#include "splits.h"
#include "tables.h"

#define POLL	  (250 * MS)
#define BLINK_MAX (4 * SECOND)
#define EXCUSE_MAX \
	(750 * SECOND) /* until all have asked for the servers' time again, and have yielded */
#define BACK_US	   (25 * SECOND) /* until hands have taken back what they made */
#define PAUSES_MAX (65 * SECOND) /* an order that ends by itself has ended by then */

static enum { PHASE_STORM, PHASE_SETTLE, PHASE_REST, PHASE_CHANGE } phase;
static int64_t phase_began, rest_began, storm_mean, storm_ends;
static unsigned changes_left;
static uint64_t cuts_before, cuts_seen;
static int64_t cut_at; /* when a connection was lost last */
static enum change change;

static void on_poll(void *arg, uint64_t number);

/* From the last fault until all must be led: sessions run out, servers find a leader, and those who do
 * not know who led last wait for as long again. */
static int64_t settle_bound(void)
{
	return 3 * sim.timeout_ms * MS + 3 * sim.sync_ms * MS + 60 * SECOND + BACK_US + PAUSES_MAX;
}

/*
 * The same for one change: a session, the delay before a yield and the full minute. A server that learns only
 * now where a session is ends its connection: who loses a claim to that, and had waited for an owner's lease,
 * waits for it again, as somebody may have had the task meanwhile. Who is stopped lets its jobs end first.
 */
static int64_t change_bound(void)
{
	int64_t again_ms = sim.cuts != cuts_before || change == CHANGE_KILL ? sim.timeout_ms : 0;
	bool stops = change == CHANGE_LEAVE || change == CHANGE_BLINK;
	int64_t jobs_us = (sim.options.ticks || sim.options.queues) && stops
				  ? SITE_STOP_US + sim.timeout_ms * MS
				  : 0;

	return (sim.timeout_ms + 2 * sim.tick_ms + again_ms) * MS + 25 * SECOND + jobs_us;
}

bool scenario_is_storm(void)
{
	return phase == PHASE_STORM;
}

/* --- storms --------------------------------------------------------------------------------------- */

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
		faults_heal();
		phase = PHASE_SETTLE;
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

/* --- one change ----------------------------------------------------------------------------------- */

static struct site *pick(bool running)
{
	unsigned first = (unsigned)random_range(0, sim.n_hosts - 1);

	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (sites[(first + i) % sim.n_hosts].running == running)
			return &sites[(first + i) % sim.n_hosts];
	return NULL;
}

static void on_blink(void *arg, uint64_t life)
{
	struct site *s = arg;

	if (s->running && s->life == life)
		site_stop(s);
}

static bool make_change(void)
{
	change = (enum change)random_range(0, CHANGES - 1);
	struct site *s = pick(change != CHANGE_JOIN && change != CHANGE_BLINK);

	if (!s)
		return false;
	rest_before();
	switch (change) {
	case CHANGE_JOIN:
		site_install(s);
		site_start(s, false);
		break;
	case CHANGE_LEAVE: site_stop(s); break;
	case CHANGE_BLINK:
		site_start(s, false);
		event_at(sim.now + random_range(0, BLINK_MAX), on_blink, s, s->life);
		break;
	case CHANGE_KILL: site_kill(s); break;
	case CHANGE_RESTART:
		site_kill(s);
		site_start(s, true);
		break;
	case CHANGE_VERSION:
		site_set_version(s, (unsigned)random_range(0, n_version_names - 1));
		break;
	case CHANGE_DRAIN: return order_drain(s, !order_is_drained(s));
	case CHANGE_TASKS:
		site_toggle_task(s);
		site_configure(s);
		break;
	case CHANGES: break;
	}
	return true;
}

/* --- quiet times ---------------------------------------------------------------------------------- */

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
	disagree_begin();
}

static void at_rest(void)
{
	int64_t longest = sim.options.disagree ? 120 * SECOND : 20 * SECOND;
	int64_t length = phase_began + random_range(longest / 10, longest);

	/* The sessions of those who are no more have to end first. */
	if (sim.now < length || rest_sessions_left())
		return;
	if (hostages_begin()) {
		phase = PHASE_SETTLE;
		phase_began = sim.now;
		return;
	}
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

/*
 * Until when what is not in order may be so, as it will be by itself: a server that learns only now where a
 * session is ends its connection.
 */
static int64_t excused_until(int64_t until)
{
	int64_t connected = cut_at + sim.timeout_ms * MS + 25 * SECOND;

	return until > connected ? until : connected;
}

/* Waits until all is at rest: a change takes a moment to show, and leases to be as long as ever. */
static void settling(const char *problem, int64_t until)
{
	int64_t bound = phase_began + (phase == PHASE_SETTLE ? settle_bound() : change_bound());
	int64_t least = phase == PHASE_SETTLE ? BACK_US + PAUSES_MAX : 0;

	if (phase == PHASE_CHANGE && change == CHANGE_KILL)
		least = (sim.timeout_ms + 2 * sim.tick_ms) * MS;
	if (phase == PHASE_CHANGE && change == CHANGE_BLINK)
		least = BLINK_MAX + SECOND;
	if (problem || rest_began < phase_began)
		rest_began = sim.now;
	if (!problem && !hostages_waiting() &&
	    sim.now >= rest_began + 3 * SECOND + sim.timeout_ms * MS / 2 &&
	    sim.now >= phase_began + least) {
		/* Whose jobs end first stays for long, and so do its tasks. */
		if (phase == PHASE_CHANGE &&
		    (sim.options.ticks || sim.options.disagree || sim.options.crowd))
			sim.figures.changes++;
		else if (phase == PHASE_CHANGE)
			rest_after(change);
		settled();
	} else if (problem && sim.now > bound && !hostages_waiting() &&
		   (sim.now > excused_until(until) + SECOND || sim.now > bound + EXCUSE_MAX)) {
		sim_violation("%.1f s after the last %s, %s", (double)(sim.now - phase_began) / 1e6,
			      phase == PHASE_SETTLE ? "fault" : "change", problem);
	}
}

static void on_poll(void *arg, uint64_t number)
{
	int64_t until;
	const char *problem = rest_problem(&until);

	(void)arg, (void)number;
	if (sim.cuts != cuts_seen)
		cut_at = sim.now;
	cuts_seen = sim.cuts;
	switch (phase) {
	case PHASE_REST:
		if (sim.options.disagree)
			disagree_look();
		/* With ticks nobody waits for the fleet to be at rest, so it may not be quite. */
		if (problem && !sim.options.ticks && !sim.options.disagree &&
		    sim.now > excused_until(0))
			sim_violation("nothing happened, and %s", problem);
		else if (!problem)
			at_rest();
		break;
	case PHASE_SETTLE:
	case PHASE_CHANGE: settling(problem, until); break;
	case PHASE_STORM: break;
	}
	if (phase != PHASE_STORM)
		event_at(sim.now + POLL, on_poll, NULL, 0);
}

/* --- questions from the socket, at any moment ----------------------------------------------------- */

static void on_history(void *arg, bool ok, const struct ledger_entry *entries, size_t n)
{
	(void)arg, (void)ok, (void)entries, (void)n;
}

static void on_question(void *arg, uint64_t number)
{
	struct site *s = &sites[random_range(0, sim.n_hosts - 1)];

	(void)arg, (void)number;
	if (s->running && machine_listens(s->machine)) {
		for (unsigned k = 0; k < sim.n_tasks; k++)
			oracle_ask(s, k);
		crowd_check(s);
		if (session_is_up(&s->node.session))
			ledger_history(&s->node.leaders, task_settings[0].name, NULL, on_history,
				       NULL);
		tables_look(s);
		machine_wake(s->machine, 0);
	}
	event_at(sim.now + random_exp(SECOND), on_question, NULL, 0);
}

/* --- the beginning -------------------------------------------------------------------------------- */

static void on_start(void *arg, uint64_t number)
{
	struct site *s = arg;

	(void)number;
	if (s->running)
		return;
	site_install(s);
	site_start(s, false);
}

static void draw_world(void)
{
	static const int64_t ticks[] = {2000, 2000, 2000, 1000, 500};
	static const int64_t timeouts[] = {2, 2, 3, 5, 5, 10, 20}; /* in ticks */
	static const int64_t syncs[] = {2, 5, 5, 5, 10, 20};

	sim.n_servers = random_chance(700) ? 3 : random_chance(500) ? 1 : 5;
	sim.n_hosts = sim.options.hosts ? sim.options.hosts : (unsigned)random_range(2, 8);
	sim.n_tasks = sim.options.tasks ? sim.options.tasks : (unsigned)random_range(1, 8);
	if (sim.options.partitions)
		sim.n_tasks = PARTITIONS;
	sim.tick_ms = ticks[random_range(0, 4)];
	sim.timeout_ms = sim.tick_ms * timeouts[random_range(0, 6)];
	sim.sync_ms = sim.tick_ms * syncs[random_range(0, 5)];
	sim.delay_us = random_range(100, 20 * MS);
	sim.late_us = 5 * MS;
	sim.server_delay_us = random_range(100, random_chance(850) ? 5 * MS : 80 * MS);
	/* Below, slow links eat the lease up. */
	sim.least_ms = sim.server_delay_us < 5 * MS ? 2000 : 2000 + 60 * sim.server_delay_us / MS;
	if (sim.least_ms < 2 * sim.tick_ms)
		sim.least_ms = 2 * sim.tick_ms;
	if (sim.timeout_ms < sim.least_ms)
		sim.timeout_ms = sim.least_ms / sim.tick_ms * sim.tick_ms + sim.tick_ms;
	TRACE("%u servers, %u hosts, %u tasks, T %lld ms, tick %lld ms, delays %lld and %lld us",
	      sim.n_servers, sim.n_hosts, sim.n_tasks, (long long)sim.timeout_ms,
	      (long long)sim.tick_ms, (long long)sim.delay_us, (long long)sim.server_delay_us);
}

void scenario_begin(void)
{
	draw_world();
	net_reset();
	servers_reset();
	machines_reset();
	sites_reset();
	oracle_reset();
	rest_reset();
	orders_reset();
	splits_reset();
	disagree_reset();
	faults_reset();
	jobs_reset();
	crontabs_reset();
	tables_reset();
	recipes_reset();
	alerts_reset();
	notices_reset();
	crowd_reset();
	schedules_begin();
	renames_begin();
	lists_begin();
	roll_begin();
	for (unsigned i = 0; i < sim.n_servers; i++)
		if (servers[i].most_ms < sim.timeout_ms)
			servers[i].most_ms = sim.timeout_ms;
	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (i == 0 || random_chance(800))
			event_at(random_range(0, 3 * SECOND), on_start, &sites[i], 0);
	phase = PHASE_SETTLE;
	phase_began = 0;
	rest_began = -1;
	cuts_seen = 0;
	cut_at = -HOUR;
	event_at(POLL, on_poll, NULL, 0);
	event_at(SECOND, on_question, NULL, 0);
}
