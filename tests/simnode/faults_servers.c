/* Servers that stop, stand still or lose their data, and what they grant. */
#include "faults.h"

#include "oracle.h"
#include "server.h"
#include "wall.h"

static bool ensemble_down, ensemble_lost;

static void on_resume(void *arg, uint64_t number)
{
	(void)arg;
	if (number >> 8 == fault_era)
		server_resume((unsigned)(number & 255));
}

static void on_pause(void *arg, uint64_t number)
{
	struct server *s = arg;

	if (number >> 8 == fault_era && s->alive && !s->inbox.paused)
		server_pause(s->id);
}

static bool pause_server(void)
{
	unsigned s = fault_server();

	if (!servers[s].alive || servers[s].inbox.paused)
		return false;
	server_pause(s);
	event_at(sim.now + fault_time(), on_resume, NULL, fault_era << 8 | s);
	return true;
}

/* Whoever has just come to lead the task hears nothing more for a while. */
static void on_claimed_at_resume(void *arg, uint64_t number)
{
	int64_t *until = arg;
	unsigned task = number & 255;

	if (number >> 8 != fault_era)
		return;
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		struct task *t = site_task(&sites[i], task);
		if (!t || sites[i].machine->inbox.paused || !election_leads(&t->election))
			continue;
		cut_site(&sites[i], false, true, sim.timeout_ms * MS);
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
	static int64_t stall_until;
	unsigned task = (unsigned)random_range(0, sim.n_tasks - 1);
	int leader = servers_leader(), owner = oracle_leader(task);
	/* The deletion is heard of before; the next in rank claims; expiry comes in steps of a tick. */
	int64_t late = random_range(0, sim.tick_ms * 3 / 2);
	int64_t begins = sim.now + random_range(50, sim.tick_ms / 2) * MS;
	int64_t ends = sim.now + (sim.timeout_ms + ELECTION_STAGGER_MS + late) * MS;

	if (sim.options.ticks || leader < 0 || owner < 0 || sites[owner].machine->inbox.paused ||
	    !servers_whole())
		return false;
	TRACE("server %d is to be paused from %.3f to %.3f", leader, (double)begins / 1e6,
	      (double)ends / 1e6);
	pause_site(&sites[owner], false, ends - sim.now + fault_time());
	oracle_hand(task);
	hand_delete(oracle_leader_path(task));
	event_at(begins, on_pause, &servers[leader], fault_era << 8 | (unsigned)leader);
	event_at(ends, on_resume, NULL, fault_era << 8 | (unsigned)leader);
	stall_until = ends + 200 * MS;
	event_at(ends, on_claimed_at_resume, &stall_until, fault_era << 8 | task);
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
	unsigned s = fault_server();

	if (!servers[s].alive || ensemble_down)
		return false;
	/* Whoever loses data must not be the only one that had them. */
	if (wipe && (sim.n_servers < 3 || !servers_whole() || servers_leader() == (int)s))
		return false;
	server_stop(s);
	event_at(sim.now + fault_time(), on_start_server, &servers[s], servers[s].life << 1 | wipe);
	return true;
}

static void on_start_ensemble(void *arg, uint64_t number)
{
	(void)arg;
	if (number >> 1 != fault_era)
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
	int64_t down = fault_time();

	if (ensemble_down)
		return false;
	/*
	 * Servers that lose all sessions stay away until no client can believe that its own lives.
	 */
	if (wipe)
		down += 2 * sim.timeout_ms * MS + SECOND;
	TRACE("all servers stop for %.3f s", (double)down / 1e6);
	for (unsigned i = 0; i < sim.n_servers; i++)
		if (servers[i].alive)
			server_stop(i);
	ensemble_down = true;
	ensemble_lost = wipe;
	event_at(sim.now + down, on_start_ensemble, NULL, fault_era << 1 | wipe);
	return true;
}

