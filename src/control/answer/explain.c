#include "control/answer/explain.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "control/answer/answers.h"
#include "control/answer/decisions.h"
#include "control/answer/schedule_words.h"
#include "control/ask/subject.h"
#include "core/election/election_times.h"
#include "core/fleet/identity.h"
#include "node/fleet/disagreement.h"
#include "node/node.h"

const char *explain_state(const struct node *s, const struct task *t, bool says)
{
	const struct election *e = &t->election;
	const struct member *self = registry_self(&s->registry);

	if (says)
		return "leading";
	if (!session_is_up(&s->session) && leaders_lease_left(t) == 0)
		return "disconnected";
	if (t->standing.paused)
		return "paused";
	if (self && self->drained)
		return "drained";
	if (election_leads(e)) /* the task is being given up, or the lease is over */
		return leaders_lease_left(t) > 0 ? "contending" : "disconnected";
	if ((e->state == ELECTION_FOLLOWING && leaders_is_led(t)) || !e->view.candidate)
		return "following";
	return "contending";
}

void explain_decision(const struct policy_item *item, char text[EXPLAIN_TEXT_MAX])
{
	static const char *const words[POLICY_SHOWN] = {
		[POLICY_PAUSE] = "paused",    [POLICY_PIN] = "pinned to version",
		[POLICY_DRAIN] = "drained",   [POLICY_RESIGN] = "resigned",
		[POLICY_RERUN] = "preferred",
	};
	const struct policy_record *r = &item->record;
	char when[CLOCK_TEXT_SIZE];

	text[0] = '\0';
	explain_say(text, "%s%s%s by %s at %s", words[item->kind], r->version[0] ? " " : "",
		    r->version, r->by, r->host);
	if (r->until > 0) {
		clock_format(r->until, when);
		explain_say(text, " until %s", when);
	}
	if (r->reason[0])
		explain_say(text, ": %s", r->reason);
}

/* The decision about the task or this node that may keep the node from leading; NULL: none. */
static const struct policy_item *obstacle(const struct node *s, const struct task *t)
{
	const struct policy_item *item = policy_find(&s->policy, POLICY_PAUSE, t->name, "");

	if (!item)
		item = policy_find_node(&s->policy, POLICY_DRAIN, "", s->registry.node,
					s->registry.machine);
	if (!item)
		item = policy_find_node(&s->policy, POLICY_RESIGN, t->name, s->registry.node,
					s->registry.machine);
	return item ? item : policy_find(&s->policy, POLICY_PIN, t->name, "");
}

static void say_nobody(const struct node *s, const struct task *t, char text[EXPLAIN_TEXT_MAX])
{
	const struct standing standing =
		fleet_stand(&s->registry.fleet, &t->contest, t->index, s->registry.id);
	enum why why = fleet_why(&s->registry.fleet, &t->contest, t->index, s->registry.id);

	explain_say(text, "nobody leads %s", t->name);
	if (t->standing.paused)
		return;
	if (standing.best)
		explain_say(text, " yet: the election has not settled");
	else if (why == WHY_BELOW_MINIMUM)
		explain_say(text, ", and this node's version is older than its min-version %s",
			    t->settings->min_version);
	else
		explain_say(text, ": no worker is a candidate");
}

void explain_no_session(const struct node *s, char text[EXPLAIN_TEXT_MAX])
{
	const char *why = session_why(&s->session);

	explain_say(text, "no confirmed session with ZooKeeper: %s",
		    why[0] ? why : session_state_name(&s->session));
}

static void say_role(const struct node *s, const struct task *t, bool says,
		     char text[EXPLAIN_TEXT_MAX])
{
	const struct election *e = &t->election;
	const struct member *m = leaders_leader(t);
	char blocked[LEADERS_BLOCKED_MAX];

	text[0] = '\0';
	if (says) {
		explain_say(text, "this node leads %s", t->name);
	} else if (leaders_lease_left(t) > 0 && runs_hold(&s->runs, t) && !e->view.candidate) {
		explain_say(text, "%s is kept here for a job", t->name);
	} else if (leaders_lease_left(t) > 0) {
		explain_say(text, "%s is being handed over", t->name);
	} else if (!session_is_up(&s->session)) {
		explain_no_session(s, text);
		return;
	} else if (election_leads(e)) {
		explain_say(text, "the quorum has not confirmed the session recently enough");
	} else if (leaders_is_blocked(t, blocked)) {
		explain_say(text, "nobody can lead %s: %s", t->name, blocked);
	} else if (e->node.known && e->node.exists) {
		explain_say(text, "%s is led by %s (%s)", t->name,
			    m ? identity_name(m) : t->leader.id,
			    m ? m->worker->version : "not in the fleet");
	} else {
		say_nobody(s, t, text);
	}
}

