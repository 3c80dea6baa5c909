#include "faults.h"

#include "oracle.h"
#include "scenario.h"
#include "server.h"
#include "splits.h"

uint64_t fault_era;

int64_t fault_time(void)
{
	return random_exp(random_chance(500) ? SECOND : sim.timeout_ms * MS / 2) + 1;
}

struct site *fault_site(bool running)
{
	unsigned first = (unsigned)random_range(0, sim.n_hosts - 1);

	for (unsigned i = 0; i < sim.n_hosts; i++) {
		struct site *s = &sites[(first + i) % sim.n_hosts];
		if (s->running == running)
			return s;
	}
	return NULL;
}

bool fault_listens(const struct site *s)
{
	return s && machine_listens(s->machine) && !s->stopping;
}

struct site *fault_victim(void)
{
	int leader = oracle_leader((unsigned)random_range(0, sim.n_tasks - 1));

	return leader >= 0 && random_chance(600) ? &sites[leader] : fault_site(true);
}

struct lib *fault_lib(const struct site *s)
{
	for (struct lib *l = s ? s->machine->libs : NULL; l; l = l->next)
		if (l->state == LIB_CONNECTED)
			return l;
	return NULL;
}

unsigned fault_server(void)
{
	int leader = servers_leader();

	if (leader >= 0 && random_chance(400))
		return (unsigned)leader;
	return (unsigned)random_range(0, sim.n_servers - 1);
}

/* --- one at random, and the end of all ------------------------------------------------------------ */

void fault_inject(void)
{
	enum fault what = (enum fault)random_range(0, FAULT_HAND_RECORD);

	if (faults_net(what) || faults_servers(what) || faults_sites(what) ||
	    (what >= FAULT_HAND_DELETE && faults_hands(what)))
		sim.figures.faults[what]++;
}

void faults_reset(void)
{
	fault_era++;
	servers_spare();
	sites_spare();
}

bool faults_waiting(void)
{
	return servers_lost() || splits_waiting();
}

void faults_heal(void)
{
	bool far = sites_were_far();

	TRACE("all is healed");
	fault_era++;
	servers_heal();
	sites_heal();
	hands_heal(far);
}
