#include "node/election/leaders.h"

#include <stdio.h>
#include <string.h>

#include "base/log/log.h"
#include "core/election/election_promise.h"
#include "core/election/election_times.h"
#include "node/election/inheritance.h"
#include "node/election/leader_node.h"
#include "node/election/tasks.h"
#include "node/holder/holder.h"
#include "node/tree/paths.h"

struct election_time leaders_time(const struct leaders *l)
{
	int64_t now_ms = host_now_ms(l->session->host);

	return (struct election_time){.boot_ms = now_ms,
				      .wall_ms = host_wall_ms(l->session->host),
				      .leased = session_lease_left_at(l->session, now_ms) > 0,
				      .reading = l->registry->reads_many};
}

bool leaders_is_led(const struct task *t)
{
	const struct election_node *node = &t->election.node;

	return node->known && node->exists && node->owner != 0;
}

bool leaders_is_blocked(const struct task *t, char ret_text[LEADERS_BLOCKED_MAX])
{
	const struct election_node *node = &t->election.node;
	char path[STORE_PATH_MAX];

	if (renames_bar(t) && !t->standing.paused && !leaders_is_led(t)) {
		renames_say(t, ret_text, LEADERS_BLOCKED_MAX);
		return true;
	}
	if (!node->known || !node->exists || node->owner != 0)
		return false;
	if (t->leader.marked) {
		snprintf(ret_text, LEADERS_BLOCKED_MAX, "%s is led by its partitions", t->name);
		return true;
	}
	path_of(t->leaders->session->settings, PATH_LEADERS, t->name, path);
	snprintf(ret_text, LEADERS_BLOCKED_MAX,
		 "a znode that is not ephemeral stands in the place of its leader's: delete %s",
		 path);
	return true;
}

static void tell(struct task *t, const struct election_action *action, enum election_state to,
		 int64_t last_token)
{
	struct leaders *l = t->leaders;
	bool led = action->from == ELECTION_LEADING, leads = to == ELECTION_LEADING;
	struct leader_change change = {
		.task = t->name,
		.leads = leads,
		.from = action->from,
		.to = to,
		.reason = action->reason,
		/* A leadership that began and ended in one step has no last token. */
		.token = leads || !last_token ? t->election.node.token : last_token,
	};

	if (led == leads) {
		log_debug("election", LOG_STR("task", t->name),
			  LOG_STR("from", election_state_name(action->from)),
			  LOG_STR("to", election_state_name(to)),
			  LOG_STR("reason", action->reason));
		return;
	}
	if (!leads)
		snprintf(change.better, sizeof(change.better), "%s", t->standing.best_id);
	leader_log_add(&l->log, &change);
	if (leads) {
		l->n_leading++;
		t->leaderships++;
	} else {
		l->n_leading--;
	}
	session_set_leading(l->session, l->n_leading);
}

static void perform(struct task *t, const struct election_actions *actions, int64_t last_token)
{
	for (size_t i = 0; i < actions->n; i++) {
		const struct election_action *a = &actions->list[i];
		switch (a->type) {
		case ELECTION_CLAIM: transactions_claim(&t->leaders->transactions, t); break;
		case ELECTION_RELEASE: leader_node_release(t, a); break;
		case ELECTION_READ: leader_node_read(t); break;
		case ELECTION_TELL: {
			/*
			 * The new state is the one in which the next change began, or the present
			 * state.
			 */
			enum election_state to = t->election.state;
			for (size_t j = i + 1; j < actions->n; j++) {
				if (actions->list[j].type == ELECTION_TELL) {
					to = actions->list[j].from;
					break;
				}
			}
			tell(t, a, to, last_token);
			break;
		}
		}
	}
}

/* --- steps and deadlines -------------------------------------------------- */

void leaders_wake(struct leaders *l, int64_t due, int64_t now_ms)
{
	if (due >= l->next_due)
		return;
	l->next_due = due;
	host_timer_start(&l->due, due > now_ms ? due - now_ms : 0);
}

/* Adds to the event what is known of the worker whose session owns the leader node. */
static void set_owner(const struct task *t, struct election_event *event)
{
	const struct leaders *l = t->leaders;
	bool read = event->type == ELECTION_GLANCE ||
		    (event->type == ELECTION_NODE && event->node.exists);
	int64_t session = read ? event->node.owner : t->election.node.owner;
	const struct member *owner =
		session ? fleet_find_session(&l->registry->fleet, session) : NULL;

	if (owner)
		event->owner_ms = owner->worker->timeout_ms > 0 ? owner->worker->timeout_ms
								: session_told_timeout(l->session);
	if (owner && event->type == ELECTION_NODE && !event->node.exists)
		roll_doubt(&l->registry->roll); /* has it left as well? */
	/* While the node is there it does not matter; asking may take a list of the workers. */
	bool matters = event->type == ELECTION_WATCH || event->type == ELECTION_NODE ||
		       (event->type == ELECTION_VIEW && !t->election.node.exists);
	event->owner_unsure = session && !owner
				      ? !matters || !registry_is_gone(l->registry, session)
				      : !registry_settled(l->registry);
}