/* The server comes back and grants less, or more, than what clients have. */
static bool change_timeouts(void)
{
	unsigned s = fault_server();
	int64_t less = sim.timeout_ms / random_range(2, 5);

	if (!servers[s].alive || ensemble_down)
		return false;
	if (less < sim.least_ms)
		less = sim.least_ms;
	servers[s].least_ms = random_chance(300) ? sim.timeout_ms : sim.least_ms;
	servers[s].most_ms = random_chance(500) ? less : 20 * sim.tick_ms;
	if (servers[s].most_ms < servers[s].least_ms)
		servers[s].most_ms = servers[s].least_ms;
	TRACE("server %u grants %lld to %lld ms", s, (long long)servers[s].least_ms,
	      (long long)servers[s].most_ms);
	server_stop(s);
	event_at(sim.now + random_exp(300 * MS), on_start_server, &servers[s],
		 servers[s].life << 1);
	return true;
}

/* A leader whose timeout has just shrunk on its present connection hears and says nothing more. */
static void on_shrunk(void *arg, uint64_t number)
{
	struct site *s = arg;
	struct lib *l = fault_lib(s);

	if (number >> 8 != fault_era || !s->running)
		return;
	if (l && l->timeout_ms < sim.timeout_ms)
		cut_site(s, true, true, sim.timeout_ms * MS);
	else if ((number & 255) > 0)
		event_at(sim.now + 5 * MS, on_shrunk, s, number - 1);
}

static bool shrink(void)
{
	int leader = oracle_leader((unsigned)random_range(0, sim.n_tasks - 1));

	if (leader < 0 || sim.timeout_ms < 2 * sim.least_ms)
		return false;
	struct lib *l = fault_lib(&sites[leader]);
	if (!l || l->timeout_ms < sim.timeout_ms)
		return false;
	TRACE("all servers grant %lld ms at most", (long long)sim.least_ms);
	for (unsigned i = 0; i < sim.n_servers; i++)
		servers[i].least_ms = servers[i].most_ms = sim.least_ms;
	lib_lose(l);
	event_at(sim.now + 1 * MS, on_shrunk, &sites[leader], fault_era << 8 | 200);
	return true;
}

static bool set_server_clock(void)
{
	unsigned s = fault_server();

	servers[s].wall_ms = wall_draw();
	TRACE("the clock of server %u is wrong by %lld ms", s, (long long)servers[s].wall_ms);
	return true;
}

bool faults_servers(enum fault what)
{
	switch ((int)what) {
	case FAULT_SERVER_PAUSE: return pause_server();
	case FAULT_LEADER_STALL: return stall_leader();
	case FAULT_SERVER_CRASH: return crash_server(false);
	case FAULT_SERVER_WIPE: return crash_server(true);
	case FAULT_ENSEMBLE_CRASH: return random_chance(200) && crash_ensemble(false);
	case FAULT_ENSEMBLE_WIPE: return random_chance(50) && crash_ensemble(true);
	case FAULT_TIMEOUT: return random_chance(300) && change_timeouts();
	case FAULT_SHRINK: return random_chance(300) && shrink();
	case FAULT_SERVER_CLOCK: return set_server_clock();
	default: return false;
	}
}

void servers_spare(void)
{
	ensemble_down = ensemble_lost = false;
}

bool servers_lost(void)
{
	return ensemble_lost;
}

void servers_heal(void)
{
	for (unsigned i = 0; i < sim.n_servers; i++) {
		for (unsigned j = 0; j < sim.n_servers; j++)
			if (i != j)
				net_heal_servers(i, j);
		for (unsigned j = 0; j < sim.n_hosts; j++)
			net_heal_client(j, i);
	}
	for (unsigned i = 0; i < sim.n_servers; i++) {
		server_resume(i);
		servers[i].least_ms = sim.timeout_ms; /* so that all have the same again */
		servers[i].most_ms =
			20 * sim.tick_ms > sim.timeout_ms ? 20 * sim.tick_ms : sim.timeout_ms;
		if (!servers[i].alive)
			server_start(i, true);
	}
	ensemble_down = false;
}
