#include "node/runs/runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/election/tasks.h"
#include "node/ledger/ledger.h"
#include "node/runs/run_any.h"
#include "node/runs/run_steps.h"
#include "node/runs/standby.h"
#include "node/session/id.h"
#include "node/tree/paths.h"

void runs_changed(struct runs *r)
{
	if (TAILQ_EMPTY(&r->list) || r->dirty)
		return;
	r->dirty = true;
	/* The timer causes another turn at once. */
	host_timer_start(&r->due, 0);
}

static void misuse(const struct runs *runs, void *owner, uint32_t request, const char *why)
{
	runs->handlers.answer(owner, request,
			      &(struct run_answer){.kind = RUN_ANSWER_MISUSE, .why = why});
}

/* --- looking at all of them ----------------------------------------------- */

static void free_over(struct runs *runs)
{
	for (struct run *r = TAILQ_FIRST(&runs->list), *next; r; r = next) {
		next = TAILQ_NEXT(r, link);
		if (r->state.phase != RUN_OVER || r->state.asked != RUN_NOTHING || r->any.looks > 0)
			continue;
		TAILQ_REMOVE(&runs->list, r, link);
		run_free(r);
	}
}

static void look_at_all(struct runs *runs)
{
	int64_t first = INT64_MAX, now = host_now_ms(runs->host);

	runs->dirty = false;
	for (struct run *r = TAILQ_FIRST(&runs->list); r; r = TAILQ_NEXT(r, link))
		run_advance(r);
	for (struct run *r = TAILQ_FIRST(&runs->list); r; r = TAILQ_NEXT(r, link)) {
		if (r->state.phase == RUN_OVER)
			continue;
		int64_t due = r->whole[0] && !r->task && r->state.phase == RUN_WAITING
				      ? run_any_due(r, now)
				      : run_due(&r->state, now);
		if (r->behind_ms > now && r->behind_ms < due)
			due = r->behind_ms;
		if (due < first)
			first = due;
		int64_t again = r->calls && r->task ? standby_again_ms(r->task) : 0;
		if (again > now && again < first)
			first = again;
		if (r->calls && r->task)
			standby_retry(r->task);
	}
	free_over(runs);
	if (runs->dirty)
		host_timer_start(&runs->due, 0);
	else if (first != INT64_MAX)
		host_timer_start(&runs->due, first - now);
}

static void on_turn(void *arg)
{
	struct runs *runs = arg;

	if (runs->dirty)
		look_at_all(runs);
}

static void on_due(void *arg)
{
	look_at_all(arg);
}

void runs_init(struct runs *r, struct host *host, struct session *session, struct leaders *leaders,
	       const struct runs_handlers *handlers,
	       void (*keep)(void *arg, const struct handoff_run *runs, size_t n), void *keep_arg)
{
	memset(r, 0, sizeof(*r));
	TAILQ_INIT(&r->list);
	r->leaders = leaders;
	r->handlers = *handlers;
	r->holders = (struct holders){.session = session, .released = handlers->released};
	r->keep = keep;
	r->keep_arg = keep_arg;
	r->host = host;
	host_turn_init(&r->turn, host, on_turn, r);
	host_timer_init(&r->due, host, on_due, r);
}

void runs_on_told(struct runs *r,
		  void (*told)(void *arg, const char *task, const char *tick,
			       const struct run_record *record),
		  void *arg)
{
	r->told = told;
	r->told_arg = arg;
}

/* --- requests ------------------------------------------------------------- */

/* Appends the run: runs begin in the order of their requests. */
static void add(struct runs *runs, struct run *r)
{
	TAILQ_INSERT_TAIL(&runs->list, r, link);
	r->runs = runs;
}

/* A repeated claim proves that no job had begun, whatever the previous sidecar recorded. */
static void forget_inherited(struct runs *runs, const struct task *t, const char *id)
{
	for (struct run *r = TAILQ_FIRST(&runs->list); r; r = TAILQ_NEXT(r, link)) {
		if (r->task != t || r->state.phase != RUN_INHERITED || strcmp(r->uuid, id) != 0)
			continue;
		run_give_up(&r->state);
		run_settle(r);
	}
}

