#include "tables.h"

#include <string.h>

#include "core/fleet/fleet_draft.h"
#include "core/fleet/identity.h"
#include "core/election/run.h"
#include "crowd.h"
#include "node/ledger/counts.h"
#include "node/fleet/disagreement.h"
#include "node/ledger/last_run.h"
#include "node/ledger/overdue.h"
#include "node/fleet/survey.h"
#include "node/election/tasks.h"
#include "simq.h"

static struct survey *surveys[HOSTS_MAX];

void tables_reset(void)
{
	memset(surveys, 0, sizeof(surveys));
}

void tables_ended(const struct site *s)
{
	survey_free(surveys[s->id]);
	surveys[s->id] = NULL;
}

/* --- of workers ----------------------------------------------------------------------------------- */

static void count_one(void *arg, const struct member *m)
{
	size_t *n = arg;

	(void)m;
	++*n;
}

static void on_surveyed(void *arg)
{
	(void)arg;
}

/* The survey of tasks that this site has not counts no more leaders than there are tasks. */
static void look_at_survey(struct site *s)
{
	struct survey **survey = &surveys[s->id];
	size_t n = 0;

	if (*survey && !survey_is_done(*survey))
		return;
	if (*survey) {
		survey_each(*survey, count_one, &n);
		if (n > sim.n_tasks + (sim.options.queues ? QUEUES : 0) +
				(sim.options.crowd ? CROWD_TASKS : 0))
			sim_violation("site %u counts %zu leaders of %u tasks", s->id, n,
				      sim.n_tasks);
		tables_ended(s);
	} else if (session_is_up(&s->node.session)) {
		*survey = survey_start(&s->node.registry, tasks_have, &s->node.leaders, on_surveyed,
				       NULL);
	}
}

/* --- of tasks ------------------------------------------------------------------------------------- */

static void look_at_task(const struct site *s, struct task *t)
{
	char text[LEADERS_BLOCKED_MAX];
	size_t first = 0;
	int64_t ended = counts_last_ok(t);

	if (leaders_says(t) && (leaders_lease_left(t) <= 0 || !leaders_is_led(t)))
		sim_violation("%s: site %u says that it leads, and has no lease", t->name, s->id);
	if (leaders_is_blocked(t, text) && text[0] == '\0')
		sim_violation("%s: site %u does not say what blocks it", t->name, s->id);
	if (ended < 0 || !last_run_state(t) || !election_state_name(t->election.state))
		sim_violation("%s: site %u tells what cannot be", t->name, s->id);
	if (election_unsettled(&t->election) && election_leads(&t->election))
		sim_violation("%s: site %u leads, and is not settled", t->name, s->id);
	for (enum policy_kind kind = 0; kind < POLICY_KINDS; kind++)
		(void)policy_of_task(&s->node.policy, kind, t->name, &first);
	(void)overdue_is(t);
}

/* A task with partitions has words for its problem, and none if there is no problem. */
static void look_at_listing(const struct site *s, const struct listing *l)
{
	const struct fleet *f = &s->node.registry.fleet;
	char text[PARTITIONS_TEXT_MAX];
	bool is = partitions_problem(l, text);

	if (is ? text[0] == '\0' || partitions_state(l) == PARTITIONS_IN_FORCE
	       : partitions_state(l) == PARTITIONS_REFUSED)
		sim_violation("%s: site %u has %u partitions in force, and %s", l->name, s->id,
			      l->in_force, is ? text : "no problem");
	for (size_t i = 0; i < f->n_members; i++) {
		struct member *m = f->by_id[i];
		if (partitions_differ(l, m, text) && text[0] == '\0')
			sim_violation("%s: site %u does not say how %s differs", l->name, s->id,
				      identity_name(m));
		(void)disagreement_about(&l->settings, m);
	}
}

/* --- of runs -------------------------------------------------------------------------------------- */

static void count_job(void *arg, const char *task, const char *tick)
{
	size_t *n = arg;

	*n += task[0] != '\0' && tick != NULL;
}

void tables_look(struct site *s)
{
	struct leaders *l = &s->node.leaders;
	size_t going = 0;

	for (size_t i = 0; i < l->n_tasks; i++)
		look_at_task(s, l->tasks[i]);
	for (size_t i = 0; i < l->n_listings; i++)
		look_at_listing(s, l->listings[i]);
	runs_each_going(&s->node.runs, host_now_ms(s->node.host), count_job, &going);
	if (going != runs_going(&s->node.runs, sim.tracing))
		sim_violation("site %u counts other jobs than it names", s->id);
	/*
	 * Without --ticks the servers' work for one change is measured: nobody asks them for more.
	 */
	if (!sim.options.ticks)
		return;
	last_runs_ask(&s->node.last_runs, l->tasks, l->n_tasks);
	look_at_survey(s);
}
