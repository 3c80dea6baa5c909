#include "oracle.h"
#include "scenario.h"
#include "server.h"

uint64_t drained_now;
static uint64_t era; /* of faults: healing belongs to the one it was made in */
static bool ensemble_down, ensemble_lost;

static int64_t any_time(void)
{
	/* From a moment to well over a session timeout. */
	return random_exp(random_chance(500) ? SECOND : sim.timeout_ms * MS / 2) + 1;
}

static struct sidecar *any_sidecar(bool running)
{
	unsigned first = (unsigned)random_range(0, sim.n_sidecars - 1);

	for (unsigned i = 0; i < sim.n_sidecars; i++) {
		struct sidecar *s = &sidecars[(first + i) % sim.n_sidecars];
		if (s->running == running)
			return s;
	}
	return NULL;
}

/* One that leads something, as a rule: there a fault may hurt. */
static struct sidecar *victim(void)
{
	int leader = oracle_leader((unsigned)random_range(0, sim.n_tasks - 1));

	return leader >= 0 && random_chance(600) ? &sidecars[leader] : any_sidecar(true);
}

/* --- the network ------------------------------------------------------------------------------------------- */

static void on_heal_client(void *arg, uint64_t number)
{
	(void)arg;
	if (number >> 16 == era)
		net_heal_client(number & 255, number >> 8 & 255);
}

static bool cut_link(bool one_way)
{
	struct sidecar *s = victim();
	int64_t until = sim.now + any_time();
	bool up = !one_way || random_chance(500);
	bool all = random_chance(500);

	if (!s)
		return false;
	TRACE("the link of sidecar %u is cut%s for %.3f s", s->id,
	      !one_way ? ""
	      : up     ? " upwards"
		       : " downwards",
	      (double)(until - sim.now) / 1e6);
	for (unsigned i = 0; i < sim.n_servers; i++) {
		if (!all && (!s->lib.connection || s->lib.connection->server != i))
			continue;
		net_cut_client(s->id, i, up, !one_way || !up);
		event_at(until, on_heal_client, NULL, era << 16 | i << 8 | s->id);
	}
	return true;
}

static bool reset_connection(void)
{
	struct sidecar *s = victim();

	if (!s || !s->lib.connection || s->inbox.paused)
		return false;
	TRACE("the connection of sidecar %u is reset", s->id);
	if (random_chance(500))
		server_reset_connection(s->lib.connection);
	lib_lose(&s->lib);
	return true;
}

static void on_heal_server(void *arg, uint64_t number)
{
	(void)arg;
	if (number >> 8 != era)
		return;
	for (unsigned i = 0; i < sim.n_servers; i++)
		if (i != (number & 255))
			net_heal_servers(i, (unsigned)(number & 255));
}

static unsigned any_server(void)
{
	int leader = servers_leader();

	if (leader >= 0 && random_chance(400))
		return (unsigned)leader;
	return (unsigned)random_range(0, sim.n_servers - 1);
}

static void cut_off(unsigned s, int64_t for_us)
{
	TRACE("server %u is cut off for %.3f s", s, (double)for_us / 1e6);
	for (unsigned i = 0; i < sim.n_servers; i++)
		if (i != s)
			net_cut_servers(i, s);
	event_at(sim.now + for_us, on_heal_server, NULL, era << 8 | s);
}

static bool cut_server(void)
{
	unsigned s = any_server();
	int64_t for_us = any_time() + (random_chance(500) ? sim.sync_ms * MS : 0);

	if (sim.n_servers < 3)
		return false;
	cut_off(s, for_us);
	return true;
}

/* The server that it found is cut off before it hears of the release. */
static void on_reconnecting(void *arg, uint64_t number)
{
	struct sidecar *s = arg;

	if (number >> 8 != era || !s->running)
		return;
	if (s->lib.state == LIB_CONNECTED)
		cut_off(s->lib.connection->server, sim.timeout_ms * MS);
	else if ((number & 255) > 0)
		event_at(sim.now + 2 * MS, on_reconnecting, s, number - 1);
}

static void on_release_lost(void *arg, uint64_t number)
{
	struct sidecar *s = arg;

	if (number != era || !s->running || s->inbox.paused || s->lib.state != LIB_CONNECTED)
		return;
	TRACE("the connection of sidecar %u is reset, a release is on its way", s->id);
	sim.figures.faults[FAULT_RELEASE]++;
	lib_lose(&s->lib);
	event_at(sim.now + 1, on_reconnecting, s, era << 8 | 255);
}

void fault_at_release(struct sidecar *s)
{
	if (scenario_is_storm() && sim.n_servers >= 3 && random_chance(100))
		event_at(sim.now + random_range(1, 2 * sim.delay_us), on_release_lost, s, era);
}

