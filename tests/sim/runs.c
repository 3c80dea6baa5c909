/* As src/node/runs.c and ledger.c: what the core says of runs, done over the simulated client library. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "oracle.h"
#include "ticks.h"

static uint64_t last_id;

static void perform(struct sidecar *s, struct sim_run *r, enum run_action action);

void runs_reset(struct sidecar *s)
{
	if (!s->runs) {
		s->runs = mem_calloc(RUNS_MAX, sizeof(*s->runs));
		s->ledgers = mem_calloc(TASKS_MAX, sizeof(*s->ledgers));
	}
	memset(s->ledgers, 0, TASKS_MAX * sizeof(*s->ledgers));
	memset(s->holds, 0, sizeof(s->holds));
	s->n_runs = 0;
	s->runs_dirty = false;
}

void runs_changed(struct sidecar *s)
{
	s->runs_dirty = true;
}

struct sim_run *runs_find(struct sidecar *s, uint64_t id)
{
	for (size_t i = 0; i < s->n_runs; i++)
		if (s->runs[i].used && s->runs[i].id == id)
			return &s->runs[i];
	return NULL;
}

/* --- what it does elsewhere ------------------------------------------------------------------------------ */

static void settle(struct sidecar *s, struct sim_run *r)
{
	bool holds = run_holds(&r->state);

	if (holds != r->holds) {
		r->holds = holds;
		leaders_hold(s, r->task, holds, sidecar_ms(s) + tick_hold_max_ms);
	}
	if (r->state.calls != r->calls) {
		r->calls = r->state.calls;
		ticks_prefer(s, r->task, r->calls);
	}
}

static bool is_dying(const struct sidecar *s, unsigned task)
{
	for (size_t i = 0; i < s->n_runs; i++)
		if (s->runs[i].used && s->runs[i].task == task &&
		    (s->runs[i].state.phase == RUN_DYING ||
		     s->runs[i].state.phase == RUN_INHERITED))
			return true;
	return false;
}

static bool is_busy(const struct sidecar *s, const struct sim_run *r)
{
	for (size_t i = 0; i < s->n_runs; i++)
		if (s->runs[i].used && &s->runs[i] != r && s->runs[i].task == r->task &&
		    run_holds(&s->runs[i].state))
			return true;
	return false;
}

static struct run_sight sight_of(const struct sidecar *s, const struct sim_run *r)
{
	const struct election *e = &s->tasks[r->task].election;
	struct run_sight sight = {.now_ms = sidecar_ms(s), .up = s->state == SESSION_UP};

	sight.leads = election_leads(e) && session_lease_left(s) > 0 && e->view.candidate;
	sight.dying = is_dying(s, r->task);
	sight.busy = sim.options.plant != PLANT_OVERLAP && is_busy(s, r);
	sight.hold_max_ms = tick_hold_max_ms;
	sight.elsewhere = e->node.known && e->node.exists && !e->node.mine;
	sight.same = sight.leads && e->node.token == r->record.token;
	sight.drained = s->drained >> s->id & 1;
	sight.rerun = task_reruns[r->task];
	sight.token = e->node.token;
	if (r->state.seen.running && sim.options.plant != PLANT_EARLY_TAKE_OVER)
		sight.runner_lives = !registry_settled(s) ||
				     fleet_find_session(&s->fleet, r->state.seen.session) != NULL;
	return sight;
}

/* --- the ledger ------------------------------------------------------------------------------------------- */

static void send(struct sidecar *s, const struct sim_run *r, struct request *q, enum ask what)
{
	q->target = r->task;
	q->tick = r->tick;
	q->run = r->id;
	ask(s, q, what);
}

static void fill_record(const struct sidecar *s, struct sim_run *r, int32_t attempt)
{
	r->era = ticks_era;
	r->record = (struct tick_record){.state = TICK_RUNNING,
					 .attempt = attempt,
					 .run = r->id,
					 .session = s->session,
					 .token = s->tasks[r->task].election.node.token};
}

