#include "daemon/leaders.h"

#include <assert.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

static void step(struct task *t, struct election_event *event);
static void read_node(struct task *t);

static struct election_time time_now(void)
{
	return (struct election_time){clock_boot_ms(), clock_wall_ms()};
}

static void leader_path(const struct task *t, char path[ZK_PATH_MAX])
{
	registry_path(t->leaders->registry, "leaders", t->name, path);
}

/* --- what comes back ---------------------------------------------------------------------------
 */

/* Elections that are down wait for no answer: after expiry, what was asked before is nobody's
 * business. */
static bool is_answer(struct task *t, const struct zk_reply *reply)
{
	t->pending--;
	return reply->code != ZK_ABANDONED;
}

static void node_failed(struct task *t)
{
	step(t, &(struct election_event){.type = ELECTION_NODE_FAILED});
}

static void node_absent(struct task *t)
{
	step(t, &(struct election_event){.type = ELECTION_NODE, .node = {.known = true}});
}

static void node_there(struct task *t, const struct zk_reply *reply)
{
	struct election_event event = {.type = ELECTION_NODE};
	struct leader_record record;
	const char *why;

	event.node = (struct election_node){
		.known = true,
		.exists = true,
		.mine = reply->stat.owner != 0 && reply->stat.owner == t->leaders->session->id,
		.owner = reply->stat.owner,
		.token = reply->stat.czxid,
		.version = reply->stat.version,
	};
	if (record_parse_leader(reply->data, reply->len, &record, &why) == 0) {
		memcpy(t->leader_id, record.id, sizeof(t->leader_id));
		t->since = record.since;
	} else {
		char path[ZK_PATH_MAX];
		leader_path(t, path);
		log_warning("leader record refused", LOG_STR("znode", path), LOG_STR("why", why));
		t->leader_id[0] = '\0';
		t->since = 0;
	}
	step(t, &event);
}

/* A watch for a node that is not there yet can only be set by asking whether it exists. */
static void on_exists(void *arg, const struct zk_reply *reply)
{
	struct task *t = arg;

	if (!is_answer(t, reply))
		return;
	if (reply->code == ZK_NO_NODE)
		node_absent(t);
	else if (reply->code == ZK_OK)
		read_node(t);
	else
		node_failed(t);
}

static void on_node(void *arg, const struct zk_reply *reply)
{
	struct task *t = arg;
	char path[ZK_PATH_MAX];

	if (!is_answer(t, reply))
		return;
	if (reply->code == ZK_OK) {
		node_there(t, reply);
	} else if (reply->code == ZK_NO_NODE) {
		t->pending++;
		leader_path(t, path);
		zk_exists(t->leaders->session->zk, path, true, on_exists, t);
	} else {
		node_failed(t);
	}
}

static enum election_outcome outcome_of(const struct task *t, const struct zk_reply *reply,
					const char *what)
{
	if (reply->code == ZK_OK)
		return ELECTION_DONE;
	if (reply->code == ZK_UNKNOWN)
		return ELECTION_UNKNOWN;
	if (reply->code == ZK_NO_AUTH || reply->code == ZK_FAILED)
		log_error(what, LOG_STR("task", t->name), LOG_STR("why", reply->text));
	return ELECTION_REFUSED;
}

static void on_claim(void *arg, const struct zk_reply *reply)
{
	struct task *t = arg;
	struct leaders *l = t->leaders;

	if (!is_answer(t, reply))
		return;
	if (reply->code == ZK_OK)
		session_confirmed(l->session, reply->sent_ms);
	else if (reply->code == ZK_NO_NODE && reply->failed_op == 0)
		session_confirm(l->session);
	else if (reply->code == ZK_NO_NODE)
		registry_make_parents(l->registry);
	step(t, &(struct election_event){.type = ELECTION_CLAIMED,
					 .outcome = outcome_of(t, reply, "claim refused")});
}

static void on_release(void *arg, const struct zk_reply *reply)
{
	struct task *t = arg;

	if (!is_answer(t, reply))
		return;
	step(t, &(struct election_event){.type = ELECTION_RELEASED,
					 .outcome = outcome_of(t, reply, "release refused")});
}

/* --- what goes out -----------------------------------------------------------------------------
 */

static void read_node(struct task *t)
{
	char path[ZK_PATH_MAX];

	t->pending++;
	leader_path(t, path);
	zk_get(t->leaders->session->zk, path, true, on_node, t);
}