/* --- servers -------------------------------------------------------------------------------------------------- */

static void on_resume_server(void *arg, uint64_t number)
{
	(void)arg;
	if (number >> 8 == era)
		server_resume((unsigned)(number & 255));
}

static void on_pause_server(void *arg, uint64_t number)
{
	struct server *s = arg;

	if (number >> 8 == era && s->alive && !s->inbox.paused)
		server_pause(s->id);
}

static bool pause_server(void)
{
	unsigned s = any_server();

	if (!servers[s].alive || servers[s].inbox.paused)
		return false;
	server_pause(s);
	event_at(sim.now + any_time(), on_resume_server, NULL, era << 8 | s);
	return true;
}

static void on_resume_sidecar(void *arg, uint64_t number);

/* Whoever has just come to lead the task hears nothing more for a while. */
static void on_claimed_at_resume(void *arg, uint64_t number)
{
	int64_t *until = arg;
	unsigned task = number & 255;

	if (number >> 8 != era)
		return;
	for (unsigned i = 0; i < sim.n_sidecars; i++) {
		struct sidecar *s = &sidecars[i];
		if (!s->running || s->inbox.paused || !election_leads(&s->tasks[task].election))
			continue;
		TRACE("sidecar %u hears nothing more", s->id);
		for (unsigned server = 0; server < sim.n_servers; server++) {
			net_cut_client(s->id, server, false, true);
			event_at(sim.now + sim.timeout_ms * MS, on_heal_client, NULL,
				 era << 16 | server << 8 | s->id);
		}
		return;
	}
	if (sim.now < *until)
		event_at(sim.now + 1 * MS, on_claimed_at_resume, arg, number);
}

/*
 * The leader of the servers stands still for about a session timeout, while its followers go on
 * answering reads, and is not replaced. What it commits before it expires the sessions proves nothing.
 * Somebody has to claim just then: a leader node is deleted, whose owner is stopped and so waited for.
 * And whoever has claimed must not hear of the expiry.
 */
static bool stall_leader(void)
{
	unsigned task = (unsigned)random_range(0, sim.n_tasks - 1);
	int leader = servers_leader(), owner = oracle_leader(task);
	/* The deletion is heard of before; the next in rank claims; expiry comes in steps of a tick. */
	int64_t late = random_range(0, sim.tick_ms * 3 / 2);
	int64_t begins = sim.now + random_range(50, sim.tick_ms / 2) * MS;
	int64_t ends = sim.now + (sim.timeout_ms + ELECTION_TURN_MS + late) * MS;
	static int64_t stall_until;
	struct op op = {OP_DELETE_LEADER, task, -1};

	if (sim.options.ticks || leader < 0 || owner < 0 || sidecars[owner].inbox.paused ||
	    !servers_whole())
		return false;
	TRACE("server %d is to be paused from %.3f to %.3f", leader, (double)begins / 1e6,
	      (double)ends / 1e6);
	sidecar_pause(&sidecars[owner], false);
	event_at(ends + any_time(), on_resume_sidecar, &sidecars[owner], era);
	oracle_hand(task);
	servers_by_hand(&op, 1);
	event_at(begins, on_pause_server, &servers[leader], era << 8 | (unsigned)leader);
	event_at(ends, on_resume_server, NULL, era << 8 | (unsigned)leader);
	stall_until = ends + 200 * MS;
	event_at(ends, on_claimed_at_resume, &stall_until, era << 8 | task);
	return true;
}

/* If it is still down since then, and nobody else has started it meanwhile. */
static void on_start_server(void *arg, uint64_t number)
{
	struct server *s = arg;

	if (s->life == number >> 1 && !s->alive && !ensemble_down)
		server_start(s->id, !(number & 1));
}

static bool crash_server(bool wipe)
{
	unsigned s = any_server();

	if (!servers[s].alive || ensemble_down)
		return false;
	/* Whoever loses data must not be the only one that had them. */
	if (wipe && (sim.n_servers < 3 || !servers_whole() || servers_leader() == (int)s))
		return false;
	server_stop(s);
	event_at(sim.now + any_time(), on_start_server, &servers[s], servers[s].life << 1 | wipe);
	return true;
}

static void on_start_ensemble(void *arg, uint64_t number)
{
	(void)arg;
	if (number >> 1 != era)
		return;
	ensemble_down = ensemble_lost = false;
	if (number & 1)
		oracle_forget();
	for (unsigned i = 0; i < sim.n_servers; i++)
		if (!servers[i].alive)
			server_start(i, !(number & 1));
}