const char *explain_unhealthy(const struct node *s, const char *name)
{
	const struct registry *r = &s->registry;
	const char *says = r->sick ? r->sick_says : NULL;
	char task[NAME_ELECTION_MAX + 1];

	if (!says && r->n_unhealthy == 0)
		return NULL;
	subject_task_of(name, task);
	for (size_t i = 0; !says && i < r->n_unhealthy; i++)
		if (strcmp(r->unhealthy[i], task) == 0)
			says = r->unhealthy_says[i];
	return says && !says[0] ? "the check fails" : says;
}

void explain_sick(const struct node *s, const char *name, char text[EXPLAIN_TEXT_MAX])
{
	const char *says = explain_unhealthy(s, name);

	if (says)
		explain_say(text, "; this node is not healthy%s: %s",
			    s->registry.sick ? "" : " for it", says);
}

static void say_obstacle(const struct node *s, const struct task *t, char text[EXPLAIN_TEXT_MAX])
{
	const struct policy_item *item = obstacle(s, t);
	char decision[EXPLAIN_TEXT_MAX];

	explain_sick(s, t->name, text);
	if (!item || (item->kind == POLICY_PIN && t->election.view.candidate))
		return;
	explain_decision(item, decision);
	explain_say(text, "; %s is %s",
		    item->kind == POLICY_PAUSE || item->kind == POLICY_PIN ? "the task"
									   : "this node",
		    decision);
}

void explain_why(const struct node *s, const struct task *t, bool says, char text[EXPLAIN_TEXT_MAX])
{
	say_role(s, t, says, text);
	say_obstacle(s, t, text);
}

/* --- a handover that waits ------------------------------------------------ */

static const char *name_of(const struct node *s, const char *id)
{
	const struct member *m = fleet_find(&s->registry.fleet, id);

	return m ? identity_name(m) : id;
}

/* While a job runs, `at` is the latest time, by hold-max: the job may end before. */
static void say_handover(const struct node *s, const struct task *t, struct election_time now,
			 int64_t at, const char *waits_for, char text[EXPLAIN_TEXT_MAX])
{
	char when[CLOCK_TEXT_SIZE];

	clock_format(at - now.boot_ms + now.wall_ms, when);
	explain_say(text, "; it %s%s", t->standing.best_id[0] ? "goes to " : "is given up",
		    t->standing.best_id[0] ? name_of(s, t->standing.best_id) : "");
	if (runs_hold(&s->runs, t))
		explain_say(text, " when the job that runs has ended, at %s at the latest", when);
	else
		explain_say(text, " in %lld s, at %s (%s)",
			    (long long)(at - now.boot_ms + 999) / 1000, when, waits_for);
}

static void say_since(const struct task *t, char text[EXPLAIN_TEXT_MAX])
{
	char when[CLOCK_TEXT_SIZE];

	if (!t->election.node.known || !t->election.node.exists || t->leader.since <= 0)
		return;
	clock_format(t->leader.since, when);
	explain_say(text, ", since %s", when);
}

void explain_reason(const struct node *s, const struct task *t, bool says,
		    char text[EXPLAIN_TEXT_MAX])
{
	struct election_time now = leaders_time(&s->leaders);
	const struct member *leader = leaders_leader(t);
	bool leads = says || leaders_lease_left(t) > 0;
	bool is_best = leader && strcmp(leader->worker->id, t->standing.best_id) == 0;
	const char *waits_for;
	int64_t at;

	say_role(s, t, says, text);
	if (!leads && !session_is_up(&s->session)) {
		say_obstacle(s, t, text);
		return; /* the leader is not known */
	}
	bool yields = leads && election_yield_at(&t->election, now, &at, &waits_for);
	if (leads && !yields && t->election.view.place == 0)
		explain_say(text, ": it is the best candidate");
	else if (leads && !yields)
		explain_say(text, " and keeps it, though it is not the best: yield is \"%s\"",
			    t->election.config.yield == ELECTION_YIELD_NEVER ? "never" : "version");
	else if (!leads && is_best)
		explain_say(text, ", the best candidate");
	say_since(t, text);
	if (yields)
		say_handover(s, t, now, at, waits_for, text);
	else if (!leads && leader && !is_best && t->election.view.candidate &&
		 t->election.view.place == 0)
		explain_say(text, "; this node is the better candidate, and waits for it to yield");
	say_obstacle(s, t, text);
}

