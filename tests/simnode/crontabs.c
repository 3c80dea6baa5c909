/* Crontabs: each site's asks for its tasks at each tick of its own wall clock. */
#include "jobs.h"
#include "ticks.h"
#include "wall.h"

#define AHEAD_PER_MILLE 5   /* a user asks for a tick that is far ahead */
#define ANY_PER_MILLE	500 /* with --partitions */

static int64_t last_tick[HOSTS_MAX];

/* Asks as a crontab does: a line for each task, or one for whatever partitions are led there. */
static void ask_all(struct site *s, int64_t wall_ms)
{
	if (sim.options.partitions && random_chance(ANY_PER_MILLE)) {
		jobs_ask(s, TASKS_MAX, wall_ms, 0);
		return;
	}
	for (unsigned k = 0; k < sim.n_tasks; k++)
		if (s->running && (s->tasks >> k & 1))
			jobs_ask(s, k,
				 wall_ms + (random_chance(AHEAD_PER_MILLE) ? JOBS_AHEAD_MS : 0), 0);
}

static void on_cron(void *arg, uint64_t number)
{
	struct site *s = arg;
	int64_t wall_ms = host_wall_ms(machine_host(s->machine));
	int64_t tick_ms = task_settings[0].tick_ms, tick = wall_ms / tick_ms;

	(void)number;
	if (tick != last_tick[s->id] && !s->machine->suspended) {
		last_tick[s->id] = tick;
		ask_all(s, wall_ms);
	}
	/* Its clock may be set meanwhile. */
	int64_t next = tick_ms - wall_ms % tick_ms;
	event_at(sim.now + (next < 1000 ? next : 1000) * MS + random_exp(50 * MS), on_cron, s, 0);
}

void crontabs_reset(void)
{
	if (!sim.options.ticks)
		return;
	int64_t tick_us = random_range(2, 10) * SECOND;
	/* clocks that are kept by NTP, or minutes apart */
	bool near = random_chance(600) || sites_are_mixed();
	unsigned wrong =
		random_chance(500) ? (unsigned)random_range(0, sim.n_hosts - 1) : HOSTS_MAX;
	for (unsigned k = 0; k < TASKS_MAX; k++) {
		task_settings[k].tick_ms = tick_us / MS;
		task_settings[k].alert_after_ms = k % 2 ? 3 * tick_us / MS : 0;
	}
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		sites[i].machine->wall_ms =
			near ? random_range(0, 500) : wall_round(random_range(-300000, 300000));
		if (i == wrong)
			sites[i].machine->wall_ms = wall_draw();
		last_tick[i] = 0;
		if (!sim.options.schedules)
			event_at(random_range(5, 10) * SECOND, on_cron, &sites[i], 0);
	}
}
