#include "control/answer/partition_answers.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/answer/decisions.h"
#include "control/answer/explain.h"
#include "control/answer/parked.h"
#include "control/answer/schedule_words.h"
#include "control/ask/subject.h"
#include "core/fleet/identity.h"
#include "node/election/partitions.h"
#include "node/fleet/disagreement.h"
#include "node/ledger/last_run.h"
#include "node/ledger/overdue.h"

/* --- pieces ---------------------------------------------------------------- */

static bool is_led(const struct task *t, const void *arg)
{
	(void)arg;
	return leaders_is_led(t);
}

/*
 * For each partition, more than 0 if this node may say that it leads it: with `promise` the time in
 * ms for which that is promised. Time goes on while an answer is made, so all are computed once.
 * The caller frees the array.
 */
static int64_t *said_here(const struct listing *l, bool promise)
{
	int64_t *here = mem_calloc(l->n + 1, sizeof(*here));

	for (size_t k = 0; k < l->n; k++)
		here[k] = promise ? leaders_promise(l->tasks[k]) : leaders_says(l->tasks[k]);
	return here;
}

/* The argument is the array of said_here(). */
static bool is_said_here(const struct task *t, const void *arg)
{
	const int64_t *here = arg;

	return here[t->partition] > 0;
}

static size_t count(const struct listing *l, bool (*is)(const struct task *t, const void *arg),
		    const void *arg)
{
	size_t n = 0;

	for (size_t k = 0; k < l->n; k++)
		n += is(l->tasks[k], arg);
	return n;
}

/* This node's state for the task: leading if it leads any partition. */
static const char *state_of(const struct node *s, const struct listing *l, const int64_t *here)
{
	const struct member *self = registry_self(&s->registry);
	bool contends = false;

	for (size_t k = 0; k < l->n; k++) {
		const char *state = explain_state(s, l->tasks[k], here[k] > 0);

		if (strcmp(state, "leading") == 0)
			return state;
		contends |= strcmp(state, "contending") == 0;
	}
	if (!session_is_up(&s->session))
		return "disconnected";
	if (policy_find(&s->policy, POLICY_PAUSE, l->name, ""))
		return "paused";
	if (self && self->drained)
		return "drained";
	return contends ? "contending" : "following";
}

static void pack_owner(struct pack *p, const struct task *t, unsigned k, int64_t lease_ms)
{
	pack_map(p, 5);
	pack_kv_uint(p, "partition", k);
	answers_pack_leadership(p, t);
	pack_kv_int(p, "lease_ms", lease_ms);
}

/* The keys partitions, led, here and owners. */
static void pack_owners(struct pack *p, const struct listing *l, const int64_t *here)
{
	pack_kv_uint(p, "partitions", l->n);
	pack_kv_uint(p, "led", count(l, is_led, NULL));
	pack_str(p, "here");
	pack_array(p, count(l, is_said_here, here));
	for (unsigned k = 0; k < l->n; k++)
		if (here[k] > 0)
			pack_uint(p, k);
	pack_str(p, "owners");
	pack_array(p, l->n);
	for (unsigned k = 0; k < l->n; k++)
		pack_owner(p, l->tasks[k], k, here[k]);
}

static void pack_problem(struct pack *p, const struct listing *l)
{
	char problem[PARTITIONS_TEXT_MAX];

	pack_kv_str(p, "problem", partitions_problem(l, problem) ? problem : NULL);
}

static int64_t least_lease(const struct listing *l, const int64_t *here)
{
	int64_t least = 0;

	for (size_t k = 0; k < l->n; k++)
		if (here[k] > 0 && (least == 0 || here[k] < least))
			least = here[k];
	return least;
}