static void pack_leader(const struct task *t, struct buffer *data)
{
	struct leader_record record = {.since = clock_wall_ms()};
	const struct member *self = registry_self(t->leaders->registry);

	if (self) {
		memcpy(record.id, self->worker->id, sizeof(record.id));
		memcpy(record.ip, self->worker->ip, sizeof(record.ip));
		memcpy(record.hostname, self->worker->hostname, sizeof(record.hostname));
		memcpy(record.version, self->worker->version, sizeof(record.version));
	}
	int error = record_pack_leader(data, &record);
	assert(error == 0);
	(void)error;
}

/* Claim only while registered; the read behind it brings the token and sets the watch. */
static void claim(struct task *t)
{
	char path[ZK_PATH_MAX];
	struct buffer data;

	leader_path(t, path);
	buffer_init(&data, RECORD_LEADER_MAX);
	pack_leader(t, &data);
	struct zk_op ops[2] = {
		{.type = ZK_OP_CHECK, .path = t->leaders->session->registration, .version = -1},
		{.type = ZK_OP_CREATE_EPHEMERAL, .path = path, .data = data.data, .len = data.len},
	};
	t->pending++;
	zk_multi(t->leaders->session->zk, ops, 2, on_claim, t);
	buffer_done(&data);
	read_node(t);
}

/*
 * Yield only to somebody who is there. The node is written before it is deleted, in one
 * transaction: a watcher hears CHANGED and knows that it was given up, while expiry or another's
 * hand is DELETED.
 */
