#include "recipes.h"

#include "simq.h"

static int64_t last_zxid; /* that was committed, as far as was looked at */

struct site *recipes_any_site(void)
{
	unsigned first = (unsigned)random_range(0, sim.n_hosts - 1);

	for (unsigned i = 0; i < sim.n_hosts; i++) {
		struct site *s = &sites[(first + i) % sim.n_hosts];
		if (s->running && !s->stopping && machine_listens(s->machine) &&
		    session_is_up(&s->node.session))
			return s;
	}
	return NULL;
}

void recipes_renewed(const struct site *s, const char *what, int64_t lease_ms)
{
	int64_t left = session_lease_left(&s->node.session);

	if (lease_ms > 0 && lease_ms < left)
		sim_violation("site %u: the command of %s is told a lease of %lld ms while %lld "
			      "are left",
			      s->id, what, (long long)lease_ms, (long long)left);
}

/* Each server comes to a transaction by itself: the first one counts. */
static void on_commit(const struct transaction *x)
{
	if (x->zxid <= last_zxid)
		return;
	last_zxid = x->zxid;
	if (x->code == STORE_OK && sim.options.queues)
		judge_commit(x);
	if (x->code == STORE_OK && sim.options.recipes)
		roster_commit(x);
	if (x->code == STORE_OK && x->session == HAND && sim.options.recipes)
		rolling_hand_commit(x);
	if (x->code == STORE_OK && x->session != HAND && sim.options.recipes) {
		counter_commit(x);
		barrier_commit(x);
		rolling_commit(x);
		gang_commit(x);
	}
}

static void on_use(void *arg, uint64_t number)
{
	struct site *s = recipes_any_site();

	(void)arg, (void)number;
	if (s) {
		int64_t which = random_range(0, 9);
		if (which < 5)
			counter_use(s);
		else if (which < 7)
			roster_use(s);
		else if (which < 8)
			barrier_use(s);
		else
			lock_use(s);
		rolling_use(s);
		gang_use(s);
		machine_wake(s->machine, 0);
	}
	event_at(sim.now + random_exp(300 * MS), on_use, NULL, 0);
}

const char *recipes_at_rest(void)
{
	const char *problem = sim.options.recipes ? roster_at_rest() : NULL;

	if (!problem && sim.options.queues)
		problem = judge_at_rest();

	if (!problem && sim.options.recipes)
		problem = barrier_at_rest();
	if (!problem && sim.options.recipes)
		problem = rolling_at_rest();
	if (!problem && sim.options.recipes)
		problem = gang_at_rest();
	return problem || !sim.options.recipes ? problem : lock_at_rest();
}

void recipes_forget(void)
{
	last_zxid = 0;
	counter_forget();
	roster_lose();
	barrier_forget();
	rolling_forget();
	lock_forget();
	simq_forget();
	gang_forget();
}

void recipes_reset(void)
{
	last_zxid = 0;
	servers_commit = sim.options.recipes || sim.options.queues ? on_commit : NULL;
	counter_reset();
	roster_reset();
	barrier_reset();
	lock_reset();
	simq_reset();
	gang_reset();
	if (sim.options.recipes)
		rolling_reset();
	if (sim.options.recipes)
		event_at(random_range(SECOND, 5 * SECOND), on_use, NULL, 0);
}
