/*
 * Planted bugs, each the override of one function at link time (ld --wrap): sim-node-planted --plant NAME has
 * to find it, and nothing without one. tests/simnode/canaries has the seeds.
 */
#include "plants.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alerts.h"
#include "base/mem.h"
#include "core/queue/attempt.h"
#include "core/fleet/draft.h"
#include "core/fleet/identity.h"
#include "core/election/election_promise.h"
#include "core/election/election_times.h"
#include "core/election/lease.h"
#include "core/time/owed.h"
#include "core/election/run.h"
#include "core/time/skew.h"
#include "node/notices/notice_list.h"
#include "node/notices/returns.h"
#include "node/notices/streak.h"
#include "node/fleet/clocks.h"
#include "node/fleet/lists.h"
#include "node/fleet/own_record.h"
#include "node/fleet/roll/roll_parts.h"
#include "node/session/handoff.h"
#include "node/holder/holder.h"
#include "node/election/leaders.h"
#include "node/recipes/party/party_parts.h"
#include "node/recipes/lock/lock.h"
#include "node/ledger/ledger.h"
#include "node/recipes/leftovers.h"
#include "node/queue/queue_ending.h"
#include "node/queue/work/queue_work.h"
#include "core/queue/assign.h"
#include "core/queue/rate.h"
#include "node/fleet/policy.h"
#include "node/election/renames.h"
#include "node/recipes/roster/roster_write.h"
#include "node/runs/runs.h"
#include "node/schedule/schedules.h"
#include "node/session/session_hostage.h"
#include "node/session/session_lease.h"
#include "node/store.h"
#include "server.h"
#include "wire/records/recipe_record.h"
#include "wire/records/seen_record.h"

/* With the type that it has, so that an override of another one does not compile. */
#define WRAPS(name) extern __typeof__(name) __real_##name, __wrap_##name

static const char *planted = "none";