static void pack_handover(struct pack *p, const struct node *s, const struct task *t)
{
	struct election_time now = leaders_time(&s->leaders);
	const char *waits_for;
	int64_t at;

	if (!election_yield_at(&t->election, now, &at, &waits_for)) {
		pack_kv_nil(p, "handover");
		return;
	}
	pack_str(p, "handover");
	pack_map(p, 3);
	pack_kv_str(p, "to", t->standing.best_id[0] ? name_of(s, t->standing.best_id) : NULL);
	pack_kv_time(p, "at", at - now.boot_ms + now.wall_ms);
	pack_kv_str(p, "waits_for", waits_for);
}

/* --- the ranking ---------------------------------------------------------- */

/* Why a member is not the best, as a word for programs and in words for people. */
static const struct {
	const char *cause, *words;
} whys[] = {
	[WHY_BEST] = {"best", "the best"},
	[WHY_WORSE_VERSION] = {"version", "older version"},
	[WHY_NOT_DRAFTED] = {"draft", "the draft gives it to another"},
	[WHY_LOWER_RANK] = {"rank", "lower rank"},
	[WHY_LOWER_IP] = {"ip", "same rank, lower ip"},
	[WHY_LOWER_ID] = {"id", "same rank and ip, lower id"},
	[WHY_NOT_LISTED] = {"not-listed", "does not list the task"},
	[WHY_DRAINED] = {"drained", "drained"},
	[WHY_UNHEALTHY] = {"unhealthy", "not healthy"},
	[WHY_BELOW_MINIMUM] = {"min-version", "older than min-version"},
	[WHY_NOT_PINNED] = {"not-pinned", "not the pinned version"},
	[WHY_RESIGNED] = {"resigned", "another stands by for a run that was lost"},
	[WHY_CLOCK_OFF] = {"clock", "its clock is wrong"},
};

void explain_ranked(const struct node *s, const struct task *t, const struct ranked *r,
		    char text[EXPLAIN_TEXT_MAX])
{
	const struct worker *w = r->member->worker;
	bool self = r->member == registry_self(&s->registry);
	const char *unhealthy = self ? explain_unhealthy(s, t->name) : NULL;
	const struct policy_item *item = NULL;
	const char *why = whys[r->why].words;
	char off[CLOCKS_TEXT_MAX];

	text[0] = '\0';
	if (r->why == WHY_WORSE_VERSION && t->contest.version_policy == VERSION_OLDEST)
		why = "newer version";
	else if (r->why == WHY_NOT_LISTED && t->settings->queue)
		why = self ? "takes submits alone: slots = 0" : "does no jobs of the queue";
	else if (r->why == WHY_DRAINED)
		item = policy_find_node(&s->policy, POLICY_DRAIN, "", w->node, w->machine);
	else if (r->why == WHY_RESIGNED)
		item = policy_find_node(&s->policy, POLICY_RESIGN, t->name, w->node, w->machine);
	if (r->why == WHY_CLOCK_OFF)
		clocks_say(w->clock_offset_ms, off);
	if (item)
		explain_decision(item, text);
	else if (r->why == WHY_UNHEALTHY && unhealthy)
		explain_say(text, "not healthy: %s", unhealthy);
	else if (r->why == WHY_CLOCK_OFF)
		explain_say(text, "its clock is %s and most workers'", off);
	else
		explain_say(text, "%s", why);
}

void explain_pack_ranked(struct pack *p, const struct node *s, const struct ranked *r,
			 const char *why, const struct task_settings *settings)
{
	const struct worker *w = r->member->worker;

	pack_map(p, 11);
	pack_kv_str(p, "id", w->id);
	pack_kv_str(p, "ip", w->ip);
	pack_kv_str(p, "hostname", w->hostname);
	pack_kv_str(p, "node", identity_name(r->member));
	pack_kv_str(p, "version", w->version);
	pack_kv_int(p, "rank", (int64_t)r->rank);
	pack_kv_bool(p, "candidate", r->candidate);
	pack_kv_str(p, "cause", whys[r->why].cause);
	pack_kv_str(p, "why", why);
	pack_kv_bool(p, "self", r->member == registry_self(&s->registry));
	pack_kv_bool(p, "disagrees", settings && disagreement_about(settings, r->member));
}

