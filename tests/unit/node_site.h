/*
 * A node whose session is up and registered as "me", in a fleet that the test makes, before a ZooKeeper that
 * the test plays (node_script.h). What is tested is the elections and runs of it; its own record, the
 * fleet's and the policy's folders are not read here.
 */
#ifndef ZKLEADER_TEST_NODE_SITE_H
#define ZKLEADER_TEST_NODE_SITE_H

#include <inttypes.h>

#include "node_script.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "node/node.h"
#include "node/election/candidates.h"
#include "node/election/leaders.h"
#include "node/fleet/policy.h"
#include "node/fleet/registration.h"
#include "node/election/tasks.h"

#define TOKEN 41 /* of what this node leads, as lead() has it */

static const struct node_settings site_settings = {.servers = "127.0.0.1:2181",
						   .root = ROOT,
						   .session_timeout_ms = TIMEOUT_MS,
						   .hostname = "here",
						   .name = "here:/s"};
static const struct node_timing site_timing = {.yield_delay_ms = 2000, .clock_tolerance_ms = 30000};
static struct session session;
static struct registry registry;
static struct policy policy;
static struct leaders leaders;
static size_t n_changes; /* that were told of tasks */

/* Handlers by which a test takes part. */
static struct {
	void (*task_changed)(struct task *t);
	void (*task_removed)(struct task *t);
	void (*watched)(enum store_watch type, const char *path);
} site;

static void site_connected(void *arg)
{
	(void)arg;
	snprintf(store.registration, sizeof(store.registration), ROOT "/workers/me");
	session_registered(&session, store.registration, TIMEOUT_MS, host.now_ms);
}

static void site_up(void *arg)
{
	(void)arg;
	leaders_up(&leaders);
}

static void site_cut(void *arg)
{
	(void)arg;
	leaders_cut(&leaders);
}

static void site_expired(void *arg)
{
	(void)arg;
	leaders_expired(&leaders);
}

static void site_nothing(void *arg)
{
	(void)arg;
}

static void site_watch(void *arg, enum store_watch type, const char *path)
{
	(void)arg;
	leaders_watch(&leaders, type, path);
	if (site.watched)
		site.watched(type, path);
}

static void site_joined(void *arg, struct member *m)
{
	(void)arg;
	candidates_joined(&leaders, m);
}

static void site_left(void *arg, const struct member *m)
{
	(void)arg, (void)m;
}

static void site_changed(void *arg)
{
	(void)arg;
	candidates_changed(&leaders);
}

static void site_told(void *arg, const struct policy_item *item, bool ended)
{
	(void)arg, (void)item, (void)ended;
}

static void site_task_changed(void *arg, struct task *t)
{
	(void)arg;
	n_changes++;
	if (site.task_changed)
		site.task_changed(t);
}

static void site_task_added(void *arg, struct task *t)
{
	(void)arg, (void)t;
}

static void site_task_removed(void *arg, struct task *t)
{
	(void)arg;
	if (site.task_removed)
		site.task_removed(t);
}

static void site_listing(void *arg, struct listing *listing)
{
	(void)arg, (void)listing;
}

/* A worker is in the fleet from now on; those with the bigger number rank before the others. */
static inline struct member *joins(const char *id, const char *version, int32_t number)
{
	struct worker *w = worker_new();

	snprintf(w->id, sizeof(w->id), "%s", id);
	snprintf(w->version, sizeof(w->version), "%s", version);
	snprintf(w->hostname, sizeof(w->hostname), "host-%s", id);
	snprintf(w->node, sizeof(w->node), "host-%s:/s", id);
	snprintf(w->ip, sizeof(w->ip), "192.0.2.9");
	w->random_ints[0] = number;
	w->timeout_ms = TIMEOUT_MS;
	worker_set_tasks(w, leaders.names, leaders.n_tasks);
	w->splits = mem_calloc(leaders.n_listings + 1, sizeof(*w->splits));
	for (size_t i = 0; i < leaders.n_listings; i++) {
		struct worker_split *split = &w->splits[w->n_splits];
		split->partitions = leaders.listings[i]->settings.partitions;
		snprintf(split->task, sizeof(split->task), "%s", leaders.listings[i]->name);
		w->n_splits += split->partitions > 0;
	}
	/* Its session is its first letter. */
	registry_add(&registry, w, strcmp(id, "me") == 0 ? SESSION : id[0], host.now_ms);
	candidates_changed(&leaders);
	turn();
	return fleet_find(&registry.fleet, id);
}

