#include "node/schedule/schedules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/election/leaders.h"
#include "node/election/tasks.h"
#include "node/fleet/policy.h"
#include "node/ledger/last_run.h"
#include "node/ledger/ledger.h"
#include "node/tree/paths.h"

#define CLOCK_LOOK_MS 1000 /* how often the wall clock is compared, while something is led */
#define CLOCK_JUMP_MS 20
#define AGAIN_MS      1000  /* before a retry after a failure */
#define NO_RUNNER_MS  30000 /* for which one that hangs still counts as there */

static int64_t clock_ahead(const struct schedules *s)
{
	return host_wall_ms(s->host) - host_now_ms(s->host);
}

static bool is_led(const struct task *t)
{
	return t->settings->schedule && !t->withdrawn && election_leads(&t->election);
}

/* The state of a task without a schedule. */
static const struct task_due nothing;

static const struct task_due *seen(const struct task *t)
{
	return t->due ? t->due : &nothing;
}

struct task_due *schedule_state(struct task *t)
{
	if (!t->due) {
		t->due = mem_calloc(1, sizeof(*t->due));
		t->due->past = (struct owed_past)OWED_NO_PAST;
	}
	return t->due;
}

void schedules_forget(struct task *t)
{
	if (t->due) {
		schedule_unwatch(t, &t->due->newest);
		schedule_unwatch(t, &t->due->open);
	}
	free(t->due);
	t->due = NULL;
}

void schedule_again(struct schedules *s, struct task *t)
{
	struct task_due *d = schedule_state(t);

	d->phase = DUE_IDLE;
	d->offer.on = false;
	d->writing = false;
	d->edition++;
	d->rest_ms = host_now_ms(s->host) + AGAIN_MS;
	schedules_task_changed(s, t);
}

struct task *schedule_task(const struct schedules *s, const char *name, unsigned edition)
{
	struct task *t = tasks_find_any(s->leaders, name);

	return t && seen(t)->edition == edition && seen(t)->phase != DUE_IDLE ? t : NULL;
}

void schedule_unwatch(struct task *t, const struct due_run *run)
{
	if (run->tick[0])
		ledger_unwatch(t->leaders, t->name, run->tick, t);
}

/* The leadership has ended or changed, or the task has no schedule any more. */
static void leave(struct task *t)
{
	struct task_due *d = schedule_state(t);
	int64_t ended_ms = d->ended_ms, paused_order = d->paused_order;
	unsigned edition = d->edition;
	struct owed_past past = d->past;
	int64_t wall_ms = host_wall_ms(t->leaders->session->host);

	if (d->phase == DUE_READY)
		past.led = (struct owed_span){d->active_ms, wall_ms};
	schedule_unwatch(t, &d->newest);
	schedule_unwatch(t, &d->open);
	memset(d, 0, sizeof(*d));
	d->ended_ms = ended_ms;
	d->paused_order = paused_order;
	d->edition = edition + 1;
	d->past = past;
	d->wake_ms = INT64_MAX;
	d->busy_ms = OWED_NEVER;
}

/* The lease is checked every CLOCK_LOOK_MS: a break may have begun since the last check. */
static void note_lease(const struct schedules *s, struct task *t)
{
	int64_t wall_ms = host_wall_ms(s->host);

	owed_note(&t->due->past.cut, leaders_lease_left(t) == 0, wall_ms - CLOCK_LOOK_MS, wall_ms);
}

/* The time of the next check; INT64_MAX: when something changes. */
static int64_t look_at(struct schedules *s, struct task *t, int64_t now_ms)
{
	bool led = is_led(t);

	if (!led && !t->due)
		return INT64_MAX;
	struct task_due *d = schedule_state(t);
	if (d->phase != DUE_IDLE && (!led || d->token != t->election.node.token))
		leave(t);
	if (!led)
		return INT64_MAX;
	if (d->phase == DUE_IDLE && now_ms < d->rest_ms)
		return d->rest_ms;
	if (d->phase == DUE_IDLE) {
		d->wake_ms = INT64_MAX;
		schedule_load(s, t);
	}
	if (d->phase == DUE_READY)
		note_lease(s, t);
	if (d->phase == DUE_READY && (d->dirty || now_ms >= d->wake_ms)) {
		d->dirty = false;
		schedule_advance(s, t);
	}
	return d->phase == DUE_READY ? d->wake_ms : INT64_MAX;
}

