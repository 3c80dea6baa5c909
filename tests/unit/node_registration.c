/*
 * This node's own record: when it is made, by which transaction it is replaced, and how it is found again after
 * an answer that was lost or a restart.
 */
#include "node_script.h"

#include "base/buffer.h"
#include "core/fleet/rank.h"
#include "node/tree/paths.h"
#include "node/fleet/registration.h"
#include "wire/records/record.h"

static const struct node_settings settings = {.servers = "127.0.0.1:2181",
					      .root = ROOT,
					      .session_timeout_ms = TIMEOUT_MS,
					      .hostname = "here",
					      .name = "here:/s",
					      .machine = "m1"};
static const char *const tasks[] = {"backup", "report"};
static const uint32_t digests[] = {1, 2};
static const struct registry_tasks published = {.names = tasks, .digests = digests, .n = 2};
static struct session session;
static struct registry registry;
static char fleet_log[400]; /* who joined and left, in order */
static int ups;

static void on_joined(void *arg, struct member *m)
{
	size_t used = strlen(fleet_log);

	(void)arg;
	snprintf(fleet_log + used, sizeof(fleet_log) - used, "+%s ", m->worker->version);
}

static void on_left(void *arg, const struct member *m)
{
	size_t used = strlen(fleet_log);

	(void)arg;
	snprintf(fleet_log + used, sizeof(fleet_log) - used, "-%s ", m->worker->version);
}

static void nothing(void *arg)
{
	(void)arg;
}

static void on_connected(void *arg)
{
	(void)arg;
	registry_connected(&registry);
}

static void on_up(void *arg)
{
	(void)arg;
	ups++; /* the folder is not read here */
	if (registry.again)
		registration_send(&registry);
}

static void on_expired(void *arg)
{
	(void)arg;
	registry_expired(&registry);
}

static int changes;

static void on_changed(void *arg)
{
	(void)arg;
	changes++;
}

static void on_retimed(void *arg)
{
	(void)arg;
	registry_retimed(&registry);
}

static void on_watch(void *arg, enum store_watch type, const char *path)
{
	(void)arg, (void)type, (void)path;
}

static void begin(void)
{
	static const struct session_handlers session_handlers = {.connected = on_connected,
								 .up = on_up,
								 .leased = nothing,
								 .cut = nothing,
								 .expired = on_expired,
								 .retimed = on_retimed,
								 .shortened = nothing,
								 .watch = on_watch};
	static const struct registry_handlers handlers = {
		.joined = on_joined, .left = on_left, .changed = on_changed};

	log_setup(LOG_ERROR, LOG_TEXT, false);
	session_init(&session, &host, &settings, &session_handlers);
	registry_init(&registry, &settings, &session, &handlers);
	registry_set_version(&registry, "1.0");
	registry_set_tasks(&registry, &published);
}

TestSuite(registration, .init = begin);

static void healthy(void)
{
	registry_set_health(&registry, &(struct node_health){.known = true});
}

/* By the server's clock, which is as ours. */
static struct store_reply at_this_time(void)
{
	return of_stat((struct store_stat){.mtime = host_wall_ms(&host)});
}

static void connect(void)
{
	session_start(&session);
	connection(STORE_CONNECTED);
}

/* The record that was sent, as others read it. */
static struct worker *sent(void)
{
	struct worker *w;
	const char *why;

	cr_assert_eq(record_parse_worker(store.last.data, store.last.len, &w, &why), 0, "%s: %s",
		     store.last.text, why);
	return w;
}

/* The session is up, and our record is there. */
static void registers(void)
{
	healthy();
	connect();
	asks("set workers", at_this_time());
	asks("create* workers/new", ok());
	cr_assert(session_is_up(&session));
	snprintf(store.registration, sizeof(store.registration), "%s", session.registration);
	while (store.n_open > 0) /* our clock is measured on */
		asks(store.open[0].text, at_this_time());
	idle();
}

/* --- the first record ----------------------------------------------------------------------------------- */

