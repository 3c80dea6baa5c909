#include "control/control.h"

#include <stdlib.h>
#include <string.h>

#include "control/answer/parked.h"
#include "control/answer/subscriptions.h"
#include "control/ask/user.h"
#include "control/programs/notifiers.h"
#include "control/programs/programs.h"
#include "control/programs/runners.h"
#include "control/recipes/recipes.h"
#include "node/ledger/last_run.h"

static void on_turn(void *arg)
{
	struct methods *m = arg;

	if (m->dirty)
		parked_look(m);
	recipes_look(m);
	if (!subscriptions_tell(m->subscriptions))
		host_timer_start(&m->due, 1);
}

static void on_due(void *arg)
{
	parked_look(arg);
}

static void on_last_runs(void *arg)
{
	struct methods *m = arg;

	if (m->n_parked > 0)
		parked_wake(m);
}

void methods_drained(struct methods *m)
{
	/* Subscribers have room again: notifications go on at the end of this turn. */
	subscriptions_changed(m->subscriptions);
	notifiers_drained(m);
}

void methods_task_changed(struct methods *m)
{
	subscriptions_changed(m->subscriptions);
	if (m->n_parked > 0)
		parked_wake(m);
}

void methods_room(struct methods *m)
{
	methods_task_changed(m);
}

void methods_task_removed(struct methods *m, struct task *t)
{
	parked_task_removed(m, t);
}

void methods_client_gone(struct methods *m, struct peer *c)
{
	asks_client_gone(m, c);
	programs_client_gone(m, c);
	subscription_end(m->subscriptions, c);
}

void methods_init(struct methods *m, const struct process *process)
{
	struct host *host = process->node->host;

	memset(m, 0, sizeof(*m));
	m->process = process;
	m->node = process->node;
	m->subscriptions = subscriptions_new(process->node);
	host_turn_init(&m->turn, host, on_turn, m);
	host_timer_init(&m->due, host, on_due, m);
	asks_init(&m->asks, host);
	methods_list(m);
	runners_init(m);
	notifiers_init(m);
	last_runs_on_idle(&m->node->last_runs, on_last_runs, m);
	locks_on_release(&m->node->recipes.locks, asks_released);
	parties_on_release(&m->node->recipes.gangs, asks_released);
}

void methods_done(struct methods *m)
{
	host_turn_done(&m->turn);
	host_timer_done(&m->due);
	asks_done(&m->asks);
	host_timer_done(&m->runners.due);
	host_timer_done(&m->runners.ping);
	runners_done(m);
	notifiers_done(m);
	user_names_done(m);
	free(m->subscriptions);
}
