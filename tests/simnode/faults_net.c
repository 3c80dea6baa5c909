/* Faults between clients and servers, and between servers. */
#include "faults.h"

#include "oracle.h"
#include "scenario.h"
#include "server.h"

static void on_heal_client(void *arg, uint64_t number)
{
	(void)arg;
	if (number >> 16 == fault_era)
		net_heal_client(number & 255, number >> 8 & 255);
}

void cut_site(const struct site *s, bool up, bool down, int64_t for_us)
{
	TRACE("site %u is cut off%s for %.3f s", s->id,
	      up && down ? ""
	      : up	 ? " upwards"
			 : " downwards",
	      (double)for_us / 1e6);
	for (unsigned i = 0; i < sim.n_servers; i++) {
		net_cut_client(s->id, i, up, down);
		event_at(sim.now + for_us, on_heal_client, NULL, fault_era << 16 | i << 8 | s->id);
	}
}

static bool cut_link(bool one_way)
{
	struct site *s = fault_victim();
	struct lib *l = fault_lib(s);
	int64_t for_us = fault_time();
	bool up = !one_way || random_chance(500);

	if (!s)
		return false;
	if (random_chance(500) || !l) {
		cut_site(s, up, !one_way || !up, for_us);
		return true;
	}
	unsigned server = l->connection->server;
	TRACE("site %u loses sight of server %u for %.3f s", s->id, server, (double)for_us / 1e6);
	net_cut_client(s->id, server, up, !one_way || !up);
	event_at(sim.now + for_us, on_heal_client, NULL, fault_era << 16 | server << 8 | s->id);
	return true;
}

static bool reset_connection(void)
{
	struct site *s = fault_victim();
	struct lib *l = fault_lib(s);

	if (!l || s->machine->inbox.paused)
		return false;
	TRACE("the connection of site %u is reset", s->id);
	if (random_chance(500))
		server_reset_connection(l->connection);
	lib_lose(l);
	return true;
}

/* The next write of it is lost, or its answer. */
static bool doom(enum doom what)
{
	struct lib *l = fault_lib(fault_victim());

	if (!l || l->doom != DOOM_NONE)
		return false;
	l->doom = what;
	return false; /* counted when it happens */
}

static void on_heal_server(void *arg, uint64_t number)
{
	(void)arg;
	if (number >> 8 != fault_era)
		return;
	for (unsigned i = 0; i < sim.n_servers; i++)
		if (i != (number & 255))
			net_heal_servers(i, (unsigned)(number & 255));
}

static void cut_server_off(unsigned s, int64_t for_us)
{
	TRACE("server %u is cut off for %.3f s", s, (double)for_us / 1e6);
	for (unsigned i = 0; i < sim.n_servers; i++)
		if (i != s)
			net_cut_servers(i, s);
	event_at(sim.now + for_us, on_heal_server, NULL, fault_era << 8 | s);
}

static bool cut_server(void)
{
	if (sim.n_servers < 3)
		return false;
	cut_server_off(fault_server(), fault_time() + (random_chance(500) ? sim.sync_ms * MS : 0));
	return true;
}

/* --- a handover ------------------------------------------------------------------------------------ */

/* The server that it finds next is cut off when it has heard that the session lives, and not of the release. */
static void on_reconnecting(void *arg, uint64_t number)
{
	struct site *s = arg;

	if (number >> 16 != fault_era || !s->running)
		return;
	for (const struct lib *l = s->machine->libs; l; l = l->next) {
		if (!l->connection || !l->connection->granted)
			continue;
		cut_server_off(l->connection->server, sim.timeout_ms * MS);
		return;
	}
	if ((number & 0xffff) > 0)
		event_at(sim.now + MS / 5, on_reconnecting, s, number - 1);
}

static void on_release_lost(void *arg, uint64_t number)
{
	struct site *s = arg;
	struct lib *l = fault_lib(s);

	if (number != fault_era || !s->running || s->machine->inbox.paused || !l)
		return;
	TRACE("the connection of site %u is reset, a release is on its way", s->id);
	sim.figures.faults[FAULT_RELEASE]++;
	lib_lose(l);
	event_at(sim.now + 1, on_reconnecting, s, fault_era << 16 | 1000);
}

void fault_at_release(struct site *s)
{
	if (scenario_is_storm() && sim.n_servers >= 3 && random_chance(300))
		event_at(sim.now + random_range(1, 2 * sim.delay_us), on_release_lost, s,
			 fault_era);
}

bool faults_net(enum fault what)
{
	switch ((int)what) {
	case FAULT_RESET: return reset_connection();
	case FAULT_LINK: return cut_link(false);
	case FAULT_LINK_ONE_WAY: return cut_link(true);
	case FAULT_PARTITION: return cut_server();
	case FAULT_LOST_REQUEST: return doom(DOOM_REQUEST);
	case FAULT_LOST_ANSWER: return doom(DOOM_ANSWER);
	default: return false;
	}
}