Test(registration, the_server_is_asked_for_its_time_and_then_the_record_is_made)
{
	healthy();
	connect();
	asks("set workers", of_stat((struct store_stat){.mtime = host_wall_ms(&host) - 60000}));
	cr_expect_not(session_is_up(&session));
	asks("create* workers/new", ok());
	struct worker *w = sent();
	cr_expect(session_is_up(&session), "the answer is the confirmation");
	cr_expect_eq(ups, 1);
	cr_expect_str_eq(w->id, registry.id);
	cr_expect_str_eq(w->version, "1.0");
	cr_expect_str_eq(w->hostname, "here");
	cr_expect_str_eq(w->node, "here:/s");
	cr_expect_str_eq(w->machine, "m1");
	cr_expect_str_eq(w->ip, "192.0.2.1", "that of the route to ZooKeeper");
	cr_expect_eq(w->timeout_ms, TIMEOUT_MS);
	cr_expect_eq(w->clock_offset_ms, 60000);
	cr_expect_not(w->returned);
	cr_assert_eq(w->n_tasks, 2);
	cr_expect_str_eq(w->tasks[1], "report");
	cr_expect_eq(w->digests[1], 2);
	worker_free(w);
	/* The fleet has it without reading it back. */
	cr_expect_str_eq(fleet_log, "+1.0 ");
	cr_assert_not_null(registry_self(&registry));
	cr_expect_eq(registry_self(&registry)->session, SESSION);
}

Test(registration, nothing_is_registered_before_the_health_is_known)
{
	connect();
	pass(5000);
	idle();
	healthy();
	asks("set workers", at_this_time());
	asks("create* workers/new", ok());
	cr_expect(session_is_up(&session));
}

Test(registration, folders_that_are_missing_are_made)
{
	healthy();
	connect();
	asks("set workers", failed(STORE_NO_NODE));
	asks("create " ROOT, ok());
	asks("create workers", ok());
	asks("create leaders", ok());
	asks("create policy", failed(STORE_NODE_EXISTS));
	asks("create partitions", ok());
	asks("set workers", at_this_time());
	asks("create* workers/new", ok());
	cr_expect(session_is_up(&session));
}

Test(registration, a_server_that_refuses_is_asked_again_and_status_says_why)
{
	healthy();
	connect();
	asks("set workers", failed(STORE_NO_AUTH));
	asks("create* workers/new", failed(STORE_NO_AUTH));
	cr_expect_neq(strstr(session.problem, "registration refused by the server"), NULL, "%s",
		      session.problem);
	pass(999);
	idle();
	pass(1);
	asks("create* workers/new", ok());
	cr_expect(session_is_up(&session));
}

/* --- another record --------------------------------------------------------------------------------------- */

Test(registration, a_change_is_one_transaction_that_replaces_the_record)
{
	char first[NAME_ID_MAX + 1];

	registers();
	memcpy(first, registry.id, sizeof(first));
	registry_set_version(&registry, "1.1");
	cr_expect_str_eq(registry_coming(&registry)->version, "1.1");
	cr_expect_str_eq(registry_self(&registry)->worker->version, "1.0");
	asks("create* workers/new, delete workers/new", ok());
	struct worker *w = sent();
	cr_expect(w->returned, "it was there before");
	worker_free(w);
	cr_expect_str_neq(registry.id, first);
	cr_expect_str_eq(fleet_log, "+1.0 -1.0 +1.1 ");
	cr_expect_eq(registry.fleet.n_members, 1);
	pass(0);
	cr_expect_neq(strstr(session.registration, registry.id), NULL);
}

Test(registration, what_is_as_it_was_is_not_registered_anew)
{
	static const struct node_health same = {.known = true, .says = "another reason"};

	registers();
	registry_set_version(&registry, "1.0");
	registry_set_tasks(&registry, &(struct registry_tasks){
					      .names = (const char *const[]){"backup", "report"},
					      .digests = (const uint32_t[]){1, 2},
					      .n = 2});
	registry_set_health(&registry, &same);
	idle();
}

Test(registration, tasks_health_and_timeout_are_told_when_they_are_others)
{
	static const struct node_unhealthy unhealthy[] = {{.task = "report", .says = "disk full"}};
	static const uint32_t other_digests[] = {1, 3};
	struct worker *w;

	registers();
	registry_set_tasks(&registry, &(struct registry_tasks){
					      .names = tasks, .digests = other_digests, .n = 2});
	asks("create* workers/new, delete workers/new", ok());
	registry_set_health(
		&registry,
		&(struct node_health){.known = true, .unhealthy = unhealthy, .n_unhealthy = 1});
	asks("create* workers/new, delete workers/new", ok());
	w = sent();
	cr_expect(worker_is_unhealthy(w, "report"));
	cr_expect_not(worker_is_unhealthy(w, "backup"));
	worker_free(w);
	registry_set_health(&registry,
			    &(struct node_health){.known = true, .sick = true, .says = "sick"});
	asks("create* workers/new, delete workers/new", ok());
	w = sent();
	cr_expect(w->sick);
	worker_free(w);
}

