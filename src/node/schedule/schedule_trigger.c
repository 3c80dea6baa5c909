/*
 * Triggers, see trigger.h: the one with the oldest tick is on offer, and its claim deletes the
 * order. A trigger that nobody ran in time, or that cannot be run any more, is ended, and people
 * are told: its tick is recorded as missed if it has no record.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/election/leaders.h"
#include "node/fleet/policy.h"
#include "node/ledger/counts.h"
#include "node/ledger/ledger.h"
#include "node/notices/notices.h"
#include "node/notices/run_event.h"
#include "node/schedule/schedules.h"
#include "node/tree/paths.h"

#define AHEAD_MS 60000 /* the tick is that of another node's clock */

struct answer {
	struct schedules *schedules;
	char task[NAME_ELECTION_MAX + 1];
	unsigned edition;
	char trigger[NAME_ID_MAX + 1];
	bool missed; /* a record of that is made with it */
};

static struct answer *answer_new(struct schedules *s, const struct task *t,
				 const struct policy_item *item)
{
	struct answer *a = mem_calloc(1, sizeof(*a));

	a->schedules = s;
	a->edition = t->due->edition;
	snprintf(a->task, sizeof(a->task), "%s", t->name);
	memcpy(a->trigger, item->name, sizeof(a->trigger));
	return a;
}

/* The trigger with the oldest tick: the items are sorted. */
static const struct policy_item *find_first(const struct schedules *s, const struct task *t)
{
	size_t first;

	return policy_of_task(s->policy, POLICY_TRIGGER, t->name, &first) > 0
		       ? s->policy->items[first]
		       : NULL;
}

/* --- those that are not run ----------------------------------------------- */

static void ended(struct answer *a, struct task *t)
{
	struct task_due *d = schedule_state(t);

	if (a->missed)
		counts_missed(t, 1);
	d->writing = d->expires_bare = false;
	d->trigger.id[0] = '\0';
	policy_gone(a->schedules->policy, a->trigger);
	schedules_task_changed(a->schedules, t);
}

static void on_dropped(void *arg, const struct store_reply *reply)
{
	struct answer *a = arg;
	struct task *t = schedule_task(a->schedules, a->task, a->edition);

	if (t && reply->code == STORE_OK)
		ended(a, t);
	else if (t)
		schedule_again(a->schedules, t);
	free(a);
}

/*
 * LEDGER_AGAIN: the trigger was claimed meanwhile, or its tick has a record. Then it is ended
 * without one.
 */
static void on_missed(void *arg, enum ledger_result result, const struct run_record *record,
		      int32_t version)
{
	struct answer *a = arg;
	struct task *t = schedule_task(a->schedules, a->task, a->edition);

	(void)record, (void)version;
	if (t && result == LEDGER_DONE) {
		ended(a, t);
	} else if (t) {
		schedule_state(t)->expires_bare = result == LEDGER_AGAIN;
		schedule_again(a->schedules, t);
	}
	free(a);
}

/* Ends a trigger without a run, and tells people. missed: its tick gets a record. */
static void end(struct schedules *s, struct task *t, const struct policy_item *item,
		const char *why, bool missed)
{
	const struct policy_record *r = &item->record;
	struct answer *a = answer_new(s, t, item);
	struct run_record record = schedule_missed(s, t);
	struct notice_record event;
	char path[STORE_PATH_MAX], owed[TICK_NAME_SIZE];
	int64_t tick_ms;

	run_why_set(record.why, record.detail, "window", why);
	log_warning("trigger dropped", LOG_STR("task", t->name), LOG_STR("tick", r->node),
		    LOG_STR("by", r->by), LOG_STR("at", r->host), LOG_STR("why", why));
	notice_init(s->leaders->registry, &event, NOTICE_MISSED, t->name);
	event.token = t->election.node.token;
	event.failed = missed;
	if (tick_parse(r->node, &tick_ms))
		memcpy(event.tick, r->node, sizeof(event.tick));
	snprintf(event.text, sizeof(event.text),
		 "%s was triggered by %.60s at %.60s and not run: %s", t->name, r->by, r->host,
		 why);
	if (missed)
		run_why_set(event.why, event.detail, record.why, why);
	path_of(s->leaders->session->settings, PATH_POLICY, item->name, path);
	schedule_state(t)->writing = true;
	schedule_state(t)->offer.on = false;
	a->missed = missed;
	if (missed) {
		schedules_owed_from(t, owed);
		snprintf(record.by, sizeof(record.by), "%s@%s", r->by, r->host);
		ledger_missed(t,
			      &(struct ledger_missing){.ticks = &tick_ms,
						       .n = 1,
						       .owed = owed,
						       .trigger = path,
						       .record = &record,
						       .event = &event},
			      on_missed, a);
		return;
	}
	struct store_op op = {.type = STORE_OP_DELETE, .path = path, .version = -1};
	notices_multi(s->leaders->registry, &op, 1, &event, on_dropped, a);
}

/*
 * The time until which a trigger may be run: counted from the order, or from a later tick chosen
 * for it.
 */