static void release(struct task *t, const struct election_action *action)
{
	char path[ZK_PATH_MAX], check[ZK_PATH_MAX];

	leader_path(t, path);
	registry_path(t->leaders->registry, "workers", t->best_id, check);
	struct zk_op ops[3] = {
		{.type = ZK_OP_CHECK, .path = check, .version = -1},
		{.type = ZK_OP_SET, .path = path, .version = action->version},
		{.type = ZK_OP_DELETE, .path = path, .version = action->version + 1},
	};
	t->pending++;
	/* Without a successor nothing is to be checked, our own record least of all: it may be about to
	 * be replaced. */
	size_t skip = action->to ? 0 : 1;
	zk_multi(t->leaders->session->zk, ops + skip, 3 - skip, on_release, t);
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
		case ELECTION_CLAIM: claim(t); break;
		case ELECTION_RELEASE: release(t, a); break;
		case ELECTION_READ: read_node(t); break;
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

static void on_due(uv_timer_t *timer);

static void schedule(struct leaders *l, int64_t due, int64_t now_ms)
{
	if (due >= l->next_due)
		return;
	l->next_due = due;
	uv_timer_start(&l->due, on_due, due > now_ms ? (uint64_t)(due - now_ms) : 0, 0);
}

static void step(struct task *t, struct election_event *event)
{
	struct leaders *l = t->leaders;
	struct election_actions actions;

	event->now = time_now();
	if (event->type == ELECTION_VIEW || event->type == ELECTION_WATCH ||
	    event->type == ELECTION_NODE) {
		const struct member *owner =
			t->election.node.owner
				? fleet_find_session(&l->registry->fleet, t->election.node.owner)
				: NULL;
		if (owner)
			event->owner_ms = owner->worker->timeout_ms > 0
						  ? owner->worker->timeout_ms
						  : l->session->lease.timeout_ms;
	}
	int64_t last_token = t->election.node.token;
	election_step(&t->election, event, &actions);
	perform(t, &actions, last_token);
	schedule(l, election_deadline(&t->election, event->now), event->now.boot_ms);
	if (actions.n > 0 || event->type == ELECTION_NODE || event->type == ELECTION_WATCH ||
	    event->type == ELECTION_CUT || event->type == ELECTION_UP ||
	    event->type == ELECTION_NODE_FAILED)
		l->handlers.changed(l->handlers.arg, t);
}

static bool is_gone(const struct task *t)
{
	return t->withdrawn && t->pending == 0 &&
	       (t->election.state == ELECTION_DOWN || t->election.state == ELECTION_FOLLOWING);
}

static void task_free(struct task *t)
{
	free(t->name);
	task_config_free(t->config);
	free(t);
}

/* Numbers the tasks and tells the fleet and the registry their names. */
static void index_tasks(struct leaders *l)
{
	l->names = mem_resize(l->names, l->n_tasks + 1, sizeof(*l->names));
	l->n_published = 0;
	const char **published = mem_calloc(l->n_tasks + 1, sizeof(*published));
	for (size_t i = 0; i < l->n_tasks; i++) {
		l->tasks[i]->index = i;
		l->names[i] = l->tasks[i]->name;
		if (!l->tasks[i]->withdrawn)
			published[l->n_published++] = l->tasks[i]->name;
	}
	fleet_set_tasks(&l->registry->fleet, l->names, l->n_tasks);
	registry_set_tasks(l->registry, published, l->n_published);
	free(l->published);
	l->published = published;
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

static void on_due(uv_timer_t *timer)
{
	struct leaders *l = timer->data;
	struct election_time now = time_now();
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

/* --- views -------------------------------------------------------------------------------------
 */

static void view(struct task *t)
{
	struct registry *r = t->leaders->registry;
	struct election_event event = {.type = ELECTION_VIEW};
	struct standing s = fleet_stand(&r->fleet, &t->contest, t->index, r->id);

	event.view.candidate = r->ready && s.self_candidate && !t->withdrawn;
	event.view.newer = s.best_is_newer;
	event.view.place = s.place > UINT32_MAX ? UINT32_MAX : (uint32_t)s.place;
	if (s.best && s.best != s.self) {
		event.view.best = s.best->serial;
		event.view.best_seen_ms = s.best->seen_ms;
		memcpy(t->best_id, s.best->worker->id, sizeof(t->best_id));
	} else {
		t->best_id[0] = '\0';
	}
	step(t, &event);
}

void leaders_fleet_changed(struct leaders *l)
{
	for (size_t i = 0; i < l->n_tasks; i++)
		view(l->tasks[i]);
}

static void step_all(struct leaders *l, struct election_event event)
{
	for (size_t i = 0; i < l->n_tasks; i++)
		step(l->tasks[i], &event);
}

void leaders_up(struct leaders *l)
{
	step_all(l, (struct election_event){.type = ELECTION_UP,
					    .up_timeout_ms = l->session->lease.timeout_ms});
}

void leaders_cut(struct leaders *l)
{
	step_all(l, (struct election_event){.type = ELECTION_CUT});
}

void leaders_expired(struct leaders *l)
{
	step_all(l, (struct election_event){.type = ELECTION_EXPIRED});
	for (size_t i = 0; i < l->n_tasks; i++) {
		l->tasks[i]->leader_id[0] = '\0';
		l->tasks[i]->missing = false;
	}
}

void leaders_watch(struct leaders *l, enum zk_watch type, const char *path)
{
	char folder[ZK_PATH_MAX];
	struct election_event event = {.type = ELECTION_WATCH};

	registry_path(l->registry, "leaders", "", folder);
	size_t len = strlen(folder);
	if (strncmp(path, folder, len) != 0)
		return;
	const char *name = path + len;
	switch (type) {
	case ZK_NODE_CREATED: event.watch = ELECTION_CREATED; break;
	case ZK_NODE_CHANGED: event.watch = ELECTION_CHANGED; break;
	case ZK_NODE_DELETED: event.watch = ELECTION_DELETED; break;
	case ZK_CHILDREN_CHANGED: return;
	}
	for (size_t low = 0, high = l->n_tasks; low < high;) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(name, l->tasks[middle]->name);
		if (order == 0) {
			step(l->tasks[middle], &event);
			return;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
}

/* --- the audit ---------------------------------------------------------------------------------
 */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * Only the best two watch a leader node. Should both be alive for the server and yet not act,
 * whoever finds the node missing twice looks for himself and takes his turn.
 */
static void on_audit_reply(void *arg, const struct zk_reply *reply)
{
	struct leaders *l = arg;

	if (reply->code != ZK_OK)
		return;
	char **names = mem_calloc(reply->n_names + 1, sizeof(char *));
	if (reply->n_names > 0)
		memcpy(names, reply->names, reply->n_names * sizeof(char *));
	qsort(names, reply->n_names, sizeof(char *), compare_names);
	for (size_t i = 0; i < l->n_tasks; i++) {
		struct task *t = l->tasks[i];
		bool there = bsearch(&t->name, names, reply->n_names, sizeof(char *),
				     compare_names) != NULL;
		if (!there && t->missing && t->election.state == ELECTION_FOLLOWING)
			leaders_refresh(t);
		t->missing = !there;
	}
	free(names);
}

static void on_audit(uv_timer_t *timer)
{
	struct leaders *l = timer->data;
	char path[ZK_PATH_MAX];

	if (!session_is_up(l->session) || l->n_tasks == 0)
		return;
	registry_path(l->registry, "leaders", NULL, path);
	zk_children(l->session->zk, path, false, on_audit_reply, l);
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

/* Once, with the configuration: a look-up at each question could block the loop. */
static void find_users(struct task *t)
{
	t->n_uids = 0;
	for (size_t i = 0; i < t->config->n_users; i++) {
		const struct passwd *user = getpwnam(t->config->users[i]);
		if (user)
			t->uids[t->n_uids++] = user->pw_uid;
		else
			log_warning("no such user on this host", LOG_STR("task", t->name),
				    LOG_STR("user", t->config->users[i]));
	}
}

static void configure(struct task *t, const struct task_config *c, const struct config *config,
		      bool is_new)
{
	struct election_config ec = {
		.yield = c->yield,
		.yield_delay_ms = config->yield_delay_ms,
		.tick_guard_ms = config->tick_guard_ms,
	};

	task_config_free(t->config);
	t->config = task_config_copy(c);
	t->contest = (struct contest){.task = t->name,
				      .min_version = t->config->min_version,
				      .rank_position = t->config->rank_position};
	find_users(t);
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

void leaders_apply(struct leaders *l, const struct config *config,
		   const struct task_config *const *configs, size_t n)
{
	size_t before = l->n_tasks;
	struct task **added = mem_calloc(n + 1, sizeof(*added));
	size_t n_added = 0;

	l->config = config;
	for (size_t i = 0; i < before; i++)
		l->tasks[i]->withdrawn = true;
	for (size_t i = 0; i < n; i++) {
		struct task *t = find_any(l, configs[i]->name);
		bool is_new = !t;
		if (is_new)
			t = added[n_added++] = task_new(l, configs[i]->name);
		t->withdrawn = false;
		configure(t, configs[i], config, is_new);
	}
	l->tasks = mem_resize(l->tasks, before + n_added + 1, sizeof(*l->tasks));
	memcpy(l->tasks + before, added, n_added * sizeof(*added));
	l->n_tasks = before + n_added;
	qsort(l->tasks, l->n_tasks, sizeof(*l->tasks), compare_tasks);
	index_tasks(l);
	if (session_is_up(l->session)) {
		for (size_t i = 0; i < n_added; i++)
			step(added[i], &(struct election_event){
					       .type = ELECTION_UP,
					       .up_timeout_ms = l->session->lease.timeout_ms});
	}
	for (size_t i = 0; i < n_added; i++)
		l->handlers.added(l->handlers.arg, added[i]);
	free(added);
	leaders_fleet_changed(l);
	drop_gone(l);
	schedule(l, clock_boot_ms() + 1000, clock_boot_ms());
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
	return t && !t->withdrawn ? t : NULL;
}

bool leaders_fresh(const struct task *t)
{
	const struct election *e = &t->election;

	return election_leads(e) || (e->up && e->node.known && e->watched && e->reads == 0);
}

void leaders_refresh(struct task *t)
{
	if (leaders_fresh(t) || t->watchers > 0)
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
	step(t, &(struct election_event){.type = ELECTION_INTEREST, .on = t->watchers > 0});
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

void leaders_withdraw(struct leaders *l)
{
	for (size_t i = 0; i < l->n_tasks; i++)
		l->tasks[i]->withdrawn |= l->tasks[i]->holds == 0;
	index_tasks(l);
	leaders_fleet_changed(l);
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

int64_t leaders_promise(const struct task *t)
{
	return election_promise(&t->election, time_now(), leaders_lease_left(t));
}

int64_t leaders_lease_left(const struct task *t)
{
	return election_leads(&t->election) ? session_lease_left(t->leaders->session) : 0;
}

void leaders_init(struct leaders *l, uv_loop_t *loop, const struct config *config,
		  struct session *session, struct registry *registry,
		  const struct leaders_handlers *handlers)
{
	memset(l, 0, sizeof(*l));
	l->config = config;
	l->session = session;
	l->registry = registry;
	l->handlers = *handlers;
	l->next_due = ELECTION_NEVER;
	uv_timer_init(loop, &l->due);
	uv_timer_init(loop, &l->audit);
	l->due.data = l;
	l->audit.data = l;
	uv_timer_start(&l->audit, on_audit, LEADERS_AUDIT_MS, LEADERS_AUDIT_MS);
}

void leaders_done(struct leaders *l)
{
	for (size_t i = 0; i < l->n_tasks; i++)
		task_free(l->tasks[i]);
	free(l->tasks);
	free(l->names);
	free(l->published);
}