void partition_answers_pack(struct pack *p, const struct node *s, struct listing *l)
{
	mem_auto int64_t *here = said_here(l, true);
	bool self = false;

	for (size_t k = 0; k < l->n; k++)
		self |= election_leads(&l->tasks[k]->election);
	pack_kv_str(p, "task", l->name);
	pack_kv_str(p, "state", state_of(s, l, here));
	pack_kv_bool(p, "self", self);
	pack_kv_nil(p, "leader");
	pack_kv_nil(p, "token");
	pack_kv_nil(p, "since");
	pack_kv_int(p, "lease_ms", least_lease(l, here));
	decisions_pack_listing(p, s, l);
	pack_kv_str(p, "unhealthy", explain_unhealthy(s, l->name));
	pack_kv_str(p, "description", l->settings.description);
	pack_owners(p, l, here);
	pack_problem(p, l);
}

const struct task *partition_answers_last(const struct listing *l)
{
	const struct task *last = NULL;

	for (size_t k = 0; k < l->n; k++) {
		const struct task *t = l->tasks[k];
		int order = strcmp(last_run_of(t)->tick, last ? last_run_of(last)->tick : "");

		if (order > 0 || (order == 0 && last && strcmp(last_run_state(last), "ok") == 0))
			last = t;
	}
	return last;
}

bool partition_answers_overdue(const struct listing *l)
{
	for (size_t k = 0; k < l->n; k++)
		if (overdue_is(l->tasks[k]))
			return true;
	return false;
}

/* --- whole answers -------------------------------------------------------------------- */

bool partition_any_settled(const struct listing *l)
{
	bool settled = true;

	for (size_t k = 0; k < l->n; k++) {
		if (leaders_says(l->tasks[k]))
			return true;
		settled = settled && parked_settled(l->tasks[k]);
	}
	return settled;
}

/*
 * The partition that stands for all: the one with the longest lease left here, else one that
 * another node leads, else the first.
 */
static struct task *any_of(const struct listing *l)
{
	struct task *best = NULL, *led = NULL;
	int64_t most = 0;

	for (size_t k = 0; k < l->n; k++) {
		struct task *t = l->tasks[k];
		int64_t lease_ms = leaders_says(t) ? leaders_lease_left(t) : 0;

		if (lease_ms > most) {
			best = t;
			most = lease_ms;
		}
		if (!led && leaders_is_led(t) && !election_leads(&t->election))
			led = t;
	}
	return best ? best : led ? led : l->tasks[0];
}

void answer_check_any(struct pack *p, const struct node *s, struct listing *l)
{
	answer_check(p, s, any_of(l), l->name);
}

void answer_partitions(struct pack *p, struct listing *l)
{
	mem_auto int64_t *here = said_here(l, true);

	pack_map(p, 5);
	pack_kv_str(p, "task", l->name);
	pack_owners(p, l, here);
}

/* --- explain -------------------------------------------------------------------------- */

/* The member drafted for each partition, in order; NULL: none. */
static const struct member **drafted(const struct node *s, const struct listing *l)
{
	const struct member **list = mem_calloc(l->n + 1, sizeof(*list));

	for (size_t k = 0; k < l->n; k++)
		list[k] = fleet_stand(&s->registry.fleet, &l->tasks[k]->contest, l->tasks[k]->index,
				      "")
				  .best;
	return list;
}

struct drafts {
	const struct member *const *owners;
	const struct member *member;
};

static bool is_drafted(const struct task *t, const void *arg)
{
	const struct drafts *d = arg;

	return d->owners[t->partition] == d->member;
}

static void say_drafted(const struct listing *l, const struct member *const *owners,
			const struct ranked *r, char text[EXPLAIN_TEXT_MAX])
{
	const struct drafts d = {owners, r->member};
	char partitions[SUBJECT_LIST_SIZE];
	size_t n = subject_list(l, is_drafted, &d, partitions);

	text[0] = '\0';
	if (n > 0)
		explain_say(text, "%zu of %zu: %s", n, l->n, partitions);
	else if (r->candidate)
		explain_say(text, "no partition is left for it%s",
			    r->why == WHY_WORSE_VERSION ? ": others have a better version" : "");
}

