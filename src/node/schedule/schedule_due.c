/*
 * The next action of one task: one tick at a time is on offer. The order: lost runs, ticks of the
 * schedule, triggers, further attempts of failed runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "core/fleet/identity.h"
#include "node/election/leaders.h"
#include "node/fleet/policy.h"
#include "node/ledger/counts.h"
#include "node/ledger/ledger.h"
#include "node/notices/notices.h"
#include "node/notices/run_event.h"
#include "node/schedule/schedules.h"
#include "node/tree/paths.h"

#define OFFER_PAUSE_MAX 30000 /* before a tick that nobody has claimed is offered again */
#define LOST_FIRST_MS	30000 /* for which a run that was lost goes before all else */
#define MISSED_AT_ONCE	1000  /* records of one transaction */

struct answer {
	struct schedules *schedules;
	char task[NAME_ELECTION_MAX + 1];
	unsigned edition;
	char first[TICK_NAME_SIZE], last[TICK_NAME_SIZE];
	size_t n;
	int64_t to_ms;
	const char *why; /* of the last one */
};

static struct answer *answer_new(struct schedules *s, const struct task *t)
{
	struct answer *a = mem_calloc(1, sizeof(*a));

	a->schedules = s;
	a->edition = t->due->edition;
	snprintf(a->task, sizeof(a->task), "%s", t->name);
	return a;
}

void schedule_wake(struct task *t, int64_t at_ms)
{
	struct task_due *d = schedule_state(t);

	if (at_ms < d->wake_ms)
		d->wake_ms = at_ms;
}

/* --- ticks that are missed ------------------------------------------------ */

static void on_missed(void *arg, enum ledger_result result, const struct run_record *record,
		      int32_t version)
{
	struct answer *a = arg;
	struct task *t = schedule_task(a->schedules, a->task, a->edition);
	struct task_due *d = t ? schedule_state(t) : NULL;

	(void)record, (void)version;
	if (t && result == LEDGER_DONE) {
		log_warning("ticks missed", LOG_STR("task", a->task),
			    LOG_INT("ticks", (int64_t)a->n), LOG_STR("first", a->first),
			    LOG_STR("last", a->last), LOG_STR("why", a->why));
		counts_missed(t, a->n);
		d->writing = false;
		if (a->to_ms > d->since_ms)
			d->since_ms = a->to_ms;
		if (strcmp(a->last, d->newest.tick) > 0) {
			schedule_pass(t);
			memset(&d->newest, 0, sizeof(d->newest));
			memcpy(d->newest.tick, a->last, sizeof(a->last));
			memcpy(d->newest.state, "missed", sizeof("missed"));
		}
		schedules_task_changed(a->schedules, t);
	} else if (t) {
		schedule_again(a->schedules, t);
	}
	free(a);
}

struct run_record schedule_missed(const struct schedules *s, const struct task *t)
{
	const struct member *self = registry_self(s->leaders->registry); /* as may_decide() says */
	const char *name = identity_name(self);
	struct run_record r = {.state = "missed",
			       .token = t->election.node.token,
			       .session = s->leaders->session->id,
			       .attempt = 1,
			       .exit_status = -1};

	r.started_at = r.ended_at = host_wall_ms(s->host);
	memcpy(r.id, self->worker->id, sizeof(r.id));
	memcpy(r.hostname, self->worker->hostname, sizeof(r.hostname));
	if (strcmp(name, r.hostname) != 0)
		snprintf(r.node, sizeof(r.node), "%s", name);
	return r;
}

static void missed_event(const struct schedules *s, const struct task *t, const struct answer *a,
			 const struct missed_why *last, struct notice_record *event)
{
	const char *detail = last->detail;

	notice_init(s->leaders->registry, event, NOTICE_MISSED, t->name);
	event->token = t->election.node.token;
	event->failed = (int64_t)a->n;
	memcpy(event->tick, a->last, sizeof(a->last));
	run_why_set(event->why, event->detail, last->why, detail);
	if (a->n == 1)
		snprintf(event->text, sizeof(event->text), "%s was not run for %s: %s", t->name,
			 a->last, detail);
	else
		snprintf(event->text, sizeof(event->text),
			 "%s was not run for %zu ticks, from %s to %s: %s", t->name, a->n, a->first,
			 a->last, detail);
}