/* Bugs, by what goes wrong, and what each makes wrong in the node. */
static const struct {
	const char *name, *wrong;
} plants[] = {
	{"none", "nothing"},
	/* two leaders */
	{"no-margin", "the lease is the whole session timeout from any committed write"},
	{"lease-margin", "the lease is T - T/4 from any committed write, whatever heartbeats say"},
	{"lease-once", "one write proves what was answered before it"},
	{"lease-reads", "reads confirm as well"},
	{"lease-received", "the lease counts from the receipt of the answer"},
	{"shrink", "the lease goes by the longer timeout"},
	{"no-wait", "no wait after a leader node has vanished"},
	{"early-up", "no write on a new connection before what is read there counts"},
	{"late-release", "\"leads\" is said during the yield"},
	{"copied-session", "the handoff file of another machine or lock is taken"},
	/* a promise of an answer is not kept */
	{"promise", "no wait for the end of an answer's promise"},
	{"promise-left", "what the sidecar before has promised is forgotten"},
	/* the wrong leader, or none */
	{"blind-release", "no check that the better one is still there"},
	{"claim-over", "a node that is not ephemeral is claimed over"},
	{"adopt", "what a session had is not forgotten at its end"},
	{"herd", "no stagger"},
	{"orphan", "a registration of ours that nobody acts for stays"},
	{"clock-blind", "no check whether a clock is off"},
	{"clock-clones", "clones have one vote about clocks"},
	{"clock-unheard", "who publishes no clock counts as off"},
	{"twins-drain", "a drain does not look at which of two machines with one name is meant"},
	{"keys-kept", "--disagree: a reload that changes no more than keys that decide nothing "
		      "does not register anew"},
	{"no-pause", "--disagree: no pause before what has come back is yielded again"},
	{"late-claim", "what was given up is waited for as if it had been deleted"},
	{"hostage-kept", "--hostages: a session that nothing confirms is kept"},
	/* too many requests or watches */
	{"chatty", "each record is read ten times"},
	{"watch-budget", "--crowd: no limit of a session's watches"},
	{"watch-kept", "--crowd: watches that nobody waits for are kept"},
	/* a tick begun twice, beside another, or not at all (--ticks) */
	{"early-take-over", "a run is taken over before its session has ended"},
	{"trust-unknown", "no look after a claim whose answer was lost"},
	{"no-kill", "a job lives on when its lease ends"},
	{"forget-jobs", "no handoff of running jobs"},
	{"overlap", "a run does not wait for the one before it"},
	{"claims-ahead", "a claim may name any time"},
	{"claims-off", "a host whose clock is off claims"},
	{"lazy-claim", "no claim"},
	{"no-rerun", "a lost run is not taken over"},
	/* a tick against its schedule (--schedules) */
	{"due-status", "a run is judged by its status, whatever ended it"},
	{"due-beside", "what is caught up with does not wait for what goes on"},
	{"due-pruned", "pruning does not spare what is owed"},
	{"due-never", "ticks that are due are not run"},
	{"due-late", "the next tick is computed late"},
	{"due-before", "the time from which ticks are owed is forgotten"},
	{"due-pauses", "a pause's end is not recorded"},
	{"due-ever", "no check that an attempt is still offered when it is claimed"},
	{"due-lost", "no look for a lost run behind the newest record"},
	{"rename-bar", "a task is led while a worker lists its former name"},
	{"rename-proof", "a claim does not prove that the other name is not led and has no ledger"},
	{"rename-lost", "the records of runs are not moved"},
	/* an event is not told (--notices), a task becomes overdue late (--alerts) */
	{"notice-eager", "the note of an event goes before a notifier has it"},
	{"notice-orphan", "notes of nodes that died are not looked for"},
	{"trouble-anew", "each node remembers by itself which tasks it has told people of"},
	{"return-orphan",
	 "who has noted that it is back collects that alone, not the first in rank"},
	{"seen-anew", "the time from which a task becomes overdue is not recorded"},
	/* two numbers of partitions, or a move too many (--partitions) */
	{"split-blind", "a claim does not check the number in force"},
	{"split-unproved", "another number is put in force without the proof that nobody leads"},
	{"split-first", "the same, where there is no number any more"},
	{"split-clock", "the server's time is not asked for before"},
	{"draft-unready", "the successor in the draft does not watch"},
	/* a list that nobody can read (--lists) */
	{"list-unproved", "a registration does not check that its list is there"},
	{"list-empty", "a worker whose list is not known lists nothing"},
	{"list-lost", "a worker does not watch its own list"},
	{"roll-sure", "a session that the roll leaves out is taken to be gone"},
	{"roll-orphan", "nobody hears that the roll has no keeper"},
	/* a recipe (--recipes) */
	{"count-forget", "a counter forgets the last additions"},
	{"count-blind", "no check of the version when a counter is set"},
	{"roster-blind", "numbers are given out before the other nodes are known"},
	{"roster-unread", "the number of a damaged entry counts as free"},
	{"barrier-early", "no proof that the counted members are there"},
	{"barrier-over", "no check of the record's version"},
	{"gang-early", "no proof that the members are there"},
	{"gang-deaf", "the command goes on without a lost member"},
	{"gang-hasty", "the name is free without the minute"},
	{"lock-lease", "no lease of a lock"},
	{"lock-lost", "no look for an entry whose answer was lost"},
	{"lock-left", "a lock with another number of slots is refused though nobody uses it"},
	{"lock-slots", "another number of slots without the proof that nobody uses the lock"},
	{"lock-order", "waiters begin in any order"},
	{"hold-answer",
	 "without a connection a command is told an answer's time in place of the lease"},
	{"stop-blind",
	 "--recipes --queues: a stop does not wait for commands of the sidecar before"},
	{"rolling-blind", "no check whether slots have changed since they were counted"},
	{"rolling-halted", "a halted group gives slots"},
	{"rolling-hasty", "no soak time"},
	{"rolling-drain", "a slot without a drain"},
	{"rolling-queue", "queue entries of the previous process stay"},
	{"rolling-stray", "--release leaves drains without a slot"},
	{"rolling-busy", "--recipes --queues: CMD does not wait for the jobs of its node"},
	/* a job (--queues) */
	{"job-clock", "no vote about the clock of jobs"},
	{"job-status", "a job is judged by its status, whatever ended it"},
	{"job-lease", "no lease of a job"},
	{"job-skip", "on-crash = \"skip\" runs again"},
	{"job-slots", "a worker gets more than its slots"},
	{"job-rate", "no rate"},
	{"job-nowhere", "no entry in due of a job that is tried again"},
	{"job-refused", "a repeated submit is refused"},
	{"job-late", "the end of a job is not held against its assignment and version"},
	{"job-deaf", "what was assigned of a queue that comes by a reload is not listed"},
	{"job-orphan", "no check that the worker of a session still answers for a job"},
	{"job-returned", "a job that nobody can begin is given back whoever has it"},
	{"job-room", "a submit does not check that nobody has counted since"},
	{"job-key", "a purged job leaves its key"},
	{"job-purged", "a purged job leaves no trace"},
	{"job-open", "a key goes whosever it is"},
	{"job-epoch", "the epoch is not raised and checked"},
	{"job-hung", "a queue whose runner hangs counts as healthy"},
};

bool plant_set(const char *name)
{
	for (size_t i = 0; i < sizeof(plants) / sizeof(plants[0]); i++) {
		if (strcmp(plants[i].name, name) != 0)
			continue;
		planted = plants[i].name;
		return true;
	}
	return false;
}