static bool crash_ensemble(bool wipe)
{
	int64_t down = any_time();

	if (ensemble_down)
		return false;
	/* Who loses all sessions must stay away until nobody can think that his still lives. */
	if (wipe)
		down += sim.timeout_ms * MS * 102 / 100 + SECOND;
	TRACE("all servers stop for %.3f s", (double)down / 1e6);
	for (unsigned i = 0; i < sim.n_servers; i++)
		if (servers[i].alive)
			server_stop(i);
	ensemble_down = true;
	ensemble_lost = wipe;
	event_at(sim.now + down, on_start_ensemble, NULL, era << 1 | wipe);
	return true;
}

/* --- sidecars --------------------------------------------------------------------------------------------------- */

static void on_resume_sidecar(void *arg, uint64_t number)
{
	if (number == era)
		sidecar_resume(arg);
}

static bool pause_sidecar(bool suspend)
{
	struct sidecar *s = victim();

	if (!s || s->inbox.paused)
		return false;
	sidecar_pause(s, suspend);
	event_at(sim.now + any_time(), on_resume_sidecar, s, era);
	return true;
}

static void on_restart(void *arg, uint64_t number)
{
	struct sidecar *s = arg;

	if (!s->running && number == era)
		sidecar_start(s);
}

static bool end_sidecar(bool kill)
{
	struct sidecar *s = victim();

	if (!s || s->inbox.paused)
		return false;
	if (kill)
		sidecar_kill(s);
	else
		sidecar_stop(s);
	if (random_chance(700))
		event_at(sim.now + any_time(), on_restart, s, era);
	return true;
}

static bool start_sidecar(void)
{
	struct sidecar *s = any_sidecar(false);

	if (s)
		sidecar_start(s);
	return s != NULL;
}

static bool change_version(void)
{
	struct sidecar *s = any_sidecar(true);

	if (!s || s->inbox.paused)
		return false;
	s->version = (unsigned)random_range(0, n_version_names - 1);
	TRACE("sidecar %u has version %s now", s->id, version_names[s->version]);
	registry_publish(s);
	return true;
}

static bool change_tasks(void)
{
	struct sidecar *s = any_sidecar(true);

	if (!s || s->inbox.paused)
		return false;
	s->tasks_mask ^= UINT64_C(1) << random_range(0, sim.n_tasks - 1);
	TRACE("sidecar %u has tasks %llx now", s->id, (unsigned long long)s->tasks_mask);
	leaders_fleet_changed(s);
	registry_publish(s);
	return true;
}

static bool change_config(void)
{
	unsigned task = (unsigned)random_range(0, sim.n_tasks - 1);

	task_configs[task].yield = (enum election_yield)random_range(0, 2);
	TRACE("task %u yields in mode %d now", task, (int)task_configs[task].yield);
	for (unsigned i = 0; i < sim.n_sidecars; i++)
		if (sidecars[i].running && !sidecars[i].inbox.paused)
			leaders_configure(&sidecars[i], task);
	return true;
}

static void on_hear(void *arg, uint64_t number)
{
	struct sidecar *s = arg;

	(void)number;
	if (s->drained == drained_now)
		return;
	s->drained = drained_now;
	if (s->running)
		leaders_fleet_changed(s);
}

void drain(unsigned sidecar, bool on)
{
	TRACE("sidecar %u is %s", sidecar, on ? "drained" : "no longer drained");
	drained_now &= ~(UINT64_C(1) << sidecar);
	drained_now |= (uint64_t)on << sidecar;
	for (unsigned i = 0; i < sim.n_sidecars; i++)
		event_at(sim.now + random_range(0, 100 * MS), on_hear, &sidecars[i], 0);
}

static bool set_wall(void)
{
	struct sidecar *s = any_sidecar(true);

	if (s)
		s->wall_ms += random_range(-300, 300) * 1000;
	return s != NULL;
}

static bool slow_sidecar(void)
{
	struct sidecar *s = victim();

	if (!s || s->inbox.paused)
		return false;
	sidecar_slow(s, random_exp(300 * MS));
	return true;
}

/* --- hands --------------------------------------------------------------------------------------------------------- */

static void on_hand_back(void *arg, uint64_t task)
{
	struct op op = {OP_DELETE_LEADER, (uint32_t)task, -1};
	int leader = servers_leader();

	(void)arg;
	/* Only what a hand made. */
	if (leader >= 0 && servers[leader].prepared.leaders[task].owner == HAND)
		servers_by_hand(&op, 1);
}

