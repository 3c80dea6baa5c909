/* Faults of sidecars, of their machines, and of what they are told. */
#include "disagree.h"
#include "faults.h"

#include "oracle.h"
#include "scenario.h"
#include "schedules.h"
#include "simq.h"
#include "splits.h"
#include "wall.h"

static bool far; /* a sidecar's clock has been wrong by more than minutes in this storm */

static void on_resume_site(void *arg, uint64_t number)
{
	struct site *s = arg;

	if (number == fault_era)
		machine_resume(s->machine);
}

void pause_site(struct site *s, bool suspend, int64_t for_us)
{
	machine_pause(s->machine, suspend);
	event_at(sim.now + for_us, on_resume_site, s, fault_era);
}

static bool pause_victim(bool suspend)
{
	struct site *s = fault_victim();

	if (!s || s->machine->inbox.paused)
		return false;
	pause_site(s, suspend, fault_time());
	return true;
}

/* The files of its queues come or go; by a reload, if it runs. */
static bool change_queues(struct site *s)
{
	s->queues ^= UINT64_C(1) << random_range(0, QUEUES - 1);
	TRACE("site %u has queues %llx now", s->id, (unsigned long long)s->queues);
	if (s->running)
		site_configure(s);
	return true;
}

/* Changes the site's files for its next start; its session may live on meanwhile. */
static void change_files(struct site *s)
{
	if (!sim.options.queues || random_chance(700))
		return;
	if (random_chance(500))
		change_queues(s);
	else if (!sim.options.recipes) /* whose judges know nodes by their names */
		site_rename(s);
}

/* Stops the site before all guards of its previous process have come back. */
static void on_leave(void *arg, uint64_t number)
{
	struct site *s = arg;

	if (s->running && number == fault_era && fault_listens(s))
		site_stop(s);
}

static void on_restart(void *arg, uint64_t number)
{
	struct site *s = arg;

	if (s->running || number >> 1 != fault_era || s->machine->inbox.paused)
		return;
	site_install(s);
	change_files(s);
	site_start(s, number & 1);
	if (random_chance(150))
		event_at(sim.now + random_exp(100 * MS), on_leave, s, fault_era);
}

/*
 * Has the site promise what it can, and kills it: its next start, a moment later, finds other
 * files.
 */
static void on_other_files(void *arg, uint64_t number)
{
	struct site *s = arg;

	if (!s->running || number != fault_era || !fault_listens(s))
		return;
	for (unsigned k = 0; k < sim.n_tasks; k++)
		oracle_ask(s, k);
	site_kill(s);
	s->yield_delay_ms = 0;
	if (random_chance(300))
		site_toggle_task(s);
	TRACE("site %u has no yield-delay now", s->id);
	event_at(sim.now + random_range(1, 100) * MS, on_restart, s, fault_era << 1 | 1);
}

/* A long yield-delay, under which it leads on beside a better one; then none. */
static bool change_promises(struct site *s)
{
	s->yield_delay_ms = random_range(10, 20) * 1000;
	site_configure(s);
	event_at(sim.now + random_range(1, 9) * SECOND, on_other_files, s, fault_era);
	return true;
}

static bool end_site(enum fault how)
{
	struct site *s = fault_victim();

	if (!fault_listens(s))
		return false;
	if (how == FAULT_RESTART && random_chance(400))
		return change_promises(s);
	if (how == FAULT_LEAVE)
		site_stop(s);
	else
		site_kill(s);
	if (how == FAULT_RESTART)
		event_at(sim.now + random_range(1, 500) * MS, on_restart, s, fault_era << 1 | 1);
	else if (random_chance(700))
		event_at(sim.now + fault_time(), on_restart, s,
			 fault_era << 1 | random_chance(800));
	return true;
}

bool start_site(void)
{
	struct site *s = fault_site(false);

	if (!s || s->machine->inbox.paused)
		return false;
	site_install(s);
	if (sim.options.queues && random_chance(300))
		simq_take_file(s);
	site_start(s, random_chance(900));
	return true;
}

/* A clone, or a backup put back: it has the file of one that lives, as a rule. */
static bool start_copy(void)
{
	const struct site *from = fault_victim();
	struct site *s = fault_site(false);

	if (!from || !s || s->machine->inbox.paused || from->kept.session == 0)
		return false;
	TRACE("site %u gets the session file of site %u", s->id, from->id);
	site_copy_kept(s, from);
	site_start(s, true);
	return true;
}

