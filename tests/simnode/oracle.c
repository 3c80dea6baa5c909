#include "oracle.h"

#include <stdio.h>
#include <string.h>

#include "core/fleet/tally.h"
#include "alerts.h"
#include "notices.h"
#include "recipes.h"
#include "lists.h"
#include "renames.h"
#include "scenario.h"
#include "schedules.h"
#include "server.h"
#include "splits.h"
#include "ticks.h"
#include "truth.h"

#define HANDS_MAX 32

struct answer {
	int64_t token;
	int64_t until; /* in true time */
};

struct said {
	struct answer yes; /* up to when it may say yes */
	/* Up to when answers have promised it: with the last token, and with another before. */
	struct answer promised[2];
	int64_t excused; /* this token is not held against it, nor against others */
	int64_t excused_at;
	enum election_state state;	  /* at the end of its last turn */
	bool candidate;			  /* likewise */
	int64_t claim_token, claim_owner; /* what it knew of the last leader when it claimed */
	bool claim_given;		  /* and that he had given it up */
	int64_t claim_at;		  /* and when that was */
	char heir[NAME_ID_MAX + 1];	  /* to whom it is giving the task up */
	uint64_t checked;		  /* the state of its tally that was found to be right */
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
	int64_t last_until; /* the end of the last yes */
	int64_t gap;	    /* the longest time without one */
} tasks[TASKS_MAX];

static int64_t hand_worker[HOSTS_MAX]; /* when a worker node of it was last deleted by hand */
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

static void forget_promises(struct said *s)
{
	memset(s->promised, 0, sizeof(s->promised));
}

/*
 * Notes the timeout that a connection was granted. If it is shorter than before, earlier answers
 * are not held against the site, as it may never hear of that: docs/SAFETY.md.
 */