static void pack_ranking(struct pack *p, const struct node *s, const struct task *t)
{
	const struct fleet *f = &s->registry.fleet;
	struct ranked *list = mem_calloc(f->n_members + 1, sizeof(*list));
	size_t n = fleet_rank(f, &t->contest, t->index, list);
	char why[EXPLAIN_TEXT_MAX];

	pack_str(p, "ranking");
	pack_array(p, n);
	for (size_t i = 0; i < n; i++) {
		explain_ranked(s, t, &list[i], why);
		explain_pack_ranked(p, s, &list[i], why, t->listing ? &t->listing->settings : NULL);
	}
	free(list);
}

void answer_explain(struct pack *p, const struct node *s, const struct task *t)
{
	bool says = leaders_says(t);
	char reason[EXPLAIN_TEXT_MAX];

	explain_reason(s, t, says, reason);
	pack_map(p, 13 + SCHEDULE_WORDS_FIELDS);
	pack_kv_str(p, "task", t->name);
	pack_kv_str(p, "description", t->settings->description);
	answers_pack_leadership(p, t);
	pack_kv_str(p, "state", explain_state(s, t, says));
	pack_kv_bool(p, "leads", says);
	pack_kv_str(p, "reason", reason);
	answers_pack_due(p, s, t->listing);
	schedule_words_pack(p, t->settings);
	pack_ranking(p, s, t);
	pack_handover(p, s, t);
	decisions_pack(p, s, t);
	answers_pack_refused(p, s);
}

/* --- the roll ------------------------------------------------------------- */

static void say_roll(const struct node *s, const struct member *keeper, char text[EXPLAIN_TEXT_MAX])
{
	const struct roll *r = &s->registry.roll;
	size_t n = s->registry.fleet.n_members;

	text[0] = '\0';
	if (!session_is_up(&s->session))
		explain_no_session(s, text);
	else if (!roll_is_wanted(r))
		explain_say(text, "no roll is kept: roll-from is 0");
	else if (r->state == ROLL_OFF)
		explain_say(text, "no roll is kept of %zu workers: roll-from is %zu", n, r->from);
	else if (r->state == ROLL_KEEPING)
		explain_say(text, "this node keeps the roll of %zu workers", n);
	else if (r->state == ROLL_FOLLOWING)
		explain_say(text, "the roll of %zu workers is kept by %s", n,
			    keeper ? identity_name(keeper) : "a worker that is not in it");
	else
		explain_say(text, "no roll is followed yet: the workers are listed");
}

static void pack_keeper(struct pack *p, const struct node *s, const struct member *m, bool keeps)
{
	struct ranked r = {.member = m, .candidate = true, .why = keeps ? WHY_BEST : WHY_LOWER_ID};

	explain_pack_ranked(p, s, &r, keeps ? "keeps it" : "takes it over in its turn", NULL);
}

void answer_explain_roll(struct pack *p, const struct node *s)
{
	static const char *const states[] = {[ROLL_OFF] = "following",
					     [ROLL_SEEKING] = "contending",
					     [ROLL_FOLLOWING] = "following",
					     [ROLL_KEEPING] = "leading"};
	const struct roll *r = &s->registry.roll;
	const struct fleet *f = &s->registry.fleet;
	const struct member *keeper = fleet_find(f, roll_keeper(r));
	bool up = session_is_up(&s->session);
	size_t n = r->state == ROLL_OFF ? 0 : f->n_members;
	char reason[EXPLAIN_TEXT_MAX];

	say_roll(s, keeper, reason);
	pack_map(p, 5);
	pack_kv_str(p, "task", EXPLAIN_ROLL);
	pack_kv_str(p, "state", up ? states[r->state] : "disconnected");
	pack_kv_bool(p, "leads", up && r->state == ROLL_KEEPING);
	pack_kv_str(p, "reason", reason);
	pack_str(p, "ranking");
	pack_array(p, n);
	if (n > 0 && keeper)
		pack_keeper(p, s, keeper, true);
	for (size_t i = 0; i < n; i++)
		if (f->by_id[i] != keeper)
			pack_keeper(p, s, f->by_id[i], false);
}
