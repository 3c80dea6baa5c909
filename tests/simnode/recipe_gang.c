/*
 * Gangs: one begins only with N members whose nodes are there, with N keys, and while nobody of the one before is
 * there; never do commands of two gangs of a name live, nor two of a key. Who was all lost comes back with the
 * indexes that it had, or the gang was left in order, or nobody was there for a minute. When one is lost the
 * others' commands end, or it comes back under its index while another is there. Who is told that it has not
 * begun never does. Nothing is left behind.
 */
#include <stdio.h>
#include <string.h>

#include "oracle.h"
#include "recipe_gang.h"

#define AWAY_US	 (10 * SECOND) /* for which a sidecar that is away is looked for */
#define AGAIN_US (200 * MS)
#define LATE_US	 (90 * SECOND) /* for what is left behind to go, and a gang to begin */
#define STOP_US	 (8 * SECOND)  /* for commands to end */

struct gang_ask gang_asks[GANG_ASKS_MAX];
uint64_t n_gang_asks;
struct gang_seen gangs[GANGS];
struct gang_node gang_nodes[GANG_NODES_MAX];
unsigned n_gang_nodes;
static int64_t looked_at; /* at rest */

static void attach(struct gang_ask *a);
static void on_answer(void *arg, const struct party_answer *answer);

static uint64_t id_of(const struct gang_ask *a)
{
	return (uint64_t)(a - gang_asks) + 1;
}

/* --- clients --------------------------------------------------------------------------------------- */

static int64_t boot_ms(const struct gang_ask *a)
{
	return host_now_ms(machine_host(&machines[a->site]));
}

static bool is_alive(const struct gang_ask *a)
{
	return a->phase == RUNNING && boot_ms(a) < a->deadline_ms;
}

static bool listens(const struct gang_ask *a)
{
	return sites[a->site].running && !sites[a->site].parting &&
	       machine_listens(&machines[a->site]);
}

static struct parties *gangs_of(const struct gang_ask *a)
{
	return &sites[a->site].node.recipes.gangs;
}

static void set_phase(struct gang_ask *a, int phase)
{
	a->phase = phase;
	a->since = sim.now;
}

static void disconnect(struct gang_ask *a)
{
	bool connected = a->connected;

	a->connected = a->attaching = false;
	if (connected && sites[a->site].running)
		parties_owner_gone(gangs_of(a), a);
	machine_wake(&machines[a->site], 0);
}

static void over(struct gang_ask *a)
{
	set_phase(a, OVER);
	disconnect(a);
}

static void on_done(void *arg)
{
	struct gang_ask *a = arg;

	if (a->phase == ENDED && a->told) {
		a->connected = false;
		over(a);
	}
}

static void on_report(void *arg, uint64_t number)
{
	struct gang_ask *a = arg;

	(void)number;
	if (a->phase != ENDED)
		return;
	if (sim.now > a->since + AWAY_US) {
		over(a);
		return;
	}
	event_at(sim.now + AGAIN_US, on_report, a, 0);
	if (a->told || !listens(a))
		return;
	if (!a->connected) {
		attach(a);
	} else if (!a->attaching) {
		a->told = true;
		if (!gangs_finish(gangs_of(a), a, a->number, a->interrupted, on_done, a))
			over(a);
	}
	machine_wake(&machines[a->site], 0);
}

static void end(struct gang_ask *a, bool interrupted)
{
	TRACE("gang %u: the command of site %u ends", a->gang, a->site);
	set_phase(a, ENDED);
	a->told = false;
	a->interrupted = interrupted;
	on_report(a, 0);
}

static void on_end(void *arg, uint64_t number)
{
	struct gang_ask *a = arg;

	(void)number;
	if (!is_alive(a))
		return;
	if (machines[a->site].suspended)
		event_at(sim.now + 300 * MS, on_end, a, 0);
	else
		end(a, false);
}

static void on_deadline(void *arg, uint64_t number)
{
	struct gang_ask *a = arg;

	(void)number;
	if (a->phase != RUNNING)
		return;
	if (is_alive(a)) {
		event_at(machine_when(&machines[a->site], a->deadline_ms), on_deadline, a, 0);
	} else if (machines[a->site].suspended) {
		event_at(sim.now + 300 * MS, on_deadline, a, 0);
	} else {
		sim.figures.gangs[2]++;
		end(a, true);
	}
}

/* Kills the member and its guard, or cuts its connection. */
static void on_accident(void *arg, uint64_t number)
{
	struct gang_ask *a = arg;

	(void)number;
	if (machines[a->site].suspended || a->phase == OVER)
		return;
	if (a->phase == RUNNING && random_chance(400))
		disconnect(a);
	else
		over(a);
}

static void on_attached(void *arg, const struct party_answer *answer)
{
	struct gang_ask *a = arg;

	if (!a->attaching || (a->phase != RUNNING && a->phase != ENDED) || !sites[a->site].running)
		return;
	a->attaching = false;
	if (answer->outcome == PARTY_OPENED) {
		a->number = answer->number;
	} else if (a->phase == ENDED) {
		a->connected = false;
		over(a);
	} else {
		a->connected = false;
		a->deadline_ms = 0;
		on_deadline(a, 0);
	}
}