/* Health comes from a check or a runner that was there for other files; the record stays bounded. */
Test(registration, of_health_only_what_is_about_listed_tasks_is_said)
{
	static const struct node_unhealthy unhealthy[] = {{.task = "gone", .says = "no runner"},
							  {.task = "report", .says = "disk full"}};
	struct worker *w;

	registers();
	registry_set_health(
		&registry,
		&(struct node_health){.known = true, .unhealthy = unhealthy, .n_unhealthy = 2});
	asks("create* workers/new, delete workers/new", ok());
	w = sent();
	cr_expect_eq(w->n_unhealthy, 1);
	cr_expect(worker_is_unhealthy(w, "report"));
	worker_free(w);
	registry_set_tasks(&registry,
			   &(struct registry_tasks){.names = (const char *const[]){"backup"},
						    .digests = (const uint32_t[]){1},
						    .n = 1});
	asks("create* workers/new, delete workers/new", ok());
	w = sent();
	cr_expect_eq(w->n_unhealthy, 0);
	worker_free(w);
}

Test(registration, a_change_meanwhile_goes_with_the_next_one)
{
	registers();
	registry_set_version(&registry, "1.1");
	registry_set_version(&registry, "1.2");
	registry_set_version(&registry, "1.3");
	cr_expect_eq(store.n_open, 1);
	asks("create* workers/new, delete workers/new", ok());
	asks("create* workers/new, delete workers/new", ok());
	idle();
	cr_expect_str_eq(registry_self(&registry)->worker->version, "1.3");
}

/* --- answers that are lost, records that are gone ---------------------------------------------------------- */

Test(registration, where_the_answer_is_lost_the_next_one_has_the_same_id)
{
	char id[NAME_ID_MAX + 1];

	healthy();
	connect();
	asks("set workers", at_this_time());
	memcpy(id, registry.attempt->id, sizeof(id));
	asks("create* workers/new", failed(STORE_UNKNOWN));
	pass(1000);
	cr_assert_not_null(registry.attempt);
	cr_expect_str_eq(registry.attempt->id, id);
	asks("create* workers/new", ok());
	cr_expect_str_eq(registry.id, id);
}

Test(registration, one_that_was_done_after_all_is_replaced)
{
	char id[NAME_ID_MAX + 1];

	healthy();
	connect();
	asks("set workers", at_this_time());
	memcpy(id, registry.attempt->id, sizeof(id));
	asks("create* workers/new", failed(STORE_UNKNOWN));
	pass(1000);
	asks("create* workers/new", failed_at(STORE_NODE_EXISTS, 0));
	cr_expect_str_eq(registry.id, id);
	asks("create* workers/new, delete workers/new", ok());
	cr_expect_str_neq(registry.id, id);
	cr_expect(session_is_up(&session));
}

Test(registration, where_the_one_to_be_replaced_is_gone_another_is_made)
{
	registers();
	registry_set_version(&registry, "1.1");
	asks("create* workers/new, delete workers/new", failed_at(STORE_NO_NODE, 1));
	cr_expect_null(registry_self(&registry));
	asks("create* workers/new", ok());
	cr_expect_str_eq(fleet_log, "+1.0 -1.0 +1.1 ");
}

Test(registration, one_that_somebody_has_deleted_is_made_again)
{
	registers();
	store.silent = true;
	pass(1);
	session_confirm(&session);
	asks("check workers/new", failed_at(STORE_NO_NODE, 0));
	asks("create* workers/new, delete workers/new", failed_at(STORE_NO_NODE, 1));
	asks("create* workers/new", ok());
	cr_expect_eq(registry.fleet.n_members, 1);
}

Test(registration, reads_between_two_registrations_are_ordered_behind_a_write)
{
	registers();
	store.silent = true;
	pass(1);
	session_confirm(&session);
	asks("check workers/new", failed_at(STORE_NO_NODE, 0));
	session_confirm(&session);
	cr_expect(session_is_up(&session));
	asks("create* workers/new, delete workers/new", failed_at(STORE_NO_NODE, 1));
	asks("check /", ok());
	asks("create* workers/new", ok());
	session_confirm(&session);
	asks("check workers/new", ok());
}

