/*
 * Barriers: a round opens only with N members whose nodes are there at that moment, none of them counted before,
 * and while nobody of the round before is inside. Who is told that it opened was counted, and who is told that
 * it did not was not and never is; who has left together with the others leaves nobody behind. A client whose
 * sidecar is killed comes again or not.
 */
#include <stdio.h>
#include <string.h>

#include "node/recipes/party/party_ticket.h"
#include "recipes.h"
#include "wire/records/barrier_record.h"

#define BARRIERS  3
#define ASKS_MAX  (1 << 14)
#define NODES_MAX 256
#define LATE_US	  (60 * SECOND) /* for what is left behind to go, and a barrier to open */

static struct ask {
	enum {
		ASK_NONE,
		ASK_WAITS,
		ASK_AWAY,
		ASK_INSIDE,
		ASK_INSIDE_AWAY,
		ASK_LEAVES,
		ASK_OVER
	} state;
	unsigned site, barrier, count;
	uint64_t life;			     /* of the site's process that it asked */
	bool again;			     /* it asked a sidecar that went */
	bool command, counted, lost, denied; /* denied: it was told that it is in no round */
	int64_t round;			     /* that it was counted in */
	int64_t told, until;		     /* the round that it was told; it comes again before */
} asks[ASKS_MAX];
static int64_t looked_at; /* at rest */
static uint64_t n_asks;	  /* an ask's id is its place, and one */

static struct {
	char name[8];
	path_id path;
	int64_t round;
	int64_t open_since, left_since; /* since when something is not as it should be; 0 */
} barriers[BARRIERS];

/* The nodes of members as they are committed. */
static struct {
	path_id path;
	int64_t session;
	uint64_t ask;
} nodes[NODES_MAX];
static unsigned n_nodes;

static void on_answer(void *arg, const struct party_answer *answer);
static void come(void *arg, uint64_t number);
static void leave(void *arg, uint64_t number);

static bool has_node(uint64_t ask)
{
	for (unsigned i = 0; i < n_nodes; i++)
		if (nodes[i].ask == ask)
			return true;
	return false;
}

/* An ask whose node keeps the barrier closed; n_asks: none. */
static uint64_t anybody_inside(unsigned barrier, int64_t round)
{
	for (unsigned i = 0; i < n_nodes; i++) {
		const struct ask *a = &asks[nodes[i].ask];
		if (a->barrier == barrier && a->command && a->counted && a->round == round)
			return nodes[i].ask;
	}
	return n_asks;
}

/* --- what is committed ----------------------------------------------------------------------------- */

static void opened(unsigned k, const struct op *op)
{
	static struct barrier_record r;
	const char *why;

	if (record_parse_barrier(op->data->bytes, op->data->len, &r, &why) != 0) {
		sim_violation("a barrier's record is bad: %s", why);
		return;
	}
	if (r.round != barriers[k].round + 1)
		sim_violation("barrier %u goes from round %lld to %lld", k,
			      (long long)barriers[k].round, (long long)r.round);
	if (anybody_inside(k, barriers[k].round) < n_asks)
		sim_violation("barrier %u opens while somebody of the round before is inside", k);
	barriers[k].round = r.round;
	for (size_t i = 0; i < r.sizes[0]; i++) {
		uint64_t ask = r.ids[i] - 1;
		struct ask *a = ask < n_asks ? &asks[ask] : NULL;
		if (!a || !has_node(ask) || a->barrier != k || a->count != r.sizes[0])
			sim_violation("barrier %u opens early", k);
		else if (a->counted)
			sim_violation("ask %llu is counted twice", (unsigned long long)ask);
		else if (a->denied)
			sim_violation("ask %llu is counted behind its end",
				      (unsigned long long)ask);
		if (sim.stop)
			return;
		a->counted = true;
		a->round = r.round;
	}
	sim.figures.opened++;
}

static void made(unsigned k, const struct op *op, int64_t session)
{
	struct party_ticket t;

	if (!party_ticket_parse(PATH_BARRIERS, path_name(op->path), &t) || t.id - 1 >= n_asks ||
	    asks[t.id - 1].barrier != k || t.session != session || n_nodes == NODES_MAX) {
		sim_violation("a node of barrier %u is bad: %s", k, path_text(op->path));
		return;
	}
	nodes[n_nodes].path = op->path;
	nodes[n_nodes].session = session;
	nodes[n_nodes++].ask = t.id - 1;
}