static void look_at_all(struct schedules *s)
{
	int64_t now_ms = host_now_ms(s->host), first = INT64_MAX, ahead = clock_ahead(s);
	bool jumped = ahead > s->clock_ms + CLOCK_JUMP_MS || ahead < s->clock_ms - CLOCK_JUMP_MS;

	s->dirty = false;
	s->clock_ms = ahead;
	for (size_t i = 0; i < s->leaders->n_tasks; i++) {
		struct task *t = s->leaders->tasks[i];

		if (t->due)
			t->due->dirty |= jumped;
		int64_t at = look_at(s, t, now_ms);
		first = at < first ? at : first;
		if (seen(t)->phase == DUE_READY && now_ms + CLOCK_LOOK_MS < first)
			first = now_ms + CLOCK_LOOK_MS;
	}
	if (s->dirty)
		first = now_ms;
	if (first != INT64_MAX)
		host_timer_start(&s->timer, first > now_ms ? first - now_ms : 0);
	else
		host_timer_stop(&s->timer);
}

static void on_timer(void *arg)
{
	look_at_all(arg);
}

static void wake(struct schedules *s)
{
	if (s->dirty)
		return;
	s->dirty = true;
	host_timer_start(&s->timer, 0);
}

void schedules_task_changed(struct schedules *s, struct task *t)
{
	/* Most tasks have no schedule, and are skipped early. */
	if (!t->due && !t->settings->schedule)
		return;
	if (t->due)
		t->due->dirty = true;
	wake(s);
}

void schedules_changed(struct schedules *s)
{
	bool any = false;

	for (size_t i = 0; i < s->leaders->n_tasks; i++) {
		struct task *t = s->leaders->tasks[i];

		if (t->due)
			t->due->dirty = true;
		any |= t->settings->schedule != NULL || seen(t)->phase != DUE_IDLE;
	}
	if (any)
		wake(s);
}

/* The settings in force are read again: the text may have changed. */
void schedules_configured(struct schedules *s)
{
	for (size_t i = 0; i < s->leaders->n_tasks; i++)
		if (seen(s->leaders->tasks[i])->phase != DUE_IDLE)
			leave(s->leaders->tasks[i]);
	schedules_changed(s);
}

bool schedules_known(const struct task *t)
{
	return !t->settings->schedule || seen(t)->phase == DUE_READY;
}

bool schedule_is_open(const struct due_run *run)
{
	return strcmp(run->state, "running") == 0 || strcmp(run->state, "lost") == 0;
}

bool schedule_is_past(const struct due_run *run, int64_t floor_ms)
{
	int64_t tick_ms;

	return !tick_parse(run->tick, &tick_ms) || tick_ms <= floor_ms;
}

void schedule_pass(struct task *t)
{
	struct task_due *d = t->due;

	if (t->settings->on_crash == TASK_ON_CRASH_RERUN && schedule_is_open(&d->newest) &&
	    !schedule_is_open(&d->open))
		d->open = d->newest;
}

struct due_run schedule_run(const char *tick, const struct run_record *record)
{
	struct due_run run = {.attempt = record->attempt,
			      .failures =
				      record->failures < 0 ? record->attempt - 1 : record->failures,
			      .ended_at = record->ended_at,
			      .session = record->session};

	memcpy(run.tick, tick, sizeof(run.tick));
	memcpy(run.state, record->state, sizeof(run.state));
	return run;
}

/* A run older than the newest may begin again, by a trigger; the oldest of several comes first. */
static bool is_to_be_open(const struct task *t, const struct due_run *run)
{
	const struct due_run *open = &t->due->open;

	return t->settings->on_crash == TASK_ON_CRASH_RERUN && schedule_is_open(run) &&
	       (!open->tick[0] || strcmp(run->tick, open->tick) < 0);
}

