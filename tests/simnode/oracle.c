#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/identity.h"
#include "core/skew.h"
#include "core/tally.h"
#include "jobs.h"
#include "scenario.h"
#include "server.h"
#include "wall.h"
#include "wire/record.h"

#define HANDS_MAX  32
#define SETTLED_US (2 * SECOND) /* until those who were to wait for that have looked at it */
#define DECIDED_US \
	(60 * SECOND) /* for the fleet to settle after a decision has ended, or a clock was set */

struct said {
	int64_t until; /* true time up to which it may say yes */
	int64_t token;
	int64_t promised; /* true time up to which an answer has promised it */
	int64_t excused;  /* this token is not held against it, nor against others */
	int64_t excused_at;
	enum election_state state;	  /* at the end of its last turn */
	bool candidate;			  /* likewise */
	int64_t claim_token, claim_owner; /* what it knew of the last leader when it claimed */
	bool claim_given;		  /* and that he had given it up */
	int64_t claim_at;		  /* and when that was */
	char heir[NAME_ID_MAX + 1];	  /* to whom it is giving the task up */
};

static struct task_oracle {
	struct said said[HOSTS_MAX];
	int64_t greatest; /* token that was ever said */
	unsigned greatest_by;
	uint64_t tokens;
	/* the last nodes deleted by hand */
	struct {
		int64_t token, owner, at;
		bool disguised; /* written by hand before, as a leader does that yields */
	} hand[HANDS_MAX];
	unsigned n_hands;
	path_id path;
	/* before the present change */
	uint64_t tokens_before;
	int leader_before;
	uint64_t passed_before; /* bits of running sites that were no candidates */
} tasks[TASKS_MAX];

static int64_t hand_worker[HOSTS_MAX]; /* when a worker node of it was last deleted by hand */
static uint64_t cuts_before;
static int64_t unknown_at; /* when what a worker had published of its clock was not true last */
static int64_t decided_at; /* likewise, or a decision was there that has to end by itself */
/* The session timeout of a site, as the servers count; and since when that is shorter than it knows. */
static struct {
	int64_t session, timeout_ms;
	int64_t unheard_until; /* true time at which a lease by the longer one is over, 0: it knows */
	int64_t shorter_until; /* likewise, of what was promised before */
} granted[HOSTS_MAX];

static path_id child(const char *folder, const char *name)
{
	char path[STORE_PATH_MAX];

	snprintf(path, sizeof(path), SITE_ROOT "/%s%s%s", folder, name[0] ? "/" : "", name);
	return path_intern(path);
}

/*
 * What was answered by a longer session timeout than the servers count with from now on is not held against
 * it: docs/SAFETY.md, as it may never hear of it.
 */
static void on_grant(int64_t session, int64_t timeout_ms)
{
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		struct site *s = &sites[i];
		int64_t own = s->running ? s->node.session.id : s->kept.session;
		if (own != session)
			continue;
		if (granted[i].session != session)
			granted[i].timeout_ms =
				s->running ? s->node.session.granted_ms : s->kept.timeout_ms;
		granted[i].session = session;
		if (timeout_ms < granted[i].timeout_ms) {
			granted[i].unheard_until = sim.now + granted[i].timeout_ms * MS * 102 / 100;
			granted[i].shorter_until = granted[i].unheard_until;
			for (unsigned k = 0; k < sim.n_tasks; k++)
				tasks[k].said[i].promised = 0;
		}
		granted[i].timeout_ms = timeout_ms;
	}
}

static bool claims(const struct transaction *x, path_id path)
{
	for (size_t i = 0; i < x->n_ops; i++)
		if (x->ops[i].type == STORE_OP_CREATE_EPHEMERAL && x->ops[i].path == path)
			return true;
	return false;
}

/*
 * Leadership is given up to somebody who is there; and what is not ephemeral is for people to delete, but
 * where it has come while somebody was giving the task up.
 */