Test(registration, a_new_session_registers_under_another_id)
{
	char id[NAME_ID_MAX + 1];

	registers();
	memcpy(id, registry.id, sizeof(id));
	connection(STORE_EXPIRED);
	cr_expect_null(registry_self(&registry));
	cr_expect_str_eq(registry.id, "");
	pass(0);
	connection(STORE_CONNECTED);
	asks("set workers", at_this_time());
	asks("create* workers/new", ok());
	struct worker *w = sent();
	cr_expect(w->returned);
	cr_expect_str_neq(registry.id, id);
	worker_free(w);
}

/* --- after a restart --------------------------------------------------------------------------------------- */

static const struct handoff kept = {.session = SESSION,
				    .worker = "old",
				    .random_ints = {5, 4, 3, 2, 1},
				    .started_at = WALL_MS - 1000,
				    .timeout_ms = TIMEOUT_MS};

/* The record of the sidecar before this one, with that version. */
static struct store_reply old_record(const char *version, int64_t owner)
{
	static struct buffer data;
	struct worker *w = worker_new();

	snprintf(w->id, sizeof(w->id), "old");
	snprintf(w->version, sizeof(w->version), "%s", version);
	snprintf(w->ip, sizeof(w->ip), "192.0.2.1");
	snprintf(w->hostname, sizeof(w->hostname), "here");
	snprintf(w->node, sizeof(w->node), "here:/s");
	snprintf(w->machine, sizeof(w->machine), "m1");
	memcpy(w->random_ints, kept.random_ints, sizeof(w->random_ints));
	w->started_at = kept.started_at;
	w->timeout_ms = TIMEOUT_MS;
	w->clock_tolerance_ms = CLOCKS_TOLERANCE_MS;
	w->scheme = RANK_SCHEME;
	w->knows_splits = w->lists = true;
	worker_set_tasks(w, tasks, 2);
	w->digests = calloc(2, sizeof(*w->digests));
	memcpy(w->digests, digests, sizeof(digests));
	w->n_digests = 2;
	buffer_done(&data);
	buffer_init(&data, RECORD_WORKER_MAX);
	cr_assert_eq(record_pack_worker(&data, w), 0);
	worker_free(w);
	return holds(data.data, data.len, (struct store_stat){.owner = owner, .ctime = WALL_MS});
}

static void restart(void)
{
	registry_take_over(&registry, &kept);
	healthy();
	connect();
}

Test(registration, a_record_that_says_the_same_goes_on)
{
	restart();
	asks("get workers/old", old_record("1.0", SESSION));
	cr_expect_str_eq(registry.id, "old");
	cr_expect(registry_recovers(&registry));
	snprintf(store.registration, sizeof(store.registration), ROOT "/workers/old");
	int before = changes;
	asks("set workers/old", at_this_time());
	cr_expect_gt(changes, before, "claims wait until the clock is known");
	idle();
	cr_expect(session_is_up(&session));
	cr_expect_str_eq(fleet_log, "+1.0 ");
}

Test(registration, a_record_of_another_version_is_replaced)
{
	restart();
	asks("get workers/old", old_record("0.9", SESSION));
	cr_expect(registry_recovers(&registry));
	asks("set workers", at_this_time());
	asks("create* workers/new, delete workers/old", ok());
	cr_expect_str_eq(fleet_log, "+1.0 ");
}

Test(registration, a_record_that_is_not_ours_is_left_alone)
{
	restart();
	asks("get workers/old", old_record("1.0", SESSION + 1));
	asks("set workers", at_this_time());
	asks("create* workers/new", ok());
}

Test(registration, one_that_is_gone_is_made_anew_and_what_it_led_is_looked_for)
{
	restart();
	asks("get workers/old", failed(STORE_NO_NODE));
	cr_expect(registry_recovers(&registry));
	asks("set workers", at_this_time());
	asks("create* workers/new", ok());
}

Test(registration, a_record_of_ours_that_nobody_acts_for_is_removed)
{
	registers();
	struct store_reply reply = {.code = STORE_OK, .stat.owner = SESSION};
	cr_expect(registration_is_left_over(&registry, "another", &reply));
	cr_expect_not(registration_is_left_over(&registry, registry.id, &reply));
	reply.stat.owner = SESSION + 1;
	cr_expect_not(registration_is_left_over(&registry, "another", &reply));
	registration_remove(&registry, "another");
	asks("delete workers/another", ok());
	idle();
}