/* The word of the first reason that fits, and a text that names the others as well. */
static void describe(unsigned whys, struct missed_why *ret)
{
	static const struct {
		const char *word, *text;
	} reasons[OWED_WHYS] = {
		[OWED_OUTAGE] = {"outage", "nobody led it when it was due"},
		[OWED_OVERLAP] = {"overlap", "the run before it went on for longer than wait"},
		[OWED_WINDOW] = {"window", "it was older than catch-up-window"},
		[OWED_CATCH_UP] = {"catch-up", "catch-up took another one, or none"},
		[OWED_RUNNER] = {"runner", "no runner of its user began it"},
		[OWED_CLOCK] = {"clock", "the clock of its leader was off"},
	};
	enum owed_why first = owed_why(whys), decided = OWED_CATCH_UP;
	const char *then = "";

	if (whys & 1U << OWED_WINDOW)
		decided = OWED_WINDOW;
	if (first == OWED_OUTAGE)
		then = reasons[decided].text;
	ret->why = reasons[first].word;
	snprintf(ret->detail, sizeof(ret->detail), "%s%s%s%s%s", reasons[first].text,
		 then[0] ? ", and then " : "", then,
		 first != OWED_RUNNER && whys & 1U << OWED_RUNNER
			 ? "; no runner of its user worked here"
			 : "",
		 first != OWED_CLOCK && whys & 1U << OWED_CLOCK
			 ? "; the clock of its leader was off"
			 : "");
}

static struct missed_why *find_whys(const struct task *t, const struct owed_rules *rules,
				    const struct owed_sight *sight, const int64_t *ticks, size_t n)
{
	const struct task_due *d = t->due;
	struct missed_why *list = mem_calloc(n, sizeof(*list));
	struct owed_past past = d->past;

	past.offered_ms = d->offer.on && !d->offer.trigger[0] ? d->offer.due.tick_ms : OWED_NEVER;
	for (size_t i = 0; i < n; i++)
		describe(owed_whys(rules, sight, &past, ticks[i]), &list[i]);
	return list;
}

/* Records the owed ticks up to to_ms as missed; false: there are none. */
static bool miss(struct schedules *s, struct task *t, const struct owed_rules *rules,
		 const struct owed_sight *sight, int64_t to_ms)
{
	struct task_due *d = schedule_state(t);
	size_t most = t->settings->history > 1 ? (size_t)t->settings->history / 2 : 1, n;
	mem_auto int64_t *ticks = NULL;
	struct answer *a = answer_new(s, t);
	struct run_record record = schedule_missed(s, t);
	struct notice_record event;
	char owed[TICK_NAME_SIZE];

	if (most > MISSED_AT_ONCE)
		most = MISSED_AT_ONCE;
	ticks = mem_calloc(most, sizeof(*ticks));
	n = owed_ticks(rules, sight->since_ms, to_ms, most, ticks, &a->n);
	if (n == 0) {
		free(a);
		return false;
	}
	tick_name(ticks[0], a->first);
	tick_name(ticks[n - 1], a->last);
	a->to_ms = ticks[n - 1];
	schedules_owed_behind(t, a->to_ms, owed);
	mem_auto struct missed_why *list = find_whys(t, rules, sight, ticks, n);
	a->why = list[n - 1].why;
	d->writing = true;
	d->offer.on = false;
	missed_event(s, t, a, &list[n - 1], &event);
	const struct ledger_missing missing = {.ticks = ticks,
					       .n = n,
					       .owed = owed,
					       .record = &record,
					       .whys = list,
					       .event = &event};
	ledger_missed(t, &missing, on_missed, a);
	return true;
}

/* --- offers --------------------------------------------------------------- */

void schedule_offer(struct schedules *s, struct task *t, const struct due_offer *what)
{
	struct task_due *d = schedule_state(t);
	struct due_offer *o = &d->offer;
	int64_t now_ms = host_now_ms(s->host);
	bool same = o->on && o->due.tick_ms == what->due.tick_ms &&
		    o->due.attempt == what->due.attempt && strcmp(o->trigger, what->trigger) == 0;

	if (!same) {
		*o = *what;
		o->on = true;
		o->pause_ms = SCHEDULE_PAUSE_MS;
		o->again_ms = now_ms;
	}
	if (now_ms >= o->again_ms) {
		o->again_ms = now_ms + o->pause_ms;
		o->pause_ms = 2 * o->pause_ms < OFFER_PAUSE_MAX ? 2 * o->pause_ms : OFFER_PAUSE_MAX;
		if (s->due)
			s->due(s->arg, t, &o->due);
	}
	schedule_wake(t, o->again_ms);
}

struct due_offer schedule_offer_of(const struct task *t, int64_t tick_ms, int64_t attempt)
{
	return (struct due_offer){.due = {.tick_ms = tick_ms,
					  .attempt = attempt,
					  .timeout_ms = t->settings->schedule->timeout_ms}};
}

