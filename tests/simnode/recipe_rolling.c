/*
 * Rolling restarts: by every transaction that is committed, a group never has more slots than it may, a halted
 * one gives none, each slot has its drain, and nobody frees its own before it was healthy for the soak time.
 * While CMD runs its node does not say that it leads anything. Slots stay over the death of who has them.
 */
#include <stdio.h>
#include <string.h>

#include "recipes.h"
#include "simq.h"
#include "scenario.h"
#include "wire/records/rolling_record.h"

#define GROUP	 "g"
#define FOLDER	 SITE_ROOT "/rolling/" GROUP
#define LOOK_US	 (100 * MS)
#define SOAK_MS	 2000
#define AGAIN_US (200 * MS) /* after which the command asks again whether CMD may begin */
#define SLACK_US \
	(500 * MS) /* of the looks at the health, and of clocks that run at different rates */

/* The `zkleader rolling` of a machine, which outlives its sidecar, and what its machine remembers. */
static struct driver {
	enum { DRIVER_NONE, DRIVER_TAKES, DRIVER_DRAINS, DRIVER_RUNS, DRIVER_SOAKS } phase;
	struct rolling_op *op;
	bool asking;
	enum rolling_state target; /* of what is asked */
	unsigned boot, process;
	char slot[NAME_ID_MAX + 1], before[ROLLING_PROCESS_MAX + 1];
	int64_t until; /* CMD ends */
	uint64_t number;
	/* how long it has been healthy since it began to soak: now, and at most */
	int64_t healthy_since, healthy_for;
	int64_t sessions[2]; /* of its sidecar: the last ones */
} drivers[HOSTS_MAX];

static struct {
	path_id path;
	bool there, has_drain;
	struct rolling_slot slot;
	path_id drain;
} slots[HOSTS_MAX];

static struct rolling_group group;
static path_id group_path;
static int64_t k_of_run;

/* --- what is committed ---------------------------------------------------- */

static unsigned count_slots(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < sim.n_hosts; i++)
		n += slots[i].there;
	return n;
}

/* Whether it is that site, or its twin, that does it. */
static bool is_own(unsigned k, int64_t session)
{
	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (slots[i].path == slots[k].path &&
		    (drivers[i].sessions[0] == session || drivers[i].sessions[1] == session))
			return true;
	return false;
}

/*
 * A slot is freed by the node itself once it is healthy, or earlier if it has not begun or has
 * failed. Another may free it by order.
 */
static void freed(unsigned k, int64_t session)
{
	enum rolling_state state = slots[k].slot.state;
	bool soaked = false, by_hand = false;

	if (!slots[k].there)
		return; /* what a hand has left of it */
	slots[k].there = false;
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		bool same = slots[i].path == slots[k].path; /* that site, or its twin */
		soaked |= same && drivers[i].healthy_for >= SOAK_MS * MS - SLACK_US;
		by_hand |= same && rolling_hand_releases(i);
	}
	if (state == ROLLING_DRAINING || state == ROLLING_FAILED || !is_own(k, session) || by_hand)
		return;
	if (state != ROLLING_SOAKING)
		sim_violation("the slot of site %u is freed while it is %s", k,
			      rolling_state_name(state));
	else if (!soaked)
		sim_violation("the slot of site %u is freed before it was healthy", k);
	sim.figures.rolled++;
}

static void written(unsigned k, const struct op *op, int64_t session)
{
	enum rolling_state before = slots[k].slot.state;
	const char *why;
	char path[STORE_PATH_MAX];

	if (op->type == STORE_OP_DELETE) {
		freed(k, session);
		return;
	}
	if (record_parse_rolling_slot(op->data->bytes, op->data->len, &slots[k].slot, &why) != 0)
		sim_violation("the record of a slot is bad: %s", why);
	/* From now on its health counts. */
	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (slots[i].path == slots[k].path && before != ROLLING_SOAKING)
			drivers[i].healthy_since = drivers[i].healthy_for = 0;
	if (op->type == STORE_OP_CREATE) {
		slots[k].there = true;
		sim.figures.slots++;
		if (group.halted_since > 0)
			sim_violation("a halted group gives site %u a slot", k);
	}
	snprintf(path, sizeof(path), SITE_ROOT "/policy/%s", slots[k].slot.drain);
	slots[k].drain = path_intern(path);
}

