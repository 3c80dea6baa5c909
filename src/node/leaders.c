#include "node/leaders.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/name.h"
#include "base/names.h"
#include "core/rank.h"

static void step(struct task *t, struct election_event *event);
static void set_interest(struct task *t);
static void read_node(struct task *t);

struct election_time leaders_time(const struct leaders *l)
{
	return (struct election_time){.boot_ms = host_now_ms(l->session->host),
				      .wall_ms = host_wall_ms(l->session->host),
				      .leased = session_lease_left(l->session) > 0};
}

static void leader_path(const struct task *t, char path[STORE_PATH_MAX])
{
	registry_path(t->leaders->registry, "leaders", t->name, path);
}

/* --- what comes back ---------------------------------------------------------------------------
 */

/* Elections that are down wait for no answer: after expiry, what was asked before is nobody's
 * business. */
static bool is_answer(struct task *t, const struct store_reply *reply)
{
	t->pending--;
	return reply->code != STORE_ABANDONED;
}

static void node_failed(struct task *t)
{
	step(t, &(struct election_event){.type = ELECTION_NODE_FAILED});
}

static void node_absent(struct task *t, bool watched)
{
	step(t, &(struct election_event){
			.type = ELECTION_NODE, .node = {.known = true}, .unwatched = !watched});
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

	if (!node->known || !node->exists || node->owner != 0)
		return false;
	leader_path(t, path);
	snprintf(ret_text, LEADERS_BLOCKED_MAX,
		 "a znode that is not ephemeral stands in the place of its leader's: delete %s",
		 path);
	return true;
}

/* What the leader says of itself. Where nobody can be one, whatever it says is told to be deleted, once. */
static void take_record(struct task *t, const struct store_reply *reply)
{
	bool told = t->election.node.known && t->election.node.token == reply->stat.czxid;
	struct leader_record record;
	char path[STORE_PATH_MAX];
	const char *why;

	t->leader_id[0] = '\0';
	t->since = 0;
	leader_path(t, path);
	if (reply->stat.owner == 0) {
		if (!told)
			log_error("nobody can lead the task", LOG_STR("task", t->name),
				  LOG_STR("znode", path), LOG_STR("why", "it is not ephemeral"),
				  LOG_STR("remedy", "delete the znode"));
	} else if (record_parse_leader(reply->data, reply->len, &record, &why) == 0) {
		memcpy(t->leader_id, record.id, sizeof(t->leader_id));
		t->since = record.since;
	} else {
		log_warning("leader record refused", LOG_STR("znode", path), LOG_STR("why", why));
	}
}

static void node_there(struct task *t, const struct store_reply *reply)
{
	struct election_event event = {.type = ELECTION_NODE};

	event.node = (struct election_node){
		.known = true,
		.exists = true,
		.mine = reply->stat.owner != 0 && reply->stat.owner == t->leaders->session->id,
		.owner = reply->stat.owner,
		.token = reply->stat.czxid,
		.version = reply->stat.version,
	};
	take_record(t, reply);
	step(t, &event);
}

/* It is claimed at once, as a rule, if it is not there: a watch can wait. */
static bool is_ours_to_claim(const struct task *t)
{
	return t->election.state == ELECTION_FOLLOWING && t->election.view.candidate &&
	       t->election.view.place == 0;
}

/* A watch for a node that is not there yet can only be set by asking whether it exists. */
static void on_exists(void *arg, const struct store_reply *reply)
{
	struct task *t = arg;

	if (!is_answer(t, reply))
		return;
	if (reply->code == STORE_NO_NODE)
		node_absent(t, true);
	else if (reply->code == STORE_OK)
		read_node(t);
	else
		node_failed(t);
}

/* Whether the task is free still, and goes into another claim; if not, its own claim has failed. */
static bool claim_again(struct task *t, const struct store_reply *reply)
{
	t->left_out = false;
	if (reply->code == STORE_NO_NODE) {
		batch_claim(&t->leaders->batch, t);
		return true;
	}
	step(t, &(struct election_event){.type = ELECTION_CLAIMED,
					 .outcome = reply->code == STORE_OK ? ELECTION_REFUSED
									    : ELECTION_UNKNOWN});
	return false;
}