static bool change_version(void)
{
	struct site *s = fault_site(true);

	if (!fault_listens(s))
		return false;
	site_set_version(s, (unsigned)random_range(0, n_version_names - 1));
	return true;
}

static bool change_tasks(void)
{
	struct site *s = fault_site(true);

	if (!fault_listens(s))
		return false;
	if (sim.options.queues && random_chance(500))
		return change_queues(s);
	site_toggle_task(s);
	site_configure(s);
	return true;
}

static bool edit_file(void)
{
	struct site *s = fault_site(true);

	if (!fault_listens(s))
		return false;
	disagree_edit(s);
	site_configure(s);
	return true;
}

static bool change_config(void)
{
	if (schedules_change())
		return true;
	if (sim.options.disagree && random_chance(500))
		return edit_file();
	unsigned task = (unsigned)random_range(0, sim.n_tasks - 1);

	task_settings[task].yield = (enum election_yield)random_range(0, 2);
	for (unsigned k = 0; sim.options.partitions && k < sim.n_tasks; k++)
		task_settings[k].yield = task_settings[task].yield;
	TRACE("task %u yields in mode %d now", task, (int)task_settings[task].yield);
	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (sites[i].running && fault_listens(&sites[i]))
			site_configure(&sites[i]);
	return true;
}

static bool change_health(void)
{
	struct site *s = fault_site(true);

	if (!fault_listens(s))
		return false;
	s->sick = random_chance(200);
	s->unhealthy = random_chance(500) ? 0 : random_bits() & random_bits();
	TRACE("site %u is %s, unhealthy for %llx", s->id, s->sick ? "sick" : "not sick",
	      (unsigned long long)s->unhealthy);
	site_set_health(s);
	return true;
}

static bool set_wall(void)
{
	struct site *s = fault_site(true);

	if (!s || schedules_are_near())
		return false;
	/* Jobs go by what most clocks say: so most have to be right. */
	s->machine->wall_ms = sim.options.queues && random_chance(700) ? 0 : wall_draw();
	far |= !wall_is_near(s->machine->wall_ms);
	TRACE("the clock of site %u is wrong by %lld ms", s->id, (long long)s->machine->wall_ms);
	return true;
}

static bool slow_site(void)
{
	struct site *s = fault_victim();

	if (!fault_listens(s))
		return false;
	machine_slow(s->machine, random_exp(300 * MS));
	return true;
}

bool faults_sites(enum fault what)
{
	switch ((int)what) {
	case FAULT_PAUSE: return pause_victim(false);
	case FAULT_SUSPEND: return pause_victim(true);
	case FAULT_KILL:
	case FAULT_LEAVE:
	case FAULT_RESTART: return end_site(what);
	case FAULT_JOIN: return start_site();
	case FAULT_COPY: return start_copy();
	case FAULT_VERSION: return change_version();
	case FAULT_CONFIG: return change_config();
	case FAULT_TASKS: return change_tasks();
	case FAULT_ORDER:
		if (schedules_order())
			return true;
		return (random_chance(300) && split_change()) || order_at_random();
	case FAULT_HEALTH: return random_chance(300) && change_health();
	case FAULT_WALL: return set_wall();
	case FAULT_SLOW: return slow_site();
	default: return false;
	}
}

void sites_spare(void)
{
	far = true; /* from the beginning */
}

bool sites_were_far(void)
{
	return far;
}

void sites_heal(void)
{
	bool any = false;

	for (unsigned i = 0; i < sim.n_hosts; i++) {
		struct site *s = &sites[i];
		machine_resume(s->machine);
		s->machine->busy_until = 0;
		s->yield_delay_ms = timing.yield_delay_ms;
		if (!wall_is_near(s->machine->wall_ms)) /* somebody sees that it is another day */
			s->machine->wall_ms = 0;
		any |= s->running && !s->stopping;
	}
	/* Sites that were paused when the configuration changed read it now. */
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		sites[i].queues = UINT64_MAX;
		if (!sites[i].running || sites[i].stopping)
			continue;
		site_configure(&sites[i]);
		for (struct lib *l = sites[i].machine->libs; l; l = l->next)
			l->doom = DOOM_NONE;
	}
	/* And sessions whose timeout has shrunk get the whole again with their next connection. */
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		struct lib *l = fault_lib(&sites[i]);
		if (l && l->timeout_ms != sim.timeout_ms)
			lib_lose(l);
	}
	far = false;
	if (!any)
		start_site();
}