/* --- further attempts ----------------------------------------------------- */

static bool is_busy(const struct task *t)
{
	return t->dying > 0 || (t->holds > 0 && t->settings->overlap == TASK_OVERLAP_FORBID);
}

/*
 * The oldest lost run that is to be begun again, and its tick; NULL: none. A run that a fast clock
 * began ahead of its time waits until that time.
 */
static const struct due_run *find_lost(const struct schedules *s, const struct task *t,
				       int64_t floor_ms, int64_t *ret_ms)
{
	const struct due_run *runs[] = {&t->due->open, &t->due->newest};

	if (t->settings->on_crash != TASK_ON_CRASH_RERUN)
		return NULL;
	int64_t latest_ms = clocks_latest_ms(&s->leaders->registry->clocks);
	for (size_t i = 0; i < 2; i++)
		if (tick_parse(runs[i]->tick, ret_ms) && *ret_ms > floor_ms &&
		    *ret_ms <= latest_ms &&
		    strcmp(ledger_state(s->leaders->registry, runs[i]->state, runs[i]->session),
			   "lost") == 0)
			return runs[i];
	return NULL;
}

/*
 * A lost run goes before all others, as it was claimed first, and others would become the newest.
 * But a lost run that nobody takes for LOST_FIRST_MS holds up no other.
 */
static bool advance_lost(struct schedules *s, struct task *t, int64_t floor_ms, bool first)
{
	struct task_due *d = schedule_state(t);
	int64_t now_ms = host_now_ms(s->host), ms;
	const struct due_run *run = find_lost(s, t, floor_ms, &ms);
	struct due_offer o;

	if (!run) {
		d->lost_ms = 0;
		return false;
	}
	if (d->lost_ms == 0)
		d->lost_ms = now_ms;
	if (first && now_ms >= d->lost_ms + LOST_FIRST_MS)
		return false;
	o = schedule_offer_of(t, ms, run->attempt + 1);
	o.lost = true;
	schedule_offer(s, t, &o);
	return true;
}

static bool is_failed(const struct due_run *run)
{
	return strcmp(run->state, "failed") == 0 || strcmp(run->state, "timeout") == 0;
}

/* Whether `retries` allow another attempt of a run that has failed. */
static bool may_retry(const struct task *t, const struct due_run *run, int64_t floor_ms)
{
	return is_failed(run) && run->failures < t->settings->schedule->retries &&
	       !schedule_is_past(run, floor_ms);
}

/* Offers another attempt of the newest run, if that has failed. */
static bool advance_again(struct schedules *s, struct task *t, int64_t floor_ms)
{
	const struct due_run *n = &t->due->newest;
	const struct task_schedule *c = t->settings->schedule;
	int64_t ms, due_ms = n->ended_at + c->retry_delay_ms, wall_ms = host_wall_ms(s->host);
	struct due_offer o;

	if (!may_retry(t, n, floor_ms) || !tick_parse(n->tick, &ms))
		return false;
	if (due_ms > wall_ms) {
		schedule_wake(t, host_now_ms(s->host) + (due_ms - wall_ms));
		return false;
	}
	o = schedule_offer_of(t, ms, n->attempt + 1);
	schedule_offer(s, t, &o);
	return true;
}

/* The leader goes by its newest record, any other node can only say that it may be so. */
bool schedules_follows(const struct task *t, const char *tick, const struct run_record *record)
{
	const struct due_run run = schedule_run(tick, record);
	const struct task_due *d = t->due;
	bool known = d && d->phase == DUE_READY;
	int64_t floor_ms = schedule_floor(t);

	if (!t->settings->schedule)
		return false;
	if (is_failed(&run))
		return may_retry(t, &run, floor_ms) &&
		       (!known || strcmp(tick, d->newest.tick) >= 0);
	return t->settings->on_crash == TASK_ON_CRASH_RERUN && strcmp(run.state, "lost") == 0 &&
	       !schedule_is_past(&run, floor_ms) &&
	       (!known || strcmp(tick, d->newest.tick) >= 0 || strcmp(tick, d->open.tick) == 0);
}

/* Offers a trigger, a lost run or another attempt, as no tick of the schedule is due. */
static bool advance_rest(struct schedules *s, struct task *t, int64_t floor_ms)
{
	if (is_busy(t))
		return false;
	return schedule_trigger(s, t) || advance_lost(s, t, floor_ms, false) ||
	       (t->holds == 0 && advance_again(s, t, floor_ms));
}

/* --- all of it ------------------------------------------------------------ */

