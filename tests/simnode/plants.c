/*
 * Planted bugs, each the override of one function at link time (ld --wrap): sim-node-planted --plant NAME has
 * to find it, and nothing without one. tests/simnode/canaries has the seeds.
 */
#include "plants.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/election.h"
#include "core/lease.h"
#include "core/run.h"
#include "node/clocks.h"
#include "node/leaders.h"
#include "node/ledger.h"
#include "node/runs.h"
#include "node/store.h"
#include "server.h"

/* With the type that it has, so that an override of another one does not compile. */
#define WRAPS(name) extern __typeof__(name) __real_##name, __wrap_##name

static const char *planted = "none";

static const char *const names[] = {
	"none",		  "no-margin",	   "lease-margin", "lease-once",      "lease-reads",
	"lease-received", "shrink",	   "no-wait",	   "adopt",	      "late-release",
	"herd",		  "blind-release", "orphan",	   "early-take-over", "trust-unknown",
	"no-kill",	  "overlap",	   "forget-jobs",  "promise",	      "clock-blind",
	"claims-ahead",	  "twins-drain",   "claim-over",
};

bool plant_set(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		planted = names[i];
		return true;
	}
	return false;
}

const char *plant_name(size_t i)
{
	return i < sizeof(names) / sizeof(names[0]) ? names[i] : NULL;
}

static bool is(const char *name)
{
	return strcmp(planted, name) == 0;
}

/* --- the lease ------------------------------------------------------------------------------------- */

WRAPS(lease_heard);
WRAPS(lease_committed);
WRAPS(lease_moved);

static void lease_until(struct lease *l, int64_t deadline_ms)
{
	if (deadline_ms > l->deadline_ms)
		l->deadline_ms = deadline_ms;
}

/* One committed write proves what was answered before it. */
static void committed_once(struct lease *l, int64_t sent_ms)
{
	int64_t slack = l->timeout_ms / 100 + 100, before = sent_ms - l->timeout_ms / 4 - slack;

	for (size_t i = 0; i < l->n_heard; i++)
		if (l->heard[i].heard_ms <= before)
			lease_until(l, l->heard[i].sent_ms + l->timeout_ms - slack);
}

void __wrap_lease_heard(struct lease *l, int64_t sent_ms, int64_t now_ms)
{
	__real_lease_heard(l, is("lease-received") ? now_ms : sent_ms, now_ms);
	if (is("lease-reads") && l->timeout_ms > 0)
		lease_until(l, sent_ms + l->timeout_ms - l->timeout_ms / 100 - 100);
}

void __wrap_lease_committed(struct lease *l, int64_t sent_ms, int64_t now_ms)
{
	__real_lease_committed(l, is("lease-received") ? now_ms : sent_ms, now_ms);
	if (l->timeout_ms <= 0)
		return;
	if (is("no-margin"))
		lease_until(l, sent_ms + l->timeout_ms);
	if (is("lease-margin"))
		lease_until(l, sent_ms + l->timeout_ms - l->timeout_ms / 4);
	if (is("lease-received"))
		lease_until(l, now_ms + l->timeout_ms - l->timeout_ms / 4);
	if (is("lease-once"))
		committed_once(l, sent_ms);
}

/* A shorter timeout, granted on another connection, is not counted with. */
void __wrap_lease_moved(struct lease *l, int64_t timeout_ms)
{
	__real_lease_moved(l, is("shrink") ? l->timeout_ms : timeout_ms);
}

/* --- elections ------------------------------------------------------------------------------------- */

WRAPS(election_step);
WRAPS(election_leads);
WRAPS(election_promise);
WRAPS(leaders_expired);

void __wrap_election_step(struct election *e, const struct election_event *event,
			  struct election_actions *ret_actions)
{
	struct election_event other = *event;

	/* Everybody claims at once. */
	if (is("herd") && event->type == ELECTION_VIEW && event->view.candidate)
		other.view.place = 0;
	/* A node that was deleted is taken for one that was given up. */
	if (is("no-wait")) {
		other.owner_ms = 0;
		other.owner_unsure = false;
		e->handed_over = true;
		e->stranger = false;
	}
	/* Nobody is there where a node is not ephemeral. */
	if (is("claim-over") && event->type == ELECTION_NODE && event->node.owner == 0)
		other.node.exists = false;
	__real_election_step(e, &other, ret_actions);
	if (is("no-wait") && e->state == ELECTION_VACANT) {
		e->handed_over = true;
		e->stranger = false;
	}
}

/* "leads" is said until the release is answered. */
bool __wrap_election_leads(const struct election *e)
{
	return __real_election_leads(e) || (is("late-release") && e->state == ELECTION_RELEASING);
}

/* What an answer has promised is forgotten. */
int64_t __wrap_election_promise(struct election *e, struct election_time now, int64_t lease_ms)
{
	int64_t before = e->promised_ms, ms = __real_election_promise(e, now, lease_ms);

	if (is("promise"))
		e->promised_ms = before;
	return ms;
}

