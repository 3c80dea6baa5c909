/* As src/node/leaders.c: events to the elections' step function, and its actions back. */
#include "oracle.h"
#include "scenario.h"
#include "ticks.h"

#include <assert.h>
#include <string.h>

#define AUDIT_MS 60000

const char *task_names[TASKS_MAX];
struct election_config task_configs[TASKS_MAX];
const char *task_minimum[TASKS_MAX];

struct contest task_contest(unsigned task)
{
	return (struct contest){.task = task_names[task],
				.min_version = task_minimum[task],
				.rank_position = task % 4 == 3 ? 2 : -1};
}

static void schedule(struct sidecar *s, int64_t due)
{
	int64_t now = sidecar_ms(s);

	if (due >= s->next_due)
		return;
	s->next_due = due;
	timer_start(s, TIMER_DUE, due > now ? due - now : 0);
}

/* --- what goes out --------------------------------------------------------------------------------------- */

/*
 * How many reads are on their way at a time. In the sidecar it is 200, more than there are tasks here; in a
 * storm it is so few that they do wait for each other.
 */
static unsigned reads_at_a_time(const struct sidecar *s)
{
	return scenario_is_storm() && s->id % 4 < 3 ? 1 + s->id % 4 : READS_MAX;
}

static void send_reads(struct sidecar *s)
{
	while (s->n_reads > 0 && s->reads_flying < reads_at_a_time(s)) {
		struct request q = {.type = REQUEST_GET, .target = s->reads[0], .watch = true};
		s->n_reads--;
		memmove(s->reads, s->reads + 1, s->n_reads * sizeof(s->reads[0]));
		s->reads_flying++;
		ask(s, &q, ASK_NODE);
	}
}

static void read_node(struct sidecar *s, unsigned task)
{
	assert(s->n_reads < READS_MAX);
	s->reads[s->n_reads++] = task;
	send_reads(s);
}

static void ask_exists(struct sidecar *s, unsigned task)
{
	struct request q = {.type = REQUEST_EXISTS, .target = task, .watch = true};

	ask(s, &q, ASK_NODE_EXISTS);
}

static void claim(struct sidecar *s, unsigned task)
{
	/* A registration that is on its way comes before it. */
	uint32_t self = s->attempt ? s->attempt : s->registration;
	struct request q = {.type = REQUEST_MULTI,
			    .target = task,
			    .ops = {{OP_CHECK_WORKER, self, -1}, {OP_CREATE_LEADER, task, -1}},
			    .n_ops = 2};

	oracle_claims(s, task);
	ask(s, &q, ASK_CLAIM);
	read_node(s, task);
}

static void release(struct sidecar *s, unsigned task, const struct election_action *a)
{
	struct request q = {.type = REQUEST_MULTI, .target = task};

	if (a->to)
		q.heir = s->tasks[task].best;
	if (a->to && sim.options.plant != PLANT_BLIND_RELEASE)
		q.ops[q.n_ops++] = (struct op){OP_CHECK_WORKER, s->tasks[task].best, -1};
	q.ops[q.n_ops++] = (struct op){OP_SET_LEADER, task, a->version};
	q.ops[q.n_ops++] = (struct op){OP_DELETE_LEADER, task, a->version + 1};
	ask(s, &q, ASK_RELEASE);
	fault_at_release(s);
}

static void tell(struct sidecar *s, unsigned task, enum election_state from, enum election_state to,
		 const char *reason)
{
	bool led = from == ELECTION_LEADING, leads = to == ELECTION_LEADING;

	TRACE("sidecar %u task %u: %s -> %s: %s, token %lld", s->id, task,
	      election_state_name(from), election_state_name(to), reason,
	      (long long)s->tasks[task].election.node.token);
	if (led == leads)
		return;
	if (leads)
		s->n_leading++;
	else
		s->n_leading--;
	session_set_leading(s, s->n_leading > 0);
}

static void perform(struct sidecar *s, unsigned task, const struct election_actions *actions)
{
	for (size_t i = 0; i < actions->n; i++) {
		const struct election_action *a = &actions->list[i];
		switch (a->type) {
		case ELECTION_CLAIM: claim(s, task); break;
		case ELECTION_RELEASE: release(s, task, a); break;
		case ELECTION_READ: read_node(s, task); break;
		case ELECTION_TELL: {
			enum election_state to = s->tasks[task].election.state;
			for (size_t j = i + 1; j < actions->n; j++) {
				if (actions->list[j].type == ELECTION_TELL) {
					to = actions->list[j].from;
					break;
				}
			}
			tell(s, task, a->from, to, a->reason);
			break;
		}
		}
	}
}