const char *plant_name(size_t i, const char **ret_wrong)
{
	if (i >= sizeof(plants) / sizeof(plants[0]))
		return NULL;
	*ret_wrong = plants[i].wrong;
	return plants[i].name;
}

bool plant_is(const char *name)
{
	return strcmp(planted, name) == 0;
}

static bool is(const char *name)
{
	return plant_is(name);
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

/* A single committed write proves what was answered before it. */
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

WRAPS(session_confirm);

/* Reads on a new connection count before a write has proven that the server is not behind. */
void __wrap_session_confirm(struct session *s)
{
	if (is("early-up") && s->state == SESSION_CONNECTED && s->registration[0]) {
		session_set_state(s, SESSION_UP, NULL);
		s->handlers.up(s->handlers.arg);
	}
	__real_session_confirm(s);
}

/* --- elections ------------------------------------------------------------------------------------- */

WRAPS(election_step);
WRAPS(election_leads);
WRAPS(election_promise);
WRAPS(election_release_time);
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
		e->unseen_leader = false;
	}
	/* Nobody is there where a node is not ephemeral. */
	if (is("claim-over") && event->type == ELECTION_NODE && event->node.owner == 0)
		other.node.exists = false;
	__real_election_step(e, &other, ret_actions);
	if (is("no-wait") && e->state == ELECTION_VACANT) {
		e->handed_over = true;
		e->unseen_leader = false;
	}
	/* A leader node that was given up is taken for a deleted one. */
	if (is("late-claim"))
		e->handed_over = false;
}

/* "leads" is said until the release is answered. */
bool __wrap_election_leads(const struct election *e)
{
	return __real_election_leads(e) || (is("late-release") && e->state == ELECTION_RELEASING);
}

/* A task that has come back is yielded again at once. */
int64_t __wrap_election_release_time(const struct election *e, struct election_time now,
				     const char **ret_reason)
{
	struct election other = *e;

	if (is("no-pause"))
		other.backoff_until_ms = 0;
	return __real_election_release_time(&other, now, ret_reason);
}

/* The promise of an answer is forgotten. */
int64_t __wrap_election_promise(struct election *e, struct election_time now, int64_t lease_ms)
{
	int64_t before = e->promised_ms, ms = __real_election_promise(e, now, lease_ms);

	if (is("promise"))
		e->promised_ms = before;
	return ms;
}

WRAPS(inheritance_promised);

/* The promise of the previous sidecar is taken to be as short as this one's would be. */
void __wrap_inheritance_promised(struct leaders *l, int64_t until_ms)
{
	int64_t own = l->session->taken_over_ms / 4;

	if (own < l->timing.yield_delay_ms)
		own = l->timing.yield_delay_ms;
	own += host_now_ms(l->session->host);
	__real_inheritance_promised(l, is("promise-left") && own < until_ms ? own : until_ms);
}

/* Roles survive the session. */
void __wrap_leaders_expired(struct leaders *l)
{
	if (!is("adopt"))
		__real_leaders_expired(l);
}

/* --- transactions ---------------------------------------------------------------------------------- */

WRAPS(store_multi);
WRAPS(store_get);

/* A record is read ten times over. */
void __wrap_store_get(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	for (int i = 0; is("chatty") && i < 9; i++)
		__real_store_get(s, path, false, NULL, NULL);
	__real_store_get(s, path, watch, fn, arg);
}

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

/* The record of a queue, which has its epoch. */
static bool is_queue(const char *path)
{
	const char *name = strstr(path, "/jobs/");

	return name && !strchr(name + strlen("/jobs/"), '/');
}

/* Whether this is a claim's proof that the task is not led under its other name; it is left out. */
static bool unproved(const struct store_op *op)
{
	return is("rename-proof") && (op->type == STORE_OP_CREATE || op->type == STORE_OP_DELETE) &&
	       (strstr(op->path, "/leaders/") || strstr(op->path, "/runs/"));
}

/* Whether this proves that the list which a record names is there; it is left out. */
static bool unlisted(const struct store_op *op)
{
	return is("list-unproved") && op->type == STORE_OP_CHECK && strstr(op->path, "/lists/");
}

/* Whether this puts a record under the task's other name; it is left out. */
static bool lost(const struct store_op *op)
{
	return is("rename-lost") && op->type == STORE_OP_CREATE && strstr(op->path, "/runs/");
}