/* Roles survive the session. */
void __wrap_leaders_expired(struct leaders *l)
{
	if (!is("adopt"))
		__real_leaders_expired(l);
}

/* --- transactions ---------------------------------------------------------------------------------- */

WRAPS(store_multi);

static bool has(const struct store_op *ops, size_t n, enum store_op_type type, const char *folder)
{
	for (size_t i = 0; i < n; i++)
		if (ops[i].type == type && strstr(ops[i].path, folder))
			return true;
	return false;
}

/* A leader node that is not ephemeral. */
static bool stays(const char *path)
{
	const struct tree *t = servers_tree();
	const struct znode *node = t ? tree_get(t, path_intern(path)) : NULL;

	return strstr(path, "/leaders/") && node && node->stat.owner == 0;
}

void __wrap_store_multi(struct store *s, const struct store_op *ops, size_t n, store_reply_fn fn,
			void *arg)
{
	struct store_op other[STORE_OPS_MAX + 1];
	bool gives_up = has(ops, n, STORE_OP_DELETE, "/leaders/");
	size_t m = 0;

	for (size_t i = 0; i < n; i++) {
		bool worker = strstr(ops[i].path, "/workers/") != NULL;
		if (is("claim-over") && ops[i].type == STORE_OP_CREATE_EPHEMERAL &&
		    stays(ops[i].path))
			other[m++] = (struct store_op){
				.type = STORE_OP_DELETE, .path = ops[i].path, .version = -1};
		/* Whether the successor is there is not checked. */
		if (is("blind-release") && gives_up && worker)
			continue;
		other[m++] = ops[i];
		/* A registration of ours that nobody acts for stays. */
		if (is("orphan") && worker && ops[i].type == STORE_OP_DELETE)
			other[m - 1].type = STORE_OP_CHECK;
	}
	__real_store_multi(s, other, m, fn, arg);
}

/* --- the fleet ------------------------------------------------------------------------------------- */

WRAPS(clocks_judge);
WRAPS(clocks_latest_ms);
WRAPS(policy_find_node);

/* No clock is ever off. */
bool __wrap_clocks_judge(const struct clocks *c, bool *ret_off)
{
	if (!is("clock-blind"))
		return __real_clocks_judge(c, ret_off);
	memset(ret_off, 0, c->registry->fleet.n_members * sizeof(*ret_off));
	return true;
}

/* No tick is ahead of its time. */
int64_t __wrap_clocks_latest_ms(const struct clocks *c)
{
	return is("claims-ahead") ? INT64_MAX : __real_clocks_latest_ms(c);
}

/* What is decided about one of two machines with one name is about both. */
const struct policy_item *__wrap_policy_find_node(const struct policy *p, enum policy_kind kind,
						  const char *task, const char *node,
						  const char *machine)
{
	return __real_policy_find_node(p, kind, task, node, is("twins-drain") ? "" : machine);
}

/* --- runs ------------------------------------------------------------------------------------------ */

struct claim {
	ledger_fn fn;
	void *arg;
};

WRAPS(ledger_claim);
WRAPS(run_next);
WRAPS(leaders_hold_renew);
WRAPS(runs_take_over);

static void on_claimed(void *arg, enum ledger_result result, const struct run_record *record,
		       int32_t version)
{
	struct claim *c = arg;
	struct claim claim = *c;

	free(c);
	claim.fn(claim.arg, result == LEDGER_UNKNOWN ? LEDGER_DONE : result, record, version);
}

/* A claim whose answer was lost counts as done. */
void __wrap_ledger_claim(struct task *t, const char *tick, const char *limit,
			 const struct run_record *record, ledger_fn fn, void *arg)
{
	struct claim *c;

	if (!is("trust-unknown")) {
		__real_ledger_claim(t, tick, limit, record, fn, arg);
		return;
	}
	c = mem_calloc(1, sizeof(*c));
	*c = (struct claim){fn, arg};
	__real_ledger_claim(t, tick, limit, record, on_claimed, c);
}

/* The runs of a task are not kept apart on a host; a run is taken over while its session lives. */
enum run_action __wrap_run_next(struct run_state *r, const struct run_sight *sight)
{
	struct run_sight other = *sight;

	if (is("overlap"))
		other.busy = other.dying = false;
	if (is("early-take-over"))
		other.runner_lives = false;
	return __real_run_next(r, &other);
}

/* A job outlives its lease. */
int64_t __wrap_leaders_hold_renew(struct task *t)
{
	return __real_leaders_hold_renew(t) * (is("no-kill") ? 4 : 1);
}

/* The next process does not know what is running. */
void __wrap_runs_take_over(struct runs *r, const struct handoff_run *list, size_t n, bool all_known,
			   int64_t timeout_ms)
{
	if (is("forget-jobs"))
		__real_runs_take_over(r, NULL, 0, true, timeout_ms);
	else
		__real_runs_take_over(r, list, n, all_known, timeout_ms);
}