static void on_propose(const struct transaction *x, const struct tree *before)
{
	for (size_t i = 0; i < x->n_ops; i++) {
		if (x->ops[i].type != STORE_OP_DELETE || x->session == HAND)
			continue;
		const struct znode *node = tree_get(before, x->ops[i].path);
		for (unsigned k = 0; node && k < sim.n_tasks; k++) {
			if (tasks[k].path != x->ops[i].path)
				continue;
			if (node->stat.owner == 0 && claims(x, tasks[k].path))
				sim_violation("task %u is claimed over what is not ephemeral", k);
			if (node->stat.owner != x->session)
				continue;
			for (unsigned j = 0; j < sim.n_hosts; j++) {
				const char *heir = tasks[k].said[j].heir;
				if (sites[j].running && heir[0] &&
				    store_session(sites[j].node.session.store) == x->session &&
				    !tree_get(before, child("workers", heir)))
					sim_violation(
						"task %u was given up to a worker that is gone", k);
			}
		}
	}
}

bool oracle_has_shrunk(unsigned site)
{
	return sim.now < granted[site].shorter_until;
}

void oracle_reset(void)
{
	memset(tasks, 0, sizeof(tasks));
	memset(hand_worker, 0, sizeof(hand_worker));
	memset(granted, 0, sizeof(granted));
	decided_at = unknown_at = -DECIDED_US;
	servers_propose = on_propose;
	servers_grant = on_grant;
	for (unsigned k = 0; k < sim.n_tasks; k++)
		tasks[k].path = child("leaders", task_settings[k].name);
}

path_id oracle_leader_path(unsigned task)
{
	return tasks[task].path;
}

void oracle_forget(void)
{
	sim.figures.forgotten++;
	jobs_forget();
	/* Nobody says anything by now, and tokens that were seen will be given again. */
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		tasks[k].greatest = 0;
		memset(tasks[k].said, 0, sizeof(tasks[k].said));
		memset(tasks[k].hand, 0, sizeof(tasks[k].hand));
	}
}

int oracle_leader(unsigned task)
{
	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (tasks[task].said[i].until > sim.now)
			return (int)i;
	return -1;
}

/* --- at every turn -------------------------------------------------------------------------------- */

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
	for (unsigned i = 0; i < sim.n_hosts; i++)
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

	if (gave_anothers(t, older, newer) || sim.now < granted[older].unheard_until)
		return true;
	for (unsigned i = 0; i < HANDS_MAX; i++) {
		bool unheard = s->claim_token != t->hand[i].token &&
			       (s->claim_given || s->claim_owner != t->hand[i].owner);
		bool on_its_way = s->claim_at <= t->hand[i].at;
		if (t->said[older].token == t->hand[i].token && t->hand[i].token != 0 &&
		    (t->hand[i].disguised || worker_too || unheard || on_its_way))
			return true;
	}
	return false;
}

static void excuse(struct said *older)
{
	sim.figures.excused++;
	older->until = older->promised = sim.now;
	older->excused = older->token;
	older->excused_at = sim.now;
}

/* Another may say yes, or has promised, at this moment; whether that leaves this one saying yes. */
static bool beside(struct task_oracle *t, unsigned mine, unsigned other, int64_t token)
{
	struct said *o = &t->said[other], *m = &t->said[mine];
	bool is_older = token < o->token;
	unsigned older = is_older ? mine : other, newer = is_older ? other : mine;

	if (is_excused(t, older, newer)) {
		TRACE("excused: site %u with token %lld beside site %u with %lld", mine,
		      (long long)token, other, (long long)o->token);
		excuse(is_older ? m : o);
		return !is_older;
	}
	sim_violation("task %u: site %u leads with token %lld while site %u %s with %lld for %.3f "
		      "s more",
		      (unsigned)(t - tasks), mine, (long long)token, other,
		      o->until > sim.now ? "leads" : "has promised", (long long)o->token,
		      (double)((o->until > sim.now ? o->until : o->promised) - sim.now) / 1e6);
	return true;
}

