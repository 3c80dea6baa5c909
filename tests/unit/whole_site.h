/*
 * A whole node, made by node_init(), before the ZooKeeper that the test plays (node_script.h); what whoever runs
 * it is told is noted.
 */
#ifndef ZKLEADER_TEST_WHOLE_SITE_H
#define ZKLEADER_TEST_WHOLE_SITE_H

#include "node_site.h"

#include "core/fleet/rank.h"
#include "node/node.h"

#define OLD    "01234567-89ab-cdef-0123-456789abcdef" /* what the sidecar before was registered as */
#define TICK   "2026-11-20T02:00:00Z"
#define CLAIMS "check workers/new, set leaders, create* leaders/report"

static const struct node_settings settings = {.servers = "127.0.0.1:2181",
					      .root = ROOT,
					      .session_timeout_ms = TIMEOUT_MS,
					      .hostname = "here",
					      .name = "here:/s",
					      .machine = "m1"};
static struct node node;
static struct task_settings report;
static struct handoff handed; /* the last one */
static size_t handed_runs;
static uint32_t worker_digest; /* of what others say of the task, 0: nothing is said */
static char caller;
static char news[1000]; /* what was told, in order, but that the status is another */
static size_t n_status, n_leased, n_handoffs;

/* --- who runs the node ---------------------------------------------------------------------------------- */

static void say(const char *what, const char *about)
{
	size_t used = strlen(news);

	snprintf(news + used, sizeof(news) - used, "%s%s %s", used ? ", " : "", what, about);
}

#define hears(text) script_hears(text, __LINE__)
static inline void script_hears(const char *text, int line)
{
	cr_expect_str_eq(news, text, "line %d: %s", line, news);
	news[0] = '\0';
}

static void on_task_changed(void *arg, struct task *t)
{
	cr_assert_eq(arg, &node);
	say("changed", t->name);
}

static void on_task_added(void *arg, struct task *t)
{
	cr_assert_eq(arg, &node);
	say("added", t->name);
}

static void on_task_removed(void *arg, struct task *t)
{
	cr_assert_eq(arg, &node);
	say("removed", t->name);
}

static void on_listing(void *arg, struct listing *l)
{
	cr_assert_eq(arg, &node);
	say("listing", l->name);
}

static void on_leased(void *arg)
{
	cr_assert_eq(arg, &node);
	n_leased++;
}

static void on_membership(void *arg, const char *event, const struct member *m)
{
	cr_assert_eq(arg, &node);
	cr_assert_not_null(fleet_find(&node.registry.fleet, m->worker->id), "while it is there");
	say(event, m->worker->hostname);
}

static void on_decision(void *arg, const struct policy_item *item, bool ended)
{
	cr_assert_eq(arg, &node);
	say(ended ? "no" : "decided", item->record.kind);
}

static void on_run(void *arg, const char *task, const char *tick, const struct run_record *record)
{
	cr_assert_eq(arg, &node);
	say(task, tick);
	say("is", record->state);
}

static void on_status(void *arg)
{
	cr_assert_eq(arg, &node);
	n_status++;
}

static void on_handoff(void *arg, const struct handoff *h)
{
	cr_assert_eq(arg, &node);
	handed = *h;
	n_handoffs++;
}

static void on_handoff_runs(void *arg, const struct handoff_run *list, size_t n)
{
	(void)list;
	cr_assert_eq(arg, &node);
	handed_runs = n;
}

static void on_due(void *arg, struct task *t, const struct schedule_due *due)
{
	(void)due;
	cr_assert_eq(arg, &node);
	say("due", t->name);
}

static void on_answer(void *owner, uint32_t request, const struct run_answer *answer)
{
	(void)request;
	cr_assert_eq(owner, &caller);
	say("answered", answer->outcome ? answer->outcome : answer->why);
}

static void on_released(void *owner)
{
	cr_assert_eq(owner, &caller);
}

static const struct node_handlers handlers = {
	.task_changed = on_task_changed,
	.task_added = on_task_added,
	.task_removed = on_task_removed,
	.listing_changed = on_listing,
	.leased = on_leased,
	.membership = on_membership,
	.decision = on_decision,
	.run = on_run,
	.status = on_status,
	.handoff = on_handoff,
	.handoff_runs = on_handoff_runs,
	.due = on_due,
	.runs = {.answer = on_answer, .released = on_released},
	.arg = &node};

static inline void begin(void)
{
	log_setup(LOG_ERROR, LOG_TEXT, false);
	node_init(&node, &host, &settings, &handlers);
	node.registry.clocks.mute = true; /* nobody's clock is judged */
	node_set_version(&node, "1.0");
	report = settings_of("report");
	node_configure(&node, &site_timing, &report, 1);
	host_timer_stop(&node.leaders.audit.timer); /* it is another test's */
	news[0] = '\0';
	n_status = 0;
}