void __wrap_store_multi(struct store *s, const struct store_op *ops, size_t n, store_reply_fn fn,
			void *arg)
{
	struct store_op other[STORE_OPS_MAX + 1];
	bool gives_up = has(ops, n, STORE_OP_DELETE, "/leaders/");
	bool claims = has(ops, n, STORE_OP_CREATE_EPHEMERAL, "/leaders/");
	bool splits = has(ops, n, STORE_OP_CREATE, "/partitions/");
	bool moves = !claims && has(ops, n, STORE_OP_DELETE, "/runs/") &&
		     has(ops, n, STORE_OP_CREATE, "/leaders/");
	size_t m = 0;

	bool gathers = ops[0].type == STORE_OP_SET && strstr(ops[0].path, "/gangs/");
	bool resets = n == 5 && ops[3].type == STORE_OP_CREATE && strstr(ops[3].path, "/locks/");
	bool opens = ops[0].type == STORE_OP_SET && strstr(ops[0].path, "/barriers/");

	for (size_t i = 0; i < n; i++) {
		bool worker = strstr(ops[i].path, "/workers/") != NULL;
		/* A barrier opens by what was listed: whether all are there still is not proved. */
		if (is("barrier-early") && opens && i > 0)
			continue;
		/* Nor a gang. */
		if (is("gang-early") && gathers && i > 0)
			continue;
		if (is("claim-over") && ops[i].type == STORE_OP_CREATE_EPHEMERAL &&
		    stays(ops[i].path))
			other[m++] = (struct store_op){
				.type = STORE_OP_DELETE, .path = ops[i].path, .version = -1};
		/* Whether as many partitions are in force is not checked. */
		if (is("split-blind") && claims && strstr(ops[i].path, "/partitions/"))
			continue;
		/* Nor whether somebody leads one while another number is put in force. */
		if (is("split-unproved") && splits && strstr(ops[i].path, "/leaders/"))
			continue;
		/* Nor where there is no number any more. */
		if (is("split-first") && splits && !has(ops, n, STORE_OP_DELETE, "/partitions/") &&
		    strstr(ops[i].path, "/leaders/") && strrchr(ops[i].path, ':'))
			continue;
		if (unlisted(&ops[i]))
			continue;
		if (claims ? unproved(&ops[i]) : moves && lost(&ops[i]))
			continue;
		/* Whether the successor is there is not checked. */
		if (is("blind-release") && gives_up && worker)
			continue;
		other[m++] = ops[i];
		/* Or whatever has opened meanwhile. */
		if (is("barrier-over") && opens && i == 0)
			other[m - 1].version = -1;
		/* The epoch of a queue is neither raised nor checked. */
		if (is("job-epoch") && is_queue(ops[i].path))
			other[m - 1] = (struct store_op){
				.type = STORE_OP_CHECK, .path = ops[i].path, .version = -1};
		/* A lock gets another number of slots whoever is in it. */
		if (is("lock-slots") && resets && i == 2)
			m--;
		if (is("lock-slots") && resets && ops[i].type == STORE_OP_CREATE) {
			other[m - 1].type = STORE_OP_SET;
			other[m - 1].version = -1;
		}
		/* A counter is set over whatever it has become. */
		if (is("count-blind") && strstr(ops[i].path, "/counters/"))
			other[m - 1].version = -1;
		/* A slot is given whatever has changed since the slots were counted. */
		if (is("rolling-blind") && strstr(ops[i].path, "/rolling/"))
			other[m - 1].version = -1;
		/* Whoever takes itself for the first in rank gives numbers out. */
		if (is("roster-blind") && strstr(ops[i].path, "/roster"))
			other[m - 1].version = -1;
		/* A registration of ours that nobody acts for stays. */
		if (is("orphan") && worker && ops[i].type == STORE_OP_DELETE)
			other[m - 1].type = STORE_OP_CHECK;
	}
	__real_store_multi(s, other, m, fn, arg);
}

/* --- schedules ------------------------------------------------------------------------------------- */

WRAPS(schedule_is_open);

/* A run that was lost is not looked for behind the newest one. */
bool __wrap_schedule_is_open(const struct due_run *run)
{
	return !is("due-lost") && __real_schedule_is_open(run);
}

/* --- renames --------------------------------------------------------------------------------------- */

WRAPS(renames_bar);

/* A task is led although a worker has its former name. */
bool __wrap_renames_bar(const struct task *t)
{
	return !is("rename-bar") && __real_renames_bar(t);
}

/* --- the fleet ------------------------------------------------------------------------------------- */

WRAPS(clocks_judge);
WRAPS(identity_host);
WRAPS(roster_untouched);
WRAPS(clocks_is_off);
WRAPS(clocks_ask);
WRAPS(clocks_latest_ms);
WRAPS(policy_find_node);

/* No clock is ever off; or each that nothing is published of. */
bool __wrap_clocks_judge(struct clocks *c, bool *ret_off)
{
	const struct fleet *f = &c->registry->fleet;
	bool known = __real_clocks_judge(c, ret_off);

	if (is("clock-blind"))
		memset(ret_off, 0, f->n_members * sizeof(*ret_off));
	for (size_t i = 0; known && is("clock-unheard") && i < f->n_members; i++)
		ret_off[i] |= f->by_id[i]->worker->clock_tolerance_ms == 0;
	return known || is("clock-blind");
}