static void says_yes(unsigned site, unsigned task, int64_t token, int64_t until)
{
	struct task_oracle *t = &tasks[task];
	struct said *mine = &t->said[site];

	if (token == mine->excused)
		return;
	mine->token = token;
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		const struct said *o = &t->said[i];
		if (i == site || (o->until <= sim.now && o->promised <= sim.now))
			continue;
		if (!beside(t, site, i, token))
			return;
	}
	if (token < t->greatest && is_excused(t, site, t->greatest_by)) {
		excuse(mine);
		return;
	}
	if (token < t->greatest)
		sim_violation("task %u: site %u leads with token %lld after %lld was seen", task,
			      site, (long long)token, (long long)t->greatest);
	if (token > t->greatest) {
		TRACE("task %u: site %u leads, token %lld", task, site, (long long)token);
		sim.figures.elections++;
		t->tokens++;
		t->greatest = token;
		t->greatest_by = site;
	}
	mine->until = until;
}

static void note_state(struct site *s, unsigned task, const struct task *t)
{
	struct said *mine = &tasks[task].said[s->id];
	const struct election *e = &t->election;

	if (e->state == ELECTION_CLAIMING && mine->state != ELECTION_CLAIMING) {
		mine->claim_token = e->node.token;
		mine->claim_owner = e->node.owner;
		mine->claim_given = e->handed_over;
		mine->claim_at = sim.now;
		if (!mine->candidate && !e->view.candidate)
			sim_violation("task %u: site %u claims and is no candidate", task, s->id);
	}
	if (e->state == ELECTION_RELEASING && mine->state != ELECTION_RELEASING)
		memcpy(mine->heir, t->release.to, sizeof(mine->heir));
	else if (e->state != ELECTION_RELEASING)
		mine->heir[0] = '\0';
	if (mine->state != e->state)
		TRACE("task %u: site %u is %s, place %d, owner %lld, token %lld", task, s->id,
		      election_state_name(e->state), (int)e->view.place, (long long)e->node.owner,
		      (long long)e->node.token);
	mine->state = e->state;
	mine->candidate = e->view.candidate;
}

/* What is kept up as members come and go is what looking at all of them would tell. */
static void check_tally(const struct site *s, const struct task *t)
{
	const struct registry *r = &s->node.registry;
	const struct tally *tally = &r->fleet.tallies[t->index];
	struct standing standing;

	if (!tally->known || tally->self != fleet_find(&r->fleet, r->id))
		return; /* nothing goes by it before it is counted anew */
	standing = fleet_stand(&r->fleet, &t->contest, t->index, tally->self ? r->id : "");
	if (standing.best != tally->best.member ||
	    (standing.self_candidate && standing.place != tally->ahead))
		sim_violation(
			"%s: site %u counts %zu candidates before itself, best %s; the fleet has "
			"%zu, best %s",
			t->name, s->id, tally->ahead,
			tally->best.member ? tally->best.member->worker->id : "-", standing.place,
			standing.best ? standing.best->worker->id : "-");
}

void oracle_look(void *arg)
{
	struct site *s = arg;
	const struct leaders *l = &s->node.leaders;
	bool seen[TASKS_MAX] = {false};

	if (!s->running || s->parting)
		return;
	if (s->node.session.id == granted[s->id].session &&
	    s->node.session.granted_ms <= granted[s->id].timeout_ms)
		granted[s->id].unheard_until = 0;
	for (size_t i = 0; i < l->n_tasks; i++) {
		const struct task *t = l->tasks[i];
		unsigned k = task_number(t->name);
		int64_t left = leaders_lease_left(t);
		note_state(s, k, t);
		check_tally(s, t);
		if (left <= 0)
			continue;
		seen[k] = true;
		says_yes(s->id, k, t->election.node.token,
			 machine_when(s->machine, host_now_ms(l->session->host) + left));
	}
	for (unsigned k = 0; k < sim.n_tasks; k++)
		if (!seen[k] && tasks[k].said[s->id].until > sim.now)
			tasks[k].said[s->id].until = sim.now;
}