/* Decisions from before our session have no order. */
static bool is_later(const struct policy_item *a, const struct policy_item *b)
{
	return a->order != b->order ? a->order > b->order : a->record.since > b->record.since;
}

/*
 * The end of the last pause: earlier ticks are not owed. The record of the decision that ends a
 * pause has it; without a record, as from an older release, it is when this node saw the pause end.
 * The order numbers tell whether the record is about that pause, as the times are of several
 * clocks.
 */
static int64_t pause_end(const struct task *t)
{
	const struct policy *policy = t->leaders->policy;
	const struct policy_item *last = policy_find_own(policy, POLICY_ENDED, t->name, "");
	const struct policy_item *of_all = NULL;
	char whole[NAME_TASK_MAX + 1];

	if (policy_whole(t->name, whole))
		of_all = policy_find_own(policy, POLICY_ENDED, whole, "");
	if (of_all && (!last || is_later(of_all, last)))
		last = of_all;
	if (!t->due) /* it was never led here, nor was a pause seen */
		return last ? last->record.since : 0;
	return last && last->order >= t->due->paused_order ? last->record.since : t->due->ended_ms;
}

int64_t schedule_floor(const struct task *t)
{
	int64_t ended_ms = pause_end(t), split_ms = partitions_floor_ms(t->leaders, t->name);

	return split_ms > ended_ms ? split_ms : ended_ms;
}

/*
 * Nothing starts while the clock is wrong or not compared yet. A record names its session, which is
 * unknown for a moment while this worker registers again.
 */
static bool may_decide(const struct schedules *s, const struct task *t)
{
	const struct clocks *c = &s->leaders->registry->clocks;

	return registry_self(s->leaders->registry) && leaders_may_begin(t) && !t->standing.paused &&
	       s->policy->folder.ready && !clocks_is_unsure(c) && !clocks_is_off(c);
}

void schedule_advance(struct schedules *s, struct task *t)
{
	const struct task_schedule *c = t->settings->schedule;
	struct task_due *d = schedule_state(t);
	int64_t now_ms = host_now_ms(s->host), wall_ms = host_wall_ms(s->host);
	int64_t splay_ms = owed_splay(t->name, c->splay_ms), floor_ms = schedule_floor(t);
	const struct owed_rules rules = {.schedule = c->schedule,
					 .zone = c->zone,
					 .catch_up = c->catch_up,
					 .window_ms = c->window_ms,
					 .wait_ms = t->settings->wait_ms};
	struct owed_sight sight = {.now_ms = wall_ms - splay_ms,
				   .since_ms = floor_ms > d->since_ms ? floor_ms : d->since_ms,
				   .active_ms = d->active_ms - splay_ms,
				   .busy_ms = OWED_NEVER,
				   .going = t->holds > 0}; /* one that is being claimed, too */
	struct owed_plan plan;
	struct due_offer o;

	d->wake_ms = now_ms + SCHEDULE_PAUSE_MS;
	if (!is_busy(t))
		d->busy_ms = OWED_NEVER;
	else if (d->busy_ms == OWED_NEVER)
		d->busy_ms = wall_ms;
	if (clocks_is_off(&s->leaders->registry->clocks))
		d->past.clock_ms = wall_ms;
	if (!may_decide(s, t) || d->writing)
		return;
	if (d->busy_ms != OWED_NEVER)
		sight.busy_ms = d->busy_ms - splay_ms;
	/* A run that was lost before a pause hides one that was lost since. */
	if (d->open.tick[0] && schedule_is_past(&d->open, floor_ms)) {
		schedule_again(s, t);
		return;
	}
	if (!is_busy(t) && advance_lost(s, t, floor_ms, true))
		return;
	if (schedule_expire(s, t))
		return;
	plan = owed_plan(&rules, &sight);
	/*
	 * A tick that is being claimed now would be older than the ticks recorded as missed, or be
	 * passed over by the tick offered in its place.
	 */
	if (plan.missed && (t->holds > t->going || miss(s, t, &rules, &sight, plan.missed_to_ms)))
		return;
	d->wake_ms = plan.next_ms == INT64_MAX ? INT64_MAX : now_ms + (plan.next_ms - sight.now_ms);
	if (plan.run) {
		o = schedule_offer_of(t, plan.run_ms, 1);
		schedule_offer(s, t, &o);
	} else if (!advance_rest(s, t, floor_ms)) {
		d->offer.on = false;
		if (is_busy(t) || t->holds > 0) /* a claim that comes to nothing tells nobody */
			schedule_wake(t, now_ms + SCHEDULE_PAUSE_MS);
	}
}