static void look_at_drains(const struct transaction *x)
{
	for (unsigned k = 0; k < sim.n_hosts; k++) {
		for (size_t i = 0; i < x->n_ops; i++)
			if (x->ops[i].path == slots[k].drain && slots[k].drain)
				slots[k].has_drain = x->ops[i].type == STORE_OP_CREATE;
		if (slots[k].there && !slots[k].has_drain)
			sim_violation("site %u has a slot, and no drain", k);
	}
}

void rolling_commit(const struct transaction *x)
{
	struct rolling_group next = group;
	bool about = false;
	const char *why;

	for (size_t i = 0; i < x->n_ops; i++) {
		const struct op *op = &x->ops[i];
		if (op->type == STORE_OP_CHECK)
			continue;
		about |= strncmp(path_text(op->path), FOLDER, strlen(FOLDER)) == 0 ||
			 strncmp(path_text(op->path), SITE_ROOT "/policy",
				 strlen(SITE_ROOT "/policy")) == 0;
		if (op->path == group_path &&
		    record_parse_rolling_group(op->data->bytes, op->data->len, &next, &why) != 0)
			sim_violation("the record of a group is bad: %s", why);
	}
	if (!about)
		return;
	for (size_t i = 0; i < x->n_ops; i++)
		for (unsigned k = 0; k < sim.n_hosts && x->ops[i].type != STORE_OP_CHECK; k++)
			if (x->ops[i].path == slots[k].path) {
				written(k, &x->ops[i], x->session);
				break;
			}
	group = next;
	look_at_drains(x);
	if (count_slots() > (unsigned)group.max_unavailable)
		sim_violation("%u nodes have slots, and %lld may", count_slots(),
			      (long long)group.max_unavailable);
}

void rolling_lose(path_id path)
{
	if (path == group_path)
		group = (struct rolling_group){.max_unavailable = ROLLING_SLOTS_MAX};
	for (unsigned k = 0; k < sim.n_hosts; k++)
		if (slots[k].path == path)
			slots[k].there = false;
}

/* --- who does it ---------------------------------------------------------- */

static struct rolling_request request(const struct driver *d, enum rolling_order order)
{
	struct rolling_request q = {.order = order,
				    .group = GROUP,
				    .max_unavailable = k_of_run,
				    .wait_ms = random_chance(500) ? -1 : random_range(0, 20000),
				    .soak_ms = SOAK_MS,
				    .state = d->target,
				    .exit_status = d->target == ROLLING_FAILED ? 7 : -1,
				    .by = "simulator"};

	snprintf(q.slot, sizeof(q.slot), "%s", d->slot);
	snprintf(q.before, sizeof(q.before), "%s", d->before);
	snprintf(q.process, sizeof(q.process), "%u %u", d->boot, d->process);
	snprintf(q.boot_id, sizeof(q.boot_id), "boot-%u-%u", (unsigned)(d - drivers), d->boot);
	return q;
}

static void leads_nothing(const struct driver *d)
{
	struct site *s = &sites[d - drivers];

	for (unsigned k = 0; k < sim.n_tasks; k++) {
		const struct task *t = site_task(s, k);
		if (t && leaders_says(t))
			sim_violation("CMD runs on site %u, which leads %s", s->id, t->name);
	}
}

static void begin_cmd(struct driver *d)
{
	struct site *s = &sites[d - drivers];

	d->phase = DRIVER_RUNS;
	d->until = sim.now + random_exp(3 * SECOND);
	leads_nothing(d);
	if (s->running && simq_goes_on(s))
		sim_violation("CMD begins on site %u, where a job goes on", s->id);
}

static void ask(struct site *s, struct driver *d, enum rolling_order order);