static bool by_hand(enum fault what)
{
	uint32_t task = (uint32_t)random_range(0, sim.n_tasks - 1);
	struct op ops[2] = {{OP_DELETE_LEADER, task, -1}, {OP_CREATE_LEADER, task, -1}};
	int leader = oracle_leader(task);
	unsigned n = 1;

	if (sim.options.ticks)
		return false; /* who deletes the ledger's witnesses by hand is on his own */
	if (what == FAULT_HAND_SET)
		ops[0].type = OP_SET_LEADER;
	if (what == FAULT_HAND_TAKE)
		n = 2;
	if (what == FAULT_HAND_WORKER) {
		struct sidecar *s = any_sidecar(true);
		if (!s || !s->registration)
			return false;
		ops[0] = (struct op){OP_DELETE_WORKER, s->registration, -1};
		oracle_hand_worker(s);
	} else if (what != FAULT_HAND_SET) {
		/* Where it hurts: the leader does not hear of it. */
		if (leader >= 0 && random_chance(500) && !sidecars[leader].inbox.paused) {
			sidecar_pause(&sidecars[leader], false);
			event_at(sim.now + any_time(), on_resume_sidecar, &sidecars[leader], era);
		}
		oracle_hand(task);
	}
	TRACE("%s: task %u", fault_names[what], task);
	if (n == 2)
		event_at(sim.now + any_time(), on_hand_back, NULL, task);
	return servers_by_hand(ops, n);
}

/* --- one at random, and the end of all ------------------------------------------------------------------------------- */

static bool inject(enum fault what)
{
	switch (what) {
	case FAULT_RESET: return reset_connection();
	case FAULT_LINK: return cut_link(false);
	case FAULT_LINK_ONE_WAY: return cut_link(true);
	case FAULT_PARTITION: return cut_server();
	case FAULT_SERVER_PAUSE: return pause_server();
	case FAULT_LEADER_STALL: return stall_leader();
	case FAULT_SERVER_CRASH: return crash_server(false);
	case FAULT_SERVER_WIPE: return crash_server(true);
	case FAULT_ENSEMBLE_CRASH: return random_chance(200) && crash_ensemble(false);
	case FAULT_ENSEMBLE_WIPE: return random_chance(50) && crash_ensemble(true);
	case FAULT_PAUSE: return pause_sidecar(false);
	case FAULT_SUSPEND: return pause_sidecar(true);
	case FAULT_KILL: return end_sidecar(true);
	case FAULT_LEAVE: return end_sidecar(false);
	case FAULT_JOIN: return start_sidecar();
	case FAULT_VERSION: return change_version();
	case FAULT_CONFIG: return change_config();
	case FAULT_TASKS: return change_tasks();
	case FAULT_DRAIN:
		drain((unsigned)random_range(0, sim.n_sidecars - 1), random_chance(400));
		return true;
	case FAULT_WALL: return set_wall();
	case FAULT_SLOW: return slow_sidecar();
	case FAULT_HAND_DELETE:
	case FAULT_HAND_SET:
	case FAULT_HAND_TAKE:
	case FAULT_HAND_WORKER: return by_hand(what);
	case FAULT_RELEASE:
	case FAULT_DEPOSED:
	case FAULT_EXPIRED:
	case FAULT_UNKNOWN_DONE:
	case FAULT_UNKNOWN_NOT:
	case FAULT_MOVED:
	case FAULT_STALE:
	case FAULT_TRUNCATED:
	case FAULT_KINDS: break; /* these come of themselves */
	}
	return false;
}

void fault_inject(void)
{
	enum fault what = (enum fault)random_range(0, FAULT_HAND_WORKER);

	if (inject(what))
		sim.figures.faults[what]++;
}

void faults_reset(void)
{
	era++;
	drained_now = 0;
	ensemble_down = ensemble_lost = false;
}

bool faults_waiting(void)
{
	return ensemble_lost;
}

void faults_heal(void)
{
	TRACE("all is healed");
	era++;
	for (unsigned i = 0; i < sim.n_servers; i++) {
		for (unsigned j = 0; j < sim.n_servers; j++)
			if (i != j)
				net_heal_servers(i, j);
		for (unsigned j = 0; j < sim.n_sidecars; j++)
			net_heal_client(j, i);
	}
	for (unsigned i = 0; i < sim.n_servers; i++) {
		server_resume(i);
		if (!servers[i].alive)
			server_start(i, true);
	}
	ensemble_down = false;
	for (unsigned i = 0; i < sim.n_sidecars; i++)
		sidecar_resume(&sidecars[i]);
	/* Who was stopped when the configuration changed reads it now. */
	for (unsigned i = 0; i < sim.n_sidecars; i++)
		for (unsigned k = 0; sidecars[i].running && k < sim.n_tasks; k++)
			leaders_configure(&sidecars[i], k);
	for (unsigned k = 0; k < sim.n_tasks; k++)
		event_at(sim.now + 20 * SECOND, on_hand_back, NULL, k);
	if (!any_sidecar(true))
		start_sidecar();
}
