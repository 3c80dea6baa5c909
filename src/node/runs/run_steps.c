#include "node/runs/run_steps.h"
#include "node/ledger/counts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "core/fleet/identity.h"
#include "node/ledger/last_run.h"
#include "node/ledger/ledger.h"
#include "node/ledger/unclaimed.h"
#include "node/notices/run_event.h"
#include "node/runs/losses.h"
#include "node/runs/run_any.h"
#include "node/runs/standby.h"
#include "node/schedule/schedules.h"
#include "node/tree/paths.h"
#include "wire/records/record.h"

/* Holds the task or stops holding it; a run without a task yet does neither. */
static void set_hold(struct run *r, bool on)
{
	int64_t until_ms;

	if (!r->task || r->holds == on)
		return;
	r->holds = on;
	until_ms = host_now_ms(r->runs->host) + r->task->settings->hold_max_ms;
	/* The previous sidecar may have promised its job more than that. */
	if (r->state.phase == RUN_INHERITED && r->state.deadline_ms > until_ms)
		until_ms = r->state.deadline_ms;
	leaders_hold(r->task, on, until_ms);
}

static void set_call(struct run *r, bool on)
{
	if (!r->task || r->calls == on)
		return;
	r->calls = on;
	standby_set(r->task, on, r->tick);
}

/* Keeps the list of jobs for the next node, in case this one is killed. */
static void keep_jobs(struct runs *runs)
{
	size_t n = 0;

	for (const struct run *r = TAILQ_FIRST(&runs->list); r; r = TAILQ_NEXT(r, link))
		n += r->kept;
	struct handoff_run *list = mem_calloc(n + 1, sizeof(*list));
	n = 0;
	for (const struct run *r = TAILQ_FIRST(&runs->list); r; r = TAILQ_NEXT(r, link)) {
		if (!r->kept)
			continue;
		struct handoff_run *h = &list[n++];
		memcpy(h->task, r->task_name, sizeof(h->task));
		memcpy(h->tick, r->tick, sizeof(h->tick));
		memcpy(h->id, r->uuid, sizeof(h->id));
		h->token = r->record.token;
	}
	runs->keep(runs->keep_arg, list, n);
	free(list);
}

static void set_kept(struct run *r, bool on)
{
	if (r->kept == on)
		return;
	r->kept = on;
	keep_jobs(r->runs);
}

/* Keeps the counts of the task, so that other runs need not be searched to begin one. */
static void set_counted(struct run *r)
{
	bool dying = r->state.phase == RUN_DYING || r->state.phase == RUN_INHERITED;
	bool going = r->state.phase == RUN_GOING;

	if (!r->task)
		return;
	r->task->going += (unsigned)going - r->going;
	r->going = going;
	r->task->dying += (unsigned)dying - r->dying;
	r->dying = dying;
}

void run_free(struct run *r)
{
	free(r->output);
	free(r);
}

static void unwatch(struct run *r)
{
	if (r->watches)
		ledger_unwatch(r->runs->leaders, r->task_name, r->tick, r);
	r->watches = false;
}

void run_let_go(struct run *r)
{
	set_hold(r, false);
	set_call(r, false);
	unwatch(r);
	r->going = r->dying = false; /* it waits */
	r->task = NULL;
	r->task_name[0] = '\0';
}

void run_settle(struct run *r)
{
	set_hold(r, run_holds(&r->state));
	set_call(r, r->state.calls);
	set_counted(r);
	if (r->state.phase != RUN_WAITING)
		unwatch(r);
	if (r->state.phase != RUN_OVER)
		return;
	set_kept(r, false);
	holder_let_go(&r->runs->holders, &r->held);
}

static void noted(struct run *r)
{
	struct runs *runs = r->runs;

	last_run_note(r->task, r->tick, &r->record);
	if (runs->noted)
		runs->noted(runs->noted_arg, r->task, r->tick, &r->record);
}

static void on_answered(void *arg, enum ledger_result result, const struct run_record *record,
			int32_t version)
{
	struct run *r = arg;
	struct run_seen seen;
	struct run_sight sight = run_sight_of(r);

	/* A trigger has a tick of its own, see ledger_claim(). */
	if (result == LEDGER_OLDER && sight.triggered && r->options.scheduled == 1)
		result = LEDGER_ABSENT;
	if (result == LEDGER_DONE && r->task)
		noted(r);
	if (result == LEDGER_OLDER && r->task && r->runs->older)
		r->runs->older(r->runs->noted_arg, r->task, r->tick);
	if (record) {
		seen = run_record_seen(r, record);
		if (r->state.asked == RUN_LOOK || r->state.asked == RUN_LOOK_INHERITED ||
		    r->state.asked == RUN_LOOK_ATTACHED)
			run_record_take(r, record);
	}
	run_perform(r, run_answered(&r->state, &sight, result, record ? &seen : NULL, version));
	runs_changed(r->runs);
}