/* --- ZooKeeper ------------------------------------------------------------------------------------------ */

/*
 * Whether the request is one that each node makes now and then, and no matter here: about the
 * roster, its clock, or what others left behind.
 */
static inline bool is_aside(const char *text)
{
	return strstr(text, "roster") || strncmp(text, "set workers", 11) == 0 ||
	       strcmp(text, "list gangs") == 0 || strcmp(text, "list locks") == 0;
}

static inline void rest(void)
{
	pass(0);
	snprintf(store.registration, sizeof(store.registration), "%s", node.session.registration);
	script_confirm();
	for (size_t i = 0; i < store.n_open;) {
		const char *text = store.open[i].text;
		if (!is_aside(text)) {
			i++;
			continue;
		}
		script_answer(i,
			      text[0] == 's'
				      ? of_stat((struct store_stat){.mtime = host_wall_ms(&host)})
				      : failed(STORE_NO_NODE));
		script_confirm();
		i = 0;
	}
}

#define wants(text, reply)         \
	do {                       \
		rest();            \
		asks(text, reply); \
		rest();            \
	} while (0)
#define quiet()         \
	do {            \
		rest(); \
		idle(); \
	} while (0)

static inline void connects(void)
{
	node_set_health(&node, &(struct node_health){.known = true});
	node_start(&node);
	connection(STORE_CONNECTED);
}

/* Alone, and nothing has been decided. */
static inline void is_up(void)
{
	connects();
	wants("create* workers/new", ok());
	wants("list! policy", names(NULL));
	wants("list! partitions", names(NULL));
	wants("list! workers", names(node.registry.id, NULL));
}

static inline struct store_reply led_here(void)
{
	struct store_reply reply = led_by(node.registry.id, TOKEN);

	reply.stat.owner = SESSION;
	return reply;
}

static inline struct task *leads(void)
{
	wants("get! leaders/report", failed(STORE_NO_NODE));
	wants(CLAIMS, of_stat((struct store_stat){.mzxid = TOKEN}));
	wants("get! leaders/report", led_here());
	quiet();
	struct task *t = tasks_find_any(&node.leaders, "report");
	cr_assert(leaders_may_begin(t));
	news[0] = '\0';
	return t;
}

/* A record as it lies under ROOT/workers. */
static inline struct store_reply worker_of(const char *id, const char *version)
{
	static const char *const tasks[] = {"report"};
	static struct buffer data;
	struct worker *w = worker_new();

	snprintf(w->id, sizeof(w->id), "%s", id);
	snprintf(w->version, sizeof(w->version), "%s", version);
	snprintf(w->hostname, sizeof(w->hostname), "host-%s", id);
	snprintf(w->node, sizeof(w->node), "host-%s:/s", id);
	snprintf(w->ip, sizeof(w->ip), "192.0.2.9");
	w->timeout_ms = TIMEOUT_MS;
	worker_set_tasks(w, tasks, 1);
	if (worker_digest) {
		w->scheme = RANK_SCHEME;
		w->digests = mem_calloc(1, sizeof(*w->digests));
		w->digests[0] = worker_digest;
		w->n_digests = 1;
	}
	buffer_done(&data);
	buffer_init(&data, RECORD_WORKER_MAX);
	cr_assert_eq(record_pack_worker(&data, w), 0);
	worker_free(w);
	return holds(data.data, data.len, (struct store_stat){.owner = id[0]});
}

/* These are in the fleet beside us from now on; the last argument is NULL. */
static inline void fleet_is(const char *a, const char *b)
{
	pass(1000); /* a folder is not listed more often */
	fires(STORE_CHILDREN_CHANGED, "workers");
	wants("list! workers", names(node.registry.id, a, b, NULL));
}

static inline void b_joins(void)
{
	fleet_is("b", NULL);
	wants("get workers/b", worker_of("b", "1.0"));
}

static inline void decided(const char *name, enum policy_kind kind, const char *task,
			   const char *node_)
{
	struct policy_record r = {.since = host_wall_ms(&host)};

	snprintf(r.kind, sizeof(r.kind), "%s", policy_kind_name(kind));
	snprintf(r.task, sizeof(r.task), "%s", task);
	snprintf(r.node, sizeof(r.node), "%s", node_);
	policy_made(&node.policy, name, &r);
	pass(0);
}

/* The previous sidecar's handoff. */
static const struct handoff kept = {.session = SESSION,
				    .timeout_ms = TIMEOUT_MS,
				    .counted_ms = TIMEOUT_MS,
				    .worker = OLD,
				    .random_ints = {42},
				    .started_at = 1234};

#endif
