/*
 * Locks: clients take them at random places and run a command for a while, which lives until it has ended, or
 * until the lease is over that its guard was told of. Never do more than so many live at a time, nor with two
 * numbers of slots; each begins in its turn; tokens grow where one holds at a time; nothing is left behind; who waits is served.
 */
#include <stdio.h>
#include <string.h>

#include "node/session/id.h"
#include "oracle.h"
#include "recipes.h"
#include "scenario.h"

#define LOCKS	    3
#define HOLDERS_MAX 256
#define AWAY_US	    (10 * SECOND) /* for which a sidecar that is away is looked for */
#define AGAIN_US    (200 * MS)
#define IDLE_US	    (300 * SECOND) /* now and then a lock is not used for so long */
#define EMPTY_US    (60 * SECOND)
#define SERVED_US   (60 * SECOND)
#define GONE_MAX    4096 /* clients that are remembered */
#define LOOK_US	    (2 * SECOND)

static struct taker {
	enum { FREE, ASKING, HELD, RUNNING, ENDED } phase;
	uint64_t serial; /* of this use of the place */
	unsigned site, lock;
	int64_t slots; /* that it asks for */
	char id[LOCK_ID_LEN + 1];
	uint64_t number;
	int64_t token, session;
	int64_t deadline_ms; /* of the command, its machine's CLOCK_BOOTTIME */
	int64_t wait_ms;
	int64_t since; /* this phase, or the connection was lost */
	bool asked, connected, attaching, told;
	bool lost; /* with all data: what it holds is not counted */
} holders[HOLDERS_MAX];
static uint64_t last_serial;

static struct {
	char id[LOCK_ID_LEN + 1];
	int64_t at;
} gone[GONE_MAX]; /* the newest, by the number of each */
static size_t n_gone;
static int64_t whole_at; /* since then all servers and sidecars have been at work */

static struct {
	char name[8];
	path_id path;
	int64_t slots, token;
	int64_t used;  /* when somebody had to do with it last */
	int64_t moved; /* when somebody began or ended */
	/* By the number of slots: until when an entry of one that has gone may be there. */
	int64_t left[LOCKS + 1];
} locks[LOCKS];

static int64_t boot_ms(const struct taker *h)
{
	return host_now_ms(machine_host(&machines[h->site]));
}

/*
 * The deadline counts on a suspended machine too: there the command is killed before it does
 * anything.
 */
static bool is_alive(const struct taker *h)
{
	return h->phase == RUNNING && boot_ms(h) < h->deadline_ms;
}

static bool listens(const struct taker *h)
{
	return sites[h->site].running && !sites[h->site].parting &&
	       machine_listens(&machines[h->site]);
}

static void at(struct taker *h, int64_t in_us, event_fn fn)
{
	event_at(sim.now + in_us, fn, h, h->serial);
}

static void set_phase(struct taker *h, int phase)
{
	h->phase = phase;
	h->since = locks[h->lock].moved = locks[h->lock].used = sim.now;
}

static void over(struct taker *h)
{
	bool connected = h->connected;
	/* A node that was not given up is found by others, or goes with its session. */
	int64_t late_us = h->phase == ENDED && h->told
				  ? SECOND
				  : 2 * sim.timeout_ms * MS + 3 * LOCK_SWEEP_MS * MS;

	if (locks[h->lock].left[h->slots] < sim.now + late_us)
		locks[h->lock].left[h->slots] = sim.now + late_us;

	memcpy(gone[n_gone % GONE_MAX].id, h->id, sizeof(h->id));
	gone[n_gone++ % GONE_MAX].at = sim.now;
	set_phase(h, FREE);
	h->connected = false;
	h->serial = 0;
	if (connected && sites[h->site].running)
		locks_owner_gone(&sites[h->site].node.recipes.locks, h);
	machine_wake(&machines[h->site], 0);
}

static void lose_connection(struct taker *h)
{
	if (!h->connected)
		return;
	h->connected = h->attaching = false;
	h->since = sim.now;
	if (sites[h->site].running)
		locks_owner_gone(&sites[h->site].node.recipes.locks, h);
}

/* --- the end of a command ------------------------------------------------------------------------------ */

static void on_done(void *arg)
{
	struct taker *h = arg;

	if (h->phase == ENDED && h->told) {
		h->connected = false;
		over(h);
	}
}

static void attach(struct taker *h);