/*
 * A tick after this limit has not come yet, by any clock. Ticks of a schedule have no limit: their
 * leader knows which ones are decided, and a later record, perhaps of a triggered tick, says
 * nothing.
 */
static void limit_of(const struct run *r, char limit[TICK_NAME_SIZE])
{
	limit[0] = '\0';
	if (r->options.scheduled > 0)
		return;
	clocks_limit(&r->runs->leaders->registry->clocks,
		     r->options.tick_ms < TICK_DAY_MS ? 0 : r->options.zone_ms, limit);
}

/* Only a run that waits for its tick watches the record. */
static void look(struct run *r, bool whole)
{
	char limit[TICK_NAME_SIZE];
	struct ledger_sight sight = {.limit = limit, .whole = whole};

	limit_of(r, limit);
	if (r->state.phase == RUN_WAITING) {
		sight.watcher = r;
		sight.class = r->state.stands ? WATCH_RUN : WATCH_WAIT;
		r->watches = true;
	}
	ledger_look(r->runs->leaders, r->task_name, r->tick, &sight, on_answered, r);
}

/* The trigger that this claim uses up, and its user; NULL: the schedule starts it. */
static const char *take_trigger(struct run *r, char path[STORE_PATH_MAX])
{
	const struct due_offer *o = run_offer(r);

	if (!o || !o->trigger[0])
		return NULL;
	memcpy(r->record.by, o->by, sizeof(r->record.by));
	path_of(r->runs->leaders->session->settings, PATH_POLICY, o->trigger, path);
	return path;
}

static void claim(struct run *r)
{
	char limit[TICK_NAME_SIZE], owed[TICK_NAME_SIZE], path[STORE_PATH_MAX];

	limit_of(r, limit);
	schedules_owed_from(r->task, owed);
	run_record_fill(r, 1);
	ledger_claim(r->task, r->tick, limit, owed, take_trigger(r, path), &r->record, on_answered,
		     r);
}

/* event: to be noted with the record; NULL: none. */
static void write_record(struct run *r, bool must_lead, const struct notice_record *event)
{
	char path[STORE_PATH_MAX];

	ledger_write(r->runs->leaders, r->task_name, r->tick,
		     must_lead ? take_trigger(r, path) : NULL, &r->record, r->state.version,
		     must_lead, event, on_answered, r);
}

static void write_attempt(struct run *r, int64_t attempt, const struct notice_record *event)
{
	run_record_fill(r, attempt);
	write_record(r, true, event);
}

/* If another attempt may follow, the record says so: the leader then tells people if none does. */
static void write_end(struct run *r)
{
	const struct registry *registry = r->runs->leaders->registry;
	struct notice_record event;

	r->record.retrying = run_event_wanted(registry, r->task_name) && r->task &&
			     losses_follows(r->task, r->tick, &r->record);
	bool is_one = run_event_of(registry, r->task_name, r->tick, &r->record, &event);
	write_record(r, false, is_one ? &event : NULL);
}

static void take_over(struct run *r)
{
	int64_t attempt = r->state.seen.attempt + 1;
	struct notice_record event;

	run_event_lost(r->runs->leaders->registry, r->task_name, r->tick, &r->record, true, &event);
	log_info("taking a run over", LOG_STR("task", r->task_name), LOG_STR("tick", r->tick),
		 LOG_STR("from", r->record.node[0] ? r->record.node : r->record.hostname),
		 LOG_INT("attempt", attempt));
	/* A run that failed, or was recorded as lost, was announced at that time. */
	write_attempt(r, attempt, r->state.seen.running ? &event : NULL);
}

static void tell(const struct run *r)
{
	if (r->runs->told)
		r->runs->told(r->runs->told_arg, r->task_name, r->tick, &r->record);
}

static void start(struct run *r)
{
	if (!r->tick[0])
		run_record_fill(r, 1);
	log_info("run claimed", LOG_STR("task", r->task_name), LOG_STR("tick", r->tick),
		 LOG_INT("attempt", r->record.attempt), LOG_INT("token", r->record.token),
		 LOG_INT("pid", r->pid));
	unclaimed_end(r->task);
	holder_is_told(&r->held);
	set_kept(r, !r->options.once);
	set_hold(r, !r->options.once);
	run_answer(r, "yours", false, "");
	tell(r);
}

static void taken(struct run *r)
{
	if (r->task)
		unclaimed_end(r->task);
	run_answer(r, "taken", false, "");
}

