#include "oracle.h"

#include <string.h>

#include "scenario.h"
#include "server.h"
#include "ticks.h"

#define HANDS_MAX 32

struct said {
	int64_t until; /* true time up to which it may say yes */
	int64_t token;
	int64_t excused; /* this token is not held against it, nor against others */
	int64_t excused_at;
	int64_t claim_token, claim_owner; /* what it knew of the last leader when it claimed */
	bool claim_given;		  /* and that he had given it up */
	int64_t claim_at;		  /* and when that was */
};

static struct task_oracle {
	struct said said[SIDECARS_MAX];
	int64_t greatest; /* token that was ever said */
	unsigned greatest_by;
	int64_t last_until; /* the end of the last yes */
	uint64_t tokens;
	int64_t worst_gap;
	/* the last nodes deleted by hand */
	struct {
		int64_t token, owner, at;
		bool disguised; /* written by hand before, as a leader does that yields */
	} hand[HANDS_MAX];
	unsigned n_hands;
	/* before the present change */
	uint64_t tokens_before;
	int leader_before;
} tasks[TASKS_MAX];

static uint64_t requests, requests_before, cuts_before;
static int64_t hand_worker[SIDECARS_MAX]; /* when a worker node of it was last deleted by hand */

void oracle_reset(void)
{
	memset(tasks, 0, sizeof(tasks));
	memset(hand_worker, 0, sizeof(hand_worker));
	requests = 0;
}

void oracle_forget(void)
{
	sim.figures.forgotten++;
	if (sim.options.ticks)
		ticks_forget();
	/* Nobody says anything by now, and tokens that were seen will be given again. */
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		tasks[k].greatest = 0;
		memset(tasks[k].said, 0, sizeof(tasks[k].said));
		memset(tasks[k].hand, 0, sizeof(tasks[k].hand));
	}
}

int oracle_leader(unsigned task)
{
	for (unsigned i = 0; i < sim.n_sidecars; i++)
		if (tasks[task].said[i].until > sim.now)
			return (int)i;
	return -1;
}

/* --- at every step ------------------------------------------------------------------------------------- */

/*
 * Nobody can wait where his claim was on its way already; for an owner that he never heard of, or not since
 * that one gave the task up (he slept over it being taken back, and deleted by hand); whose worker node was
 * deleted by hand as well; or whose node was first written and then deleted by hand: docs/SIMULATION.md.
 * And who leads beside one that does not know yet that its node was deleted by hand may lose the new node to
 * that one's yield.
 */
static bool gave_anothers(const struct task_oracle *t, unsigned older, unsigned newer)
{
	const struct said *s = &t->said[newer];

	if (s->claim_token == t->said[older].token && !s->claim_given)
		return false; /* it knew whom to wait for */
	for (unsigned i = 0; i < sim.n_sidecars; i++)
		if (t->said[i].excused != 0 && t->said[i].excused < t->said[older].token &&
		    sim.now - t->said[i].excused_at < 2 * sim.timeout_ms * MS)
			return true;
	return false;
}

static bool is_excused(const struct task_oracle *t, unsigned older, unsigned newer)
{
	const struct said *s = &t->said[newer];
	int64_t worker = hand_worker[older];
	bool worker_too = worker != 0 && sim.now - worker < 2 * sim.timeout_ms * MS;

	if (gave_anothers(t, older, newer))
		return true;
	for (unsigned i = 0; i < HANDS_MAX; i++) {
		bool unheard = s->claim_token != t->hand[i].token &&
			       (s->claim_given || s->claim_owner != t->hand[i].owner);
		bool on_its_way = s->claim_at <= t->hand[i].at;
		if (t->said[older].token == t->hand[i].token &&
		    (t->hand[i].disguised || worker_too || unheard || on_its_way))
			return true;
	}
	return false;
}