static void on_node(void *arg, const struct store_reply *reply)
{
	struct task *t = arg;
	char path[STORE_PATH_MAX];

	look_answered(&t->leaders->look);
	if (!is_answer(t, reply))
		return;
	if (t->left_out && claim_again(t, reply))
		return;
	if (reply->code == STORE_OK) {
		node_there(t, reply);
	} else if (reply->code == STORE_NO_NODE && is_ours_to_claim(t)) {
		look_again(&t->leaders->look);
		node_absent(t, false);
	} else if (reply->code == STORE_NO_NODE) {
		t->pending++;
		leader_path(t, path);
		store_exists(t->leaders->session->store, path, true, on_exists, t);
	} else {
		node_failed(t);
	}
}

static void node_unlisted(struct task *t)
{
	if (is_ours_to_claim(t))
		node_absent(t, false);
	else
		read_node(t);
}

static enum election_outcome outcome_of(const struct task *t, const struct store_reply *reply,
					const char *what)
{
	if (reply->code == STORE_OK)
		return ELECTION_DONE;
	if (reply->code == STORE_UNKNOWN)
		return ELECTION_UNKNOWN;
	if (reply->code == STORE_NO_AUTH || reply->code == STORE_FAILED)
		log_error(what, LOG_STR("task", t->name), LOG_STR("why", reply->text));
	return ELECTION_REFUSED;
}

static void on_claimed(struct task *t, const struct store_reply *reply)
{
	struct election_event event = {.type = ELECTION_CLAIMED};
	const struct leaders *l = t->leaders;

	if (reply->code == STORE_ABANDONED)
		return;
	event.outcome = outcome_of(t, reply, "claim refused");
	if (reply->code == STORE_OK) {
		event.token = reply->stat.mzxid;
		event.owner = l->session->id;
		memcpy(t->leader_id, l->registry->id, sizeof(t->leader_id));
		t->since = host_wall_ms(l->session->host);
	}
	step(t, &event);
}

static void on_released(struct task *t, const struct store_reply *reply)
{
	if (reply->code == STORE_ABANDONED)
		return;
	step(t, &(struct election_event){.type = ELECTION_RELEASED,
					 .outcome = outcome_of(t, reply, "release refused")});
}

static void left_out(struct task *t)
{
	t->left_out = true;
}

/* --- what goes out -----------------------------------------------------------------------------
 */

static void get_node(struct task *t)
{
	char path[STORE_PATH_MAX];

	t->pending++;
	leader_path(t, path);
	store_get(t->leaders->session->store, path, true, on_node, t);
}

static void read_node(struct task *t)
{
	look_single(&t->leaders->look, t);
}

/* Its watch has not fired: it is as it was. */
static void node_still(struct task *t)
{
	step(t, &(struct election_event){.type = ELECTION_NODE, .node = t->election.node});
}

/* As the election wants it: many at a time where that will do. */
static void look_at_node(struct task *t)
{
	const struct election *e = &t->election;

	if (e->state == ELECTION_LEADING && e->watched && e->fresh && e->node.known)
		look_still(&t->leaders->look, t);
	else if (is_ours_to_claim(t) && !e->interest)
		look_taken(&t->leaders->look, t);
	else
		read_node(t);
}

static void release(struct task *t, const struct election_action *action)
{
	t->release.version = action->version;
	t->release.to[0] = '\0';
	if (action->to)
		memcpy(t->release.to, t->best_id, sizeof(t->release.to));
	batch_release(&t->leaders->batch, t);
}

static void tell(struct task *t, const struct election_action *action, enum election_state to,
		 int64_t last_token)
{
	struct leaders *l = t->leaders;
	bool led = action->from == ELECTION_LEADING, leads = to == ELECTION_LEADING;

	if (led == leads) {
		log_debug("election", LOG_STR("task", t->name),
			  LOG_STR("from", election_state_name(action->from)),
			  LOG_STR("to", election_state_name(to)),
			  LOG_STR("reason", action->reason));
		return;
	}
	log_info(leads ? "leading" : "no longer leading", LOG_STR("task", t->name),
		 LOG_STR("from", election_state_name(action->from)),
		 LOG_STR("to", election_state_name(to)), LOG_STR("reason", action->reason),
		 /* It may have come to lead and given it up in one step. */
		 LOG_INT("token", leads || !last_token ? t->election.node.token : last_token),
		 LOG_STR("better", !leads && t->best_id[0] ? t->best_id : NULL));
	if (leads)
		l->n_leading++;
	else
		l->n_leading--;
	session_set_leading(l->session, l->n_leading > 0);
}