static void gone(path_id path, int64_t session)
{
	for (unsigned i = 0; i < n_nodes;)
		if (nodes[i].path == path || nodes[i].session == session)
			nodes[i] = nodes[--n_nodes];
		else
			i++;
}

void barrier_commit(const struct transaction *x)
{
	if (x->type == TRANSACTION_CLOSE)
		gone(PATH_ROOT, x->session);
	for (size_t i = 0; i < x->n_ops && !sim.stop; i++) {
		const struct op *op = &x->ops[i];
		for (unsigned k = 0; k < BARRIERS; k++) {
			if (op->path == barriers[k].path && op->type == STORE_OP_SET)
				opened(k, op);
			else if (op->path == barriers[k].path && op->type == STORE_OP_CREATE)
				barriers[k].round = 0;
			else if (path_parent(op->path) == barriers[k].path &&
				 op->type == STORE_OP_CREATE_EPHEMERAL)
				made(k, op, x->session);
			else if (path_parent(op->path) == barriers[k].path &&
				 op->type == STORE_OP_DELETE)
				gone(op->path, 0);
		}
	}
}

/* --- clients --------------------------------------------------------------------------------------- */

static bool may_ask(const struct ask *a)
{
	const struct site *s = &sites[a->site];

	return s->running && !s->stopping && machine_listens(s->machine);
}

static void enter(struct ask *a, int64_t round)
{
	a->state = ASK_WAITS;
	a->life = sites[a->site].life;
	barriers_enter(&sites[a->site].node.recipes.barriers,
		       &(struct barrier_entry){
			       .name = barriers[a->barrier].name,
			       .id = (uint64_t)(a - asks) + 1,
			       .count = a->count,
			       .command = a->command,
			       .timeout_ms = random_chance(400) ? random_range(0, 20000) : -1,
			       .again = a->again,
			       .round = round,
			       .owner = a},
		       on_answer, a);
	machine_wake(sites[a->site].machine, 0);
}

/* The sidecar went: the client comes again as soon as there is another, or it went, too. */
static void away(struct ask *a)
{
	bool again = random_chance(700);
	bool inside = a->state == ASK_INSIDE || a->state == ASK_LEAVES;

	a->again = true;
	a->until = sim.now + 10 * SECOND;
	a->state = !again ? ASK_OVER : inside ? ASK_INSIDE_AWAY : ASK_AWAY;
	if (again)
		event_at(sim.now + 100 * MS, inside ? leave : come, a, 0);
}

static void on_answer(void *arg, const struct party_answer *answer)
{
	struct ask *a = arg;
	unsigned long long number = (unsigned long long)(a - asks);

	sim.figures.barrier_told[answer->outcome]++;
	TRACE("barrier: ask %llu of site %u is told %d", number, a->site, (int)answer->outcome);
	switch (answer->outcome) {
	case PARTY_OPENED:
		if (!a->lost && (!a->counted || (answer->round > 0 && answer->round != a->round)))
			sim_violation("ask %llu is told of a round that it is not in", number);
		a->told = answer->round;
		a->state = a->command ? ASK_INSIDE : ASK_OVER;
		if (a->command)
			event_at(sim.now + random_exp(3 * SECOND), leave, a, 0);
		break;
	case PARTY_LEFT:
		if (!a->lost && anybody_inside(a->barrier, a->round) < n_asks)
			sim_violation("ask %llu has left before the others", number);
		a->state = ASK_OVER;
		break;
	case PARTY_TIMEOUT:
	case PARTY_OTHER_COUNT:
		if (!a->lost && a->counted)
			sim_violation("ask %llu was counted, and is told that it was not", number);
		a->denied = !a->lost;
		a->state = ASK_OVER;
		break;
	case PARTY_ENDED: away(a); break;
	case PARTY_FAILED:
	case PARTY_MISUSE:
	case PARTY_IN_USE:
	case PARTY_NOT_THERE:
	case PARTY_WITHDRAWN: a->state = ASK_OVER; break;
	}
}

static void come(void *arg, uint64_t number)
{
	struct ask *a = arg;

	(void)number;
	if (a->state != ASK_AWAY)
		return;
	if (sim.now > a->until) {
		a->state = ASK_OVER;
		return;
	}
	if (!may_ask(a)) {
		event_at(sim.now + 100 * MS, come, a, 0);
		return;
	}
	enter(a, 0);
}

