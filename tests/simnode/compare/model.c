#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "machine.h"
#include "server.h"

struct host *world_open(void)
{
	memset(&sim, 0, sizeof(sim));
	sim.random = 1;
	sim.n_servers = 1;
	sim.tick_ms = 200;
	sim.sync_ms = 1000;
	sim.delay_us = sim.server_delay_us = 200;
	events_reset(net_dispose);
	net_reset();
	servers_reset();
	machines_reset();
	machine_start(&machines[0], NULL, NULL);
	return machine_host(&machines[0]);
}

void world_step(void)
{
	if (!event_next(INT64_MAX))
		abort();
}

void world_hang_up(struct store *a, struct store *b)
{
	store_hang_up(a);
	store_hang_up(b);
}