static void on_report(void *arg, uint64_t serial)
{
	struct taker *h = arg;

	if (h->serial != serial || h->phase != ENDED)
		return;
	if (sim.now > h->since + AWAY_US) {
		over(h);
		return;
	}
	at(h, AGAIN_US, on_report);
	if (h->told || !listens(h))
		return;
	if (!h->connected) {
		attach(h);
	} else if (!h->attaching) {
		h->told = true;
		if (!locks_finish(&sites[h->site].node.recipes.locks, h, h->number, on_done, h))
			over(h);
	}
	machine_wake(&machines[h->site], 0);
}

static void end(struct taker *h, const char *why)
{
	TRACE("lock %u: the command of site %u %s", h->lock, h->site, why);
	set_phase(h, ENDED);
	h->told = false;
	on_report(h, h->serial);
}

static void on_end(void *arg, uint64_t serial)
{
	struct taker *h = arg;

	if (h->serial != serial || !is_alive(h))
		return; /* it was killed in time */
	if (machines[h->site].suspended)
		at(h, 300 * MS, on_end);
	else
		end(h, "has ended");
}

static void on_deadline(void *arg, uint64_t serial)
{
	struct taker *h = arg;

	if (h->serial != serial || h->phase != RUNNING)
		return;
	if (is_alive(h)) {
		event_at(machine_when(&machines[h->site], h->deadline_ms), on_deadline, h, serial);
	} else if (machines[h->site].suspended) {
		at(h, 300 * MS, on_deadline);
	} else {
		sim.figures.locks[2]++;
		end(h, "is killed at the end of its lease");
	}
}

/* Kills the command and its guard, or cuts their connection. */
static void on_accident(void *arg, uint64_t serial)
{
	struct taker *h = arg;

	if (h->serial != serial || machines[h->site].suspended)
		return;
	if (h->phase == RUNNING && random_chance(500))
		lose_connection(h);
	else
		over(h);
}

/* --- while it runs ------------------------------------------------------------------------------------- */

static void on_attached(void *arg, const struct lock_answer *a)
{
	struct taker *h = arg;

	if (!h->attaching || (h->phase != RUNNING && h->phase != ENDED) || !sites[h->site].running)
		return;
	h->attaching = false;
	if (a->outcome == LOCK_YOURS) {
		h->number = a->number;
	} else if (h->phase == ENDED) {
		h->connected = false;
		over(h);
	} else {
		h->connected = false;
		h->deadline_ms = 0; /* TERM at once */
		on_deadline(h, h->serial);
	}
}

static void attach(struct taker *h)
{
	h->connected = h->attaching = true;
	locks_attach(&sites[h->site].node.recipes.locks, h, locks[h->lock].name, h->id, on_attached,
		     h);
}

/* The lease counts from when it is asked for. */
static void take_lease(struct taker *h, int64_t lease_ms)
{
	recipes_renewed(&sites[h->site], "a lock", lease_ms);
	if (lease_ms > 0) {
		h->deadline_ms = boot_ms(h) + lease_ms;
		return;
	}
	h->connected &= lease_ms == 0;
	h->deadline_ms = 0;
	on_deadline(h, h->serial);
}

static void on_renew(void *arg, uint64_t serial)
{
	struct taker *h = arg;

	if (h->serial != serial || !is_alive(h))
		return;
	at(h, sim.timeout_ms * MS / 12, on_renew);
	if (sites[h->site].stopping) /* who stops a sidecar does not wait for long */
		at(h, random_exp(SECOND), on_end);
	if (!listens(h) || machines[h->site].suspended)
		return;
	if (!h->connected)
		attach(h);
	else if (!h->attaching)
		take_lease(h, locks_renew(&sites[h->site].node.recipes.locks, h, h->number));
	machine_wake(&machines[h->site], 0);
}

/* --- the beginning ------------------------------------------------------------------------------------- */

/* How many of those that the servers have are before it; -1: its own is not there. */
static int64_t count_before(const struct taker *h)
{
	const struct tree *t = servers_tree();
	const struct znode *folder = t ? tree_get(t, locks[h->lock].path) : NULL;
	struct lock_name own = {.session = 0}, n;
	int64_t before = 0;

	if (!t)
		return 0;
	for (size_t i = 0; folder && i < folder->n_children; i++)
		if (lock_name_parse(path_name(folder->children[i]), &n) &&
		    n.session == sites[h->site].node.session.id && strcmp(n.id, h->id) == 0)
			own = n; /* a session before it may have left another */
	if (own.session == 0)
		return -1;
	for (size_t i = 0; i < folder->n_children; i++)
		before += lock_name_parse(path_name(folder->children[i]), &n) &&
			  lock_name_is_before(&n, &own);
	return before;
}

