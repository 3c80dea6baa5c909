#include "node/runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "node/id.h"
#include "node/ledger.h"
#include "node/paths.h"
#include "node/standby.h"
#include "node/tasks.h"

#define LEASE_PART 4 /* of the session's timeout has to be left of the lease for a run to begin */

struct run {
	struct run *prev, *next;
	struct runs *runs;
	void *owner;	  /* NULL: gone */
	uint32_t request; /* that is to be answered: the claim, then the finish */
	int64_t pid;	  /* of who supervises it */
	uint32_t id;
	struct task *task; /* NULL: gone */
	char task_name[NAME_TASK_MAX + 1];
	struct run_options options;
	char tick[TICK_NAME_SIZE]; /* "": none */
	char uuid[NAME_ID_MAX + 1];
	struct run_state state;
	struct run_record record; /* ours, or as last read */
	bool holds, calls;	  /* as told to the election, and to the fleet */
	bool dying;		  /* as counted for the task */
	bool kept;		  /* it is in the file for the sidecar that comes after us */
};

static void perform(struct run *r, enum run_action action);

void runs_changed(struct runs *r)
{
	if (!r->list || r->dirty)
		return;
	r->dirty = true;
	/* Another turn follows at once. */
	host_timer_start(&r->due, 0);
}

/* --- what it does elsewhere ------------------------------------------------------------------------ */

static void set_hold(struct run *r, bool on)
{
	if (r->holds == on)
		return;
	r->holds = on;
	if (r->task)
		leaders_hold(r->task, on,
			     host_now_ms(r->runs->host) + r->task->settings.hold_max_ms);
}

static void set_call(struct run *r, bool on)
{
	if (r->calls == on)
		return;
	r->calls = on;
	if (r->task)
		standby_set(r->task, on, r->tick);
}