void oracle_ask(struct site *s, unsigned task)
{
	struct task *t = site_task(s, task);
	struct said *mine = &tasks[task].said[s->id];

	if (!t || s->parting)
		return;
	sim.figures.questions++;
	int64_t now = host_now_ms(machine_host(s->machine)), left = leaders_promise(t);
	if (left <= 0)
		return;
	if (left > leaders_lease_left(t))
		sim_violation("task %u: site %u promises more than its lease", task, s->id);
	if (t->election.node.token == mine->excused || s->stopping)
		return;
	says_yes(s->id, task, t->election.node.token, mine->until);
	int64_t until = machine_when(s->machine, now + left);
	if (until > mine->promised)
		mine->promised = until;
}

void oracle_stopping(const struct site *s)
{
	for (unsigned k = 0; k < sim.n_tasks; k++)
		tasks[k].said[s->id].promised = 0;
}

void oracle_dead(const struct site *s)
{
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		struct said *mine = &tasks[k].said[s->id];
		mine->state = ELECTION_DOWN;
		mine->heir[0] = '\0';
		if (mine->until > sim.now)
			mine->until = sim.now;
	}
}

void oracle_hand(unsigned task)
{
	const struct tree *tree = servers_tree();
	const struct znode *node = tree ? tree_get(tree, tasks[task].path) : NULL;
	struct task_oracle *t = &tasks[task];

	if (!node)
		return;
	t->hand[t->n_hands % HANDS_MAX].disguised = node->stat.version > 0;
	t->hand[t->n_hands % HANDS_MAX].token = node->stat.czxid;
	t->hand[t->n_hands % HANDS_MAX].at = sim.now;
	t->hand[t->n_hands++ % HANDS_MAX].owner = node->stat.owner;
}

void oracle_hand_worker(const struct site *s)
{
	hand_worker[s->id] = sim.now;
}

/* --- at rest: the fleet as the znodes say, and by the rules who is to lead ------------------------- */

struct order {
	bool paused;
	char pinned[NAME_VERSION_MAX + 1];
};

static void add_workers(struct fleet *f, const struct tree *t)
{
	const struct znode *folder = tree_get(t, child("workers", ""));

	for (size_t i = 0; folder && i < folder->n_children; i++) {
		const struct znode *node = tree_get(t, folder->children[i]);
		struct worker *w;
		const char *why;
		if (node->data &&
		    record_parse_worker(node->data->bytes, node->data->len, &w, &why) == 0)
			fleet_add(f, w, node->stat.owner, 0);
	}
}

static void add_order(struct fleet *f, const struct policy_record *r, struct order *orders)
{
	unsigned k = task_number(r->task);

	for (size_t i = 0; i < f->n_members; i++) {
		struct member *m = f->by_id[i];
		if (!identity_concerns(f, r->node, r->machine, m->worker->node, m->worker->machine))
			continue;
		if (strcmp(r->kind, "drain") == 0)
			m->drained = true;
		else if (strcmp(r->kind, "resign") == 0 && k < TASKS_MAX)
			fleet_resign(f, m, k);
	}
	if (strcmp(r->kind, "pause") == 0 && k < TASKS_MAX)
		orders[k].paused = true;
	if (strcmp(r->kind, "pin") == 0 && k < TASKS_MAX)
		memcpy(orders[k].pinned, r->version, sizeof(orders[k].pinned));
}

/* What is to end by itself: a decision, or that somebody does not know yet that a clock was set; NULL. */
static const char *build_fleet(struct fleet *f, struct order *orders)
{
	bool pending = false;
	static const char *names[TASKS_MAX];
	const struct tree *t = servers_tree();

	for (unsigned k = 0; k < sim.n_tasks; k++)
		names[k] = task_settings[k].name;
	memset(orders, 0, TASKS_MAX * sizeof(*orders));
	fleet_init(f);
	fleet_set_tasks(f, names, sim.n_tasks);
	add_workers(f, t);
	const struct znode *folder = tree_get(t, child("policy", ""));
	for (size_t i = 0; folder && i < folder->n_children; i++) {
		const struct znode *node = tree_get(t, folder->children[i]);
		struct policy_record r;
		const char *why;
		if (!node->data ||
		    record_parse_policy(node->data->bytes, node->data->len, &r, &why) != 0)
			continue;
		add_order(f, &r, orders);
		pending |= r.until != 0;
	}
	wall_judge(f);
	if (!wall_is_known(f))
		unknown_at = sim.now;
	if (sim.now < unknown_at + SKEW_SETTLE_MS * MS + SETTLED_US)
		return "a worker's clock is not what it has published, or was not just now";
	return pending ? "a decision has not ended" : NULL;
}