static void answer(struct sidecar *s, struct sim_run *r, enum ledger_result result,
		   const struct tick_node *node)
{
	struct run_sight sight = sight_of(s, r);
	struct run_seen seen = {0};
	bool claims = r->state.asked == RUN_CLAIM || r->state.asked == RUN_TAKE_OVER ||
		      r->state.asked == RUN_CLAIM_ANEW;

	if (node) {
		const struct tick_record *record = &node->record;
		seen = (struct run_seen){.readable = true,
					 .ours = record->run == r->id,
					 .running = record->state == TICK_RUNNING,
					 .lost = record->state == TICK_LOST,
					 .ended = record->state == r->record.state,
					 .session = record->session,
					 .token = record->token,
					 .attempt = record->attempt};
		if (r->state.asked == RUN_LOOK || r->state.asked == RUN_LOOK_INHERITED ||
		    r->state.asked == RUN_LOOK_ATTACHED)
			r->record = *record;
	}
	if (claims && result == LEDGER_DONE)
		ticks_claimed(s, r);
	if (claims && result == LEDGER_UNKNOWN && sim.options.plant == PLANT_TRUST_UNKNOWN)
		result = LEDGER_DONE;
	perform(s, r,
		run_answered(&r->state, &sight, result, node ? &seen : NULL,
			     node ? node->version : 0));
	runs_changed(s);
}

static bool is_claimed(const struct sim_run *r)
{
	char names[TICKS_KEPT][TICK_NAME_SIZE], tick[TICK_NAME_SIZE], floor[TICK_NAME_SIZE] = "";

	tick_name(r->tick * (tick_us / MS), tick);
	if (r->floor > 0)
		tick_name(r->floor * (tick_us / MS), floor);
	for (size_t i = 0; i < r->n_names; i++)
		tick_name(r->names[i] * (tick_us / MS), names[i]);
	return tick_place(tick, floor, names, r->n_names, TICK_NO_LIMIT) != TICK_FREE;
}

static void give_back(struct sidecar *s, const struct sim_run *r)
{
	const struct election *e = &s->tasks[r->task].election;
	struct ledger_cache *c = &s->ledgers[r->task];

	if (!election_leads(e) || e->node.token != r->record.token)
		return;
	c->known = true;
	c->token = r->record.token;
	c->version = r->ledger_version;
	c->floor = r->floor;
	c->n = r->n_names;
	memcpy(c->names, r->names, r->n_names * sizeof(c->names[0]));
}

/* One transaction: the tick is claimed, and those that are too old go. */
static void send_claim(struct sidecar *s, struct sim_run *r)
{
	struct request q = {.type = REQUEST_MULTI};
	size_t at = r->n_names++;

	q.ops[q.n_ops++] = (struct op){OP_CHECK_WORKER, s->registration, -1};
	q.ops[q.n_ops++] = (struct op){OP_CHECK_LEADER, r->task, -1};
	q.ops[q.n_ops++] = (struct op){OP_CLAIM_TICK, r->task, r->ledger_version};
	for (; at > 0 && r->names[at - 1] > r->tick; at--)
		r->names[at] = r->names[at - 1];
	r->names[at] = r->tick;
	q.ledger = (struct ledger_write){.tick = r->tick, .record = r->record};
	size_t gone = r->n_names > tick_history ? r->n_names - tick_history : 0;
	if (gone > at)
		gone = at;
	if (gone > 0) {
		r->n_names -= gone;
		memmove(r->names, r->names + gone, r->n_names * sizeof(r->names[0]));
		r->floor = q.ledger.floor = r->names[0];
		r->ledger_version++;
	}
	send(s, r, &q, ASK_TICK_CLAIM);
}

static void claim_known(struct sidecar *s, struct sim_run *r)
{
	if (is_claimed(r)) {
		give_back(s, r);
		answer(s, r, LEDGER_PRESENT, NULL);
	} else {
		send_claim(s, r);
	}
}

static void claim(struct sidecar *s, struct sim_run *r)
{
	struct ledger_cache *c = &s->ledgers[r->task];
	struct request q = {.type = REQUEST_LEDGER};

	fill_record(s, r, 1);
	if (!c->known || c->token != r->record.token) {
		c->known = false;
		send(s, r, &q, ASK_LEDGER);
		return;
	}
	/* Taken along, so that nothing is left of it if this does not work out. */
	c->known = false;
	r->ledger_version = c->version;
	r->floor = c->floor;
	r->n_names = c->n;
	memcpy(r->names, c->names, c->n * sizeof(c->names[0]));
	claim_known(s, r);
}