/* Makes a run of the claim; NULL: it was refused. */
static struct run *new_claim(struct runs *runs, void *owner, uint32_t request,
			     const struct run_options *options)
{
	struct run *r = mem_calloc(1, sizeof(*r));

	if (options->id[0])
		memcpy(r->uuid, options->id, sizeof(r->uuid));
	else
		id_new(runs->host, r->uuid);
	holder_init(&runs->holders, &r->held, owner);
	r->request = request;
	r->pid = options->pid;
	r->options = *options;
	if (options->tick_ms > 0 &&
	    !tick_name(tick_floor(options->now_ms, options->tick_ms, options->zone_ms), r->tick)) {
		free(r);
		misuse(runs, owner, request, "the clock says a time beyond the year 9999");
		holders_release(&runs->holders, owner);
		return NULL;
	}
	if (options->tick_ms > 0)
		r->begins_ms = tick_begins(options->now_ms, options->tick_ms, options->zone_ms);
	return r;
}

void runs_claim(struct runs *runs, void *owner, uint32_t request, struct task *t,
		const struct run_options *options)
{
	struct run *r = new_claim(runs, owner, request, options);

	if (!r)
		return;
	r->task = t;
	snprintf(r->task_name, sizeof(r->task_name), "%s", t->name);
	if (options->again && options->id[0])
		forget_inherited(runs, t, r->uuid);
	run_begin(&r->state, host_now_ms(runs->host), options->wait_ms, runs->quiet_ms,
		  r->tick[0] != '\0', options->once, options->again);
	run_by_schedule(&r->state, options->scheduled);
	add(runs, r);
	run_settle(r);
	leaders_refresh(t);
	runs_changed(runs);
}

void runs_claim_any(struct runs *runs, void *owner, uint32_t request, struct listing *listing,
		    const struct run_options *options)
{
	struct run *r = new_claim(runs, owner, request, options);

	if (!r)
		return;
	snprintf(r->whole, sizeof(r->whole), "%s", listing->name);
	r->any.until_ms = host_now_ms(runs->host) + options->wait_ms;
	if (!r->tick[0]) /* else the ledger tells */
		memcpy(r->any.tried, options->got, sizeof(r->any.tried));
	for (size_t i = 0; options->again && options->id[0] && i < listing->n; i++)
		forget_inherited(runs, listing->tasks[i], r->uuid);
	run_begin(&r->state, host_now_ms(runs->host), options->wait_ms, runs->quiet_ms,
		  r->tick[0] != '\0', options->once, options->again);
	add(runs, r);
	run_settle(r);
	runs_changed(runs);
}

static struct run *find(const struct runs *runs, const void *owner, uint64_t id)
{
	for (struct run *r = TAILQ_FIRST(&runs->list); r; r = TAILQ_NEXT(r, link))
		if (r->state.phase == RUN_GOING && holder_is(&r->held, owner, id))
			return r;
	return NULL;
}

void runs_renew(struct runs *runs, void *owner, uint32_t request, uint64_t id)
{
	struct run *r = find(runs, owner, id);

	if (!r) {
		misuse(runs, owner, request, "no such run on this connection");
		return;
	}
	runs->handlers.answer(
		owner, request,
		&(struct run_answer){.kind = RUN_ANSWER_RENEW,
				     .lease_ms = run_renew(r),
				     .timeout_ms = runs->leaders->session->lease.timeout_ms});
}

static const char *state_of(enum attempt_how how)
{
	switch (how) {
	case ATTEMPT_OK: return "ok";
	case ATTEMPT_TIMEOUT: return "timeout";
	case ATTEMPT_LOST: return "lost";
	case ATTEMPT_FAILED:
	case ATTEMPT_CANCELLED:
	case ATTEMPT_DEAD: break; /* the last two: only jobs */
	}
	return "failed";
}