/* An entry of the roster that cannot be read is none. */
int64_t __wrap_roster_untouched(const struct roster *r)
{
	return is("roster-unread") ? -1 : __real_roster_untouched(r);
}

/* Cloned machines have one vote together. */
const char *__wrap_identity_host(const struct worker *w)
{
	return is("clock-clones") ? "" : __real_identity_host(w);
}

/* Nobody notices that its own is. */
bool __wrap_clocks_is_off(const struct clocks *c)
{
	return !is("claims-off") && __real_clocks_is_off(c);
}

/* A change of the number of partitions goes by the server's time as it was heard before. */
void __wrap_clocks_ask(struct clocks *c, store_reply_fn fn, void *arg)
{
	const struct session *s = c->registry->session;
	const struct store_op check = {
		.type = STORE_OP_CHECK, .path = s->registration, .version = -1};

	if (is("split-clock"))
		store_multi(s->store, &check, 1, fn, arg);
	else
		__real_clocks_ask(c, fn, arg);
}

/* No tick is ahead of its time. */
int64_t __wrap_clocks_latest_ms(const struct clocks *c)
{
	return is("claims-ahead") ? INT64_MAX : __real_clocks_latest_ms(c);
}

/* A decision about one of two machines with the same name is about both. */
const struct policy_item *__wrap_policy_find_node(const struct policy *p, enum policy_kind kind,
						  const char *task, const char *node,
						  const char *machine)
{
	return __real_policy_find_node(p, kind, task, node, is("twins-drain") ? "" : machine);
}

/* --- recipes --------------------------------------------------------------------------------------- */

WRAPS(record_parse_counter);
WRAPS(registry_settled);

/* A node takes itself for the first in rank before it knows the others. */
bool __wrap_registry_settled(const struct registry *r)
{
	return __real_registry_settled(r) || is("roster-blind");
}

/* The record of the time without a good run is not understood. */
WRAPS(record_parse_seen);

int __wrap_record_parse_seen(const void *data, size_t len, struct seen_record *ret_seen,
			     const char **ret_why)
{
	*ret_why = "planted";
	return is("seen-anew") && !alerts_judging
		       ? -EBADMSG
		       : __real_record_parse_seen(data, len, ret_seen, ret_why);
}

/* An event is forgotten as if somebody had been told. */
WRAPS(notice_keep);

void __wrap_notice_keep(struct notice *m)
{
	m->taken |= is("notice-eager");
	__real_notice_keep(m);
}

WRAPS(notices_alone);

/* Each node remembers by itself which tasks it has told people of. */
void __wrap_notices_alone(const struct registry *r, const struct store_op *ops, size_t n,
			  const struct notice_record *event, bool tells,
			  bool (*may)(const void *arg), store_reply_fn fn, void *arg)
{
	static const struct registry *told[TASKS_MAX];
	struct notice_record other = *event;
	unsigned task = task_number(event->task);

	if (is("trouble-anew") && task < TASKS_MAX && event->failed > 0) {
		other.first |= told[task] != r;
		told[task] = r;
	}
	__real_notices_alone(r, ops, n, &other, tells, may, fn, arg);
}

WRAPS(returns_changed);

/* Whoever has noted that it is back has people told, and nobody else. */
void __wrap_returns_changed(struct returns *r)
{
	if (!is("return-orphan") || r->to_note)
		__real_returns_changed(r);
}

/* Nobody looks for what dead nodes have left behind. */
WRAPS(notices_takeover);

void __wrap_notices_takeover(struct notices *n)
{
	if (!is("notice-orphan"))
		__real_notices_takeover(n);
}

WRAPS(draft_successors);

/* The successor in a draft does not look at the leader node before the other has left. */
void __wrap_draft_successors(const struct draft *d, const size_t *owners, size_t *ret_successors)
{
	__real_draft_successors(d, owners, ret_successors);
	for (size_t i = 0; is("draft-unready") && i < d->n_items; i++)
		ret_successors[i] = DRAFT_NOBODY;
}

/* A counter does not remember the last additions. */
int __wrap_record_parse_counter(const void *data, size_t len, struct counter_record *ret_counter,
				const char **ret_why)
{
	int e = __real_record_parse_counter(data, len, ret_counter, ret_why);

	if (is("count-forget"))
		ret_counter->n = 0;
	return e;
}

WRAPS(locks_renew);
WRAPS(lock_place_step);
WRAPS(lock_name_is_before);

WRAPS(gangs_renew);
WRAPS(gang_is_dead);