static void write_record(struct sidecar *s, struct sim_run *r, bool must_lead)
{
	struct request q = {.type = REQUEST_MULTI};

	q.ops[q.n_ops++] = (struct op){OP_SET_TICK, r->task, r->state.version};
	if (must_lead) {
		q.ops[q.n_ops++] = (struct op){OP_CHECK_WORKER, s->registration, -1};
		q.ops[q.n_ops++] = (struct op){OP_CHECK_LEADER, r->task, -1};
	}
	q.ledger = (struct ledger_write){.tick = r->tick, .record = r->record};
	send(s, r, &q, ASK_TICK_WRITE);
}

static void look(struct sidecar *s, const struct sim_run *r)
{
	struct request q = {.type = REQUEST_TICK, .watch = true};

	send(s, r, &q, ASK_TICK);
}

static enum ledger_result result_of(const struct item *item)
{
	switch (item->reply.code) {
	case CODE_OK: return LEDGER_DONE;
	case CODE_NO_NODE:
	case CODE_EXISTS:
	case CODE_BAD_VERSION: return LEDGER_AGAIN;
	case CODE_UNKNOWN:
	case CODE_MOVED: break;
	}
	return LEDGER_UNKNOWN;
}

static void on_names(struct sidecar *s, struct sim_run *r, const struct reply *reply)
{
	r->n_names = 0;
	for (size_t i = 0; i < reply->n_list && i < TICKS_KEPT - 1; i++)
		r->names[r->n_names++] = reply->list[i];
	claim_known(s, r);
}

void runs_reply(struct sidecar *s, const struct item *item)
{
	struct sim_run *r = runs_find(s, item->asked.request.run);
	const struct reply *reply = &item->reply;
	struct request q = {.type = REQUEST_TICKS};

	if (!r)
		return;
	switch (item->asked.what) {
	case ASK_TICK:
		if (reply->code == CODE_OK || reply->code == CODE_NO_NODE)
			answer(s, r, reply->code == CODE_OK ? LEDGER_PRESENT : LEDGER_ABSENT,
			       reply->code == CODE_OK ? &reply->tick : NULL);
		else
			answer(s, r, LEDGER_UNKNOWN, NULL);
		break;
	case ASK_LEDGER:
		if (reply->code != CODE_OK) {
			answer(s, r, LEDGER_UNKNOWN, NULL);
			break;
		}
		r->ledger_version = reply->ledger_version;
		r->floor = reply->ledger_floor;
		send(s, r, &q, ASK_LEDGER_NAMES);
		break;
	case ASK_LEDGER_NAMES:
		if (reply->code == CODE_OK)
			on_names(s, r, reply);
		else
			answer(s, r, LEDGER_UNKNOWN, NULL);
		break;
	case ASK_TICK_CLAIM:
		if (reply->code == CODE_OK) {
			session_confirmed(s, item->asked.sent_ms);
			give_back(s, r);
		} else if (reply->code == CODE_NO_NODE && reply->failed_op == 0) {
			session_confirm(s);
		}
		answer(s, r, result_of(item), NULL);
		break;
	default: answer(s, r, result_of(item), NULL);
	}
}

/* --- what comes of it --------------------------------------------------------------------------------------- */

static void finish(struct sidecar *s, struct sim_run *r, enum tick_state state)
{
	r->record.state = state;
	perform(s, r, run_finish(&r->state, sidecar_ms(s)));
	runs_changed(s);
}

static void perform(struct sidecar *s, struct sim_run *r, enum run_action action)
{
	switch (action) {
	case RUN_LOOK:
	case RUN_LOOK_INHERITED:
	case RUN_LOOK_ATTACHED:
	case RUN_LOOK_END: look(s, r); break;
	case RUN_CLAIM: claim(s, r); break;
	case RUN_CLAIM_ANEW:
		fill_record(s, r, (int32_t)r->state.seen.attempt);
		write_record(s, r, true);
		break;
	case RUN_TAKE_OVER:
		fill_record(s, r, (int32_t)r->state.seen.attempt + 1);
		write_record(s, r, true);
		break;
	case RUN_WRITE_END: write_record(s, r, false); break;
	case RUN_START:
		settle(s, r);
		ticks_begin(s, r);
		break;
	case RUN_SPENT:
	case RUN_LOST: finish(s, r, TICK_LOST); break;
	case RUN_ATTACHED: sim.figures.attached++; break;
	case RUN_WAITED: ticks_waited(s, r); break;
	case RUN_RECORDED: ticks_recorded(r); break;
	case RUN_NOTHING:
	case RUN_TAKEN:
	case RUN_PAUSED:
	case RUN_BUSY:
	case RUN_UNATTACHED:
	case RUN_OLDER:
	case RUN_OFF:
	case RUN_EARLY:
	case RUN_REFUSED:
	case RUN_GONE:
	case RUN_UNRECORDED: break;
	}
	settle(s, r);
}

