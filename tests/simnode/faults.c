#include <stdio.h>
#include <string.h>

#include "oracle.h"
#include "scenario.h"
#include "server.h"
#include "wall.h"
#include "wire/record.h"

#define BACK_US (20 * SECOND) /* after which a hand takes back what it made, once all is healed */

static uint64_t era; /* of faults: healing belongs to the one it was made in */
static bool ensemble_down, ensemble_lost;
static bool far; /* a sidecar's clock has been wrong by more than minutes in this storm */

static int64_t any_time(void)
{
	/* From a moment to well over a session timeout. */
	return random_exp(random_chance(500) ? SECOND : sim.timeout_ms * MS / 2) + 1;
}

static struct site *any_site(bool running)
{
	unsigned first = (unsigned)random_range(0, sim.n_hosts - 1);

	for (unsigned i = 0; i < sim.n_hosts; i++) {
		struct site *s = &sites[(first + i) % sim.n_hosts];
		if (s->running == running)
			return s;
	}
	return NULL;
}

static bool listens(const struct site *s)
{
	return s && machine_listens(s->machine) && !s->stopping;
}

/* One that leads something, as a rule: there a fault may hurt. */
static struct site *victim(void)
{
	int leader = oracle_leader((unsigned)random_range(0, sim.n_tasks - 1));

	return leader >= 0 && random_chance(600) ? &sites[leader] : any_site(true);
}

/* Its session's library, NULL. */
static struct lib *lib_of(const struct site *s)
{
	for (struct lib *l = s ? s->machine->libs : NULL; l; l = l->next)
		if (l->state == LIB_CONNECTED)
			return l;
	return NULL;
}

/* --- the network ---------------------------------------------------------------------------------- */

static void on_heal_client(void *arg, uint64_t number)
{
	(void)arg;
	if (number >> 16 == era)
		net_heal_client(number & 255, number >> 8 & 255);
}

static void cut_site(const struct site *s, bool up, bool down, int64_t for_us)
{
	TRACE("site %u is cut off%s for %.3f s", s->id,
	      up && down ? ""
	      : up	 ? " upwards"
			 : " downwards",
	      (double)for_us / 1e6);
	for (unsigned i = 0; i < sim.n_servers; i++) {
		net_cut_client(s->id, i, up, down);
		event_at(sim.now + for_us, on_heal_client, NULL, era << 16 | i << 8 | s->id);
	}
}

static bool cut_link(bool one_way)
{
	struct site *s = victim();
	struct lib *l = lib_of(s);
	int64_t for_us = any_time();
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
	event_at(sim.now + for_us, on_heal_client, NULL, era << 16 | server << 8 | s->id);
	return true;
}