/* A member goes on when another was lost. */
int64_t __wrap_gangs_renew(struct parties *all, const void *owner, uint64_t number)
{
	int64_t left = __real_gangs_renew(all, owner, number);

	return is("gang-deaf") && left == 0 ? session_lease_left(all->session) : left;
}

/* Others have the name at once where nobody is there. */
bool __wrap_gang_is_dead(const struct party *p)
{
	return is("gang-hasty") ? p->gang->n > 0 && p->sight->n_running + p->sight->n_waiting == 0
				: __real_gang_is_dead(p);
}

/* A command goes on for as long as an answer to a question is good. */
WRAPS(holder_renew);

int64_t __wrap_holder_renew(const struct holders *hs, struct holder *h, bool held)
{
	int64_t left = __real_holder_renew(hs, h, held), said = session_answer_left(hs->session);

	return is("hold-answer") && left > said ? said : left;
}

/* A lock is held for as long as its node is there, whatever the lease is. */
int64_t __wrap_locks_renew(struct locks *k, const void *owner, uint64_t number)
{
	int64_t left = __real_locks_renew(k, owner, number);

	return is("lock-lease") && left >= 0 ? k->session->lease.timeout_ms : left;
}

WRAPS(leftovers_going);

/* A stop waits for nothing that the sidecar before has left. */
size_t __wrap_leftovers_going(const struct leftovers *l)
{
	return is("stop-blind") ? 0 : __real_leftovers_going(l);
}

/* A lock node is not looked for if its making was not answered. */
void __wrap_lock_place_step(struct lock_place *p, const struct lock_event *event,
			    struct lock_actions *out)
{
	struct lock_seen seen = *event->seen;
	struct lock_event changed = *event;
	bool answered = event->type == LOCK_ANSWERED;

	/* Leftover nodes of lockers that have gone are taken for live ones. */
	if (is("lock-left") && answered && p->need == LOCK_ENTER)
		seen.others = true;
	changed.seen = &seen;
	__real_lock_place_step(p, &changed, out);
	if (is("lock-lost") && answered && seen.making && seen.cut)
		p->maybe = false;
}