/* Takes the end of the output, as much as the record holds. */
static void take_output(struct run *r, const struct run_outcome *o)
{
	size_t len = o->output_len < RECORD_OUTPUT_MAX ? o->output_len : RECORD_OUTPUT_MAX;

	if (len == 0)
		return;
	free(r->output);
	r->output = mem_alloc(len);
	memcpy(r->output, o->output + o->output_len - len, len);
	r->record.output = r->output;
	r->record.output_len = len;
}

void runs_finish(struct runs *runs, void *owner, uint32_t request, uint64_t id,
		 const struct run_outcome *outcome)
{
	struct run *r = find(runs, owner, id);

	if (!r) {
		misuse(runs, owner, request, "no such run on this connection");
		return;
	}
	r->request = request;
	take_output(r, outcome);
	run_end(r, state_of(attempt_how(&outcome->what)), outcome->what.exit_status,
		outcome->start);
}

void runs_attach(struct runs *runs, void *owner, uint32_t request, const struct task *t,
		 const char *id, int64_t pid)
{
	struct run *r = TAILQ_FIRST(&runs->list);

	while (r && (r->task != t || r->held.owner || strcmp(r->uuid, id) != 0 ||
		     (r->state.phase != RUN_INHERITED && r->state.phase != RUN_DYING)))
		r = TAILQ_NEXT(r, link);
	if (!r) {
		misuse(runs, owner, request, "no such run");
		holders_release(&runs->holders, owner);
		return;
	}
	holder_attach(&r->held, owner);
	r->request = request;
	r->pid = pid;
	run_perform(r, run_attach(&r->state));
	runs_changed(runs);
}

/* --- what happens elsewhere ----------------------------------------------- */

size_t runs_going(const struct runs *runs, bool log)
{
	int64_t now_ms = host_now_ms(runs->host);
	size_t n = 0;

	for (const struct run *r = TAILQ_FIRST(&runs->list); r; r = TAILQ_NEXT(r, link)) {
		if (!run_is_alive(&r->state, now_ms))
			continue;
		n++;
		if (log)
			log_info("waiting for a job", LOG_STR("task", r->task_name),
				 LOG_STR("tick", r->tick),
				 LOG_STR("supervisor", r->held.owner ? NULL : "gone"));
	}
	return n;
}

size_t runs_open(const struct runs *runs)
{
	size_t n = 0;

	for (const struct run *r = TAILQ_FIRST(&runs->list); r; r = TAILQ_NEXT(r, link))
		n += run_is_open(&r->state);
	return n;
}

size_t runs_each_going(const struct runs *runs, int64_t now_ms,
		       void (*fn)(void *arg, const char *task, const char *tick), void *arg)
{
	size_t n = 0;

	for (const struct run *r = TAILQ_FIRST(&runs->list); r; r = TAILQ_NEXT(r, link)) {
		if (!run_is_alive(&r->state, now_ms))
			continue;
		n++;
		if (fn)
			fn(arg, r->task_name, r->tick);
	}
	return n;
}

bool runs_hold(const struct runs *runs, const struct task *t)
{
	for (const struct run *r = TAILQ_FIRST(&runs->list); r; r = TAILQ_NEXT(r, link))
		if (r->task == t && r->holds)
			return true;
	return false;
}

static void inherit(struct runs *runs, const struct handoff_run *h, int64_t until_ms)
{
	struct run *r = mem_calloc(1, sizeof(*r));

	holder_init(&runs->holders, &r->held, NULL);
	r->record.token = h->token;
	r->task = tasks_find(runs->leaders, h->task, strlen(h->task));
	r->kept = true;
	memcpy(r->task_name, h->task, sizeof(r->task_name));
	memcpy(r->tick, h->tick, sizeof(r->tick));
	memcpy(r->uuid, h->id, sizeof(r->uuid));
	run_inherit(&r->state, until_ms, r->tick[0] != '\0');
	add(runs, r);
	run_settle(r);
	log_info("a job of the sidecar before this one may be alive", LOG_STR("task", r->task_name),
		 LOG_STR("tick", r->tick));
}