void schedules_noted(struct schedules *s, struct task *t, const char *tick,
		     const struct run_record *record)
{
	struct task_due *d = t->due;
	int64_t tick_ms;

	if (!d || !tick_parse(tick, &tick_ms))
		return;
	if (d->phase == DUE_LOADING)
		schedule_again(s, t); /* what was read may be older than this */
	if (d->phase != DUE_READY)
		return;
	if (d->offer.on && d->offer.due.tick_ms == tick_ms &&
	    record->attempt >= d->offer.due.attempt)
		d->offer.on = false;
	if (d->trigger.known && d->trigger.tick_ms == tick_ms)
		d->trigger.id[0] = '\0';
	if (strcmp(tick, d->newest.tick) > 0)
		schedule_pass(t);
	const struct due_run run = schedule_run(tick, record);
	if (strcmp(tick, d->newest.tick) > 0 && strcmp(d->newest.tick, d->open.tick) != 0)
		schedule_unwatch(t, &d->newest);
	if (strcmp(tick, d->newest.tick) >= 0)
		d->newest = run;
	else if (strcmp(tick, d->open.tick) == 0 || is_to_be_open(t, &run))
		d->open = run;
	const struct task_schedule *c = t->settings->schedule;
	if (c && tick_ms > d->since_ms &&
	    owed_is_tick(&(struct owed_rules){.schedule = c->schedule, .zone = c->zone}, tick_ms))
		d->since_ms = tick_ms;
	if (d->open.tick[0] && !schedule_is_open(&d->open))
		schedule_again(s, t); /* there may be another */
	else
		schedules_task_changed(s, t);
}

/* A tick older than all records: another clock has written to the ledger since it was read. */
void schedules_older(struct schedules *s, struct task *t, const char *tick)
{
	const struct task_due *d = seen(t);
	int64_t tick_ms;

	if (d->phase == DUE_READY && d->offer.on && !d->offer.trigger[0] &&
	    tick_parse(tick, &tick_ms) && d->offer.due.tick_ms == tick_ms)
		schedule_again(s, t);
}

void schedules_tell_anew(struct schedules *s, uid_t user)
{
	for (size_t i = 0; i < s->leaders->n_tasks; i++) {
		struct task *t = s->leaders->tasks[i];

		if (!seen(t)->offer.on || !t->settings->has_user || t->settings->user != user)
			continue;
		schedule_state(t)->offer.again_ms = 0;
		schedules_task_changed(s, t);
	}
}

void schedules_decided(struct schedules *s, const struct policy_item *item, bool ended)
{
	const struct policy_record *r = &item->record;
	char whole[NAME_TASK_MAX + 1];

	for (size_t i = 0; i < s->leaders->n_tasks; i++) {
		struct task *t = s->leaders->tasks[i];
		bool about = strcmp(t->name, r->task) == 0 ||
			     (policy_whole(t->name, whole) && strcmp(whole, r->task) == 0);

		/*
		 * A pause may have been ended by an older sidecar, which writes no record of its
		 * end.
		 */
		if (!about || !t->settings->schedule)
			continue;
		if (ended && item->kind == POLICY_PAUSE) {
			schedule_state(t)->ended_ms = host_wall_ms(s->host);
			schedule_state(t)->paused_order = item->order;
		}
		schedules_task_changed(s, t);
	}
}

/* Whether the user of the task has no runner here, as that list says. */
static bool has_no_runner(const struct node_health *h, const struct task *t)
{
	char whole[NAME_TASK_MAX + 1];
	const char *name = policy_whole(t->name, whole) ? whole : t->name;

	for (size_t i = 0; i < h->n_unhealthy; i++)
		if (h->unhealthy[i].runner && strcmp(h->unhealthy[i].task, name) == 0)
			return true;
	return false;
}

void schedules_health(struct schedules *s, const struct node_health *h)
{
	int64_t wall_ms = host_wall_ms(s->host);

	for (size_t i = 0; i < s->leaders->n_tasks; i++) {
		struct task *t = s->leaders->tasks[i];
		bool away = t->settings->schedule && has_no_runner(h, t);

		if (away || t->due)
			owed_note(&schedule_state(t)->past.no_runner, away, wall_ms - NO_RUNNER_MS,
				  wall_ms);
	}
}

void schedules_expired(struct schedules *s)
{
	for (size_t i = 0; i < s->leaders->n_tasks; i++)
		if (s->leaders->tasks[i]->due)
			s->leaders->tasks[i]->due->paused_order = 0;
}

/* Whether the path is that of a record of the task. */
static bool is_record_of(const struct schedules *s, const struct task *t, const char *path)
{
	char ledger[STORE_PATH_MAX];

	path_of_tick(s->leaders->session->settings, t->name, NULL, ledger);
	size_t len = strlen(ledger);
	return strncmp(path, ledger, len) == 0 && path[len] == '/';
}