static void attach(struct gang_ask *a)
{
	a->connected = a->attaching = true;
	gangs_attach(gangs_of(a), a, gangs[a->gang].name, id_of(a), on_attached, a);
}

/* The lease counts from when it is asked for. */
static void renew(struct gang_ask *a)
{
	int64_t lease_ms = gangs_renew(gangs_of(a), a, a->number);

	recipes_renewed(&sites[a->site], "a gang", lease_ms);
	if (lease_ms > 0) {
		a->deadline_ms = boot_ms(a) + lease_ms;
		return;
	}
	a->connected &= lease_ms == 0;
	a->deadline_ms = 0;
	on_deadline(a, 0);
}

static void on_renew(void *arg, uint64_t number)
{
	struct gang_ask *a = arg;

	(void)number;
	if (!is_alive(a))
		return;
	event_at(sim.now + sim.timeout_ms * MS / 12, on_renew, a, 0);
	if (sites[a->site].stopping) /* who stops a sidecar does not wait for long */
		event_at(sim.now + random_exp(SECOND), on_end, a, 0);
	if (!listens(a) || machines[a->site].suspended)
		return;
	if (!a->connected)
		attach(a);
	else if (!a->attaching)
		renew(a);
	machine_wake(&machines[a->site], 0);
}

static void check_begin(const struct gang_ask *a)
{
	for (uint64_t i = 0; i < n_gang_asks; i++) {
		const struct gang_ask *o = &gang_asks[i];
		if (o == a || o->gang != a->gang || !is_alive(o) || o->lost ||
		    oracle_has_shrunk(o->site))
			continue;
		if (o->begun != a->begun)
			sim_violation("gang %u: a command begins while one of another gang lives",
				      a->gang);
		else if (o->key == a->key)
			sim_violation("gang %u: two commands of one key", a->gang);
	}
}

static void on_held(void *arg, uint64_t number)
{
	struct gang_ask *a = arg;
	int64_t lease_ms;

	(void)number;
	if (a->phase != HELD)
		return;
	if (sim.now > a->since + AWAY_US || !a->connected) {
		over(a);
		return;
	}
	if (!listens(a) || machines[a->site].suspended) {
		event_at(sim.now + AGAIN_US, on_held, a, 0);
		return;
	}
	lease_ms = gangs_renew(gangs_of(a), a, a->number);
	if (lease_ms <= 0) {
		end(a, true);
		return;
	}
	a->deadline_ms = boot_ms(a) + lease_ms;
	set_phase(a, RUNNING);
	check_begin(a);
	event_at(sim.now + random_exp(random_chance(200) ? 60 * SECOND : 4 * SECOND), on_end, a, 0);
	event_at(machine_when(&machines[a->site], a->deadline_ms), on_deadline, a, 0);
	event_at(sim.now + 50 * MS, on_renew, a, 0);
	if (random_chance(150))
		event_at(sim.now + random_exp(2 * SECOND), on_accident, a, 0);
}

static void on_answer(void *arg, const struct party_answer *answer)
{
	struct gang_ask *a = arg;

	if (a->phase != ASKING || !a->connected || !sites[a->site].running)
		return;
	TRACE("gang %u: ask %llu of site %u is told %d", a->gang, (unsigned long long)id_of(a),
	      a->site, (int)answer->outcome);
	sim.figures.gang_told[answer->outcome]++;
	if (answer->outcome == PARTY_OPENED) {
		if (!a->lost && !a->counted)
			sim_violation("gang %u: ask %llu is told that it has begun", a->gang,
				      (unsigned long long)id_of(a));
		a->number = answer->number;
		set_phase(a, HELD);
		event_at(sim.now + random_exp(2 * MS), on_held, a, 0);
		return;
	}
	if (answer->outcome == PARTY_OTHER_COUNT)
		sim_violation("gang %u: another count", a->gang);
	a->denied =
		!a->lost && (answer->outcome == PARTY_TIMEOUT || answer->outcome == PARTY_IN_USE ||
			     answer->outcome == PARTY_NOT_THERE);
	if (a->denied && a->counted)
		sim_violation("gang %u: ask %llu has begun, and is told that it has not", a->gang,
			      (unsigned long long)id_of(a));
	a->connected = false;
	over(a);
}

static void on_ask(void *arg, uint64_t number)
{
	struct gang_ask *a = arg;
	char key[8];

	(void)number;
	if (a->phase != ASKING || a->connected)
		return;
	if (!listens(a)) {
		if (sim.now > a->since + AWAY_US)
			over(a);
		else
			event_at(sim.now + AGAIN_US, on_ask, a, 0);
		return;
	}
	snprintf(key, sizeof(key), "k%u", a->key);
	a->connected = true;
	gangs_join(gangs_of(a),
		   &(struct gang_request){.owner = a,
					  .name = gangs[a->gang].name,
					  .id = id_of(a),
					  .key = key,
					  .count = gangs[a->gang].count,
					  .goes_on = gangs[a->gang].goes_on,
					  .timeout_ms = a->timeout_ms},
		   on_answer, a);
	machine_wake(&machines[a->site], 0);
}