/* For the node that comes after us, if this one is killed. */
static void keep_jobs(struct runs *runs)
{
	size_t n = 0;

	for (const struct run *r = runs->list; r; r = r->next)
		n += r->kept;
	struct handoff_run *list = mem_calloc(n + 1, sizeof(*list));
	n = 0;
	for (const struct run *r = runs->list; r; r = r->next) {
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

/* So that other runs need not be looked at to know whether one may begin. */
static void set_counted(struct run *r)
{
	bool dying = r->state.phase == RUN_DYING || r->state.phase == RUN_INHERITED;

	if (!r->task)
		return;
	r->task->dying += (unsigned)dying - r->dying;
	r->dying = dying;
}

/* The owner has nothing to do with it any more. */
static void release(struct run *r)
{
	void *owner = r->owner;

	r->owner = NULL;
	if (owner)
		r->runs->handlers.released(owner);
}

/* After each step: the job holds the task, and who wants to take a run over asks to lead. */
static void settle(struct run *r)
{
	set_hold(r, run_holds(&r->state));
	set_call(r, r->state.calls);
	set_counted(r);
	if (r->state.phase != RUN_OVER)
		return;
	set_kept(r, false);
	release(r);
}

static void send(const struct run *r, const struct run_answer *answer)
{
	r->runs->handlers.answer(r->owner, r->request, answer);
}

/* For how many ms this node keeps the task: for the job that is to begin, or of its own. */
static int64_t promise_in_claim(const struct run *r)
{
	if (!r->task)
		return 0;
	return r->state.phase == RUN_GOING ? leaders_hold_renew(r->task) : leaders_promise(r->task);
}

static void answer(struct run *r, const char *outcome, bool busy, const char *why)
{
	const struct member *self = registry_self(r->runs->leaders->registry);

	send(r, &(struct run_answer){.kind = RUN_ANSWER_CLAIM,
				     .worker_id = self ? self->worker->id : "",
				     .version = self ? self->worker->version : "",
				     .outcome = outcome,
				     .tick = r->tick[0] ? r->tick : NULL,
				     .token = r->record.token,
				     .attempt = r->record.attempt,
				     .lease_ms = promise_in_claim(r),
				     .run = r->id,
				     .busy = busy,
				     .why = why});
}

static void answer_attached(struct run *r, bool is)
{
	bool recorded =
		strcmp(r->record.state, "ok") == 0 || strcmp(r->record.state, "failed") == 0;

	send(r, &(struct run_answer){.kind = RUN_ANSWER_ATTACH,
				     .attached = is,
				     .run = r->id,
				     .recorded = recorded});
}

static void misuse(const struct runs *runs, void *owner, uint32_t request, const char *why)
{
	runs->handlers.answer(owner, request,
			      &(struct run_answer){.kind = RUN_ANSWER_MISUSE, .why = why});
}

/* --- the ledger ------------------------------------------------------------------------------------ */

static void fill_record(struct run *r, int64_t attempt)
{
	const struct leaders *l = r->runs->leaders;
	const struct member *self = registry_self(l->registry);

	memset(&r->record, 0, sizeof(r->record));
	snprintf(r->record.state, sizeof(r->record.state), "%s",
		 r->options.once ? "claimed" : "running");
	if (self) {
		memcpy(r->record.id, self->worker->id, sizeof(r->record.id));
		memcpy(r->record.hostname, self->worker->hostname, sizeof(r->record.hostname));
	}
	memcpy(r->record.run, r->uuid, sizeof(r->record.run));
	r->record.session = l->session->id;
	r->record.token = r->task->election.node.token;
	r->record.attempt = attempt;
	r->record.started_at = host_wall_ms(r->runs->host);
	r->record.exit_status = -1;
}

/*
 * Whether the session that runs it may be alive. Its lease ended before the session did, and its job
 * with the lease. While records are being read, a worker that registers anew is not to be found.
 */
static bool runner_may_live(const struct run *r)
{
	const struct registry *registry = r->runs->leaders->registry;

	return !registry_settled(registry) ||
	       fleet_find_session(&registry->fleet, r->state.seen.session) != NULL;
}

/* Whether another run of the task is there, or about to be. */
static bool is_busy(const struct run *r)
{
	return r->task->settings.overlap == TASK_OVERLAP_FORBID && r->task->holds > r->holds;
}

/* Whether it is the leadership that the job started under. */
static bool is_same(const struct run *r)
{
	return !r->runs->revoked && r->task->election.node.token == r->record.token;
}

static struct run_sight sight_of(const struct run *r)
{
	const struct leaders *l = r->runs->leaders;
	const struct member *self = registry_self(l->registry);
	const struct task *t = r->task;
	struct run_sight sight = {.now_ms = host_now_ms(r->runs->host),
				  .up = session_is_up(l->session),
				  .drained = self && self->drained,
				  .runner_lives = r->state.seen.running && runner_may_live(r)};

	if (!t)
		return sight;
	sight.leads = leaders_may_begin(t);
	sight.brief = leaders_lease_left(t) < l->session->lease.timeout_ms / LEASE_PART;
	sight.same = is_same(r) && leaders_lease_left(t) > 0;
	sight.busy = is_busy(r);
	sight.dying = t->dying > r->dying;
	sight.elsewhere = leaders_is_led(t) && !t->election.node.mine;
	sight.paused = t->standing.paused;
	sight.rerun = t->settings.on_crash == TASK_ON_CRASH_RERUN;
	sight.token = t->election.node.token;
	sight.hold_max_ms = t->settings.hold_max_ms;
	return sight;
}

static struct run_seen seen_of(const struct run *r, const struct run_record *record)
{
	return (struct run_seen){.readable = true,
				 .ours = strcmp(record->run, r->uuid) == 0,
				 .running = strcmp(record->state, "running") == 0 &&
					    record->session != 0,
				 .lost = strcmp(record->state, "lost") == 0,
				 .ended = strcmp(record->state, r->record.state) == 0,
				 .session = record->session,
				 .token = record->token,
				 .attempt = record->attempt};
}

static void on_answered(void *arg, enum ledger_result result, const struct run_record *record,
			int32_t version)
{
	struct run *r = arg;
	struct run_seen seen;
	struct run_sight sight = sight_of(r);

	if (record) {
		seen = seen_of(r, record);
		if (r->state.asked == RUN_LOOK || r->state.asked == RUN_LOOK_INHERITED ||
		    r->state.asked == RUN_LOOK_ATTACHED)
			r->record = *record;
	}
	perform(r, run_answered(&r->state, &sight, result, record ? &seen : NULL, version));
	runs_changed(r->runs);
}

static void look(struct run *r, bool whole)
{
	ledger_look(r->runs->leaders, r->task_name, r->tick, whole, on_answered, r);
}

static void write_record(struct run *r, bool must_lead)
{
	ledger_write(r->runs->leaders, r->task_name, r->tick, &r->record, r->state.version,
		     must_lead, on_answered, r);
}

static void write_attempt(struct run *r, int64_t attempt)
{
	fill_record(r, attempt);
	write_record(r, true);
}

static void take_over(struct run *r)
{
	int64_t attempt = r->state.seen.attempt + 1;

	log_info("taking a run over", LOG_STR("task", r->task_name), LOG_STR("tick", r->tick),
		 LOG_STR("from", r->record.hostname), LOG_INT("attempt", attempt));
	write_attempt(r, attempt);
}

/* --- what comes of it ------------------------------------------------------------------------------ */

static void start(struct run *r)
{
	if (!r->tick[0])
		fill_record(r, 1);
	log_info("run claimed", LOG_STR("task", r->task_name), LOG_STR("tick", r->tick),
		 LOG_INT("attempt", r->record.attempt), LOG_INT("token", r->record.token),
		 LOG_INT("pid", r->pid));
	set_kept(r, !r->options.once);
	set_hold(r, !r->options.once);
	answer(r, "yours", false, "");
}

static void tell_waited(struct run *r)
{
	struct run_sight sight = sight_of(r);
	char blocked[LEADERS_BLOCKED_MAX];

	if (!sight.up)
		answer(r, "waited", false, "no confirmed session with ZooKeeper");
	else if (r->task && leaders_is_blocked(r->task, blocked))
		answer(r, "waited", false, blocked);
	else if (!sight.elsewhere && sight.drained)
		answer(r, "nobody", false, "this node is drained");
	else
		answer(r, "waited", false, sight.elsewhere ? "" : "nobody leads the task");
}

static void ended(struct run *r, bool recorded)
{
	if (!recorded)
		log_warning("the end of a run was not recorded", LOG_STR("task", r->task_name),
			    LOG_STR("tick", r->tick));
	if (r->owner)
		send(r, &(struct run_answer){.kind = RUN_ANSWER_FINISH, .recorded = recorded});
}

/* What a job may keep the task for counts from its beginning. */
static void attached(struct run *r)
{
	int64_t gone = host_wall_ms(r->runs->host) - r->record.started_at, most;

	log_info("the supervisor of a run is back", LOG_STR("task", r->task_name),
		 LOG_STR("tick", r->tick), LOG_INT("pid", r->pid));
	if (r->task && r->record.started_at > 0 && gone > 0) {
		most = r->task->settings.hold_max_ms;
		leaders_hold(r->task, true,
			     host_now_ms(r->runs->host) + (gone < most ? most - gone : 0));
		leaders_hold(r->task, false, 0);
	}
	answer_attached(r, true);
}

/* It stays inherited, or is over. */
static void unattached(struct run *r)
{
	answer_attached(r, false);
	release(r);
}

static void finish(struct run *r, const char *state, int64_t exit_status)
{
	snprintf(r->record.state, sizeof(r->record.state), "%s", state);
	r->record.ended_at = host_wall_ms(r->runs->host);
	r->record.exit_status = exit_status;
	log_info("run ended", LOG_STR("task", r->task_name), LOG_STR("tick", r->tick),
		 LOG_STR("state", state), LOG_INT("exit_status", exit_status),
		 LOG_INT("ms", r->record.ended_at - r->record.started_at));
	perform(r, run_finish(&r->state, host_now_ms(r->runs->host)));
	runs_changed(r->runs);
}

static void perform(struct run *r, enum run_action action)
{
	switch (action) {
	case RUN_NOTHING: break;
	case RUN_LOOK: look(r, r->state.whole); break;
	case RUN_LOOK_INHERITED:
	case RUN_LOOK_ATTACHED:
	case RUN_LOOK_END: look(r, true); break;
	case RUN_CLAIM_ANEW: write_attempt(r, r->state.seen.attempt); break;
	case RUN_CLAIM:
		fill_record(r, 1);
		ledger_claim(r->task, r->tick, &r->record, on_answered, r);
		break;
	case RUN_TAKE_OVER: take_over(r); break;
	case RUN_WRITE_END: write_record(r, false); break;
	case RUN_START: start(r); break;
	case RUN_SPENT: finish(r, r->options.once ? "claimed" : "lost", -1); break;
	case RUN_LOST: finish(r, "lost", -1); break;
	case RUN_TAKEN: answer(r, "taken", false, ""); break;
	case RUN_WAITED: tell_waited(r); break;
	case RUN_PAUSED: answer(r, "nobody", false, "the task is paused"); break;
	case RUN_BUSY: answer(r, "waited", true, "the run before it has not ended"); break;
	case RUN_ATTACHED: attached(r); break;
	case RUN_UNATTACHED: unattached(r); break;
	case RUN_REFUSED:
		send(r, &(struct run_answer){
				.kind = RUN_ANSWER_FAILED,
				.why = "the server refuses the ledger: see the sidecar's log"});
		break;
	case RUN_GONE: break;
	case RUN_RECORDED: ended(r, true); break;
	case RUN_UNRECORDED: ended(r, false); break;
	}
	settle(r);
}

static void advance(struct run *r)
{
	struct run_sight sight = sight_of(r);

	perform(r, run_next(&r->state, &sight));
}

/* --- looking at all of them ------------------------------------------------------------------------ */

static void free_over(struct runs *runs)
{
	struct run *next;

	for (struct run *r = runs->list; r; r = next) {
		next = r->next;
		if (r->state.phase != RUN_OVER || r->state.asked != RUN_NOTHING)
			continue;
		if (r->prev)
			r->prev->next = next;
		else
			runs->list = next;
		if (next)
			next->prev = r->prev;
		free(r);
	}
}

static void look_at_all(struct runs *runs)
{
	int64_t first = INT64_MAX, now = host_now_ms(runs->host);

	runs->dirty = false;
	for (struct run *r = runs->list; r; r = r->next)
		advance(r);
	for (struct run *r = runs->list; r; r = r->next) {
		if (r->state.phase == RUN_OVER)
			continue;
		int64_t due = run_due(&r->state, now);
		if (due < first)
			first = due;
		if (r->calls && r->task && r->task->standby.again_ms > now &&
		    r->task->standby.again_ms < first)
			first = r->task->standby.again_ms;
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

void runs_init(struct runs *r, struct host *host, struct leaders *leaders,
	       const struct runs_handlers *handlers,
	       void (*keep)(void *arg, const struct handoff_run *runs, size_t n), void *keep_arg)
{
	memset(r, 0, sizeof(*r));
	r->leaders = leaders;
	r->handlers = *handlers;
	r->keep = keep;
	r->keep_arg = keep_arg;
	r->host = host;
	host_turn_init(&r->turn, host, on_turn, r);
	host_timer_init(&r->due, host, on_due, r);
}

/* --- requests ----------------------------------------------------------------------------------- */

/* In the order in which they came, which is the one in which they are to run. */
static void add(struct runs *runs, struct run *r)
{
	struct run **last = &runs->list;

	for (; *last; last = &(*last)->next)
		r->prev = *last;
	*last = r;
	r->runs = runs;
}

/* A claim that is made again had begun no job, whatever the sidecar before us thought. */
static void forget_inherited(struct runs *runs, const struct task *t, const char *id)
{
	for (struct run *r = runs->list; r; r = r->next) {
		if (r->task != t || r->state.phase != RUN_INHERITED || strcmp(r->uuid, id) != 0)
			continue;
		run_give_up(&r->state);
		settle(r);
	}
}

void runs_claim(struct runs *runs, void *owner, uint32_t request, struct task *t,
		const struct run_options *options)
{
	struct run *r = mem_calloc(1, sizeof(*r));

	if (options->id[0])
		memcpy(r->uuid, options->id, sizeof(r->uuid));
	else
		id_new(runs->host, r->uuid);
	r->owner = owner;
	r->request = request;
	r->pid = options->pid;
	r->id = ++runs->last_id;
	r->task = t;
	snprintf(r->task_name, sizeof(r->task_name), "%s", t->name);
	r->options = *options;
	if (options->tick_ms > 0 &&
	    !tick_name(tick_floor(options->now_ms, options->tick_ms, options->zone_ms), r->tick)) {
		free(r);
		misuse(runs, owner, request, "the clock says a time beyond the year 9999");
		runs->handlers.released(owner);
		return;
	}
	if (options->again && options->id[0])
		forget_inherited(runs, t, r->uuid);
	run_begin(&r->state, host_now_ms(runs->host), options->wait_ms, runs->quiet_ms,
		  r->tick[0] != '\0', options->once, options->again);
	add(runs, r);
	settle(r);
	leaders_refresh(t);
	runs_changed(runs);
}

static struct run *find(const struct runs *runs, const void *owner, uint64_t id)
{
	for (struct run *r = runs->list; r; r = r->next)
		if (r->owner == owner && r->id == id && r->state.phase == RUN_GOING)
			return r;
	return NULL;
}

/* For how many ms the job may go on. */
static int64_t promise(const struct run *r)
{
	return r->task && is_same(r) ? leaders_hold_renew(r->task) : 0;
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
				     .lease_ms = promise(r),
				     .timeout_ms = runs->leaders->session->lease.timeout_ms});
}

void runs_finish(struct runs *runs, void *owner, uint32_t request, uint64_t id, int64_t exit_status,
		 bool interrupted)
{
	struct run *r = find(runs, owner, id);

	if (!r) {
		misuse(runs, owner, request, "no such run on this connection");
		return;
	}
	r->request = request;
	finish(r, interrupted ? "lost" : exit_status == 0 ? "ok" : "failed", exit_status);
}

void runs_attach(struct runs *runs, void *owner, uint32_t request, const struct task *t,
		 const char *id, int64_t pid)
{
	struct run *r = runs->list;

	while (r && (r->task != t || r->owner || strcmp(r->uuid, id) != 0 ||
		     (r->state.phase != RUN_INHERITED && r->state.phase != RUN_DYING)))
		r = r->next;
	if (!r) {
		misuse(runs, owner, request, "no such run");
		runs->handlers.released(owner);
		return;
	}
	r->owner = owner;
	r->request = request;
	r->pid = pid;
	perform(r, run_attach(&r->state));
	runs_changed(runs);
}

/* --- what happens elsewhere ------------------------------------------------------------------------ */

size_t runs_going(const struct runs *runs, bool log)
{
	int64_t now_ms = host_now_ms(runs->host);
	size_t n = 0;

	for (const struct run *r = runs->list; r; r = r->next) {
		if (!run_is_alive(&r->state, now_ms))
			continue;
		n++;
		if (log)
			log_info("waiting for a job", LOG_STR("task", r->task_name),
				 LOG_STR("tick", r->tick),
				 LOG_STR("supervisor", r->owner ? NULL : "gone"));
	}
	return n;
}

size_t runs_open(const struct runs *runs)
{
	size_t n = 0;

	for (const struct run *r = runs->list; r; r = r->next)
		n += run_is_open(&r->state);
	return n;
}

bool runs_hold(const struct runs *runs, const struct task *t)
{
	for (const struct run *r = runs->list; r; r = r->next)
		if (r->task == t && r->holds)
			return true;
	return false;
}

static void inherit(struct runs *runs, const struct handoff_run *h, int64_t until_ms)
{
	struct run *r = mem_calloc(1, sizeof(*r));

	r->id = ++runs->last_id;
	r->record.token = h->token;
	r->task = tasks_find(runs->leaders, h->task, strlen(h->task));
	r->kept = true;
	memcpy(r->task_name, h->task, sizeof(r->task_name));
	memcpy(r->tick, h->tick, sizeof(r->tick));
	memcpy(r->uuid, h->id, sizeof(r->uuid));
	run_inherit(&r->state, until_ms, r->tick[0] != '\0');
	add(runs, r);
	settle(r);
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
	runs_changed(runs);
}

void runs_revoke(struct runs *runs)
{
	runs->revoked = true;
}

void runs_owner_gone(struct runs *runs, const void *owner)
{
	for (struct run *r = runs->list; r; r = r->next) {
		if (r->owner != owner)
			continue;
		release(r);
		/* The guard ends the job, at the latest when the lease is over that it knew of. */
		if (r->state.phase == RUN_GOING)
			log_warning("the supervisor of a run is gone",
				    LOG_STR("task", r->task_name), LOG_STR("tick", r->tick));
		run_caller_gone(&r->state, host_now_ms(runs->host),
				session_told_left(runs->leaders->session));
		settle(r);
	}
	runs_changed(runs);
}

void runs_task_removed(struct runs *runs, const struct task *t)
{
	for (struct run *r = runs->list; r; r = r->next) {
		if (r->task != t)
			continue;
		r->task = NULL;
		r->holds = r->calls = r->dying = false;
		if (r->state.phase != RUN_WAITING)
			continue;
		if (r->owner)
			misuse(runs, r->owner, r->request, "the task has been removed");
		run_give_up(&r->state);
		settle(r);
	}
	runs_changed(runs);
}

void runs_expired(struct runs *runs)
{
	for (struct run *r = runs->list; r; r = r->next) {
		run_expired(&r->state);
		settle(r);
	}
	runs_changed(runs);
}

void runs_watch(struct runs *runs, enum store_watch type, const char *path)
{
	char own[STORE_PATH_MAX];

	for (struct run *r = runs->list; r; r = r->next) {
		if (!r->tick[0])
			continue;
		path_of_tick(runs->leaders->session->settings, r->task_name, r->tick, own);
		if (strcmp(path, own) != 0)
			continue;
		struct run_sight sight = sight_of(r);
		run_fired(&r->state, &sight, type == STORE_NODE_CREATED);
		settle(r);
	}
	runs_changed(runs);
}

void runs_done(struct runs *runs)
{
	host_turn_done(&runs->turn);
	host_timer_done(&runs->due);
	while (runs->list) {
		struct run *r = runs->list;
		runs->list = r->next;
		free(r);
	}
}