static void on_again(void *arg, uint64_t process)
{
	struct driver *d = arg;
	struct site *s = &sites[d - drivers];

	if (scenario_is_storm() && d->phase == DRIVER_DRAINS && d->process == process &&
	    !d->asking && s->running && machine_listens(s->machine))
		ask(s, d, ROLLING_ADVANCE);
}

/* As the command does. */
static void took(struct driver *d, const struct rolling_answer *a)
{
	char boot[NAME_ID_MAX + 1];

	snprintf(boot, sizeof(boot), "boot-%u-%u", (unsigned)(d - drivers), d->boot);
	snprintf(d->slot, sizeof(d->slot), "%s", a->slot->id);
	snprintf(d->before, sizeof(d->before), "%s", a->slot->process);
	d->phase = DRIVER_DRAINS;
	d->target = ROLLING_RUNNING;
	if (strcmp(a->slot->boot_id, boot) != 0 || a->slot->state == ROLLING_SOAKING)
		d->target = ROLLING_SOAKING;
	event_at(sim.now + random_exp(AGAIN_US / 4), on_again, d, d->process);
}

static void on_answer(void *arg, const struct rolling_answer *a)
{
	struct driver *d = arg;

	d->asking = false;
	d->op = NULL;
	if (a->result == ROLLING_BUSY)
		event_at(sim.now + AGAIN_US, on_again, d, d->process);
	if (a->result == ROLLING_UNKNOWN || a->result == ROLLING_BUSY)
		return; /* once more */
	if (a->result != ROLLING_DONE) {
		d->phase = DRIVER_NONE;
		return;
	}
	switch (d->phase) {
	case DRIVER_TAKES: took(d, a); break;
	case DRIVER_DRAINS:
	case DRIVER_RUNS:
		if (d->target == ROLLING_RUNNING && d->phase == DRIVER_DRAINS)
			begin_cmd(d);
		else
			d->phase = d->target == ROLLING_SOAKING ? DRIVER_SOAKS : DRIVER_NONE;
		break;
	case DRIVER_SOAKS:
	case DRIVER_NONE: d->phase = DRIVER_NONE; break;
	}
}

static void on_order(void *arg, const struct rolling_answer *a)
{
	(void)arg, (void)a;
}

static void ask(struct site *s, struct driver *d, enum rolling_order order)
{
	struct rolling_request q = request(d, order);

	d->asking = true;
	struct rolling_op *op = rolling_ask(&s->node.recipes.rolling, &q, on_answer, d);
	if (op)
		d->op = op;
	machine_wake(s->machine, 0);
}

/* The whole machine: its sidecar comes back in a while, or another fault starts it. */
static void reboot(struct site *s, struct driver *d)
{
	d->boot++;
	d->phase = DRIVER_NONE;
	TRACE("site %u reboots", s->id);
	if (s->running && !s->stopping && machine_listens(s->machine))
		site_kill(s);
}

static void step(struct site *s, struct driver *d)
{
	switch (d->phase) {
	case DRIVER_NONE:
		d->phase = DRIVER_TAKES;
		d->process++;
		d->slot[0] = d->before[0] = '\0';
		d->target = ROLLING_DRAINING;
		ask(s, d, ROLLING_TAKE);
		break;
	case DRIVER_TAKES: ask(s, d, ROLLING_TAKE); break;
	case DRIVER_DRAINS: ask(s, d, ROLLING_ADVANCE); break;
	case DRIVER_RUNS:
		if (sim.now < d->until)
			break;
		if (random_chance(300)) {
			reboot(s, d);
			break;
		}
		d->target = random_chance(100) ? ROLLING_FAILED : ROLLING_SOAKING;
		snprintf(d->before, sizeof(d->before), "%u %u", d->boot, d->process);
		ask(s, d, ROLLING_ADVANCE);
		break;
	case DRIVER_SOAKS: ask(s, d, ROLLING_FREE); break;
	}
}