static struct contest contest_of(unsigned task, const struct order *orders)
{
	const struct task_settings *s = &task_settings[task];

	return (struct contest){.task = s->name,
				.min_version = s->min_version,
				.rank_position = s->rank_position,
				.oldest = s->oldest,
				.pinned = orders[task].pinned[0] ? orders[task].pinned : NULL};
}

/* Whether this site may go on leading, by the rules of who is best and who yields. */
static bool may_lead(const struct fleet *f, const struct order *orders, unsigned task,
		     unsigned site)
{
	struct contest contest = contest_of(task, orders);
	const struct site *s = &sites[site];

	if (!s->running || orders[task].paused)
		return false;
	struct standing standing = fleet_stand(f, &contest, task, s->node.registry.id);
	if (!standing.self_candidate)
		return false;
	if (standing.best == standing.self)
		return true;
	switch (task_settings[task].yield) {
	case ELECTION_YIELD_RANK: return false;
	case ELECTION_YIELD_VERSION: return !standing.best_is_newer;
	case ELECTION_YIELD_NEVER: return true;
	}
	return false;
}

static const char *task_at_rest(const struct fleet *f, const struct order *orders, unsigned task,
				int64_t *ret_until)
{
	struct contest contest = contest_of(task, orders);
	int leader = oracle_leader(task);
	const char *reason;
	int64_t at;

	if (orders[task].paused || !fleet_stand(f, &contest, task, "").best)
		return leader < 0 ? NULL : "a task is led by no candidate";
	if (leader < 0)
		return "a task is led by nobody";
	if (may_lead(f, orders, task, (unsigned)leader))
		return NULL;
	struct site *s = &sites[leader];
	struct task *t = site_task(s, task);
	struct election_time now = leaders_time(&s->node.leaders);
	if (t && election_yield_at(&t->election, now, &at, &reason) && at > now.boot_ms)
		*ret_until = sim.now + (at - now.boot_ms) * MS * 101 / 100;
	return "a task is not led by its best candidate";
}

bool oracle_sessions_left(void)
{
	const struct tree *t = servers_tree();
	size_t running = 0;

	for (unsigned i = 0; i < sim.n_hosts; i++)
		running += sites[i].running;
	return !t || t->n_sessions > running;
}

const char *oracle_at_rest(int64_t *ret_until)
{
	struct order orders[TASKS_MAX];
	const char *problem;
	struct fleet f;

	*ret_until = 0;
	if (!servers_agree())
		return "the servers are not one quorum";
	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (sites[i].running &&
		    (sites[i].stopping || !session_is_up(&sites[i].node.session)))
			return "a sidecar is not connected";
	/* Jobs keep leaders that are not the best. */
	if (sim.options.ticks)
		return NULL;
	problem = build_fleet(&f, orders);
	if (problem)
		decided_at = *ret_until = sim.now;
	for (unsigned k = 0; k < sim.n_tasks && *ret_until != sim.now; k++) {
		int64_t until = 0;
		const char *one = task_at_rest(&f, orders, k, &until);
		if (one && (until == 0 || !problem))
			problem = one;
		if (until > *ret_until)
			*ret_until = until;
	}
	fleet_done(&f);
	sim.figures.checks++;
	if (problem && sim.now < decided_at + DECIDED_US)
		*ret_until = sim.now;
	return problem;
}

/* --- around one change ---------------------------------------------------------------------------- */