/* --- steps ------------------------------------------------------------------------------------------------ */

static int64_t owner_timeout(const struct sidecar *s, const struct election *e,
			     const struct election_event *event)
{
	bool read = event->type == ELECTION_NODE && event->node.exists;
	int64_t session = read ? event->node.owner : e->node.owner;
	const struct member *owner = session ? fleet_find_session(&s->fleet, session) : NULL;

	return owner ? owner->worker->timeout_ms : 0;
}

static void step(struct sidecar *s, unsigned task, struct election_event event)
{
	struct election *e = &s->tasks[task].election;
	struct election_actions actions;

	event.now = sidecar_time(s);
	if (event.type == ELECTION_VIEW || event.type == ELECTION_WATCH ||
	    event.type == ELECTION_NODE)
		event.owner_ms = owner_timeout(s, e, &event);
	event.owner_unsure = !registry_settled(s);
	if (sim.options.plant == PLANT_NO_WAIT && event.type == ELECTION_WATCH &&
	    event.watch == ELECTION_DELETED)
		event.watch = ELECTION_CHANGED;
	election_step(e, &event, &actions);
	oracle_role(s, task);
	perform(s, task, &actions);
	schedule(s, election_deadline(e, event.now));
	if (actions.n > 0 || event.type == ELECTION_NODE || event.type == ELECTION_WATCH ||
	    event.type == ELECTION_CUT || event.type == ELECTION_UP ||
	    event.type == ELECTION_NODE_FAILED)
		runs_changed(s);
	if (s->tasks[task].recovers && e->node.known) {
		s->tasks[task].recovers = false;
		step(s, task, (struct election_event){.type = ELECTION_INTEREST, .on = false});
	}
}

static void step_all(struct sidecar *s, struct election_event event)
{
	for (unsigned k = 0; k < sim.n_tasks; k++)
		step(s, k, event);
}

/* --- what comes back --------------------------------------------------------------------------------------- */

static void on_node(struct sidecar *s, const struct item *item)
{
	const struct reply *reply = &item->reply;
	unsigned task = item->asked.request.target;
	bool exists = item->asked.what == ASK_NODE_EXISTS;
	const struct election *election = &s->tasks[task].election;

	if (!exists)
		s->reads_flying--;
	if (reply->code == CODE_OK && exists) {
		read_node(s, task);
	} else if (reply->code == CODE_OK) {
		int64_t owner = reply->node.owner == HAND ? 0 : reply->node.owner;
		step(s, task,
		     (struct election_event){.type = ELECTION_NODE,
					     .node = {.known = true,
						      .exists = true,
						      .mine = owner != 0 && owner == s->session,
						      .owner = owner,
						      .token = reply->node.czxid,
						      .version = reply->node.version}});
	} else if (reply->code == CODE_NO_NODE && !exists &&
		   election->state == ELECTION_FOLLOWING && election->view.candidate &&
		   election->view.place == 0) {
		/* It is claimed at once, as a rule: a watch can wait. */
		step(s, task,
		     (struct election_event){
			     .type = ELECTION_NODE, .node = {.known = true}, .unwatched = true});
	} else if (reply->code == CODE_NO_NODE && !exists) {
		ask_exists(s, task);
	} else if (reply->code == CODE_NO_NODE) {
		step(s, task,
		     (struct election_event){.type = ELECTION_NODE, .node = {.known = true}});
	} else {
		step(s, task, (struct election_event){.type = ELECTION_NODE_FAILED});
	}
	send_reads(s);
}

static enum election_outcome outcome_of(const struct reply *reply)
{
	if (reply->code == CODE_OK)
		return ELECTION_DONE;
	return reply->code == CODE_UNKNOWN ? ELECTION_UNKNOWN : ELECTION_REFUSED;
}

static void on_claim(struct sidecar *s, const struct item *item)
{
	const struct reply *reply = &item->reply;

	if (reply->code == CODE_OK)
		session_confirmed(s, item->asked.sent_ms);
	else if (reply->code == CODE_NO_NODE && reply->failed_op == 0)
		session_confirm(s);
	step(s, item->asked.request.target,
	     (struct election_event){.type = ELECTION_CLAIMED,
				     .outcome = outcome_of(reply),
				     .token = reply->code == CODE_OK ? reply->zxid : 0,
				     .owner = s->session});
}

static void refresh(struct sidecar *s, unsigned k)
{
	if (s->tasks[k].recovers)
		return;
	step(s, k, (struct election_event){.type = ELECTION_INTEREST, .on = true});
	step(s, k, (struct election_event){.type = ELECTION_INTEREST, .on = false});
}