/* A locker that came first is served last. */
bool __wrap_lock_name_is_before(const struct lock_name *a, const struct lock_name *b)
{
	return is("lock-order") ? a->number > b->number : __real_lock_name_is_before(a, b);
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
WRAPS(owed_plan);
WRAPS(policy_end_ops);
WRAPS(handoff_is_ours);

static void on_claimed(void *arg, enum ledger_result result, const struct run_record *record,
		       int32_t version)
{
	struct claim *c = arg;
	struct claim claim = *c;

	free(c);
	claim.fn(claim.arg, result == LEDGER_UNKNOWN ? LEDGER_DONE : result, record, version);
}

/* A claim whose answer was lost counts as done. */
void __wrap_ledger_claim(struct task *t, const char *tick, const char *limit, const char *owed,
			 const char *trigger, const struct run_record *record, ledger_fn fn,
			 void *arg)
{
	struct claim *c;

	if (is("due-pruned"))
		owed = TICK_NO_LIMIT;

	if (!is("trust-unknown")) {
		__real_ledger_claim(t, tick, limit, owed, trigger, record, fn, arg);
		return;
	}
	c = mem_calloc(1, sizeof(*c));
	*c = (struct claim){fn, arg};
	__real_ledger_claim(t, tick, limit, owed, trigger, record, on_claimed, c);
}

/* The runs of a task are not kept apart on a host; a run is taken over while its session lives. */
enum run_action __wrap_run_next(struct run_state *r, const struct run_sight *sight)
{
	struct run_sight other = *sight;

	if (is("overlap"))
		other.busy = other.dying = false;
	if (is("early-take-over"))
		other.runner_lives = false;
	/* A tick that was offered once is begun whenever it is asked for. */
	if (is("due-ever") && r->scheduled > 0)
		other.offered = true;
	/* A leader claims nothing, or takes no lost run over. */
	if (is("lazy-claim") || (is("no-rerun") && r->there))
		other.leads = false;
	return __real_run_next(r, &other);
}

/* Ticks are never run; or late; or whatever the time is since when they are owed. */
struct owed_plan __wrap_owed_plan(const struct owed_rules *rules, const struct owed_sight *s)
{
	struct owed_sight sight = *s;
	struct owed_plan plan;

	if (is("due-before") && sight.since_ms > 0)
		sight.since_ms -= 60000;
	sight.going &= !is("due-beside");
	plan = __real_owed_plan(rules, &sight);
	plan.run = plan.run && !is("due-never");
	if (is("due-late") && plan.next_ms != INT64_MAX)
		plan.next_ms += 3000;
	return plan;
}

/* The end of a pause leaves nothing. */
size_t __wrap_policy_end_ops(struct policy *p, const char *task, int64_t at_ms,
			     struct policy_end *e, struct store_op ops[POLICY_END_OPS])
{
	return is("due-pauses") ? 0 : __real_policy_end_ops(p, task, at_ms, e, ops);
}

/* A job outlives its lease. */
int64_t __wrap_leaders_hold_renew(struct task *t)
{
	return __real_leaders_hold_renew(t) * (is("no-kill") ? 4 : 1);
}

/* A copy of what another has left is taken over. */
bool __wrap_handoff_is_ours(const struct handoff_place *left, const struct handoff_place *here,
			    const char **ret_why)
{
	return is("copied-session") || __real_handoff_is_ours(left, here, ret_why);
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

/* --- how it ended ---------------------------------------------------------------------------------- */

WRAPS(attempt_how);

/* The status alone judges, whoever has ended it. */
enum attempt_how __wrap_attempt_how(const struct attempt_end *e)
{
	struct attempt_end end = *e;

	if (is("job-status") || is("due-status"))
		end.interrupted = end.timeout = false;
	return __real_attempt_how(&end);
}

/* --- jobs ------------------------------------------------------------------------------------------ */

WRAPS(queues_renew);
WRAPS(job_outcome);
WRAPS(job_ending_ops);
WRAPS(assign_pick);
WRAPS(rate_wait_ms);
WRAPS(work_recheck);
WRAPS(queue_multi);
WRAPS(queues_configured);
WRAPS(worker_answers_for);
WRAPS(worker_is_unhealthy);
WRAPS(skew_jobs);

/* Jobs go by the server's clock, whatever all others say. */
int64_t __wrap_skew_jobs(const struct skew_clock *clocks, size_t n, int64_t tolerance_ms)
{
	return is("job-clock") ? 0 : __real_skew_jobs(clocks, n, tolerance_ms);
}

/* Jobs that are given for a queue that was configured while the session is up are not listed. */
void __wrap_queues_configured(struct queues *q)
{
	__real_queues_configured(q);
	for (size_t i = 0; i < q->n && is("job-deaf") && session_is_up(q->session); i++)
		if (q->list[i]->works.list_ms == 0 && !q->list[i]->works.listing)
			q->list[i]->works.dirty = false;
}

/* A worker whose runner hangs is given jobs. */
bool __wrap_worker_is_unhealthy(const struct worker *w, const char *task)
{
	return !is("job-hung") && __real_worker_is_unhealthy(w, task);
}

/* A job of a session that lives is left to it, whether it knows of the job or not. */
bool __wrap_worker_answers_for(const struct worker *w, const char *node, const char *queue)
{
	return is("job-orphan") || __real_worker_answers_for(w, node, queue);
}

/* Whatever was given to this session is the assignment that its job began with. */
void __wrap_work_recheck(struct work *w)
{
	if (is("job-late"))
		w->token = 0;
	__real_work_recheck(w);
}

/* A job outlives its lease. */
int64_t __wrap_queues_renew(struct queues *q, const void *owner, uint64_t number)
{
	int64_t left = __real_queues_renew(q, owner, number);

	return left >= 0 && is("job-lease") ? left + 30000 : left;
}

/* A job that must not be run again after a crash is run again. */
enum job_next __wrap_job_outcome(const struct queue_settings *s, const struct job_attempt *a,
				 int64_t *ret_delay_ms)
{
	struct queue_settings other = *s;

	if (is("job-skip"))
		other.rerun = true;
	return __real_job_outcome(is("job-skip") ? &other : s, a, ret_delay_ms);
}

/* A job that is to be tried again is forgotten. */
size_t __wrap_job_ending_ops(struct job_ending *e, struct store_op ops[ENDING_OPS])
{
	size_t n = __real_job_ending_ops(e, ops);

	for (size_t i = 0; i < n && is("job-late"); i++)
		ops[i].version = -1;
	return is("job-nowhere") && e->next == JOB_NEXT_AGAIN ? n - 1 : n;
}

/* A worker gets more than it has slots for. */
size_t __wrap_assign_pick(enum queue_assign how, const struct assign_worker *workers, size_t n,
			  size_t *cursor, uint32_t draw)
{
	size_t i = __real_assign_pick(how, workers, n, cursor, draw);

	return i == ASSIGN_NOBODY && n > 0 && is("job-slots") ? 0 : i;
}

/* Whose key it is is not looked at, once there is one. */
static void take_key(struct store_op *op)
{
	static char seen[16][STORE_PATH_MAX];
	size_t i = 0;

	while (i < 16 && seen[i][0] && strcmp(seen[i], op->path) != 0)
		i++;
	if (i == 16)
		return;
	if (seen[i][0]) {
		op->type = STORE_OP_SET;
		op->version = -1;
	}
	snprintf(seen[i], sizeof(seen[i]), "%s", op->path);
}

/* The operations as the plant has them; how many. */
static size_t spoil_jobs(struct store_op *ops, size_t n)
{
	static char path[STORE_PATH_MAX];
	bool submits = n > 3 && ops[1].type == STORE_OP_CHECK && ops[2].type == STORE_OP_CREATE;
	bool purges = n > 1 && n < 4 && ops[0].type == STORE_OP_SET &&
		      ops[1].type == STORE_OP_DELETE && strstr(ops[1].path, "/dead/") &&
		      ops[n - 1].type == STORE_OP_DELETE;

	/* Jobs that an earlier call has committed are not found. */
	if (is("job-refused") && n == 1 && ops[0].type == STORE_OP_CHECK) {
		snprintf(path, sizeof(path), "%.*s", (int)strlen(ops[0].path) - 1, ops[0].path);
		ops[0].path = path;
	}
	if (is("job-open") && submits && n == 5 && ops[4].type == STORE_OP_CREATE)
		take_key(&ops[4]);
	/* A submit has its place whatever has been counted since. */
	if (is("job-room") && submits)
		ops[1].version = -1;
	/* A job is given back whoever has it by now. */
	if (is("job-returned") && n == 3 && ops[1].type == STORE_OP_DELETE &&
	    strstr(ops[1].path, "/at/") && strstr(ops[2].path, "/due/")) {
		ops[0].path = ops[1].path;
		ops[1].version = -1;
	}
	/* A purge leaves no trace. */
	if (is("job-purged") && purges)
		ops[0].type = STORE_OP_DELETE;
	/* Or the key. */
	return is("job-key") && purges ? 2 : n;
}

void __wrap_queue_multi(struct queue_calls *c, const struct store_op *ops, size_t n,
			store_reply_fn fn, void *arg)
{
	struct store_op *other = mem_calloc(n, sizeof(*other));

	memcpy(other, ops, n * sizeof(*other));
	n = spoil_jobs(other, n);
	__real_queue_multi(c, other, n, fn, arg);
	free(other);
}

/* The rate is not kept. */
int64_t __wrap_rate_wait_ms(const struct rate *b, int64_t now_ms)
{
	return is("job-rate") ? 0 : __real_rate_wait_ms(b, now_ms);
}

/* --- lists ------------------------------------------------------------------------------------------ */

WRAPS(lists_joined);
WRAPS(lists_watch);

/* A worker whose list is not known is taken for one that lists nothing. */
void __wrap_lists_joined(struct lists *l, struct worker *w)
{
	__real_lists_joined(l, w);
	if (is("list-empty"))
		w->unlisted = false;
}

/* A list that a hand has changed stays so. */
void __wrap_lists_watch(struct lists *l, enum store_watch type, const char *path)
{
	if (!is("list-lost"))
		__real_lists_watch(l, type, path);
}

/* --- the roll --------------------------------------------------------------------------------------- */

WRAPS(roll_is_sure);
WRAPS(keep_watch);

bool __wrap_roll_is_sure(struct roll *r, int64_t session)
{
	return is("roll-sure") || __real_roll_is_sure(r, session);
}

void __wrap_keep_watch(struct roll *r)
{
	if (!is("roll-orphan"))
		__real_keep_watch(r);
}

/* --- keys ------------------------------------------------------------------------------------------- */

WRAPS(own_record_same_tasks);

/* A reload that changes nothing but keys which decide nothing leaves the record as it is. */
bool __wrap_own_record_same_tasks(const struct registry_tasks *a, const struct registry_tasks *b)
{
	struct registry_tasks other = *b;

	if (is("keys-kept") && a->n == b->n && a->keys)
		other.keys = a->keys;
	return __real_own_record_same_tasks(a, &other);
}

/* --- watches -------------------------------------------------------------------------------------- */

WRAPS(watches_begin);
WRAPS(watches_drop);
WRAPS(session_give_up);

/* Whoever asks for a watch gets one. */
void __wrap_watches_begin(struct watches *w, struct store *store, size_t limit)
{
	__real_watches_begin(w, store, is("watch-budget") ? SIZE_MAX / 2 : limit);
}

/* A watch that nobody needs any more is kept. */
void __wrap_watches_drop(struct watches *w, const char *path, enum watch_kind kind,
			 const void *owner)
{
	if (!is("watch-kept"))
		__real_watches_drop(w, path, kind, owner);
}

/* A session that nothing confirms is kept. */
void __wrap_session_give_up(struct session *s, enum session_state state, const char *problem)
{
	if (!is("hostage-kept"))
		__real_session_give_up(s, state, problem);
}