static inline void leaves(const char *id)
{
	registry_forget(&registry, id);
	candidates_changed(&leaders);
	turn();
}

/* Puts n partitions of a task into force, in the place of `from`. */
static inline void splits_in_force(const char *task, unsigned n, unsigned from)
{
	struct split_record record = {.partitions = n, .from = from, .since = WALL_MS};
	struct buffer data;
	char name[NAME_ELECTION_MAX + 1];

	snprintf(record.host, sizeof(record.host), "there");
	snprintf(name, sizeof(name), "%s:%u", task, n);
	buffer_init(&data, RECORD_SPLIT_MAX);
	cr_assert_eq(record_pack_split(&data, &record), 0);
	struct store_reply reply = holds(data.data, data.len, (struct store_stat){.czxid = 1});
	leaders.partitions.folder.handlers.take(leaders.partitions.folder.handlers.arg, name,
						&reply);
	buffer_done(&data);
}

/* As an operator's order makes it, under that name. */
static inline void decides(const char *name, enum policy_kind kind, const char *task,
			   const char *node, const char *version)
{
	struct policy_record record = {.since = WALL_MS};
	struct buffer data;

	snprintf(record.kind, sizeof(record.kind), "%s", policy_kind_name(kind));
	snprintf(record.task, sizeof(record.task), "%s", task);
	snprintf(record.node, sizeof(record.node), "%s", node);
	snprintf(record.version, sizeof(record.version), "%s", version);
	snprintf(record.by, sizeof(record.by), "root");
	snprintf(record.host, sizeof(record.host), "there");
	buffer_init(&data, RECORD_POLICY_MAX);
	cr_assert_eq(record_pack_policy(&data, &record), 0);
	struct store_reply reply = holds(data.data, data.len, (struct store_stat){.czxid = 1});
	policy.folder.handlers.take(policy.folder.handlers.arg, name, &reply);
	policy.folder.handlers.changed(policy.folder.handlers.arg);
	buffer_done(&data);
	turn();
}

static inline void decides_no_more(const char *name)
{
	policy.folder.handlers.gone(policy.folder.handlers.arg, name);
	policy.folder.handlers.changed(policy.folder.handlers.arg);
	turn();
}

/* The settings of a task with that name. */
static inline struct task_settings settings_of(const char *name)
{
	return (struct task_settings){.name = name,
				      .yield = ELECTION_YIELD_RANK,
				      .rank_position = 0,
				      .tick_ms = 60000,
				      .wait_ms = 10000,
				      .hold_max_ms = 3600000,
				      .history = 50};
}

/* The tasks are these, and no others; the list ends with NULL. */
static inline void configures(const char *first, ...)
{
	struct task_settings list[SCRIPT_NAMES_MAX];
	size_t n = 0;
	va_list ap;

	va_start(ap, first);
	for (const char *name = first; name; name = va_arg(ap, const char *))
		list[n++] = settings_of(name);
	va_end(ap);
	tasks_apply(&leaders, &site_timing, list, n);
	turn();
}

static inline struct task *task_of(const char *name)
{
	return tasks_find_any(&leaders, name);
}

static inline enum election_state state_of(const char *name)
{
	return task_of(name)->election.state;
}