/* What the process before us led is ours: the nodes are of our session. */
void leaders_recover(struct sidecar *s)
{
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		s->tasks[k].recovers = true;
		step(s, k, (struct election_event){.type = ELECTION_INTEREST, .on = true});
	}
}

/* Nobody who watches may act: whoever finds the node missing twice looks for himself. */
static void on_audit(struct sidecar *s, const struct reply *reply)
{
	if (reply->code != CODE_OK)
		return;
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		struct task *t = &s->tasks[k];
		const struct election *e = &t->election;
		bool there = reply->leaders >> k & 1;
		bool fresh = election_leads(e) ||
			     (e->up && e->node.known && e->watched && e->reads == 0);
		if (!there && t->missing && e->state == ELECTION_FOLLOWING && !fresh)
			refresh(s, k);
		t->missing = !there;
	}
}

void leaders_reply(struct sidecar *s, const struct item *item)
{
	unsigned what = item->asked.what;

	if (what == ASK_CLAIM)
		on_claim(s, item);
	else if (what == ASK_RELEASE)
		step(s, item->asked.request.target,
		     (struct election_event){.type = ELECTION_RELEASED,
					     .outcome = outcome_of(&item->reply)});
	else if (what == ASK_AUDIT)
		on_audit(s, &item->reply);
	else
		on_node(s, item);
}

void leaders_watch(struct sidecar *s, unsigned task, enum watch_type type)
{
	static const enum election_watch types[] = {[WATCH_CREATED] = ELECTION_CREATED,
						    [WATCH_CHANGED] = ELECTION_CHANGED,
						    [WATCH_DELETED] = ELECTION_DELETED};

	step(s, task, (struct election_event){.type = ELECTION_WATCH, .watch = types[type]});
}

/* --- views and the rest -------------------------------------------------------------------------------------- */

/* Where a candidate stands by for a run that was lost, the others lead only if it cannot. */
static void prefer_standbys(struct sidecar *s, unsigned task, const struct contest *contest)
{
	struct fleet *f = &s->fleet;
	bool there = false;

	if (!s->preferred[task])
		return;
	for (size_t i = 0; i < f->n_members; i++) {
		const struct worker *w = f->by_id[i]->worker;
		there |= (s->preferred[task] >> records[w->started_at].sidecar & 1) &&
			 fleet_why(f, contest, task, w->id) == WHY_BEST;
	}
	for (size_t i = 0; there && i < f->n_members; i++) {
		unsigned sidecar = records[f->by_id[i]->worker->started_at].sidecar;
		if (!(s->preferred[task] >> sidecar & 1))
			fleet_resign(f, f->by_id[i], task);
	}
}

/* What has been decided of members is set anew at each look, so a tally is good only where nothing is. */
static bool is_decided(const struct sidecar *s, unsigned task)
{
	return s->drained != 0 || s->preferred[task] != 0;
}

void leaders_joined(struct sidecar *s, const struct member *m)
{
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		struct contest contest = task_contest(k);
		if (is_decided(s, k) || s->tasks[k].decided)
			tally_forget(&s->tasks[k].tally);
		else
			tally_joined(&s->tasks[k].tally, &s->fleet, &contest, k, m);
	}
}

void leaders_left(struct sidecar *s, const struct member *m)
{
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		struct contest contest = task_contest(k);
		if (is_decided(s, k) || s->tasks[k].decided)
			tally_forget(&s->tasks[k].tally);
		else
			tally_left(&s->tasks[k].tally, &s->fleet, &contest, k, m);
	}
}

/* As the sidecar does it, who looks only at who has come or gone; it has to be what the whole fleet says. */
static struct standing stand(struct sidecar *s, unsigned task, const struct contest *contest)
{
	struct task *t = &s->tasks[task];
	const char *self = s->self ? records[s->self].id : "";

	if (is_decided(s, task) || t->decided)
		tally_forget(&t->tally);
	t->decided = is_decided(s, task);
	struct standing whole = fleet_stand(&s->fleet, contest, task, self);
	struct standing kept = tally_stand(&t->tally, &s->fleet, contest, task,
					   s->self ? fleet_find(&s->fleet, self) : NULL);
	if (kept.best != whole.best || kept.self_candidate != whole.self_candidate ||
	    kept.place != whole.place || kept.best_is_newer != whole.best_is_newer)
		sim_violation("task %u: sidecar %u has another tally than the fleet", task, s->id);
	return kept;
}