static int64_t expires_ms(const struct task *t, const struct policy_item *item, bool *ret_own)
{
	const struct task_schedule *c = t->settings->schedule;
	int64_t since_ms = item->record.since, tick_ms;
	int64_t least_ms =
		t->settings->wait_ms > OWED_PATIENCE_MS ? t->settings->wait_ms : OWED_PATIENCE_MS;

	*ret_own = tick_parse(item->record.node, &tick_ms) && tick_ms > since_ms;
	if (*ret_own)
		since_ms = tick_ms;
	return since_ms + (c->window_ms > least_ms ? c->window_ms : least_ms);
}

bool schedule_expire(struct schedules *s, struct task *t)
{
	int64_t wall_ms = host_wall_ms(s->host);
	size_t first, n = policy_of_task(s->policy, POLICY_TRIGGER, t->name, &first);
	bool own;

	for (size_t i = first; i < first + n; i++) {
		const struct policy_item *item = s->policy->items[i];
		int64_t until_ms = expires_ms(t, item, &own);
		if (wall_ms <= until_ms) {
			schedule_wake(t, host_now_ms(s->host) + (until_ms + 1 - wall_ms));
			continue;
		}
		/* A claim that is under way decides whether the trigger is run. */
		if (t->holds > t->going)
			continue;
		end(s, t, item, "nobody has begun it within catch-up-window",
		    own && !t->due->expires_bare);
		return true;
	}
	return false;
}

/* --- the first of the others ---------------------------------------------- */

static void on_triggered(void *arg, enum ledger_result result, const struct run_record *record,
			 int32_t version)
{
	struct answer *a = arg;
	struct task *t = schedule_task(a->schedules, a->task, a->edition);
	struct task_due *d = t ? schedule_state(t) : NULL;
	const struct registry *registry = a->schedules->leaders->registry;

	(void)version;
	if (t && result != LEDGER_ABSENT && result != LEDGER_PRESENT && result != LEDGER_OLDER) {
		schedule_again(a->schedules, t);
	} else if (t && strcmp(d->trigger.id, a->trigger) == 0) {
		d->trigger.known = true;
		d->trigger.looked_ms = host_now_ms(a->schedules->host);
		d->trigger.why =
			result == LEDGER_PRESENT && !record ? "its record makes no sense" : NULL;
		d->trigger.waits =
			record && strcmp(ledger_state(registry, record->state, record->session),
					 "running") == 0;
		d->trigger.attempt = record ? record->attempt + 1 : 1;
		schedules_task_changed(a->schedules, t);
	}
	free(a);
}

static void look(struct schedules *s, struct task *t, const struct policy_item *item)
{
	const struct ledger_sight sight = {.limit = TICK_NO_LIMIT, .whole = true};
	struct task_due *d = schedule_state(t);

	memset(&d->trigger, 0, sizeof(d->trigger));
	memcpy(d->trigger.id, item->name, sizeof(d->trigger.id));
	ledger_look(s->leaders, t->name, item->record.node, &sight, on_triggered,
		    answer_new(s, t, item));
}

/* The offer was not claimed: its record may have changed meanwhile, or been pruned. */
static bool is_stale(const struct schedules *s, const struct task_due *d)
{
	const struct due_offer *o = &d->offer;
	int64_t now_ms = host_now_ms(s->host);

	if (d->trigger.waits)
		return now_ms >= d->trigger.looked_ms + SCHEDULE_PAUSE_MS;
	return o->on && strcmp(o->trigger, d->trigger.id) == 0 && now_ms >= o->again_ms &&
	       d->trigger.looked_ms < o->again_ms;
}

/* Why the trigger can never be run; NULL: it can. */
static const char *problem(const struct schedules *s, const struct task *t,
			   const struct policy_item *item, int64_t *ret_ms)
{
	if (!tick_parse(item->record.node, ret_ms))
		return "that is no tick";
	if (*ret_ms <= partitions_floor_ms(s->leaders, t->name))
		return "the number of partitions was changed after its tick";
	return strcmp(t->due->trigger.id, item->name) == 0 ? t->due->trigger.why : NULL;
}

bool schedule_trigger(struct schedules *s, struct task *t)
{
	const struct policy_item *item = find_first(s, t);
	struct due_trigger *trigger = &schedule_state(t)->trigger;
	int64_t ms, now_ms = host_now_ms(s->host), ahead_ms;
	struct due_offer o;
	const char *why;

	if (!item)
		return false;
	why = problem(s, t, item, &ms);
	if (why) {
		end(s, t, item, why, false);
		return false;
	}
	if (strcmp(trigger->id, item->name) != 0) {
		look(s, t, item);
		return false;
	}
	if (!trigger->known)
		return t->due->offer.on && strcmp(t->due->offer.trigger, item->name) == 0;
	trigger->tick_ms = ms;
	if (is_stale(s, t->due)) {
		bool offered = !trigger->waits;
		look(s, t, item);
		return offered;
	}
	ahead_ms = ms - host_wall_ms(s->host);
	if (trigger->waits || (ahead_ms > 0 && ahead_ms <= AHEAD_MS)) {
		schedule_wake(t, trigger->waits ? trigger->looked_ms + SCHEDULE_PAUSE_MS
						: now_ms + ahead_ms);
		return false;
	}
	o = schedule_offer_of(t, ms, trigger->attempt);
	o.due.triggered = true;
	memcpy(o.trigger, item->name, sizeof(o.trigger));
	snprintf(o.by, sizeof(o.by), "%s@%s", item->record.by, item->record.host);
	schedule_offer(s, t, &o);
	return true;
}