void runs_take_over(struct runs *runs, const struct handoff_run *list, size_t n, bool all_known,
		    int64_t timeout_ms)
{
	int64_t until_ms = host_now_ms(runs->host) + timeout_ms;

	if (!all_known)
		runs->quiet_ms = until_ms;
	for (size_t i = 0; i < n; i++)
		inherit(runs, &list[i], until_ms);
	if (n > 0 || !all_known)
		inheritance_has_jobs(runs->leaders, until_ms);
	runs_changed(runs);
}

void runs_revoke(struct runs *runs)
{
	runs->holders.revoked = true;
}

void runs_owner_gone(struct runs *runs, const void *owner)
{
	for (struct run *r = TAILQ_FIRST(&runs->list); r; r = TAILQ_NEXT(r, link)) {
		if (r->held.owner != owner)
			continue;
		holder_let_go(&runs->holders, &r->held);
		/*
		 * The guard ends the job, at the latest when the lease is over that it was told of.
		 */
		if (r->state.phase == RUN_GOING)
			log_warning("the supervisor of a run is gone",
				    LOG_STR("task", r->task_name), LOG_STR("tick", r->tick));
		run_caller_gone(&r->state, host_now_ms(runs->host),
				session_told_left(runs->leaders->session));
		run_settle(r);
	}
	runs_changed(runs);
}

/* Jobs of the previous sidecar are known before the partitions are. */
void runs_task_added(struct runs *runs, struct task *t)
{
	for (struct run *r = TAILQ_FIRST(&runs->list); r; r = TAILQ_NEXT(r, link)) {
		if (r->task || r->state.phase == RUN_OVER || strcmp(r->task_name, t->name) != 0)
			continue;
		r->task = t;
		r->holds = r->calls = r->going = r->dying = false;
		run_settle(r);
	}
	runs_changed(runs);
}

void runs_task_removed(struct runs *runs, const struct task *t)
{
	for (struct run *r = TAILQ_FIRST(&runs->list); r; r = TAILQ_NEXT(r, link)) {
		if (r->task != t)
			continue;
		if (r->whole[0] && r->state.phase == RUN_WAITING && r->state.asked == RUN_NOTHING) {
			run_any_removed(r);
			continue;
		}
		r->task = NULL;
		r->holds = r->calls = r->going = r->dying = false;
		if (r->state.phase != RUN_WAITING)
			continue;
		if (r->held.owner)
			misuse(runs, r->held.owner, r->request, "the task has been removed");
		run_give_up(&r->state);
		run_settle(r);
	}
	runs_changed(runs);
}

void runs_expired(struct runs *runs)
{
	for (struct run *r = TAILQ_FIRST(&runs->list); r; r = TAILQ_NEXT(r, link)) {
		run_expired(&r->state);
		run_settle(r);
	}
	runs_changed(runs);
}

void runs_watch(struct runs *runs, enum store_watch type, const char *path)
{
	const char *tick = strrchr(path, '/');
	char own[STORE_PATH_MAX];

	for (struct run *r = TAILQ_FIRST(&runs->list); r; r = TAILQ_NEXT(r, link)) {
		if (!tick || !r->tick[0] || strcmp(tick + 1, r->tick) != 0)
			continue;
		path_of_tick(runs->leaders->session->settings, r->task_name, r->tick, own);
		if (strcmp(path, own) != 0)
			continue;
		struct run_sight sight = run_sight_of(r);
		run_fired(&r->state, &sight, type == STORE_NODE_CREATED);
		run_settle(r);
	}
	runs_changed(runs);
}

void runs_done(struct runs *runs)
{
	struct run *r;

	host_turn_done(&runs->turn);
	host_timer_done(&runs->due);
	while ((r = TAILQ_FIRST(&runs->list))) {
		TAILQ_REMOVE(&runs->list, r, link);
		run_free(r);
	}
}