static bool reset_connection(void)
{
	struct site *s = victim();
	struct lib *l = lib_of(s);

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
	struct lib *l = lib_of(victim());

	if (!l || l->doom != DOOM_NONE)
		return false;
	l->doom = what;
	return false; /* counted when it happens */
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

static void cut_server_off(unsigned s, int64_t for_us)
{
	TRACE("server %u is cut off for %.3f s", s, (double)for_us / 1e6);
	for (unsigned i = 0; i < sim.n_servers; i++)
		if (i != s)
			net_cut_servers(i, s);
	event_at(sim.now + for_us, on_heal_server, NULL, era << 8 | s);
}

static bool cut_server(void)
{
	if (sim.n_servers < 3)
		return false;
	cut_server_off(any_server(), any_time() + (random_chance(500) ? sim.sync_ms * MS : 0));
	return true;
}

/* --- servers -------------------------------------------------------------------------------------- */

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

static void on_resume_site(void *arg, uint64_t number)
{
	struct site *s = arg;

	if (number == era)
		machine_resume(s->machine);
}

static void pause_for(struct site *s, bool suspend, int64_t for_us)
{
	machine_pause(s->machine, suspend);
	event_at(sim.now + for_us, on_resume_site, s, era);
}

static struct transaction *by_hand(size_t n)
{
	struct transaction *x = transaction_new(TRANSACTION_OPS, HAND, n);

	for (size_t i = 0; i < n; i++)
		x->ops[i].version = -1;
	return x;
}

static bool delete_by_hand(path_id path)
{
	struct transaction *x = by_hand(1);

	x->ops[0].type = STORE_OP_DELETE;
	x->ops[0].path = path;
	return servers_by_hand(x);
}

/* Whoever has just come to lead the task hears nothing more for a while. */
static void on_claimed_at_resume(void *arg, uint64_t number)
{
	int64_t *until = arg;
	unsigned task = number & 255;

	if (number >> 8 != era)
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
	int64_t ends = sim.now + (sim.timeout_ms + ELECTION_TURN_MS + late) * MS;

	if (sim.options.ticks || leader < 0 || owner < 0 || sites[owner].machine->inbox.paused ||
	    !servers_whole())
		return false;
	TRACE("server %d is to be paused from %.3f to %.3f", leader, (double)begins / 1e6,
	      (double)ends / 1e6);
	pause_for(&sites[owner], false, ends - sim.now + any_time());
	oracle_hand(task);
	delete_by_hand(oracle_leader_path(task));
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
		down += 2 * sim.timeout_ms * MS + SECOND;
	TRACE("all servers stop for %.3f s", (double)down / 1e6);
	for (unsigned i = 0; i < sim.n_servers; i++)
		if (servers[i].alive)
			server_stop(i);
	ensemble_down = true;
	ensemble_lost = wipe;
	event_at(sim.now + down, on_start_ensemble, NULL, era << 1 | wipe);
	return true;
}

/* The server comes back and grants less, or more, than what clients have. */
static bool change_timeouts(void)
{
	unsigned s = any_server();
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
	struct lib *l = lib_of(s);

	if (number >> 8 != era || !s->running)
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
	struct lib *l = lib_of(&sites[leader]);
	if (!l || l->timeout_ms < sim.timeout_ms)
		return false;
	TRACE("all servers grant %lld ms at most", (long long)sim.least_ms);
	for (unsigned i = 0; i < sim.n_servers; i++)
		servers[i].least_ms = servers[i].most_ms = sim.least_ms;
	lib_lose(l);
	event_at(sim.now + 1 * MS, on_shrunk, &sites[leader], era << 8 | 200);
	return true;
}

static bool set_server_clock(void)
{
	unsigned s = any_server();

	servers[s].wall_ms = wall_draw();
	TRACE("the clock of server %u is wrong by %lld ms", s, (long long)servers[s].wall_ms);
	return true;
}

/* --- sidecars ------------------------------------------------------------------------------------- */

static bool pause_site(bool suspend)
{
	struct site *s = victim();

	if (!s || s->machine->inbox.paused)
		return false;
	pause_for(s, suspend, any_time());
	return true;
}

static void on_restart(void *arg, uint64_t number)
{
	struct site *s = arg;

	if (!s->running && number >> 1 == era && !s->machine->inbox.paused)
		site_start(s, number & 1);
}

static bool end_site(enum fault how)
{
	struct site *s = victim();

	if (!listens(s))
		return false;
	if (how == FAULT_LEAVE)
		site_stop(s);
	else
		site_kill(s);
	if (how == FAULT_RESTART)
		event_at(sim.now + random_range(1, 500) * MS, on_restart, s, era << 1 | 1);
	else if (random_chance(700))
		event_at(sim.now + any_time(), on_restart, s, era << 1 | random_chance(800));
	return true;
}

static bool start_site(void)
{
	struct site *s = any_site(false);

	if (!s || s->machine->inbox.paused)
		return false;
	site_start(s, random_chance(900));
	return true;
}

static bool change_version(void)
{
	struct site *s = any_site(true);

	if (!listens(s))
		return false;
	site_set_version(s, (unsigned)random_range(0, n_version_names - 1));
	return true;
}

static bool change_tasks(void)
{
	struct site *s = any_site(true);

	if (!listens(s))
		return false;
	s->tasks ^= UINT64_C(1) << random_range(0, sim.n_tasks - 1);
	TRACE("site %u has tasks %llx now", s->id, (unsigned long long)s->tasks);
	site_configure(s);
	return true;
}

static bool change_config(void)
{
	unsigned task = (unsigned)random_range(0, sim.n_tasks - 1);

	task_settings[task].yield = (enum election_yield)random_range(0, 2);
	TRACE("task %u yields in mode %d now", task, (int)task_settings[task].yield);
	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (sites[i].running && listens(&sites[i]))
			site_configure(&sites[i]);
	return true;
}

static bool change_health(void)
{
	struct site *s = any_site(true);

	if (!listens(s))
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
	struct site *s = any_site(true);

	if (!s)
		return false;
	s->machine->wall_ms = wall_draw();
	far |= !wall_is_near(s->machine->wall_ms);
	TRACE("the clock of site %u is wrong by %lld ms", s->id, (long long)s->machine->wall_ms);
	return true;
}

static bool slow_site(void)
{
	struct site *s = victim();

	if (!listens(s))
		return false;
	machine_slow(s->machine, random_exp(300 * MS));
	return true;
}

/* --- hands ---------------------------------------------------------------------------------------- */

/* Only what a hand made. */
static void on_hand_back(void *arg, uint64_t path)
{
	const struct tree *t = servers_tree();
	const struct znode *node = t ? tree_get(t, (path_id)path) : NULL;

	(void)arg;
	if (node && (node->stat.owner == HAND || node->stat.owner == 0))
		delete_by_hand((path_id)path);
}

static bool hand_worker(void)
{
	struct site *s = any_site(true);
	char path[STORE_PATH_MAX];

	if (!s || !s->node.registry.id[0])
		return false;
	snprintf(path, sizeof(path), SITE_ROOT "/workers/%s", s->node.registry.id);
	oracle_hand_worker(s);
	TRACE("the worker node of site %u is deleted by hand", s->id);
	return delete_by_hand(path_intern(path));
}

/* A record that nobody who knows the rules would write. */
static bool hand_record(void)
{
	static const char *const folders[] = {"workers", "policy", "leaders"};
	static const char *const texts[] = {"", "\x81\xa1", "hello", "\xc1", "\x93\x01\x02\x03"};
	struct transaction *x = by_hand(1);
	const char *text = texts[random_range(0, 4)];
	char path[STORE_PATH_MAX];

	snprintf(path, sizeof(path), SITE_ROOT "/%s/stray-%d", folders[random_range(0, 2)],
		 (int)random_range(0, 3));
	TRACE("%s is made by hand", path);
	x->ops[0].type = STORE_OP_CREATE;
	x->ops[0].path = path_intern(path);
	x->ops[0].data = blob_new(text, strlen(text));
	event_at(sim.now + any_time(), on_hand_back, NULL, x->ops[0].path);
	return servers_by_hand(x);
}

static bool hand_leader(enum fault what)
{
	unsigned task = (unsigned)random_range(0, sim.n_tasks - 1);
	int leader = oracle_leader(task);
	struct transaction *x =
		by_hand(what == FAULT_HAND_DELETE || what == FAULT_HAND_SET ? 1 : 2);

	TRACE("%s: task %u", fault_names[what], task);
	x->ops[0].type = what == FAULT_HAND_SET ? STORE_OP_SET : STORE_OP_DELETE;
	x->ops[0].path = oracle_leader_path(task);
	if (x->n_ops == 2) {
		x->ops[1].type =
			what == FAULT_HAND_STAY ? STORE_OP_CREATE : STORE_OP_CREATE_EPHEMERAL;
		x->ops[1].path = x->ops[0].path;
		event_at(sim.now + any_time(), on_hand_back, NULL, x->ops[0].path);
	}
	if (what != FAULT_HAND_SET) {
		/* Where it hurts: the leader does not hear of it. */
		if (leader >= 0 && random_chance(500) && !sites[leader].machine->inbox.paused)
			pause_for(&sites[leader], false, any_time());
		oracle_hand(task);
	}
	return servers_by_hand(x);
}

/* --- one at random, and the end of all ------------------------------------------------------------ */

static bool inject_outside(enum fault what)
{
	switch ((int)what) {
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
	case FAULT_TIMEOUT: return random_chance(300) && change_timeouts();
	case FAULT_SHRINK: return random_chance(300) && shrink();
	case FAULT_SERVER_CLOCK: return set_server_clock();
	case FAULT_LOST_REQUEST: return doom(DOOM_REQUEST);
	case FAULT_LOST_ANSWER: return doom(DOOM_ANSWER);
	default: return false;
	}
}

static bool inject_inside(enum fault what)
{
	switch ((int)what) {
	case FAULT_PAUSE: return pause_site(false);
	case FAULT_SUSPEND: return pause_site(true);
	case FAULT_KILL:
	case FAULT_LEAVE:
	case FAULT_RESTART: return end_site(what);
	case FAULT_JOIN: return start_site();
	case FAULT_VERSION: return change_version();
	case FAULT_CONFIG: return change_config();
	case FAULT_TASKS: return change_tasks();
	case FAULT_ORDER: return order_at_random();
	case FAULT_HEALTH: return random_chance(300) && change_health();
	case FAULT_WALL: return set_wall();
	case FAULT_SLOW: return slow_site();
	default: break;
	}
	if (sim.options.ticks)
		return false; /* who deletes the ledger's witnesses by hand is on his own */
	if (what == FAULT_HAND_WORKER)
		return hand_worker();
	return what == FAULT_HAND_RECORD ? hand_record() : hand_leader(what);
}

void fault_inject(void)
{
	enum fault what = (enum fault)random_range(0, FAULT_HAND_RECORD);

	if (what < FAULT_PAUSE ? inject_outside(what) : inject_inside(what))
		sim.figures.faults[what]++;
}

void faults_reset(void)
{
	era++;
	ensemble_down = ensemble_lost = false;
	far = true; /* from the beginning */
}

bool faults_waiting(void)
{
	return ensemble_lost;
}

/* Who saw a decision while its own clock was another day's ends it as late: people take it back. */
static void on_decisions_back(void *arg, uint64_t number)
{
	const struct tree *t = servers_tree();
	const struct znode *folder = t ? tree_get(t, path_intern(SITE_ROOT "/policy")) : NULL;

	(void)arg;
	for (size_t i = 0; folder && number == era && i < folder->n_children; i++) {
		const struct znode *node = tree_get(t, folder->children[i]);
		struct policy_record r;
		const char *why;
		if (node->data &&
		    record_parse_policy(node->data->bytes, node->data->len, &r, &why) == 0 &&
		    r.until != 0)
			delete_by_hand(folder->children[i]);
	}
}

static void heal_servers(void)
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

void faults_heal(void)
{
	bool any = false;

	TRACE("all is healed");
	era++;
	heal_servers();
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		struct site *s = &sites[i];
		machine_resume(s->machine);
		s->machine->busy_until = 0;
		if (!wall_is_near(s->machine->wall_ms)) /* somebody sees that it is another day */
			s->machine->wall_ms = 0;
		any |= s->running;
	}
	/* Who was stopped when the configuration changed reads it now. */
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		if (!sites[i].running || sites[i].stopping)
			continue;
		site_configure(&sites[i]);
		for (struct lib *l = sites[i].machine->libs; l; l = l->next)
			l->doom = DOOM_NONE;
	}
	/* And sessions whose timeout has shrunk get the whole again with their next connection. */
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		struct lib *l = lib_of(&sites[i]);
		if (l && l->timeout_ms != sim.timeout_ms)
			lib_lose(l);
	}
	for (unsigned k = 0; k < sim.n_tasks; k++)
		event_at(sim.now + BACK_US, on_hand_back, NULL, oracle_leader_path(k));
	if (far)
		event_at(sim.now + BACK_US, on_decisions_back, NULL, era);
	far = false;
	if (!any)
		start_site();
}