static void on_grant(int64_t session, int64_t timeout_ms)
{
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		struct site *s = &sites[i];
		/* A sidecar that takes a session over has it only once it is connected. */
		bool knows = s->running && s->node.session.id != 0;
		int64_t own = knows ? s->node.session.id : s->kept.session;
		if (own != session)
			continue;
		if (granted[i].session != session)
			granted[i].timeout_ms =
				knows ? s->node.session.granted_ms : s->kept.timeout_ms;
		granted[i].session = session;
		if (timeout_ms < granted[i].timeout_ms) {
			granted[i].unheard_until = sim.now + granted[i].timeout_ms * MS * 102 / 100;
			granted[i].shorter_until = granted[i].unheard_until;
			for (unsigned k = 0; k < sim.n_tasks; k++)
				forget_promises(&tasks[k].said[i]);
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
	static const char workers[] = SITE_ROOT "/workers/";
	const char *pending;

	/*
	 * A worker that was there for a moment may have made another's clock the right one
	 * meanwhile.
	 */
	if (sim.options.ticks && x->type == TRANSACTION_CLOSE)
		truth_now(&pending);
	splits_propose(x, before);
	schedules_propose(x, before);
	renames_propose(x, before);
	lists_propose(x, before);
	for (size_t i = 0; i < x->n_ops; i++) {
		bool record = x->ops[i].type == STORE_OP_CREATE_EPHEMERAL;
		if (record && strncmp(path_text(x->ops[i].path), workers, sizeof(workers) - 1) == 0)
			sim.records++;
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
	servers_propose = on_propose;
	servers_grant = on_grant;
	for (unsigned k = 0; k < sim.n_tasks; k++)
		tasks[k].path = child("leaders", task_settings[k].name);
}

int64_t oracle_claimed_at(unsigned site, unsigned task)
{
	return tasks[task].said[site].claim_at;
}

path_id oracle_leader_path(unsigned task)
{
	return tasks[task].path;
}

void oracle_forget(void)
{
	sim.figures.forgotten++;
	ticks_forget();
	recipes_forget();
	alerts_forget();
	notices_judge_forget();
	/* Nobody says anything by now, and tokens that were seen will be given again. */
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		tasks[k].greatest = 0;
		memset(tasks[k].said, 0, sizeof(tasks[k].said));
		memset(tasks[k].hand, 0, sizeof(tasks[k].hand));
	}
}

uint64_t oracle_moves(unsigned task)
{
	return tasks[task].tokens;
}

int64_t oracle_gap(unsigned task)
{
	int64_t gap = tasks[task].gap;

	tasks[task].gap = 0;
	return gap;
}

int oracle_leader(unsigned task)
{
	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (tasks[task].said[i].yes.until > sim.now)
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
static bool gave_anothers(const struct task_oracle *t, int64_t token, unsigned newer)
{
	const struct said *s = &t->said[newer];

	if (s->claim_token == token && !s->claim_given)
		return false; /* it knew whom to wait for */
	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (t->said[i].excused != 0 && t->said[i].excused < token &&
		    sim.now - t->said[i].excused_at < 2 * sim.timeout_ms * MS)
			return true;
	return false;
}

/* Excuses what `older` said with `token`, which is less than that of `newer`. */
static bool is_excused(const struct task_oracle *t, unsigned older, int64_t token, unsigned newer)
{
	const struct said *s = &t->said[newer];
	int64_t worker = hand_worker[older];
	bool worker_too = worker != 0 && sim.now - worker < 2 * sim.timeout_ms * MS;

	if (gave_anothers(t, token, newer) || sim.now < granted[older].unheard_until)
		return true;
	for (unsigned i = 0; i < HANDS_MAX; i++) {
		bool unheard = s->claim_token != t->hand[i].token &&
			       (s->claim_given || s->claim_owner != t->hand[i].owner);
		bool on_its_way = s->claim_at <= t->hand[i].at;
		if (token == t->hand[i].token && t->hand[i].token != 0 &&
		    (t->hand[i].disguised || worker_too || unheard || on_its_way))
			return true;
	}
	return false;
}

static void excuse(struct said *s, int64_t token)
{
	sim.figures.excused++;
	for (size_t i = 0; i < 2; i++)
		if (s->promised[i].token == token)
			s->promised[i].until = sim.now;
	if (s->yes.token != token)
		return; /* a promise of a life before */
	s->yes.until = sim.now;
	s->excused = token;
	s->excused_at = sim.now;
}

/* Judges a yes beside another's, or its promise; returns whether this one goes on saying yes. */
static bool beside(struct task_oracle *t, unsigned mine, unsigned other,
		   const struct answer *theirs, const char *verb)
{
	int64_t token = t->said[mine].yes.token;
	bool is_older = token < theirs->token;

	if (theirs->until <= sim.now)
		return true;
	if (is_older ? is_excused(t, mine, token, other)
		     : is_excused(t, other, theirs->token, mine)) {
		TRACE("excused: site %u with token %lld beside site %u with %lld", mine,
		      (long long)token, other, (long long)theirs->token);
		excuse(&t->said[is_older ? mine : other], is_older ? token : theirs->token);
		return !is_older;
	}
	sim_violation("task %u: site %u leads with token %lld while site %u %s with %lld for %.3f "
		      "s more",
		      (unsigned)(t - tasks), mine, (long long)token, other, verb,
		      (long long)theirs->token, (double)(theirs->until - sim.now) / 1e6);
	return true;
}

static void says_yes(unsigned site, unsigned task, int64_t token, int64_t until)
{
	struct task_oracle *t = &tasks[task];
	struct said *mine = &t->said[site];

	if (token == mine->excused)
		return;
	mine->yes.token = token;
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		const struct said *o = &t->said[i];
		if (i != site && (!beside(t, site, i, &o->yes, "leads") ||
				  !beside(t, site, i, &o->promised[0], "has promised") ||
				  !beside(t, site, i, &o->promised[1], "has promised")))
			return;
	}
	if (token < t->greatest && is_excused(t, site, token, t->greatest_by)) {
		excuse(mine, token);
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
	if (t->last_until < sim.now && sim.now - t->last_until > t->gap)
		t->gap = sim.now - t->last_until;
	if (until > t->last_until)
		t->last_until = until;
	mine->yes.until = until;
}

/* The site no longer says yes. */
static void says_no(unsigned site, unsigned task)
{
	struct said *mine = &tasks[task].said[site];

	if (mine->yes.until <= sim.now)
		return;
	mine->yes.until = sim.now;
	tasks[task].last_until = sim.now;
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
	if (e->state == ELECTION_RELEASING && mine->state != ELECTION_RELEASING) {
		snprintf(mine->heir, sizeof(mine->heir), "%s", t->transaction.to);
		fault_at_release(s);
	} else if (e->state != ELECTION_RELEASING) {
		mine->heir[0] = '\0';
	}
	if (mine->state != e->state)
		TRACE("task %u: site %u is %s, place %d, owner %lld, token %lld", task, s->id,
		      election_state_name(e->state), (int)e->view.place, (long long)e->node.owner,
		      (long long)e->node.token);
	mine->state = e->state;
	mine->candidate = e->view.candidate;
}

/* --- what is kept up as members come and go is what looking at all of them would tell ----------------- */

static uint64_t mix(uint64_t sum, uint64_t x)
{
	sum = (sum ^ x) * UINT64_C(0x9e3779b97f4a7c15);
	return sum ^ (sum >> 29);
}

static uint64_t mix_text(uint64_t sum, const char *text)
{
	for (; text && *text; text++)
		sum = mix(sum, (uint8_t)*text);
	return sum;
}

/* A checksum of the members and of the decisions about them. */
static uint64_t sum_members(const struct fleet *f)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->n_members; i++) {
		const struct member *m = f->by_id[i];
		sum = mix(sum, m->serial << 2 | (m->clock_off ? 2U : 0U) | m->drained);
		sum = mix(sum, m->lists->bits[0] ^ (m->resigned ? m->resigned[0] << 1 : 0));
	}
	return sum;
}