/* A session that is up, in a fleet of nobody. */
static inline void site_begin(void)
{
	static const struct session_handlers session_handlers = {.connected = site_connected,
								 .up = site_up,
								 .leased = site_nothing,
								 .cut = site_cut,
								 .expired = site_expired,
								 .retimed = site_nothing,
								 .shortened = site_nothing,
								 .watch = site_watch};
	static const struct registry_handlers registry_handlers = {
		.joined = site_joined, .left = site_left, .changed = site_changed};
	static const struct policy_handlers policy_handlers = {.changed = site_changed,
							       .told = site_told};
	static const struct leaders_handlers leaders_handlers = {.changed = site_task_changed,
								 .added = site_task_added,
								 .split = site_nothing,
								 .listing = site_listing,
								 .removed = site_task_removed,
								 .forget = node_task_forget};

	log_setup(LOG_ERROR, LOG_TEXT, false);
	session_init(&session, &host, &site_settings, &session_handlers);
	registry_init(&registry, &site_settings, &session, &registry_handlers);
	policy_init(&policy, &session, &registry, &policy_handlers);
	leaders_init(&leaders, &session, &registry, &policy, &leaders_handlers);
	registry.workers.ready = registry.workers.known = true;
	registry.clocks.mute = true; /* nobody's clock is judged */
	policy.folder.ready = policy.folder.known = true;
	snprintf(registry.id, sizeof(registry.id), "me");
	session_start(&session);
	connection(STORE_CONNECTED);
	/* A lease that has lasted for a while. */
	session_set_leading(&session, true);
	pass(TIMEOUT_MS);
	session_set_leading(&session, false);
	cr_assert(session_is_up(&session));
	idle();
}

/*
 * Expects that a hold goes on for the whole lease while there is no connection, and by a shorter
 * timeout from when that is granted.
 */
#define renews_over_a_cut(renew) site_renews(renew, __LINE__)
static inline void site_renews(int64_t (*renew)(void), int line)
{
	static const int64_t waits[] = {0, 300, 1700};
	int64_t left = session_lease_left(&session);

	cr_assert_gt(left, TIMEOUT_MS / 2, "line %d", line);
	cr_expect_eq(renew(), left, "line %d", line);
	connection(STORE_CONNECTING);
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		pass(waits[i]);
		left -= waits[i];
		cr_expect_eq(renew(), left, "line %d: %" PRId64 " of %" PRId64, line, renew(),
			     left);
	}
	store.granted_ms = TIMEOUT_MS / 5;
	connection(STORE_CONNECTED);
	cr_expect_lt(renew(), store.granted_ms, "line %d: by a timeout that is void", line);
}

/* A leader node as it is in ZooKeeper: whose, with that token. */
static inline struct store_reply led_by(const char *id, int64_t token)
{
	static struct buffer data;
	struct leader_record record = {.since = WALL_MS};

	snprintf(record.id, sizeof(record.id), "%s", id);
	snprintf(record.ip, sizeof(record.ip), "192.0.2.9");
	snprintf(record.hostname, sizeof(record.hostname), "host-%s", id);
	snprintf(record.version, sizeof(record.version), "1.0");
	buffer_done(&data);
	buffer_init(&data, RECORD_LEADER_MAX);
	cr_assert_eq(record_pack_leader(&data, &record), 0);
	return holds(data.data, data.len,
		     (struct store_stat){.czxid = token,
					 .mzxid = token,
					 .owner = strcmp(id, "me") == 0 ? SESSION : id[0]});
}

/* A record of a run as it lies in the ledger, in that state; the bytes are borrowed until the next call. */
static inline struct store_reply run_in(const char *state, struct run_record r, int32_t version)
{
	static struct buffer data;

	snprintf(r.state, sizeof(r.state), "%s", state);
	buffer_done(&data);
	buffer_init(&data, RECORD_RUN_MAX);
	cr_assert_eq(record_pack_run(&data, &r), 0);
	return holds(data.data, data.len, (struct store_stat){.version = version});
}

/* This node leads the task, and nobody else is there. */
static inline struct task *lead(const char *task)
{
	char text[STORE_PATH_MAX];

	configures(task, NULL);
	joins("me", "1.0", 5);
	snprintf(text, sizeof(text), "get! leaders/%s", task);
	asks(text, failed(STORE_NO_NODE));
	snprintf(text, sizeof(text), "check workers/me, set leaders, create* leaders/%s", task);
	asks(text, of_stat((struct store_stat){.mzxid = TOKEN}));
	snprintf(text, sizeof(text), "get! leaders/%s", task);
	asks(text, led_by("me", TOKEN));
	idle();
	cr_assert(leaders_may_begin(task_of(task)));
	return task_of(task);
}

#endif