static void look_at_all(struct sidecar *s)
{
	int64_t now = sidecar_ms(s), first = INT64_MAX;

	s->runs_dirty = false;
	for (size_t i = 0; i < s->n_runs; i++) {
		struct sim_run *r = &s->runs[i];
		if (!r->used)
			continue;
		struct run_sight sight = sight_of(s, r);
		ticks_look(s, r, &sight);
		perform(s, r, run_next(&r->state, &sight));
		if (r->state.phase == RUN_OVER && r->state.asked == RUN_NOTHING)
			r->used = false;
	}
	for (size_t i = 0; i < s->n_runs; i++) {
		int64_t due = s->runs[i].used ? run_due(&s->runs[i].state, now) : INT64_MAX;
		if (due < first)
			first = due;
	}
	while (s->n_runs > 0 && !s->runs[s->n_runs - 1].used)
		s->n_runs--;
	if (first != INT64_MAX)
		timer_start(s, TIMER_RUNS, first - now);
}

void runs_settle(struct sidecar *s)
{
	for (int i = 0; s->runs_dirty && s->running && i < 100; i++)
		look_at_all(s);
}

void runs_timer(struct sidecar *s)
{
	runs_changed(s);
}

/* --- from outside -------------------------------------------------------------------------------------------- */

static struct sim_run *add(struct sidecar *s, uint64_t id, unsigned task, uint32_t tick)
{
	size_t at = 0;

	while (at < s->n_runs && s->runs[at].used)
		at++;
	assert(at < RUNS_MAX);
	if (at == s->n_runs)
		s->n_runs++;
	s->runs[at] = (struct sim_run){.used = true, .id = id, .task = task, .tick = tick};
	return &s->runs[at];
}

void runs_inherit(struct sidecar *s, const struct kept_job *job)
{
	struct sim_run *r = add(s, job->run, job->task, job->tick);

	r->record.token = job->token;
	r->era = job->era;
	run_inherit(&r->state, sidecar_ms(s) + sim.timeout_ms, true);
	settle(s, r);
	runs_changed(s);
}

void runs_attach(struct sidecar *s, struct sim_run *r)
{
	if (!r->state.caller && (r->state.phase == RUN_INHERITED || r->state.phase == RUN_DYING)) {
		perform(s, r, run_attach(&r->state));
		runs_changed(s);
	}
}

void runs_begin(struct sidecar *s, unsigned task, uint32_t tick)
{
	struct sim_run *r = add(s, ++last_id, task, tick);

	run_begin(&r->state, sidecar_ms(s), tick_wait_ms, 0, true, false, false);
	runs_changed(s);
}

int64_t runs_renew(struct sidecar *s, struct sim_run *r)
{
	struct election *e = &s->tasks[r->task].election;

	if (!election_leads(e) || e->node.token != r->record.token)
		return 0;
	return leaders_hold_renew(s, r->task);
}

void runs_finish(struct sidecar *s, struct sim_run *r, enum tick_state state)
{
	if (r->state.phase == RUN_GOING)
		finish(s, r, state);
	runs_settle(s);
}

void runs_caller_gone(struct sidecar *s, struct sim_run *r)
{
	run_caller_gone(&r->state, sidecar_ms(s), session_lease_left(s));
	settle(s, r);
	runs_changed(s);
	runs_settle(s);
}

void runs_watch(struct sidecar *s, unsigned task, uint32_t tick, enum watch_type type)
{
	for (size_t i = 0; i < s->n_runs; i++) {
		struct sim_run *r = &s->runs[i];
		if (!r->used || r->task != task || r->tick != tick)
			continue;
		struct run_sight sight = sight_of(s, r);
		run_fired(&r->state, &sight, type == WATCH_CREATED);
	}
	runs_changed(s);
}

/* The library is closed next: what was asked is answered by nobody, and so unknown. */
void runs_expired(struct sidecar *s)
{
	for (size_t i = 0; i < s->n_runs; i++) {
		if (!s->runs[i].used)
			continue;
		run_expired(&s->runs[i].state);
		if (s->runs[i].state.asked != RUN_NOTHING)
			answer(s, &s->runs[i], LEDGER_UNKNOWN, NULL);
	}
	runs_changed(s);
}