static void perform(struct task *t, const struct election_actions *actions, int64_t last_token)
{
	for (size_t i = 0; i < actions->n; i++) {
		const struct election_action *a = &actions->list[i];
		switch (a->type) {
		case ELECTION_CLAIM: batch_claim(&t->leaders->batch, t); break;
		case ELECTION_RELEASE: release(t, a); break;
		case ELECTION_READ: look_at_node(t); break;
		case ELECTION_TELL: {
			/* It went to where the next one came from, or to the present state. */
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

/* --- steps and deadlines -----------------------------------------------------------------------
 */

static void schedule(struct leaders *l, int64_t due, int64_t now_ms)
{
	if (due >= l->next_due)
		return;
	l->next_due = due;
	host_timer_start(&l->due, due > now_ms ? due - now_ms : 0);
}

/* What the event says of the worker whose session owns the leader node. */
static void set_owner(const struct task *t, struct election_event *event)
{
	const struct leaders *l = t->leaders;
	bool read = event->type == ELECTION_NODE && event->node.exists;
	int64_t session = read ? event->node.owner : t->election.node.owner;
	const struct member *owner =
		session ? fleet_find_session(&l->registry->fleet, session) : NULL;

	if (owner)
		event->owner_ms = owner->worker->timeout_ms > 0 ? owner->worker->timeout_ms
								: session_told_timeout(l->session);
	event->owner_unsure = !registry_settled(l->registry);
}

static void step(struct task *t, struct election_event *event)
{
	struct leaders *l = t->leaders;
	struct election_actions actions;

	event->now = leaders_time(l);
	if (event->type == ELECTION_VIEW || event->type == ELECTION_WATCH ||
	    event->type == ELECTION_NODE)
		set_owner(t, event);
	int64_t last_token = t->election.node.token;
	election_step(&t->election, event, &actions);
	perform(t, &actions, last_token);
	schedule(l, election_deadline(&t->election, event->now), event->now.boot_ms);
	if (actions.n > 0 || event->type == ELECTION_NODE || event->type == ELECTION_WATCH ||
	    event->type == ELECTION_CUT || event->type == ELECTION_UP ||
	    event->type == ELECTION_NODE_FAILED)
		l->handlers.changed(l->handlers.arg, t);
	if (t->recovers && t->election.node.known) {
		t->recovers = false;
		set_interest(t);
	}
}

/* A node that is of interest is read until that has worked, and kept fresh. */
static void set_interest(struct task *t)
{
	step(t, &(struct election_event){.type = ELECTION_INTEREST,
					 .on = t->watchers > 0 || t->recovers});
}

static bool is_gone(const struct task *t)
{
	return t->withdrawn && t->pending == 0 &&
	       (t->election.state == ELECTION_DOWN || t->election.state == ELECTION_FOLLOWING);
}

static void task_free(struct task *t)
{
	free(t->name);
	free(t->description);
	free(t->min_version);
	free(t->ticks.names);
	free(t->pinned);
	free(t);
}

static uint32_t digest_of(const struct task *t)
{
	return rank_digest(t->settings.rank_position, t->settings.min_version, t->settings.oldest);
}

/* Numbers the tasks and tells the fleet and the registry their names. */
static void index_tasks(struct leaders *l)
{
	l->names = mem_resize(l->names, l->n_tasks + 1, sizeof(*l->names));
	l->n_published = 0;
	const char **published = mem_calloc(l->n_tasks + 1, sizeof(*published));
	uint32_t *digests = mem_calloc(l->n_tasks + 1, sizeof(*digests));
	for (size_t i = 0; i < l->n_tasks; i++) {
		l->tasks[i]->index = i;
		l->names[i] = l->tasks[i]->name;
		if (l->tasks[i]->withdrawn)
			continue;
		digests[l->n_published] = digest_of(l->tasks[i]);
		published[l->n_published++] = l->tasks[i]->name;
	}
	fleet_set_tasks(&l->registry->fleet, l->names, l->n_tasks);
	l->edition = 0;
	registry_set_tasks(l->registry, published, digests, l->n_published);
	free(l->published);
	free(l->digests);
	l->published = published;
	l->digests = digests;
}

static void drop_gone(struct leaders *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n_tasks; i++) {
		struct task *t = l->tasks[i];
		if (is_gone(t)) {
			l->handlers.removed(l->handlers.arg, t);
			task_free(t);
		} else {
			l->tasks[kept++] = t;
		}
	}
	if (kept == l->n_tasks)
		return;
	l->n_tasks = kept;
	index_tasks(l);
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
			step(t, &(struct election_event){.type = ELECTION_DEADLINE});
		else
			schedule(l, due, now.boot_ms);
	}
	if (withdrawn) {
		drop_gone(l);
		schedule(l, now.boot_ms + 1000, now.boot_ms);
	}
}

/* --- whether the others go by the same keys ------------------------------------------------------- */

/* A record that does not say, of an older sidecar or of somebody else's, is given credit. */
static bool says_its_keys(const struct worker *w)
{
	return w->scheme != 0 && w->n_tasks > 0 && w->n_digests == w->n_tasks;
}

bool leaders_disagrees(const struct task *t, const struct member *m)
{
	const struct worker *w = m->worker;

	if (!says_its_keys(w))
		return false;
	const char *const *at =
		bsearch(&t->name, w->tasks, w->n_tasks, sizeof(*w->tasks), names_compare);
	return at && (w->scheme != RANK_SCHEME ||
		      w->digests[at - (const char *const *)w->tasks] != digest_of(t));
}

/* Counts the tasks for which a member disagrees, and logs it. Both lists are sorted. */
static void compare_keys(const struct leaders *l, struct member *m)
{
	const struct worker *w = m->worker;
	const char *first = NULL;

	m->disagrees = 0;
	for (size_t i = 0, j = 0; says_its_keys(w) && i < l->n_published && j < w->n_tasks;) {
		int order = strcmp(l->published[i], w->tasks[j]);
		if (order == 0 && (w->scheme != RANK_SCHEME || w->digests[j] != l->digests[i]) &&
		    m->disagrees++ == 0)
			first = l->published[i];
		if (order <= 0)
			i++;
		if (order >= 0)
			j++;
	}
	if (first)
		log_warning("a worker goes by other keys", LOG_STR("id", m->worker->id),
			    LOG_STR("hostname", m->worker->hostname),
			    LOG_INT("tasks", m->disagrees), LOG_STR("task", first),
			    LOG_STR("remedy", "the same rank-position, min-version and "
					      "version-policy on all servers"));
}

/* --- views -------------------------------------------------------------------------------------
 */

static void view(struct task *t, const struct member *self)
{
	struct registry *r = t->leaders->registry;
	struct election_event event = {.type = ELECTION_VIEW};
	if (!r->workers.ready || !t->leaders->policy->folder.ready)
		return; /* who is a candidate is not known yet */
	struct standing s = tally_stand(&t->tally, &r->fleet, &t->contest, t->index, self);

	event.view.candidate = s.self_candidate && !t->withdrawn && !t->paused;
	event.view.newer = s.best_is_newer;
	event.view.place = s.place > UINT32_MAX ? UINT32_MAX : (uint32_t)s.place;
	if (s.best && s.best != s.self && !t->paused) {
		event.view.best = s.best->serial;
		event.view.best_seen_ms = s.best->seen_ms;
		event.view.best_returned = s.best->worker->returned;
		memcpy(t->best_id, s.best->worker->id, sizeof(t->best_id));
	} else {
		t->best_id[0] = '\0';
	}
	step(t, &event);
}

static struct task *find_any(const struct leaders *l, const char *name)
{
	for (size_t low = 0, high = l->n_tasks; low < high;) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(name, l->tasks[middle]->name);
		if (order == 0)
			return l->tasks[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static void take_decision(struct task *t)
{
	const struct policy *p = t->leaders->policy;
	const struct policy_item *pin = policy_find(p, POLICY_PIN, t->name, "");

	t->paused = policy_find(p, POLICY_PAUSE, t->name, "") != NULL;
	if (pin || t->pinned)
		tally_forget(&t->tally);
	free(t->pinned);
	t->pinned = pin ? mem_strdup(pin->record.version) : NULL;
	t->contest.pinned = t->pinned;
}

void leaders_joined(struct leaders *l, struct member *m)
{
	const struct fleet *f = &l->registry->fleet;

	compare_keys(l, m);
	for (size_t i = 0; i < l->n_tasks; i++)
		tally_joined(&l->tasks[i]->tally, f, &l->tasks[i]->contest, i, m);
}

void leaders_left(struct leaders *l, const struct member *m)
{
	const struct fleet *f = &l->registry->fleet;

	for (size_t i = 0; i < l->n_tasks; i++)
		tally_left(&l->tasks[i]->tally, f, &l->tasks[i]->contest, i, m);
}

static void set_drained(struct leaders *l, struct member *m, bool drained)
{
	const struct fleet *f = &l->registry->fleet;

	if (m->drained == drained)
		return;
	leaders_left(l, m);
	m->drained = drained;
	for (size_t i = 0; i < l->n_tasks; i++)
		tally_joined(&l->tasks[i]->tally, f, &l->tasks[i]->contest, i, m);
}

/* Who is the best of such a task is looked for anew each time, and once more when it is none any more. */
static void set_unsteady(struct task *t, bool unsteady)
{
	if (t->unsteady || unsteady)
		tally_forget(&t->tally);
	t->unsteady = unsteady;
}

/* Drains and resignations: of the workers that a sidecar has registered, as a rule one. */
static void mark_members(struct leaders *l)
{
	struct fleet *f = &l->registry->fleet;

	for (size_t j = 0; j < f->n_members; j++) {
		struct member *m = f->by_id[j];
		set_drained(l, m,
			    policy_find(l->policy, POLICY_DRAIN, "", m->worker->node) != NULL);
	}
	fleet_clear_resigned(f);
	for (size_t i = 0; i < l->n_tasks; i++)
		set_unsteady(l->tasks[i], false);
	for (size_t i = 0; i < l->policy->n; i++) {
		const struct policy_item *item = l->policy->items[i];
		struct task *t =
			item->kind == POLICY_RESIGN ? find_any(l, item->record.task) : NULL;
		if (!t)
			continue;
		set_unsteady(t, true);
		for (size_t j = 0; j < f->n_members; j++)
			if (strcmp(f->by_id[j]->worker->node, item->record.node) == 0)
				fleet_resign(f, f->by_id[j], t->index);
	}
}

/* Where a candidate stands by for a run that was lost, the others lead only if it cannot. */
static void prefer_standbys(struct leaders *l)
{
	struct fleet *f = &l->registry->fleet;

	for (size_t i = 0; i < l->policy->n; i++) {
		const struct policy_item *item = l->policy->items[i];
		struct task *t = item->kind == POLICY_RERUN ? find_any(l, item->record.task) : NULL;
		bool there = false;
		if (t)
			set_unsteady(t, true);
		for (size_t j = 0; t && !there && j < f->n_members; j++) {
			const struct worker *w = f->by_id[j]->worker;
			there = strcmp(w->node, item->record.node) == 0 &&
				fleet_why(f, &t->contest, t->index, w->id) == WHY_BEST;
		}
		for (size_t j = 0; there && j < f->n_members; j++)
			if (!policy_find(l->policy, POLICY_RERUN, t->name,
					 f->by_id[j]->worker->node))
				fleet_resign(f, f->by_id[j], t->index);
	}
}

void leaders_fleet_changed(struct leaders *l)
{
	const struct member *self = registry_self(l->registry);

	/* Who has just come may be one about whom something has been decided. */
	if (l->policy->n > 0 || l->edition != l->policy->edition) {
		mark_members(l);
		for (size_t i = 0; i < l->n_tasks; i++)
			take_decision(l->tasks[i]);
		prefer_standbys(l);
		l->edition = l->policy->edition;
	}
	for (size_t i = 0; i < l->n_tasks; i++)
		view(l->tasks[i], self);
}

static void step_all(struct leaders *l, struct election_event event)
{
	for (size_t i = 0; i < l->n_tasks; i++)
		step(l->tasks[i], &event);
}

void leaders_up(struct leaders *l)
{
	step_all(l, (struct election_event){.type = ELECTION_UP,
					    .up_timeout_ms = session_told_timeout(l->session)});
	if (l->disowns)
		leaders_disown_all(l);
}

void leaders_cut(struct leaders *l)
{
	step_all(l, (struct election_event){.type = ELECTION_CUT});
}

void leaders_expired(struct leaders *l)
{
	batch_forget(&l->batch);
	look_forget(&l->look);
	l->disowns = false;
	step_all(l, (struct election_event){.type = ELECTION_EXPIRED});
	for (size_t i = 0; i < l->n_tasks; i++) {
		struct task *t = l->tasks[i];
		if (t->recovers) {
			t->recovers = false;
			set_interest(t);
		}
		t->left_out = false;
		t->leader_id[0] = '\0';
		t->missing = false;
	}
}

void leaders_watch(struct leaders *l, enum store_watch type, const char *path)
{
	char folder[STORE_PATH_MAX];
	struct election_event event = {.type = ELECTION_WATCH};

	registry_path(l->registry, "leaders", "", folder);
	size_t len = strlen(folder);
	if (strncmp(path, folder, len) != 0)
		return;
	switch (type) {
	case STORE_NODE_CREATED: event.watch = ELECTION_CREATED; break;
	case STORE_NODE_CHANGED: event.watch = ELECTION_CHANGED; break;
	case STORE_NODE_DELETED: event.watch = ELECTION_DELETED; break;
	case STORE_CHILDREN_CHANGED: return;
	}
	struct task *t = find_any(l, path + len);
	if (t)
		step(t, &event);
}

/* --- the audit ---------------------------------------------------------------------------------
 */

/*
 * Only the best two watch a leader node. Should both be alive for the server and yet not act,
 * whoever finds the node missing twice looks for himself and takes his turn.
 */
static void on_audit_reply(void *arg, const struct store_reply *reply)
{
	struct leaders *l = arg;

	if (reply->code != STORE_OK)
		return;
	char **names = names_sorted(reply->names, reply->n_names);
	bool all = true;
	for (size_t i = 0; i < l->n_tasks; i++) {
		struct task *t = l->tasks[i];
		bool there = names_has(names, reply->n_names, t->name);
		if (!there && t->missing && t->election.state == ELECTION_FOLLOWING)
			leaders_refresh(t);
		t->missing = !there;
		all &= there;
	}
	free(names);
	l->audited = all ? l->auditing : 0;
}

/* Where nothing was missing and nothing was made or deleted since, there is nothing to list. */
static void on_audit_folder(void *arg, const struct store_reply *reply)
{
	struct leaders *l = arg;
	char path[STORE_PATH_MAX];

	if (reply->code != STORE_OK || reply->stat.pzxid == l->audited)
		return;
	l->auditing = reply->stat.pzxid;
	registry_path(l->registry, "leaders", NULL, path);
	store_children(l->session->store, path, false, on_audit_reply, l);
}

static void on_audit(void *arg)
{
	struct leaders *l = arg;
	char path[STORE_PATH_MAX];

	host_timer_start(&l->audit, LEADERS_AUDIT_MS);
	if (!session_is_up(l->session))
		return;
	if (l->disowns)
		leaders_disown_all(l);
	if (l->n_tasks == 0)
		return;
	registry_path(l->registry, "leaders", NULL, path);
	store_exists(l->session->store, path, false, on_audit_folder, l);
}

/* --- the configuration -------------------------------------------------------------------------
 */

static struct task *task_new(struct leaders *l, const char *name)
{
	struct task *t = mem_calloc(1, sizeof(*t));

	t->leaders = l;
	t->name = mem_strdup(name);
	return t;
}

static void configure(struct task *t, const struct task_settings *settings,
		      const struct node_timing *timing, bool is_new)
{
	struct election_config ec = {
		.yield = settings->yield,
		.yield_delay_ms = timing->yield_delay_ms,
		.tick_guard_ms = timing->tick_guard_ms,
	};

	free(t->description);
	free(t->min_version);
	t->description = settings->description ? mem_strdup(settings->description) : NULL;
	t->min_version = settings->min_version ? mem_strdup(settings->min_version) : NULL;
	t->settings = *settings;
	t->settings.name = t->name;
	t->settings.description = t->description;
	t->settings.min_version = t->min_version;
	t->contest = (struct contest){.task = t->name,
				      .min_version = t->settings.min_version,
				      .rank_position = t->settings.rank_position,
				      .oldest = t->settings.oldest,
				      .pinned = t->pinned};
	tally_forget(&t->tally);
	if (is_new) {
		election_init(&t->election, &ec);
	} else {
		struct election_event event = {.type = ELECTION_CONFIG, .config = ec};
		step(t, &event);
	}
}

static int compare_tasks(const void *a, const void *b)
{
	return strcmp((*(struct task *const *)a)->name, (*(struct task *const *)b)->name);
}

void leaders_apply(struct leaders *l, const struct node_timing *timing,
		   const struct task_settings *tasks, size_t n)
{
	size_t before = l->n_tasks;
	struct task **added = mem_calloc(n + 1, sizeof(*added));
	size_t n_added = 0;

	l->timing = *timing;
	for (size_t i = 0; i < before; i++)
		l->tasks[i]->withdrawn = true;
	for (size_t i = 0; i < n; i++) {
		struct task *t = find_any(l, tasks[i].name);
		bool is_new = !t;
		if (is_new)
			t = added[n_added++] = task_new(l, tasks[i].name);
		t->withdrawn = false;
		configure(t, &tasks[i], timing, is_new);
	}
	l->tasks = mem_resize(l->tasks, before + n_added + 1, sizeof(*l->tasks));
	memcpy(l->tasks + before, added, n_added * sizeof(*added));
	l->n_tasks = before + n_added;
	batch_reserve(&l->batch, l->n_tasks);
	look_reserve(&l->look, l->n_tasks);
	qsort(l->tasks, l->n_tasks, sizeof(*l->tasks), compare_tasks);
	index_tasks(l);
	if (session_is_up(l->session)) {
		for (size_t i = 0; i < n_added; i++)
			step(added[i], &(struct election_event){
					       .type = ELECTION_UP,
					       .up_timeout_ms = session_told_timeout(l->session)});
	}
	for (size_t i = 0; i < n_added; i++)
		l->handlers.added(l->handlers.arg, added[i]);
	free(added);
	for (size_t i = 0; i < l->registry->fleet.n_members; i++)
		compare_keys(l, l->registry->fleet.by_id[i]);
	leaders_fleet_changed(l);
	drop_gone(l);
	int64_t now = host_now_ms(l->session->host);
	schedule(l, now + 1000, now);
}

/* --- questions ---------------------------------------------------------------------------------
 */

struct task *leaders_find(const struct leaders *l, const char *name, size_t len)
{
	char text[NAME_TASK_MAX + 1];

	if (len > NAME_TASK_MAX || memchr(name, '\0', len))
		return NULL;
	memcpy(text, name, len);
	text[len] = '\0';
	struct task *t = find_any(l, text);
	return t && (!t->withdrawn || l->leaving) ? t : NULL;
}

bool leaders_fresh(const struct task *t)
{
	const struct election *e = &t->election;

	return election_leads(e) || (e->up && e->node.known && e->watched && e->reads == 0);
}

void leaders_refresh(struct task *t)
{
	if (leaders_fresh(t) || t->watchers > 0 || t->recovers)
		return;
	step(t, &(struct election_event){.type = ELECTION_INTEREST, .on = true});
	step(t, &(struct election_event){.type = ELECTION_INTEREST, .on = false});
}

void leaders_subscribe(struct task *t, bool on)
{
	if (on)
		t->watchers++;
	else
		t->watchers--;
	set_interest(t);
}

struct disowned {
	struct leaders *leaders;
	char path[STORE_PATH_MAX];
};

/* Refused or not done: looked for again after the next connection, and at the audit. */
static bool disown_failed(struct leaders *l, const struct store_reply *reply)
{
	if (reply->code == STORE_OK)
		return false;
	if (reply->code != STORE_ABANDONED && reply->code != STORE_NO_NODE)
		l->disowns = true;
	return true;
}

static void on_disowned(void *arg, const struct store_reply *reply)
{
	disown_failed(arg, reply);
}

static void on_former(void *arg, const struct store_reply *reply)
{
	struct disowned *d = arg;
	struct leaders *l = d->leaders;

	/* The configuration may be another by now. */
	if (!disown_failed(l, reply) && reply->stat.owner == l->session->id &&
	    !find_any(l, strrchr(d->path, '/') + 1)) {
		struct store_op ops[2] = {
			{.type = STORE_OP_SET, .path = d->path, .version = reply->stat.version},
			{.type = STORE_OP_DELETE,
			 .path = d->path,
			 .version = reply->stat.version + 1},
		};
		log_info("given up", LOG_STR("path", d->path),
			 LOG_STR("reason", "not configured any more"));
		store_multi(l->session->store, ops, 2, on_disowned, l);
	}
	free(d);
}

void leaders_disown(struct leaders *l, char *const *tasks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!name_is_task(tasks[i], strlen(tasks[i])) || find_any(l, tasks[i]))
			continue;
		struct disowned *d = mem_calloc(1, sizeof(*d));
		d->leaders = l;
		registry_path(l->registry, "leaders", tasks[i], d->path);
		store_get(l->session->store, d->path, false, on_former, d);
	}
}

static void on_all(void *arg, const struct store_reply *reply)
{
	if (!disown_failed(arg, reply))
		leaders_disown(arg, reply->names, reply->n_names);
}

void leaders_disown_all(struct leaders *l)
{
	char path[STORE_PATH_MAX];

	l->disowns = false;
	registry_path(l->registry, "leaders", NULL, path);
	store_children(l->session->store, path, false, on_all, l);
}

void leaders_recover(struct leaders *l)
{
	int64_t promised = session_told_timeout(l->session) / 4;

	if (l->timing.yield_delay_ms > promised)
		promised = l->timing.yield_delay_ms;
	/* What our predecessor promised last is kept. */
	for (size_t i = 0; i < l->n_tasks; i++) {
		election_promised(&l->tasks[i]->election, host_now_ms(l->session->host) + promised);
		l->tasks[i]->recovers = true;
		set_interest(l->tasks[i]);
	}
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
	step(t, &event);
}

int64_t leaders_hold_renew(struct task *t)
{
	struct election_time now = leaders_time(t->leaders);
	int64_t left = leaders_lease_left(t), at;
	const char *reason;

	if (election_yield_at(&t->election, now, &at, &reason) && at - now.boot_ms < left)
		left = at > now.boot_ms ? at - now.boot_ms : 0;
	if (left > 0 && t->holds > 0 && now.boot_ms + left > t->election.hold_until_ms)
		step(t, &(struct election_event){.type = ELECTION_HOLD,
						 .on = true,
						 .hold_until_ms = now.boot_ms + left});
	return left;
}

void leaders_withdraw(struct leaders *l)
{
	l->leaving = true;
	for (size_t i = 0; i < l->n_tasks; i++)
		l->tasks[i]->withdrawn |= l->tasks[i]->holds == 0;
	index_tasks(l);
	leaders_fleet_changed(l);
}

int64_t leaders_promised_left(const struct leaders *l)
{
	int64_t now_ms = host_now_ms(l->session->host), left_ms = 0;

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
	const struct member *m = fleet_find(f, t->leader_id);
	return m && m->session == node->owner ? m : fleet_find_session(f, node->owner);
}

/* Of the lease, what an answer may count on. */
static int64_t answer_left(const struct task *t)
{
	return election_leads(&t->election) ? session_answer_left(t->leaders->session) : 0;
}

int64_t leaders_promise(struct task *t)
{
	return election_promise(&t->election, leaders_time(t->leaders), answer_left(t));
}

bool leaders_says(const struct task *t)
{
	return election_says(&t->election, leaders_time(t->leaders), answer_left(t));
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
	/* What is looked at goes out before what is claimed. */
	look_init(&l->look, l,
		  &(struct look_handlers){
			  .still = node_still,
			  .free = node_unlisted,
			  .read = get_node, /* with a watch: to hear of it when it is given up */
			  .failed = node_failed});
	batch_init(&l->batch, l,
		   &(struct batch_handlers){.claimed = on_claimed,
					    .released = on_released,
					    .read = read_node,
					    .left_out = left_out});
	host_timer_init(&l->due, session->host, on_due, l);
	host_timer_init(&l->audit, session->host, on_audit, l);
	host_timer_start(&l->audit, LEADERS_AUDIT_MS);
}

void leaders_done(struct leaders *l)
{
	host_timer_done(&l->due);
	host_timer_done(&l->audit);
	for (size_t i = 0; i < l->n_tasks; i++)
		task_free(l->tasks[i]);
	free(l->tasks);
	free(l->names);
	free(l->published);
	free(l->digests);
	batch_done(&l->batch);
	look_done(&l->look);
}