static void view(struct sidecar *s, unsigned task)
{
	struct election_event event = {.type = ELECTION_VIEW};
	struct contest contest = task_contest(task);

	fleet_clear_decisions(&s->fleet);
	for (size_t i = 0; i < s->fleet.n_members; i++) {
		struct member *m = s->fleet.by_id[i];
		m->drained = s->drained >> records[m->worker->started_at].sidecar & 1;
	}
	prefer_standbys(s, task, &contest);
	struct standing standing = stand(s, task, &contest);
	event.view.candidate = s->ready && standing.self_candidate && (s->tasks_mask >> task & 1);
	event.view.newer = standing.best_is_newer;
	event.view.place = standing.place > UINT32_MAX ? UINT32_MAX : (uint32_t)standing.place;
	if (sim.options.plant == PLANT_HERD && event.view.candidate)
		event.view.place = 0;
	s->tasks[task].best = 0;
	if (standing.best && standing.best != standing.self) {
		event.view.best = standing.best->serial;
		event.view.best_seen_ms = standing.best->seen_ms;
		event.view.best_returned = standing.best->worker->returned;
		s->tasks[task].best = (uint32_t)standing.best->worker->started_at;
	}
	step(s, task, event);
}

void leaders_fleet_changed(struct sidecar *s)
{
	for (unsigned k = 0; k < sim.n_tasks; k++)
		view(s, k);
	runs_changed(s);
}

void leaders_init(struct sidecar *s)
{
	s->next_due = ELECTION_NEVER;
	s->n_reads = s->reads_flying = 0;
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		memset(&s->tasks[k], 0, sizeof(s->tasks[k]));
		election_init(&s->tasks[k].election, &task_configs[k]);
	}
	timer_start(s, TIMER_AUDIT, random_range(0, AUDIT_MS));
}

void leaders_hold(struct sidecar *s, unsigned task, bool on, int64_t until_ms)
{
	struct election *e = &s->tasks[task].election;

	if (on)
		s->holds[task]++;
	else
		s->holds[task]--;
	step(s, task,
	     (struct election_event){.type = ELECTION_HOLD,
				     .on = s->holds[task] > 0,
				     .hold_until_ms = on ? until_ms : e->hold_until_ms});
}

int64_t leaders_hold_renew(struct sidecar *s, unsigned task)
{
	struct election *e = &s->tasks[task].election;
	struct election_time now = sidecar_time(s);
	int64_t left = election_leads(e) ? session_lease_left(s) : 0, at;
	const char *reason;

	if (election_yield_at(e, now, &at, &reason) && at - now.boot_ms < left)
		left = at > now.boot_ms ? at - now.boot_ms : 0;
	if (left > 0 && s->holds[task] > 0 && now.boot_ms + left > e->hold_until_ms)
		step(s, task,
		     (struct election_event){.type = ELECTION_HOLD,
					     .on = true,
					     .hold_until_ms = now.boot_ms + left});
	return left;
}

void leaders_configure(struct sidecar *s, unsigned task)
{
	step(s, task,
	     (struct election_event){.type = ELECTION_CONFIG, .config = task_configs[task]});
	view(s, task);
}

void leaders_up(struct sidecar *s)
{
	step_all(s, (struct election_event){.type = ELECTION_UP,
					    .up_timeout_ms = s->lease.timeout_ms});
}

void leaders_cut(struct sidecar *s)
{
	step_all(s, (struct election_event){.type = ELECTION_CUT});
}

void leaders_expired(struct sidecar *s)
{
	s->n_reads = s->reads_flying = 0;
	step_all(s, (struct election_event){.type = ELECTION_EXPIRED});
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		s->tasks[k].recovers = false;
		step(s, k, (struct election_event){.type = ELECTION_INTEREST, .on = false});
	}
}

static void on_due(struct sidecar *s)
{
	struct election_time now = sidecar_time(s);

	s->next_due = ELECTION_NEVER;
	for (unsigned k = 0; k < sim.n_tasks; k++) {
		int64_t due = election_deadline(&s->tasks[k].election, now);
		if (due <= now.boot_ms)
			step(s, k, (struct election_event){.type = ELECTION_DEADLINE});
		else
			schedule(s, due);
	}
}

void leaders_timer(struct sidecar *s, enum timer timer)
{
	struct request q = {.type = REQUEST_LEADERS};

	if (timer == TIMER_DUE) {
		on_due(s);
		return;
	}
	timer_start(s, TIMER_AUDIT, AUDIT_MS);
	if (s->state == SESSION_UP)
		ask(s, &q, ASK_AUDIT);
}