/* Bits of the running sites that are no candidates. */
static uint64_t passed_over(const struct fleet *f, const struct order *orders, unsigned task)
{
	struct contest contest = contest_of(task, orders);
	uint64_t passed = 0;

	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (sites[i].running &&
		    !fleet_stand(f, &contest, task, sites[i].node.registry.id).self_candidate)
			passed |= UINT64_C(1) << i;
	return passed;
}

void oracle_before(void)
{
	struct order orders[TASKS_MAX];
	struct fleet f;

	cuts_before = sim.cuts;
	build_fleet(&f, orders);
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		tasks[k].tokens_before = tasks[k].tokens;
		tasks[k].leader_before = oracle_leader(k);
		tasks[k].passed_before = passed_over(&f, orders, k);
	}
	fleet_done(&f);
}

/*
 * How often a task may move for one change. Where only those are left who lead if nobody else can, the best of
 * them may not know who led last, and waits, while another knows it and has its turn.
 */
static uint64_t moves_allowed(const struct fleet *f, const struct order *orders, unsigned task)
{
	uint64_t passed = passed_over(f, orders, task);
	int leader = oracle_leader(task);
	bool came = leader >= 0 && (tasks[task].passed_before & ~passed) >> leader & 1;

	return came ? 2 : 1;
}

void oracle_after(enum change what)
{
	struct order orders[TASKS_MAX];
	struct fleet f;

	build_fleet(&f, orders);
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		struct task_oracle *t = &tasks[k];
		uint64_t moves = t->tokens - t->tokens_before;
		bool stays = t->leader_before >= 0 && what != CHANGE_KILL &&
			     may_lead(&f, orders, k, (unsigned)t->leader_before);
		/* A server that learns only now where a session is ends its connection. */
		if (sim.cuts != cuts_before)
			continue;
		if (moves > moves_allowed(&f, orders, k) || (moves > 0 && stays))
			sim_violation("task %u moved %llu times for one change%s", k,
				      (unsigned long long)moves,
				      stays ? ", and its leader was still the best" : "");
	}
	fleet_done(&f);
	sim.figures.changes++;
}

/* --- for people ----------------------------------------------------------------------------------- */

static void trace_site(const struct site *s)
{
	TRACE("site %u:%s%s %s, version %s, tasks %llx, session %lld, lease %lld ms, members %zu",
	      s->id, s->running ? " running" : "", s->stopping ? " stopping" : "",
	      s->running ? session_state_name(&s->node.session) : "-", version_names[s->version],
	      (unsigned long long)s->tasks, s->running ? (long long)s->node.session.id : 0,
	      s->running ? (long long)session_lease_left(&s->node.session) : 0,
	      s->running ? s->node.registry.fleet.n_members : 0);
	for (size_t k = 0; s->running && k < s->node.leaders.n_tasks; k++) {
		const struct election *e = &s->node.leaders.tasks[k]->election;
		TRACE("  %s: %s%s place %u%s%s owner %lld token %lld",
		      s->node.leaders.tasks[k]->name, election_state_name(e->state),
		      e->view.candidate ? " candidate" : "", e->view.place,
		      e->node.known ? " known" : "", e->node.exists ? " exists" : "",
		      (long long)e->node.owner, (long long)e->node.token);
	}
}

void oracle_trace(void)
{
	for (unsigned i = 0; i < sim.n_hosts; i++)
		trace_site(&sites[i]);
	for (unsigned i = 0; i < sim.n_servers; i++) {
		const struct server *s = &servers[i];
		const struct znode *folder = tree_get(&s->tree, child("workers", ""));
		TRACE("server %u:%s%s role %d epoch %lld log %zu applied %zu sessions %zu", i,
		      s->alive ? " alive" : "", s->inbox.paused ? " paused" : "", (int)s->role,
		      (long long)s->epoch, s->n_log, s->applied, s->tree.n_sessions);
		for (size_t j = 0; folder && j < folder->n_children; j++)
			TRACE("  worker %s, session %lld", path_name(folder->children[j]),
			      (long long)tree_get(&s->tree, folder->children[j])->stat.owner);
	}
}