static void check_begin(const struct taker *h)
{
	int64_t alive = 0, before = count_before(h);
	int64_t slots = h->slots;

	for (const struct taker *o = holders; o < holders + HOLDERS_MAX; o++) {
		bool there = o != h && o->lock == h->lock && is_alive(o) && !o->lost &&
			     !oracle_has_shrunk(o->site);
		alive += there;
		if (there && o->slots != slots)
			sim_violation("lock %u is held with %lld slots: site %u begins with %lld",
				      h->lock, (long long)o->slots, h->site, (long long)slots);
	}
	if (alive >= slots)
		sim_violation("lock %u is held by more than %lld: site %u begins", h->lock,
			      (long long)slots, h->site);
	else if (before >= slots)
		sim_violation("lock %u: site %u begins though %lld are before it", h->lock, h->site,
			      (long long)before);
	else if (locks[h->lock].slots == 1 && h->token <= locks[h->lock].token && !h->lost)
		sim_violation("lock %u: its token goes back", h->lock);
	locks[h->lock].token = h->token;
}

/* The command begins with what is left of the lease then, not when it was answered. */
static void on_held(void *arg, uint64_t serial)
{
	struct taker *h = arg;
	int64_t lease_ms;

	if (h->serial != serial || h->phase != HELD)
		return;
	if (sim.now > h->since + AWAY_US || !h->connected) {
		over(h);
		return;
	}
	if (!listens(h) || machines[h->site].suspended) {
		at(h, AGAIN_US, on_held);
		return;
	}
	lease_ms = locks_renew(&sites[h->site].node.recipes.locks, h, h->number);
	if (lease_ms <= 0) {
		end(h, "is not begun");
		return;
	}
	h->deadline_ms = boot_ms(h) + lease_ms;
	set_phase(h, RUNNING);
	check_begin(h);
	sim.figures.locks[0]++;
	TRACE("lock %u: site %u begins, lease %lld ms", h->lock, h->site, (long long)lease_ms);
	at(h, random_exp(random_chance(200) ? 30 * SECOND : 2 * SECOND), on_end);
	event_at(machine_when(&machines[h->site], h->deadline_ms), on_deadline, h, h->serial);
	at(h, 50 * MS, on_renew);
	if (random_chance(100))
		at(h, random_exp(SECOND), on_accident);
}

/* In quiet times others with another number of slots are there, or were a moment ago. */
static void check_other_slots(const struct taker *h)
{
	if (scenario_is_storm() || sim.now < whole_at + SERVED_US)
		return;
	for (const struct taker *o = holders; o < holders + HOLDERS_MAX; o++)
		if (o->phase != FREE && o->lock == h->lock && o->slots != h->slots)
			return;
	for (int64_t k = 1; k <= LOCKS; k++)
		if (k != h->slots && sim.now < locks[h->lock].left[k] + 10 * sim.delay_us)
			return;
	sim_violation("lock %u: site %u is told of other slots, and nobody uses it", h->lock,
		      h->site);
}

static void on_answer(void *arg, const struct lock_answer *a)
{
	struct taker *h = arg;

	if (h->phase != ASKING || !h->connected || !sites[h->site].running)
		return;
	if (a->outcome == LOCK_OTHER_SLOTS)
		check_other_slots(h);
	if (a->outcome != LOCK_YOURS) {
		sim.figures.locks[1]++;
		h->connected = false;
		over(h);
		return;
	}
	h->number = a->number;
	h->token = a->token;
	set_phase(h, HELD);
	at(h, random_exp(2 * MS), on_held);
}

static void on_ask(void *arg, uint64_t serial)
{
	struct taker *h = arg;
	const struct lock_request q = {.owner = h,
				       .name = locks[h->lock].name,
				       .id = h->id,
				       .command = "cmd",
				       .pid = 1,
				       .slots = h->slots,
				       .wait_ms = h->wait_ms,
				       .again = h->asked};

	if (h->serial != serial || h->phase != ASKING || h->connected)
		return;
	if (!listens(h)) {
		if (sim.now > h->since + AWAY_US)
			over(h);
		else
			at(h, AGAIN_US, on_ask);
		return;
	}
	h->asked = h->connected = true;
	locks_take(&sites[h->site].node.recipes.locks, &q, on_answer, h);
	machine_wake(&machines[h->site], 0);
}