static uint64_t sum_tally(uint64_t members, const struct tally *tally, const struct contest *c)
{
	uint64_t sum = mix(members, tally->best.member ? tally->best.member->serial : 0);

	sum = mix(sum, tally->ahead << 1 | tally->self_candidate);
	sum = mix(sum, tally->self ? tally->self->serial : 0);
	sum = mix(sum, (uint64_t)c->rank_position << 8 | c->version_policy);
	return mix_text(mix_text(mix(sum, c->partitions), c->min_version), c->pinned);
}

static void check_tally(const struct site *s, const struct task *t, unsigned k, uint64_t members)
{
	const struct registry *r = &s->node.registry;
	const struct tally *tally = &r->fleet.tallies[t->index];
	struct standing standing;

	if (!tally->known || tally->self != fleet_find(&r->fleet, r->id))
		return; /* nothing goes by it before it is counted anew */
	uint64_t sum = sum_tally(members, tally, &t->contest);
	if (sum == tasks[k].said[s->id].checked)
		return;
	tasks[k].said[s->id].checked = sum;
	standing = fleet_stand_ranked(&r->fleet, &t->contest, t->index, tally->self ? r->id : "");
	if (standing.best != tally->best.member ||
	    (standing.self_candidate && standing.place != tally->ahead))
		sim_violation(
			"%s: site %u counts %zu candidates before itself, best %s; the fleet has "
			"%zu, best %s",
			t->name, s->id, tally->ahead,
			tally->best.member ? tally->best.member->worker->id : "-", standing.place,
			standing.best ? standing.best->worker->id : "-");
}

/* --- at the end of a turn ------------------------------------------------------------------------------ */

void oracle_look(void *arg)
{
	struct site *s = arg;
	const struct leaders *l = &s->node.leaders;
	bool seen[TASKS_MAX] = {false};

	if (!s->running || s->parting)
		return;
	uint64_t members = sum_members(&s->node.registry.fleet);
	if (s->node.session.id == granted[s->id].session &&
	    s->node.session.granted_ms <= granted[s->id].timeout_ms)
		granted[s->id].unheard_until = 0;
	for (size_t i = 0; i < l->n_tasks; i++) {
		const struct task *t = l->tasks[i];
		unsigned k = task_number(t->name);
		if (k == TASKS_MAX)
			continue; /* a queue */
		int64_t left = leaders_lease_left(t);
		note_state(s, k, t);
		check_tally(s, t, k, members);
		if (left <= 0)
			continue;
		seen[k] = true;
		says_yes(s->id, k, t->election.node.token,
			 machine_when(s->machine, host_now_ms(l->session->host) + left));
	}
	for (unsigned k = 0; k < sim.n_tasks; k++)
		if (!seen[k])
			says_no(s->id, k);
}

static void promises(struct said *s, int64_t token, int64_t until)
{
	struct answer *last = &s->promised[0], *before = &s->promised[1];

	if (last->token != token) {
		if (last->until > before->until)
			*before = *last;
		*last = (struct answer){.token = token};
	}
	if (until > last->until)
		last->until = until;
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
	says_yes(s->id, task, t->election.node.token, mine->yes.until);
	promises(mine, t->election.node.token, machine_when(s->machine, now + left));
}

void oracle_stopping(const struct site *s)
{
	for (unsigned k = 0; k < sim.n_tasks; k++)
		forget_promises(&tasks[k].said[s->id]);
}

void oracle_dead(const struct site *s)
{
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		struct said *mine = &tasks[k].said[s->id];
		mine->state = ELECTION_DOWN;
		mine->heir[0] = '\0';
		says_no(s->id, k);
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