static void order(struct site *s)
{
	struct rolling_request q = {.order = random_chance(900) ? ROLLING_RESUME : ROLLING_RELEASE,
				    .group = GROUP,
				    .max_unavailable = 1};

	snprintf(q.node, sizeof(q.node), "%s", sites[random_range(0, sim.n_hosts - 1)].name);
	if (strcmp(q.node, s->name) == 0)
		return;
	rolling_ask(&s->node.recipes.rolling, &q, on_order, NULL);
	machine_wake(s->machine, 0);
}

/* In storms alone: in quiet times everybody is to be as it is. */
void rolling_use(struct site *s)
{
	struct driver *d = &drivers[s->id];

	if (!scenario_is_storm())
		return;
	if (random_chance(8))
		rolling_hand();
	if (random_chance(30)) {
		order(s);
	} else if (!d->asking) {
		step(s, d);
	} else if (d->op && random_chance(50)) {
		/* The command is killed. */
		rolling_cancel(d->op);
		d->op = NULL;
		d->asking = false;
		d->phase = DRIVER_NONE;
		machine_wake(s->machine, 0);
	}
}

/* --- all the time --------------------------------------------------------- */

static bool is_healthy(const struct site *s)
{
	unsigned n_tasks = sim.options.partitions ? 1 : sim.n_tasks;
	uint64_t tasks = s->tasks & ((UINT64_C(1) << n_tasks) - 1);

	return s->running && !s->sick && (s->unhealthy & tasks) == 0;
}

static void give_up(struct site *s, struct driver *d)
{
	if (!d->op || !s->running || !machine_listens(s->machine))
		return;
	rolling_cancel(d->op);
	d->op = NULL;
	d->asking = false;
	d->phase = DRIVER_NONE;
	machine_wake(s->machine, 0);
}

static void on_look(void *arg, uint64_t number)
{
	(void)arg, (void)number;
	rolling_hand_look();
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		struct driver *d = &drivers[i];
		int64_t session = sites[i].running ? sites[i].node.session.id : 0;
		if (session && session != d->sessions[0]) {
			d->sessions[1] = d->sessions[0];
			d->sessions[0] = session;
		}
		if (d->phase == DRIVER_RUNS && slots[i].there &&
		    strcmp(slots[i].slot.id, d->slot) == 0)
			leads_nothing(d);
		if (!scenario_is_storm())
			give_up(&sites[i], d);
		if (!is_healthy(&sites[i]))
			d->healthy_since = 0;
		else if (d->healthy_since == 0)
			d->healthy_since = sim.now;
		else if (sim.now - d->healthy_since > d->healthy_for)
			d->healthy_for = sim.now - d->healthy_since;
	}
	event_at(sim.now + LOOK_US, on_look, NULL, 0);
}

/* Nobody waits any more, so nothing of it is to be left. */
const char *rolling_at_rest(void)
{
	const struct tree *t = servers_tree();
	const struct znode *waiting = t ? tree_get(t, path_intern(FOLDER "/waiting")) : NULL;

	if (rolling_hand_is_left())
		return "a drain is left without its slot";
	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (drivers[i].op)
			return NULL;
	return waiting && waiting->n_children > 0 ? "a place in a queue is left behind" : NULL;
}

void rolling_forget(void)
{
	for (unsigned i = 0; i < HOSTS_MAX; i++)
		slots[i].there = slots[i].has_drain = false;
	group = (struct rolling_group){.max_unavailable = ROLLING_SLOTS_MAX};
	rolling_hand_forget();
}

void rolling_reset(void)
{
	char path[STORE_PATH_MAX];

	memset(drivers, 0, sizeof(drivers));
	memset(slots, 0, sizeof(slots));
	rolling_forget();
	k_of_run = random_range(1, 2);
	group_path = path_intern(FOLDER);
	for (unsigned i = 0; i < HOSTS_MAX; i++) {
		snprintf(path, sizeof(path), FOLDER "/slots/%s:%%2Frun%%2Fzkleader",
			 sites[i].hostname);
		slots[i].path = path_intern(path);
	}
	event_at(SECOND, on_look, NULL, 0);
}