static void says_yes(struct sidecar *s, unsigned task, int64_t until)
{
	struct task_oracle *t = &tasks[task];
	struct said *mine = &t->said[s->id];
	int64_t token = s->tasks[task].election.node.token;

	if (token == mine->excused)
		return;
	mine->token = token;
	for (unsigned i = 0; i < sim.n_sidecars; i++) {
		if (i == s->id || t->said[i].until <= sim.now)
			continue;
		bool is_older = token < t->said[i].token;
		struct said *older = is_older ? mine : &t->said[i];
		if (is_excused(t, is_older ? s->id : i, is_older ? i : s->id)) {
			TRACE("task %u: excused, sidecar %u with token %lld beside sidecar %u with "
			      "%lld",
			      task, s->id, (long long)token, i, (long long)t->said[i].token);
			sim.figures.excused++;
			older->until = sim.now;
			older->excused = older->token;
			older->excused_at = sim.now;
			if (is_older)
				return;
			continue;
		}
		sim_violation("task %u: sidecar %u leads with token %lld while sidecar %u leads "
			      "with %lld for %.3f s more",
			      task, s->id, (long long)token, i, (long long)t->said[i].token,
			      (double)(t->said[i].until - sim.now) / 1e6);
	}
	if (token < t->greatest && is_excused(t, s->id, t->greatest_by)) {
		TRACE("task %u: excused, sidecar %u with token %lld after sidecar %u with %lld",
		      task, s->id, (long long)token, t->greatest_by, (long long)t->greatest);
		sim.figures.excused++;
		mine->excused = token;
		mine->excused_at = sim.now;
		return;
	}
	if (token < t->greatest)
		sim_violation("task %u: sidecar %u leads with token %lld after %lld was seen", task,
			      s->id, (long long)token, (long long)t->greatest);
	if (token > t->greatest) {
		sim.figures.elections++;
		t->tokens++;
		t->greatest = token;
		t->greatest_by = s->id;
	}
	if (t->last_until < sim.now && sim.now - t->last_until > t->worst_gap)
		t->worst_gap = sim.now - t->last_until;
	mine->until = until;
	if (until > t->last_until)
		t->last_until = until;
}

void oracle_role(struct sidecar *s, unsigned task)
{
	enum election_state state = s->tasks[task].election.state;
	struct said *mine = &tasks[task].said[s->id];
	bool role = state == ELECTION_LEADING ||
		    (state == ELECTION_RELEASING && sim.options.plant == PLANT_LATE_RELEASE);

	if (role && s->running && session_lease_left(s) > 0) {
		says_yes(s, task, clock_when(&s->clock, s->lease.deadline_ms * MS));
		return;
	}
	if (mine->until > sim.now) {
		mine->until = sim.now;
		tasks[task].last_until = sim.now;
	}
}

void oracle_lease(struct sidecar *s)
{
	for (unsigned k = 0; k < sim.n_tasks; k++)
		oracle_role(s, k);
}

void oracle_dead(struct sidecar *s)
{
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		struct said *mine = &tasks[k].said[s->id];
		if (mine->until <= sim.now)
			continue;
		mine->until = sim.now;
		tasks[k].last_until = sim.now;
	}
}

void oracle_claims(struct sidecar *s, unsigned task)
{
	const struct election *e = &s->tasks[task].election;
	struct said *mine = &tasks[task].said[s->id];

	mine->claim_token = e->node.token;
	mine->claim_owner = e->node.owner;
	mine->claim_given = e->handed_over;
	mine->claim_at = sim.now;
	if (!(s->tasks_mask >> task & 1) || !e->view.candidate || !s->ready)
		sim_violation("task %u: sidecar %u claims and is no candidate", task, s->id);
}

void oracle_asked(enum ask what)
{
	if (what != ASK_CONFIRM && what != ASK_TOUCH && what != ASK_AUDIT)
		requests++;
}

void oracle_unknown(const struct request *q, int64_t session)
{
	int leader = servers_leader();
	bool done = false;

	if (leader < 0)
		return;
	const struct tree *t = &servers[leader].tree;
	for (unsigned i = 0; i < q->n_ops; i++) {
		const struct op *op = &q->ops[i];
		if (op->type == OP_CREATE_LEADER)
			done = t->leaders[op->target].exists &&
			       t->leaders[op->target].owner == session;
		else if (op->type == OP_DELETE_LEADER)
			done = !t->leaders[op->target].exists;
		else if (op->type == OP_CREATE_WORKER)
			done = tree_has_worker(t, op->target);
		else if (op->type == OP_CHECK_WORKER && q->n_ops == 1)
			return;
	}
	sim.figures.faults[done ? FAULT_UNKNOWN_DONE : FAULT_UNKNOWN_NOT]++;
}

void oracle_hand(unsigned task)
{
	int leader = servers_leader();

	if (leader < 0 || !servers[leader].prepared.leaders[task].exists)
		return;
	const struct leader_node *node = &servers[leader].prepared.leaders[task];
	struct task_oracle *t = &tasks[task];
	t->hand[t->n_hands % HANDS_MAX].disguised = node->version > 0;
	t->hand[t->n_hands % HANDS_MAX].token = node->czxid;
	t->hand[t->n_hands % HANDS_MAX].at = sim.now;
	t->hand[t->n_hands++ % HANDS_MAX].owner = node->owner;
}