/*
 * Whether nobody leads the task, as far as this node knows: its leader node is not there, or it has
 * no candidate, and then nobody may look at that node.
 */
static bool is_unled(const struct task *t)
{
	const struct election *e = &t->election;

	if (t->withdrawn || t->standing.paused || !e->up || !e->viewed)
		return false;
	return e->node.known ? !leaders_is_led(t) : e->view.best == 0 && !e->view.candidate;
}

void leaders_step(struct task *t, struct election_event *event)
{
	struct leaders *l = t->leaders;
	struct election_actions actions;

	event->now = leaders_time(l);
	if (event->type == ELECTION_VIEW || event->type == ELECTION_WATCH ||
	    event->type == ELECTION_NODE || event->type == ELECTION_GLANCE)
		set_owner(t, event);
	int64_t last_token = t->election.node.token;
	election_step(&t->election, event, &actions);
	perform(t, &actions, last_token);
	leaders_wake(l, election_deadline(&t->election, event->now), event->now.boot_ms);
	if (actions.n > 0 || event->type == ELECTION_NODE || event->type == ELECTION_WATCH ||
	    event->type == ELECTION_CUT || event->type == ELECTION_UP ||
	    event->type == ELECTION_NODE_FAILED)
		l->handlers.changed(l->handlers.arg, t);
	if (t->election.node.known)
		inheritance_settled(t);
	if (!is_unled(t))
		t->unled_ms = 0;
	else if (t->unled_ms == 0)
		t->unled_ms = event->now.boot_ms;
}

void leaders_configure(struct task *t, bool is_new)
{
	struct election_event event = {
		.type = ELECTION_CONFIG,
		.config = {.yield = t->settings->yield,
			   .yield_delay_ms = t->leaders->timing.yield_delay_ms,
			   .tick_guard_ms = t->leaders->timing.tick_guard_ms}};

	if (!is_new) {
		leaders_step(t, &event);
		return;
	}
	election_init(&t->election, &event.config);
	leader_node_forget(t);
}

void leaders_set_interest(struct task *t)
{
	leaders_step(t, &(struct election_event){.type = ELECTION_INTEREST,
						 .on = t->watchers > 0 || t->inheritance.open});
}

static void on_due(void *arg)
{
	struct leaders *l = arg;
	struct election_time now = leaders_time(l);
	bool withdrawn = false;

	l->next_due = ELECTION_NEVER;
	for (size_t i = 0; i < l->n_tasks; i++) {
		struct task *t = l->tasks[i];
		int64_t due = election_deadline(&t->election, now);
		withdrawn |= t->withdrawn;
		if (due <= now.boot_ms)
			leaders_step(t, &(struct election_event){.type = ELECTION_DEADLINE});
		else
			leaders_wake(l, due, now.boot_ms);
	}
	if (withdrawn) {
		tasks_drop_gone(l);
		leaders_wake(l, now.boot_ms + 1000, now.boot_ms);
	}
}

static void step_all(struct leaders *l, struct election_event event)
{
	for (size_t i = 0; i < l->n_tasks; i++)
		leaders_step(l->tasks[i], &event);
}

void leaders_up(struct leaders *l)
{
	step_all(l, (struct election_event){.type = ELECTION_UP,
					    .up_timeout_ms = session_told_timeout(l->session)});
	inheritance_retry(l);
	renames_look(&l->renames);
}

void leaders_cut(struct leaders *l)
{
	step_all(l, (struct election_event){.type = ELECTION_CUT});
}

void leaders_expired(struct leaders *l)
{
	transactions_forget(&l->transactions);
	reads_forget(&l->reads);
	inheritance_forget(l);
	audit_forget(l);
	renames_forget(&l->renames);
	step_all(l, (struct election_event){.type = ELECTION_EXPIRED});
	for (size_t i = 0; i < l->n_tasks; i++) {
		inheritance_settled(l->tasks[i]);
		leader_node_forget(l->tasks[i]);
	}
}

void leaders_watch(struct leaders *l, enum store_watch type, const char *path)
{
	const char *name = path_behind(l->registry->settings, PATH_LEADERS, path);
	struct election_event event = {.type = ELECTION_WATCH};

	if (!name)
		return;
	switch (type) {
	case STORE_NODE_CREATED: event.watch = ELECTION_CREATED; break;
	case STORE_NODE_CHANGED: event.watch = ELECTION_CHANGED; break;
	case STORE_NODE_DELETED: event.watch = ELECTION_DELETED; break;
	case STORE_CHILDREN_CHANGED: return;
	}
	struct task *t = tasks_find_any(l, name);
	if (t)
		leaders_step(t, &event);
}

/* --- questions ------------------------------------------------------------ */

bool leaders_fresh(const struct task *t)
{
	const struct election *e = &t->election;

	return election_leads(e) || (e->up && e->node.known && e->watched && e->reads == 0);
}