void gang_use(struct site *s)
{
	struct gang_ask *a = &gang_asks[n_gang_asks];

	if (n_gang_asks == GANG_ASKS_MAX)
		return;
	*a = (struct gang_ask){.site = s->id, .gang = (unsigned)random_range(0, GANGS - 1)};
	/* Now and then nobody asks for one for so long that others may have it. */
	if (sim.now / (150 * SECOND) % (GANGS + 1) == a->gang)
		return;
	n_gang_asks++;
	a->key = (unsigned)random_range(0, gangs[a->gang].count);
	a->timeout_ms = random_chance(500) ? -1 : random_range(0, 30000);
	set_phase(a, ASKING);
	if (random_chance(50))
		event_at(sim.now + random_exp(SECOND), on_accident, a, 0);
	on_ask(a, 0);
}

void gang_ended(const struct site *s)
{
	for (uint64_t i = 0; i < n_gang_asks; i++) {
		struct gang_ask *a = &gang_asks[i];
		if (a->phase == OVER || a->site != s->id)
			continue;
		a->connected = a->attaching = a->told = false;
		a->since = sim.now;
		if (a->phase == ASKING)
			event_at(sim.now + AGAIN_US, on_ask, a, 0);
	}
}

/* --- at rest --------------------------------------------------------------------------------------- */

static bool is_left_behind(unsigned k)
{
	for (unsigned i = 0; i < n_gang_nodes; i++)
		if (gang_nodes[i].gang == k && gang_asks[gang_nodes[i].id - 1].phase == OVER)
			return true;
	return false;
}

/* Whether a member was lost, and another's command goes on. */
static bool does_not_stop(unsigned k)
{
	bool any = false;

	for (uint64_t i = 0; i < n_gang_asks; i++)
		any |= gang_asks[i].gang == k && is_alive(&gang_asks[i]) &&
		       gang_asks[i].begun == gangs[k].begun;
	return any && gangs[k].record.lost;
}

/* All keys wait that it takes, and nobody is in it. */
static bool does_not_begin(unsigned k)
{
	unsigned keys = 0, others = 0;

	if (gangs[k].record.n > 0)
		return false;
	for (unsigned i = 0; i < n_gang_nodes; i++) {
		const struct gang_ask *a = &gang_asks[gang_nodes[i].id - 1];
		if (gang_nodes[i].gang == k && a->phase == ASKING)
			keys |= 1U << a->key;
		else if (gang_nodes[i].gang == k)
			others++;
	}
	return others == 0 && (unsigned)__builtin_popcount(keys) >= gangs[k].count;
}

/* Whether it was wrong for too long without a break: while nobody looked it may have been good. */
static bool is_late(bool wrong, int64_t for_us, int64_t *since)
{
	if (!wrong)
		*since = 0;
	else if (*since == 0 || sim.now - looked_at > 5 * SECOND)
		*since = sim.now;
	return wrong && sim.now - *since > for_us;
}

const char *gang_at_rest(void)
{
	const char *problem = NULL;

	for (unsigned k = 0; k < GANGS; k++) {
		if (is_late(is_left_behind(k), LATE_US, &gangs[k].left_since))
			problem = "a node of a gang is left behind";
		if (is_late(does_not_stop(k), STOP_US, &gangs[k].stop_since))
			problem = "a gang goes on without a member";
		if (is_late(does_not_begin(k), LATE_US, &gangs[k].open_since))
			problem = "a gang does not begin";
	}
	looked_at = sim.now;
	return problem;
}

void gang_forget(void)
{
	n_gang_nodes = 0;
	for (unsigned k = 0; k < GANGS; k++) {
		gangs[k].record.n = 0;
		gangs[k].begun++;
		gangs[k].empty_at = sim.now;
	}
	for (uint64_t i = 0; i < n_gang_asks; i++) {
		gang_asks[i].lost = true;
		gang_asks[i].counted = gang_asks[i].denied = false;
	}
}

void gang_reset(void)
{
	n_gang_asks = n_gang_nodes = 0;
	looked_at = 0;
	memset(gangs, 0, sizeof(gangs));
	for (unsigned k = 0; k < GANGS; k++) {
		char path[STORE_PATH_MAX];
		snprintf(gangs[k].name, sizeof(gangs[k].name), "g%u", k);
		snprintf(path, sizeof(path), SITE_ROOT "/gangs/g%u", k);
		gangs[k].path = path_intern(path);
		gangs[k].count = k == 1 ? 3 : 2;
		gangs[k].goes_on = k == 1;
		gangs[k].empty_at = 1;
	}
}