void oracle_hand_worker(const struct sidecar *s)
{
	hand_worker[s->id] = sim.now;
}

/* --- at rest --------------------------------------------------------------------------------------------- */

/* The fleet as it is registered, which everybody should see alike. */
static void build_fleet(struct fleet *f)
{
	const struct tree *t = &servers[servers_leader()].tree;

	fleet_init(f);
	fleet_set_tasks(f, task_names, sim.n_tasks);
	for (size_t i = 0; i < t->n_workers; i++) {
		uint32_t record = t->workers[i].record;
		struct member *m = fleet_add(f, worker_of(record), t->workers[i].session, 0);
		if (m)
			m->drained = drained_now >> records[record].sidecar & 1;
	}
}

/* Whether this sidecar may go on leading, by the rules of who is best and who yields. */
static bool may_lead(const struct fleet *f, unsigned task, unsigned sidecar)
{
	struct contest contest = task_contest(task);
	const struct sidecar *s = &sidecars[sidecar];

	if (!s->running || !s->self)
		return false;
	struct standing standing = fleet_stand(f, &contest, task, records[s->self].id);
	if (!standing.self_candidate)
		return false;
	if (standing.best == standing.self)
		return true;
	switch (task_configs[task].yield) {
	case ELECTION_YIELD_RANK: return false;
	case ELECTION_YIELD_VERSION: return !standing.best_is_newer;
	case ELECTION_YIELD_NEVER: return true;
	}
	return false;
}

static const char *task_at_rest(const struct fleet *f, unsigned task, int64_t *ret_until)
{
	struct contest contest = task_contest(task);
	int leader = oracle_leader(task);
	const char *reason;
	int64_t at;

	if (!fleet_stand(f, &contest, task, "").best)
		return leader < 0 ? NULL : "a task is led by no candidate";
	if (leader < 0)
		return "a task is led by nobody";
	if (may_lead(f, task, (unsigned)leader))
		return NULL;
	struct sidecar *s = &sidecars[leader];
	struct election_time now = sidecar_time(s);
	if (election_yield_at(&s->tasks[task].election, now, &at, &reason) && at > now.boot_ms)
		*ret_until = sim.now + (at - now.boot_ms) * MS * 101 / 100;
	return "a task is not led by its best candidate";
}

bool oracle_sessions_left(void)
{
	const struct tree *t = &servers[servers_leader()].tree;
	size_t running = 0;

	for (unsigned i = 0; i < sim.n_sidecars; i++)
		running += sidecars[i].running;
	return t->n_sessions > running;
}

void oracle_trace(void)
{
	for (unsigned i = 0; i < sim.n_sidecars; i++) {
		const struct sidecar *s = &sidecars[i];
		TRACE("sidecar %u:%s%s%s version %s, tasks %llx, drained %llx, session %lld, lease "
		      "%lld ms, members %zu, reads %zu%s%s",
		      i, s->running ? " running" : "", s->state == SESSION_UP ? " up" : "",
		      s->ready ? " ready" : "", version_names[s->version],
		      (unsigned long long)s->tasks_mask, (unsigned long long)s->drained,
		      (long long)s->session, (long long)session_lease_left(s), s->fleet.n_members,
		      s->reads_pending, s->dirty ? " dirty" : "", s->listing ? " listing" : "");
		for (unsigned k = 0; s->running && k < sim.n_tasks; k++) {
			const struct election *e = &s->tasks[k].election;
			TRACE("  task %u: %s%s place %u%s%s%s%s reads %u owner %lld token %lld", k,
			      election_state_name(e->state), e->view.candidate ? " candidate" : "",
			      e->view.place, e->node.known ? " known" : "",
			      e->node.exists ? " exists" : "", e->watched ? " watched" : "",
			      e->stranger ? " stranger" : "", e->reads, (long long)e->node.owner,
			      (long long)e->node.token);
		}
	}
	for (unsigned i = 0; i < sim.n_servers; i++) {
		const struct server *s = &servers[i];
		TRACE("server %u:%s%s role %d epoch %lld log %zu applied %zu sessions %zu workers "
		      "%zu",
		      i, s->alive ? " alive" : "", s->inbox.paused ? " paused" : "", (int)s->role,
		      (long long)s->epoch, s->n_log, s->applied, s->tree.n_sessions,
		      s->tree.n_workers);
		for (size_t j = 0; j < s->tree.n_workers; j++)
			TRACE("  worker %s of sidecar %u, session %lld",
			      records[s->tree.workers[j].record].id,
			      records[s->tree.workers[j].record].sidecar,
			      (long long)s->tree.workers[j].session);
	}
}