static void pack_ranked(struct pack *p, const struct node *s, const struct listing *l,
			const struct member *const *owners, const struct ranked *r)
{
	char why[EXPLAIN_TEXT_MAX];

	say_drafted(l, owners, r, why);
	if (!why[0])
		explain_ranked(s, l->tasks[0], r, why);
	explain_pack_ranked(p, s, r, why, &l->settings);
}

/* The workers in the order of the draft, each with what the draft gives it. */
static void pack_ranking(struct pack *p, const struct node *s, const struct listing *l)
{
	const struct fleet *f = &s->registry.fleet;
	struct ranked *list = mem_calloc(f->n_members + 1, sizeof(*list));
	const struct member **owners = drafted(s, l);
	const struct contest contest = listing_contest(l);
	size_t n = l->n > 0 ? fleet_rank(f, &contest, listing_index(l), list) : 0;

	pack_str(p, "ranking");
	pack_array(p, n);
	for (size_t i = 0; i < n; i++)
		pack_ranked(p, s, l, owners, &list[i]);
	free(owners);
	free(list);
}

static void say_reason(const struct node *s, const struct listing *l, const int64_t *here,
		       char text[EXPLAIN_TEXT_MAX])
{
	char problem[PARTITIONS_TEXT_MAX], list[SUBJECT_LIST_SIZE];
	const struct policy_item *pause = policy_find(&s->policy, POLICY_PAUSE, l->name, "");
	size_t led = count(l, is_led, NULL), n_here = subject_list(l, is_said_here, here, list);
	char decision[EXPLAIN_TEXT_MAX];

	text[0] = '\0';
	if (partitions_problem(l, problem))
		explain_say(text, "this node is no candidate for %s: %s", l->name, problem);
	else if (!session_is_up(&s->session) && n_here == 0)
		explain_no_session(s, text);
	else if (l->n == 0)
		explain_say(text, "how many partitions %s has is not known yet", l->name);
	else if (n_here > 0)
		explain_say(text,
			    "this node leads %zu of the %zu partitions of %s: %s; %zu are led",
			    n_here, l->n, l->name, list, led);
	else
		explain_say(text, "this node leads none of the %zu partitions of %s; %zu are led",
			    l->n, l->name, led);
	if (pause) {
		explain_decision(pause, decision);
		explain_say(text, "; the task is %s", decision);
	}
	explain_sick(s, l->name, text);
}

static void pack_partition(struct pack *p, const struct node *s, const struct task *t, bool says)
{
	char reason[EXPLAIN_TEXT_MAX];

	explain_reason(s, t, says, reason);
	pack_map(p, 8);
	pack_kv_str(p, "task", t->name);
	pack_kv_uint(p, "partition", t->partition);
	pack_kv_str(p, "state", explain_state(s, t, says));
	pack_kv_bool(p, "leads", says);
	answers_pack_leadership(p, t);
	pack_kv_str(p, "reason", reason);
}

void answer_explain_listing(struct pack *p, const struct node *s, struct listing *l)
{
	mem_auto int64_t *here = said_here(l, false);
	char reason[EXPLAIN_TEXT_MAX];

	say_reason(s, l, here, reason);
	pack_map(p, 15 + SCHEDULE_WORDS_FIELDS);
	pack_kv_str(p, "task", l->name);
	pack_kv_str(p, "description", l->settings.description);
	pack_kv_nil(p, "leader");
	pack_kv_nil(p, "token");
	pack_kv_nil(p, "since");
	pack_kv_str(p, "state", state_of(s, l, here));
	pack_kv_bool(p, "leads", count(l, is_said_here, here) > 0);
	pack_kv_str(p, "reason", reason);
	answers_pack_due(p, s, l);
	schedule_words_pack(p, &l->settings);
	pack_ranking(p, s, l);
	pack_kv_nil(p, "handover");
	decisions_pack_listing(p, s, l);
	answers_pack_refused(p, s);
	pack_problem(p, l);
	pack_str(p, "partitions");
	pack_array(p, l->n);
	for (size_t k = 0; k < l->n; k++)
		pack_partition(p, s, l->tasks[k], here[k] > 0);
}