void schedules_watch(struct schedules *s, const char *path)
{
	char own[STORE_PATH_MAX];

	if (!path_behind(s->leaders->session->settings, PATH_RUNS, path))
		return;
	for (size_t i = 0; i < s->leaders->n_tasks; i++) {
		struct task *t = s->leaders->tasks[i];
		const struct due_run *runs[] = {&seen(t)->newest, &seen(t)->open};

		if (seen(t)->phase == DUE_LOADING && is_record_of(s, t, path))
			schedule_again(s, t);
		for (size_t j = 0; seen(t)->phase == DUE_READY && j < 2; j++) {
			if (!runs[j]->tick[0])
				continue;
			path_of_tick(s->leaders->session->settings, t->name, runs[j]->tick, own);
			if (strcmp(path, own) == 0)
				schedule_look(s, t, runs[j]->tick);
		}
	}
}

const struct due_offer *schedules_offer(const struct task *t, const char *tick, int64_t attempt)
{
	const struct task_due *d = seen(t);
	int64_t tick_ms;

	if (d->phase != DUE_READY || !d->offer.on || !tick_parse(tick, &tick_ms))
		return NULL;
	return d->offer.due.tick_ms == tick_ms && d->offer.due.attempt == attempt ? &d->offer
										  : NULL;
}

/* Whether the run was lost and is to be begun again. */
static bool is_to_rerun(const struct task *t, const struct due_run *run)
{
	return t->settings->on_crash == TASK_ON_CRASH_RERUN && run->tick[0] &&
	       strcmp(ledger_state(t->leaders->registry, run->state, run->session), "lost") == 0;
}

void schedules_owed_behind(const struct task *t, int64_t since_ms, char tick[TICK_NAME_SIZE])
{
	const struct task_schedule *c = t->settings->schedule;
	const struct owed_rules rules = {.schedule = c->schedule, .zone = c->zone};
	const struct due_run *runs[] = {&seen(t)->open, &seen(t)->newest};
	const struct policy *policy = t->leaders->policy;
	int64_t next_ms = owed_next(&rules, since_ms);
	size_t first;

	if (next_ms == INT64_MAX || !tick_name(next_ms, tick))
		memcpy(tick, TICK_NO_LIMIT, sizeof(TICK_NO_LIMIT));
	for (size_t i = 0; i < 2; i++)
		if (is_to_rerun(t, runs[i]) && strcmp(runs[i]->tick, tick) < 0)
			memcpy(tick, runs[i]->tick, sizeof(runs[i]->tick));
	/* The record of a tick that is to be run again by hand stays as well. */
	if (policy_of_task(policy, POLICY_TRIGGER, t->name, &first) > 0 &&
	    tick_is_name(policy->items[first]->record.node) &&
	    strcmp(policy->items[first]->record.node, tick) < 0)
		memcpy(tick, policy->items[first]->record.node, TICK_NAME_SIZE);
}

void schedules_owed_from(const struct task *t, char tick[TICK_NAME_SIZE])
{
	tick[0] = '\0';
	if (!t->settings->schedule)
		memcpy(tick, TICK_NO_LIMIT, sizeof(TICK_NO_LIMIT));
	else if (seen(t)->phase == DUE_READY)
		schedules_owed_behind(t, seen(t)->since_ms, tick);
}

int64_t schedules_decided_until(const struct schedules *s, const struct task *t)
{
	const struct task_schedule *c = t->settings->schedule;
	const struct task_due *d = seen(t);
	int64_t latest_ms, until_ms = 0;

	if (!c)
		return 0;
	latest_ms = clocks_latest_ms(&s->leaders->registry->clocks);
	if (d->phase == DUE_READY) {
		until_ms = schedule_floor(t);
		until_ms = d->since_ms > until_ms ? d->since_ms : until_ms;
	} else if (!tick_parse(last_run_of(t)->tick, &until_ms) ||
		   !owed_is_tick(&(struct owed_rules){.schedule = c->schedule, .zone = c->zone},
				 until_ms)) {
		until_ms = 0; /* nothing is known, or it was triggered */
	}
	return until_ms > latest_ms ? until_ms : 0;
}

void schedules_init(struct schedules *s, struct host *host, struct leaders *l, struct policy *p)
{
	memset(s, 0, sizeof(*s));
	s->leaders = l;
	s->policy = p;
	s->host = host;
	host_timer_init(&s->timer, host, on_timer, s);
}

void schedules_done(struct schedules *s)
{
	host_timer_done(&s->timer);
}