static void ended(struct run *r, bool recorded)
{
	if (!recorded)
		log_warning("the end of a run was not recorded", LOG_STR("task", r->task_name),
			    LOG_STR("tick", r->tick));
	if (r->held.owner)
		run_send(r, &(struct run_answer){.kind = RUN_ANSWER_FINISH, .recorded = recorded});
}

/* The time for which a job may keep the task counts from its beginning. */
static void attached(struct run *r)
{
	int64_t gone = host_wall_ms(r->runs->host) - r->record.started_at, most;

	log_info("the supervisor of a run is back", LOG_STR("task", r->task_name),
		 LOG_STR("tick", r->tick), LOG_INT("pid", r->pid));
	if (r->task && r->record.started_at > 0 && gone > 0) {
		most = r->task->settings->hold_max_ms;
		leaders_hold(r->task, true,
			     host_now_ms(r->runs->host) + (gone < most ? most - gone : 0));
		leaders_hold(r->task, false, 0);
	}
	holder_is_told(&r->held);
	run_answer_attached(r, true);
}

/* The run stays inherited, or is over. */
static void unattached(struct run *r)
{
	run_answer_attached(r, false);
	holder_let_go(&r->runs->holders, &r->held);
}

/* Notes the end as an event of its own, as a run without a tick has no record. */
static void note_end(const struct run *r)
{
	const struct registry *registry = r->runs->leaders->registry;
	struct notice_record event;

	if (run_event_of(registry, r->task_name, "", &r->record, &event))
		notices_note(registry, &event);
}

void run_end(struct run *r, const char *state, int64_t exit_status, const char *start)
{
	snprintf(r->record.state, sizeof(r->record.state), "%s", state);
	r->record.ended_at = host_wall_ms(r->runs->host);
	r->record.exit_status = exit_status;
	run_why_ended(&r->record, start);
	log_info("run ended", LOG_STR("task", r->task_name), LOG_STR("tick", r->tick),
		 LOG_STR("state", state), LOG_INT("exit_status", exit_status),
		 LOG_INT("ms", r->record.ended_at - r->record.started_at),
		 LOG_STR("why", r->record.why));
	tell(r);
	if (!r->tick[0])
		note_end(r);
	if (r->task) {
		counts_run(r->task, state, r->record.started_at, r->record.ended_at);
		r->runs->leaders->handlers.changed(r->runs->leaders->handlers.arg, r->task);
	}
	r->behind_ms = host_now_ms(r->runs->host) + LOSSES_PATIENCE_MS;
	run_perform(r, run_finish(&r->state, host_now_ms(r->runs->host)));
	runs_changed(r->runs);
}

void run_perform(struct run *r, enum run_action action)
{
	if (run_any_goes_on(r, action))
		return;
	switch (action) {
	case RUN_NOTHING: break;
	case RUN_LOOK: look(r, r->state.whole); break;
	case RUN_LOOK_INHERITED:
	case RUN_LOOK_ATTACHED:
	case RUN_LOOK_END: look(r, true); break;
	case RUN_CLAIM_ANEW: write_attempt(r, r->state.seen.attempt, NULL); break;
	case RUN_CLAIM: claim(r); break;
	case RUN_TAKE_OVER: take_over(r); break;
	case RUN_WRITE_END: write_end(r); break;
	case RUN_START: start(r); break;
	case RUN_SPENT: run_end(r, r->options.once ? "claimed" : "lost", -1, NULL); break;
	case RUN_LOST: run_end(r, "lost", -1, NULL); break;
	case RUN_TAKEN: taken(r); break;
	case RUN_WAITED: run_tell_waited(r); break;
	case RUN_PAUSED: run_answer(r, "nobody", false, "the task is paused"); break;
	case RUN_BUSY: run_answer(r, "waited", true, "the run before it has not ended"); break;
	case RUN_ATTACHED: attached(r); break;
	case RUN_UNATTACHED: unattached(r); break;
	case RUN_OLDER:
	case RUN_OFF:
	case RUN_EARLY:
	case RUN_REFUSED: run_tell_refused(r, action); break;
	case RUN_GONE: break;
	case RUN_RECORDED: ended(r, true); break;
	case RUN_UNRECORDED: ended(r, false); break;
	}
	run_settle(r);
}

void run_advance(struct run *r)
{
	bool seeks = r->whole[0] && !r->task && r->state.phase == RUN_WAITING;

	if (seeks && !run_any_advance(r))
		return;
	struct run_sight sight = run_sight_of(r);

	run_perform(r, run_next(&r->state, &sight));
}

int64_t run_renew(struct run *r)
{
	if (!r->task || !run_is_same(r))
		return 0;
	return holder_promise(&r->runs->holders, &r->held, leaders_hold_renew(r->task));
}
