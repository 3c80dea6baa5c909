/*
 * Finds out which ticks of a schedule were decided, from ZooKeeper alone: any node can ask, not
 * only the leader.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/election/leaders.h"
#include "node/election/tasks.h"
#include "node/ledger/ledger.h"
#include "node/schedule/schedules.h"
#include "node/tree/paths.h"
#include "node/tree/tick_folder.h"
#include "wire/records/schedule_record.h"

struct look {
	struct leaders *leaders;
	char task[NAME_ELECTION_MAX + 1];
	int64_t since_ms;
	char floor[TICK_NAME_SIZE];
	schedule_decided_fn fn;
	void *arg;
};

static int64_t before(const char *tick)
{
	int64_t ms;

	return tick_parse(tick, &ms) ? ms - 1 : 0;
}

/*
 * A tick outside the schedule was triggered, or claimed by a crontab: it decides nothing. Pruned
 * ticks count as decided. Once ticks were pruned, those older than the oldest record cannot be
 * claimed, see tick_place(): they are decided, too.
 */
int64_t schedule_decided(const struct task_schedule *c, const struct store_reply *names,
			 const char floor[TICK_NAME_SIZE], int64_t since_ms)
{
	const struct owed_rules rules = {.schedule = c->schedule, .zone = c->zone};
	const char *oldest = "";
	int64_t ms = before(floor);

	since_ms = ms > since_ms ? ms : since_ms;
	for (size_t i = 0; names->code == STORE_OK && i < names->n_names; i++) {
		const char *name = names->names[i];

		if (!tick_is_name(name))
			continue;
		if (tick_parse(name, &ms) && ms > since_ms && owed_is_tick(&rules, ms))
			since_ms = ms;
		if (!oldest[0] || strcmp(name, oldest) < 0)
			oldest = name;
	}
	ms = before(oldest);
	return floor[0] && ms > since_ms ? ms : since_ms;
}

/* The schedule of our files; NULL: there is none any more. */
static const struct task_schedule *schedule_of(const struct look *l)
{
	const struct task *t = tasks_find_any(l->leaders, l->task);

	return t ? t->settings->schedule : NULL;
}

static void end_look(struct look *l, bool ok, int64_t decided_ms)
{
	l->fn(l->arg, ok, l->since_ms, decided_ms);
	free(l);
}

static bool is_read(const struct store_reply *reply)
{
	return reply->code == STORE_OK || reply->code == STORE_NO_NODE;
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct look *l = arg;
	const struct task_schedule *c = schedule_of(l);

	if (!is_read(reply) || !c)
		end_look(l, false, 0);
	else
		end_look(l, true, schedule_decided(c, reply, l->floor, 0));
}

static void on_floor(void *arg, const struct store_reply *reply)
{
	struct look *l = arg;
	char path[STORE_PATH_MAX];

	if (!is_read(reply)) {
		end_look(l, false, 0);
		return;
	}
	tick_folder_floor(reply, l->floor);
	path_of_tick(l->leaders->session->settings, l->task, NULL, path);
	store_children(l->leaders->session->store, path, false, on_names, l);
}

static void on_schedule(void *arg, const struct store_reply *reply)
{
	struct look *l = arg;
	const struct task_schedule *c = schedule_of(l);
	struct schedule_record r;
	char path[STORE_PATH_MAX];
	const char *why;

	if (!is_read(reply) || !c) {
		end_look(l, false, 0);
		return;
	}
	/*
	 * A schedule that is unreadable, or differs from the one in our files, is not in force for
	 * us.
	 */
	l->since_ms = INT64_MAX;
	if (reply->code == STORE_OK &&
	    record_parse_schedule(reply->data, reply->len, &r, &why) == 0 &&
	    strcmp(r.text, c->text) == 0 && strcmp(r.timezone, c->timezone) == 0)
		l->since_ms = r.since;
	path_of_tick(l->leaders->session->settings, l->task, NULL, path);
	store_get(l->leaders->session->store, path, false, on_floor, l);
}

void schedule_read_decided(struct leaders *leaders, const char *task, schedule_decided_fn fn,
			   void *arg)
{
	struct look *l = mem_calloc(1, sizeof(*l));
	char path[STORE_PATH_MAX];

	l->leaders = leaders;
	l->fn = fn;
	l->arg = arg;
	snprintf(l->task, sizeof(l->task), "%s", task);
	path_of(leaders->session->settings, PATH_SCHEDULES, task, path);
	store_get(leaders->session->store, path, false, on_schedule, l);
}