void leaders_refresh(struct task *t)
{
	if (leaders_fresh(t) || t->watchers > 0 || t->inheritance.open)
		return;
	leaders_step(t, &(struct election_event){.type = ELECTION_INTEREST, .on = true});
	leaders_step(t, &(struct election_event){.type = ELECTION_INTEREST, .on = false});
}

void leaders_subscribe(struct task *t, bool on)
{
	if (on)
		t->watchers++;
	else
		t->watchers--;
	leaders_set_interest(t);
}

void leaders_hold(struct task *t, bool on, int64_t until_ms)
{
	struct election_event event = {.type = ELECTION_HOLD};

	if (on)
		t->holds++;
	else
		t->holds--;
	event.on = t->holds > 0;
	event.hold_until_ms = on ? until_ms : t->election.hold_until_ms;
	leaders_step(t, &event);
}

int64_t leaders_hold_renew(struct task *t)
{
	struct election_time now = leaders_time(t->leaders);
	int64_t left = election_leads(&t->election) ? holder_left(t->leaders->session) : 0, at;
	const char *reason;

	if (election_yield_at(&t->election, now, &at, &reason) && at - now.boot_ms < left)
		left = at > now.boot_ms ? at - now.boot_ms : 0;
	if (left > 0 && t->holds > 0 && now.boot_ms + left > t->election.hold_until_ms)
		leaders_step(t, &(struct election_event){.type = ELECTION_HOLD,
							 .on = true,
							 .hold_until_ms = now.boot_ms + left});
	return left;
}

void leaders_keep_promise(struct task *t, int64_t until_ms)
{
	election_promised(&t->election, until_ms);
}

int64_t leaders_promised_left(const struct leaders *l)
{
	int64_t now_ms = host_now_ms(l->session->host), left_ms = inheritance_promised_left(l);

	for (size_t i = 0; i < l->n_tasks; i++) {
		const struct election *e = &l->tasks[i]->election;
		if (election_leads(e) && e->promised_ms - now_ms > left_ms)
			left_ms = e->promised_ms - now_ms;
	}
	return left_ms;
}

const struct member *leaders_leader(const struct task *t)
{
	const struct fleet *f = &t->leaders->registry->fleet;
	const struct election_node *node = &t->election.node;

	if (!node->known || !node->exists)
		return NULL;
	const struct member *m = fleet_find(f, t->leader.id);
	return m && m->session == node->owner ? m : fleet_find_session(f, node->owner);
}

/* Milliseconds of the lease that an answer may rely on. */
static int64_t answer_left(const struct task *t, int64_t now_ms)
{
	return election_leads(&t->election) ? session_answer_left_at(t->leaders->session, now_ms)
					    : 0;
}

/*
 * The election uses the published timeout, which stays the longer one for a while after it has
 * shrunk; what is promised from now on goes by the shorter one.
 */
int64_t leaders_promise(struct task *t)
{
	const struct leaders *l = t->leaders;
	struct election_time now = leaders_time(l);
	int64_t left = answer_left(t, now.boot_ms), most = l->session->granted_ms / 4;

	if (most < l->timing.yield_delay_ms)
		most = l->timing.yield_delay_ms;
	return election_promise(&t->election, now, left < most ? left : most);
}

int64_t leaders_promise_most(const struct leaders *l)
{
	int64_t timeout_ms = session_told_timeout(l->session), most = timeout_ms / 4;

	if (most < l->timing.yield_delay_ms)
		most = l->timing.yield_delay_ms;
	return most < timeout_ms ? most : timeout_ms; /* no lease is longer */
}

bool leaders_says(const struct task *t)
{
	struct election_time now = leaders_time(t->leaders);

	return election_says(&t->election, now, answer_left(t, now.boot_ms));
}

bool leaders_may_begin(const struct task *t)
{
	return leaders_lease_left(t) > 0 && t->election.view.candidate;
}

int64_t leaders_lease_left(const struct task *t)
{
	return election_leads(&t->election) ? session_lease_left(t->leaders->session) : 0;
}

void leaders_init(struct leaders *l, struct session *session, struct registry *registry,
		  struct policy *policy, const struct leaders_handlers *handlers)
{
	memset(l, 0, sizeof(*l));
	l->session = session;
	l->registry = registry;
	l->policy = policy;
	l->handlers = *handlers;
	l->next_due = ELECTION_NEVER;
	leader_log_init(&l->log, session->host, &registry->fleet);
	leader_node_init(l);
	host_timer_init(&l->due, session->host, on_due, l);
	audit_init(l);
	renames_init(&l->renames, l);
	partitions_init(l);
}

void leaders_done(struct leaders *l)
{
	host_timer_done(&l->due);
	inheritance_forget(l);
	audit_done(l);
	renames_done(&l->renames);
	partitions_done(l);
	leader_log_done(&l->log);
	tasks_done(l);
	leader_node_done(l);
}