void lock_use(struct site *s)
{
	unsigned k = (unsigned)random_range(0, LOCKS - 1);
	struct taker *h = holders;

	if (sim.now / IDLE_US % (LOCKS + 1) == k)
		return;
	while (h < holders + HOLDERS_MAX && h->phase != FREE)
		h++;
	if (h == holders + HOLDERS_MAX)
		return;
	*h = (struct taker){.serial = ++last_serial,
			    .site = s->id,
			    .lock = k,
			    .slots = k == LOCKS - 1 ? random_range(1, LOCKS) : locks[k].slots,
			    .wait_ms = random_chance(700) ? -1 : random_range(0, 5000)};
	for (size_t i = 0; i < LOCK_ID_LEN; i++)
		h->id[i] = "0123456789abcdef"[random_range(0, 15)];
	set_phase(h, ASKING);
	if (random_chance(50))
		at(h, random_exp(SECOND), on_accident);
	on_ask(h, h->serial);
}

/* --- with the sidecars ---------------------------------------------------------------------------------- */

void lock_ended(const struct site *s)
{
	whole_at = sim.now;
	for (struct taker *h = holders; h < holders + HOLDERS_MAX; h++) {
		if (h->phase == FREE || h->site != s->id)
			continue;
		h->connected = h->attaching = h->told = false;
		h->since = sim.now;
		if (h->phase == ASKING)
			at(h, AGAIN_US, on_ask);
	}
}

/*
 * Whether the node is a client's that is there, or was until its lease may be over, and what a killed
 * sidecar has left is found by the next one.
 */
static bool is_somebodys(const char *node)
{
	int64_t late_us = 2 * sim.timeout_ms * MS + 3 * LOCK_SWEEP_MS * MS;
	struct lock_name n;

	if (!lock_name_parse(node, &n))
		return false;
	for (const struct taker *h = holders; h < holders + HOLDERS_MAX; h++)
		if (h->phase != FREE && strcmp(h->id, n.id) == 0)
			return true;
	for (size_t i = 0; i < GONE_MAX && i < n_gone; i++)
		if (strcmp(gone[i].id, n.id) == 0)
			return sim.now < gone[i].at + late_us;
	return false;
}

/* Whether somebody waits while a slot is free, for long. */
static bool starves(unsigned k)
{
	int64_t waiting = 0, held = 0;

	for (const struct taker *h = holders; h < holders + HOLDERS_MAX; h++) {
		if (h->phase == FREE || h->lock != k)
			continue;
		waiting += h->phase == ASKING && h->connected && sim.now > h->since + SERVED_US;
		held += h->phase != ASKING;
	}
	/* If lockers bring different numbers of slots, the least of them counts. */
	return waiting > 0 && held < (k == LOCKS - 1 ? 1 : locks[k].slots) &&
	       sim.now > locks[k].moved + SERVED_US && sim.now > whole_at + SERVED_US;
}

static void on_look(void *arg, uint64_t number)
{
	bool whole = servers_agree(), any = false;

	(void)arg, (void)number;
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		any |= sites[i].running;
		whole &= !sites[i].running ||
			 (!sites[i].stopping && session_is_up(&sites[i].node.session));
	}
	if (!whole || !any) /* without a sidecar nobody sweeps */
		whole_at = sim.now;
	event_at(sim.now + LOOK_US, on_look, NULL, 0);
}

const char *lock_at_rest(void)
{
	const struct tree *t = servers_tree();

	for (unsigned k = 0; t && k < LOCKS; k++) {
		const struct znode *folder = tree_get(t, locks[k].path);
		for (size_t i = 0; folder && i < folder->n_children; i++)
			if (!is_somebodys(path_name(folder->children[i])))
				return "an entry of a lock is left behind";
		if (folder && folder->exists && folder->n_children == 0 &&
		    sim.now > locks[k].used + EMPTY_US && sim.now > whole_at + EMPTY_US)
			return "an empty lock is left behind";
		if (starves(k))
			return "a lock is free and waited for";
	}
	return NULL;
}

void lock_forget(void)
{
	for (struct taker *h = holders; h < holders + HOLDERS_MAX; h++)
		h->lost = true;
	for (unsigned k = 0; k < LOCKS; k++)
		locks[k].token = 0;
}

void lock_reset(void)
{
	memset(holders, 0, sizeof(holders));
	n_gone = 0;
	whole_at = 0;
	if (sim.options.recipes)
		event_at(LOOK_US, on_look, NULL, 0);
	last_serial = 0;
	for (unsigned k = 0; k < LOCKS; k++) {
		char path[STORE_PATH_MAX];
		memset(&locks[k], 0, sizeof(locks[k]));
		snprintf(locks[k].name, sizeof(locks[k].name), "l%u", k);
		snprintf(path, sizeof(path), SITE_ROOT "/locks/%s", locks[k].name);
		locks[k].path = path_intern(path);
		locks[k].slots = k + 1;
	}
}