const char *oracle_at_rest(int64_t *ret_until)
{
	const char *problem = NULL;
	struct fleet f;

	*ret_until = 0;
	if (!servers_agree())
		return "the servers are not one quorum";
	for (unsigned i = 0; i < sim.n_sidecars; i++)
		if (sidecars[i].running && sidecars[i].state != SESSION_UP)
			return "a sidecar is not connected";
	/* Jobs keep leaders that are not the best. */
	if (sim.options.ticks)
		return NULL;
	build_fleet(&f);
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		int64_t until = 0;
		const char *one = task_at_rest(&f, k, &until);
		if (one && (until == 0 || !problem))
			problem = one;
		if (until > *ret_until)
			*ret_until = until;
	}
	fleet_done(&f);
	sim.figures.checks++;
	return problem;
}

/* --- around one change ------------------------------------------------------------------------------------- */

void oracle_before(void)
{
	requests_before = requests;
	cuts_before = sim.cuts;
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		tasks[k].tokens_before = tasks[k].tokens;
		tasks[k].leader_before = oracle_leader(k);
		tasks[k].worst_gap = 0;
	}
}

static void note_gap(enum change what, const struct task_oracle *t)
{
	int64_t gap = t->worst_gap;

	if (t->leader_before < 0 || gap == 0 || what == CHANGE_BLINK)
		return;
	if (what == CHANGE_KILL)
		gap -= sim.timeout_ms * MS;
	int64_t *worst = what == CHANGE_KILL	? &sim.figures.worst_kill
			 : what == CHANGE_LEAVE ? &sim.figures.worst_leave
						: &sim.figures.worst_yield;
	if (gap > *worst)
		*worst = gap;
}

/*
 * A few round trips and, where the next one has led nothing before, a second write for his lease. Of one
 * who blinked so fast that nobody has seen whose node it was, the lease is waited for.
 */
static int64_t gap_bound(enum change what)
{
	int64_t bound =
		20 * (sim.delay_us + 4 * sim.server_delay_us) + (500 + sim.timeout_ms / 50) * MS;

	return what == CHANGE_BLINK ? bound + sim.timeout_ms * MS * 101 / 100 : bound;
}

void oracle_after(enum change what)
{
	unsigned running = 0;
	struct fleet f;

	build_fleet(&f);
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		struct task_oracle *t = &tasks[k];
		uint64_t moves = t->tokens - t->tokens_before;
		bool stays = t->leader_before >= 0 && may_lead(&f, k, (unsigned)t->leader_before);
		/* A server that learns only now where a session is ends its connection. */
		if (sim.cuts != cuts_before)
			continue;
		/* There and back again, if he who blinked was there for long enough. */
		unsigned most = what == CHANGE_BLINK ? 2 : 1;
		if (moves > most || (moves > 0 && stays && most == 1 && what != CHANGE_KILL))
			sim_violation("task %u moved %llu times for one change%s", k,
				      (unsigned long long)moves,
				      stays ? ", and its leader was still the best" : "");
		note_gap(what, t);
		if (what != CHANGE_KILL && t->leader_before >= 0 && t->worst_gap > gap_bound(what))
			sim_violation("task %u: nobody led it for %.3f s", k,
				      (double)t->worst_gap / 1e6);
	}
	fleet_done(&f);
	for (unsigned i = 0; i < sim.n_sidecars; i++)
		running += sidecars[i].running;
	double per_worker = (double)(requests - requests_before) / (running ? running : 1);
	sim.figures.changes++;
	sim.figures.sum_requests += per_worker;
	if (per_worker > sim.figures.worst_requests)
		sim.figures.worst_requests = per_worker;
	/*
	 * A list, the records it names, and for each task a few reads, a claim and a release; all that again
	 * behind a connection that was lost.
	 */
	unsigned bound = 10 + running + 8 * sim.n_tasks;
	if (per_worker > bound * (what == CHANGE_BLINK || sim.cuts != cuts_before ? 2 : 1))
		sim_violation("%.0f requests per worker for one change", per_worker);
}