static void leave(void *arg, uint64_t number)
{
	struct ask *a = arg;
	struct site *s = &sites[a->site];

	(void)number;
	if (a->state != ASK_INSIDE && a->state != ASK_INSIDE_AWAY)
		return;
	if (a->state == ASK_INSIDE && (!s->running || s->life != a->life))
		away(a);
	if (a->state == ASK_INSIDE_AWAY && sim.now > a->until)
		a->state = ASK_OVER;
	if (a->state == ASK_OVER)
		return;
	if (!may_ask(a)) {
		if (a->state == ASK_INSIDE || a->state == ASK_INSIDE_AWAY)
			event_at(sim.now + 100 * MS, leave, a, 0);
		return;
	}
	if (a->state == ASK_INSIDE_AWAY && a->told > 0 && random_chance(500)) {
		enter(a, a->told); /* its command goes on */
		return;
	}
	a->state = ASK_LEAVES;
	a->life = s->life;
	barriers_leave(&s->node.recipes.barriers, barriers[a->barrier].name,
		       (uint64_t)(a - asks) + 1, a->told, a, on_answer, a);
	machine_wake(s->machine, 0);
}

/* A client is killed. */
static void drop_one(void)
{
	struct ask *a = &asks[n_asks - 1 - (uint64_t)random_range(0, n_asks < 20 ? 0 : 19)];
	struct site *s = &sites[a->site];

	if (a->state == ASK_OVER || !may_ask(a) || s->life != a->life)
		return;
	if (a->state != ASK_WAITS)
		a->state = ASK_OVER;
	parties_owner_gone(&s->node.recipes.barriers, a);
	machine_wake(s->machine, 0);
}

void barrier_use(struct site *s)
{
	struct ask *a = &asks[n_asks];

	if (n_asks == ASKS_MAX)
		return;
	n_asks++;
	*a = (struct ask){.state = ASK_AWAY, .site = s->id, .until = sim.now};
	a->barrier = (unsigned)random_range(0, BARRIERS - 1);
	a->count = a->barrier + 1 + random_chance(30);
	a->command = random_chance(400);
	come(a, 0);
	if (random_chance(150))
		drop_one();
}

/* --- at rest --------------------------------------------------------------------------------------- */

/* Some wait, and they are enough: all that is there is to be one round. */
static bool is_stuck(unsigned k)
{
	unsigned waiting = 0, others = 0;

	for (unsigned i = 0; i < n_nodes; i++) {
		const struct ask *a = &asks[nodes[i].ask];
		if (a->barrier != k)
			continue;
		if (a->count != k + 1 || a->counted || a->state != ASK_WAITS)
			others++;
		else
			waiting++;
	}
	return others == 0 && waiting >= k + 1;
}

static bool is_left_behind(unsigned k)
{
	for (unsigned i = 0; i < n_nodes; i++) {
		const struct ask *a = &asks[nodes[i].ask];
		if (a->barrier == k && a->state == ASK_OVER)
			return true;
	}
	return false;
}

/* Whether it was wrong for too long without a break: while nobody looked it may have been good. */
static bool is_late(bool wrong, int64_t *since)
{
	if (!wrong)
		*since = 0;
	else if (*since == 0 || sim.now - looked_at > 5 * SECOND)
		*since = sim.now;
	return wrong && sim.now - *since > LATE_US;
}

const char *barrier_at_rest(void)
{
	const char *problem = NULL;

	for (unsigned k = 0; k < BARRIERS; k++) {
		if (is_late(is_stuck(k), &barriers[k].open_since))
			problem = "a barrier does not open";
		if (is_late(is_left_behind(k), &barriers[k].left_since))
			problem = "a node of a barrier is left behind";
	}
	looked_at = sim.now;
	return problem;
}

void barrier_forget(void)
{
	n_nodes = 0;
	for (unsigned k = 0; k < BARRIERS; k++)
		barriers[k].round = 0;
	for (uint64_t i = 0; i < n_asks; i++) {
		asks[i].lost = true;
		asks[i].counted = asks[i].denied = false;
	}
}

void barrier_reset(void)
{
	n_asks = n_nodes = 0;
	looked_at = 0;
	memset(barriers, 0, sizeof(barriers));
	for (unsigned k = 0; k < BARRIERS; k++) {
		char path[160];
		snprintf(barriers[k].name, sizeof(barriers[k].name), "b%u", k);
		snprintf(path, sizeof(path), SITE_ROOT "/barriers/%s", barriers[k].name);
		barriers[k].path = path_intern(path);
	}
}
