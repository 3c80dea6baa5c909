/* Events that people are told of: how they are noted, told, and handed on by whoever finds them. */
#include "node_site.h"

#include <inttypes.h>

#include "node/notices/notice_list.h"

static struct notices notices;
static char told[1000]; /* ids, and the tokens where there are any */
static bool takes = true;
static enum store_code answer;
static int failed_op;
static size_t answers;

static const char *const patterns[] = {"report", "nightly-*"};
static const struct notice_rule rules[] = {{.events = 1U << NOTICE_FAILED | 1U << NOTICE_LEADER,
					    .patterns = patterns,
					    .n_patterns = 2},
					   {.events = 1U << NOTICE_DISCONNECTED}};

static bool tell(void *arg, const struct notice_record *record)
{
	size_t used = strlen(told);

	(void)arg;
	if (!takes)
		return false;
	snprintf(told + used, sizeof(told) - used, "%s%s", used ? " " : "", record->id);
	used = strlen(told);
	if (record->token > 0)
		snprintf(told + used, sizeof(told) - used, "=%" PRId64, record->token);
	return true;
}

static void on_answer(void *arg, const struct store_reply *reply)
{
	(void)arg;
	answers++;
	answer = reply->code;
	failed_op = reply->failed_op;
}

static struct notice_record event_of(enum notice_event kind, const char *task, const char *id)
{
	struct notice_record e;

	notice_init(&registry, &e, kind, task);
	snprintf(e.id, sizeof(e.id), "%s", id);
	return e;
}

/* The name of its znode, behind the folder's. */
static const char *name_of(int64_t time, int64_t session_id, const char *id)
{
	static char names[4][200];
	static size_t at;
	char *name = names[at++ % 4];

	snprintf(name, 200, "%" PRIx64 ".%" PRIx64 ".%s", time, session_id, id);
	return name;
}

/* A transaction of somebody's that makes that event, with one operation of its own. */
static void makes(enum notice_event kind, const char *task, const char *id)
{
	const struct store_op op = {.type = STORE_OP_SET, .path = ROOT "/x", .version = 3};
	struct notice_record e = event_of(kind, task, id);

	if (kind == NOTICE_LEADER)
		notices_claim(&registry, &op, 1, &e, 1, on_answer, NULL);
	else
		notices_multi(&registry, &op, 1, &e, on_answer, NULL);
}

static const char *asked(const char *what, const char *name)
{
	static char text[300];

	snprintf(text, sizeof(text), "%s notices/%s", what, name);
	return text;
}

static void begin(void)
{
	site_begin();
	joins("me", "1.0", 5);
	notices_init(&notices, &session, &registry);
	notices.tell = tell;
}

/* With a folder, a notifier, and nothing that was left behind. */
static void settle(void)
{
	notices_set_rules(&notices, rules, 2);
	pass(0);
	asks("create notices", failed(STORE_NODE_EXISTS));
	pass(0);
	asks("list notices", names(NULL));
	notices_listen(&notices, true);
	pass(0);
	asks("list notices", names(NULL));
	idle();
}

TestSuite(notices, .init = begin);

Test(notices, where_nobody_wants_it_nothing_is_written)
{
	pass(0);
	idle();
	makes(NOTICE_FAILED, "report", "e1");
	asks("set x v3", ok());
	settle();
	makes(NOTICE_FAILED, "cleanup", "e2");
	asks("set x v3", ok());
	makes(NOTICE_LOST, "report", "e3");
	asks("set x v3", ok());
	pass(60000);
	idle();
	cr_expect_eq(answers, 3);
	cr_expect_str_empty(told);
}

Test(notices, is_noted_by_the_transaction_told_and_deleted_once_taken)
{
	const char *name;

	settle();
	name = name_of(host_wall_ms(&host), SESSION, "e1");
	makes(NOTICE_FAILED, "nightly-report:3", "e1");
	asks(asked("set x v3, create", name), ok());
	cr_expect_eq(answer, STORE_OK);
	pass(0);
	idle();
	cr_expect_str_eq(told, "e1");
	notices_taken(&notices, "other", 5);
	pass(0);
	idle();
	notices_taken(&notices, "e1", 2);
	pass(0);
	asks(asked("delete", name), ok());
	idle();
	cr_expect_eq(notices.n, 0);
}

Test(notices, a_transaction_that_does_not_hold_made_no_event)
{
	settle();
	makes(NOTICE_FAILED, "report", "e1");
	asks(asked("set x v3, create", name_of(host_wall_ms(&host), SESSION, "e1")),
	     failed_at(STORE_BAD_VERSION, 0));
	cr_expect_eq(answer, STORE_BAD_VERSION);
	cr_expect_eq(failed_op, 0);
	pass(0);
	idle();
	cr_expect_eq(notices.n, 0);
}

Test(notices, one_that_cannot_be_noted_does_not_stop_the_transaction)
{
	const char *name;

	settle();
	name = name_of(host_wall_ms(&host), SESSION, "e1");
	makes(NOTICE_FAILED, "report", "e1");
	asks(asked("set x v3, create", name), failed_at(STORE_NO_NODE, 1));
	cr_expect_eq(answers, 0, "it goes on");
	asks("create notices", ok());
	asks("set x v3", ok());
	cr_expect_eq(answer, STORE_OK);
	pass(0);
	asks(asked("create", name), ok());
	pass(0);
	idle();
	cr_expect_str_eq(told, "e1");
}

Test(notices, a_claim_is_answered_as_a_parent_that_is_missing)
{
	settle();
	makes(NOTICE_LEADER, "report", "e1");
	asks(asked("set x v3, create", name_of(host_wall_ms(&host), SESSION, "e1")),
	     failed_at(STORE_NO_AUTH, 1));
	cr_expect_eq(answer, STORE_NO_NODE);
	makes(NOTICE_LEADER, "report", "e2");
	asks("create notices", failed(STORE_NO_AUTH));
	asks("set x v3", of_stat((struct store_stat){.mzxid = 77}));
	cr_expect_eq(answer, STORE_OK);
}

Test(notices, the_first_leader_ever_is_not_told)
{
	const char *name;

	settle();
	name = name_of(host_wall_ms(&host), SESSION, "e1");
	makes(NOTICE_LEADER, "report", "e1");
	asks(asked("set x v3, create", name), of_stat((struct store_stat){.mzxid = 77}));
	pass(0);
	asks("create led/report", failed(STORE_NO_NODE));
	asks("create led", ok());
	asks("create led/report", ok());
	pass(0);
	asks(asked("delete", name), ok());
	idle();
	name = name_of(host_wall_ms(&host), SESSION, "e2");
	makes(NOTICE_LEADER, "report", "e2");
	asks(asked("set x v3, create", name), of_stat((struct store_stat){.mzxid = 99}));
	pass(0);
	asks("create led/report", failed(STORE_NODE_EXISTS));
	pass(0);
	idle();
	cr_expect_str_eq(told, "e2=99");
}

Test(notices, what_is_not_taken_is_told_again_to_the_next_notifier)
{
	settle();
	makes(NOTICE_FAILED, "report", "e1");
	asks(asked("set x v3, create", name_of(host_wall_ms(&host), SESSION, "e1")), ok());
	pass(0);
	notices_listen(&notices, false);
	pass(0);
	notices_listen(&notices, true);
	pass(0);
	asks("list notices", names(NULL));
	idle();
	cr_expect_str_eq(told, "e1 e1");
	takes = false;
	notices_listen(&notices, true);
	pass(0);
	asks("list notices", names(NULL));
	takes = true;
	notices_go_on(&notices);
	pass(0);
	idle();
	cr_expect_str_eq(told, "e1 e1 e1");
}

Test(notices, what_an_ended_session_noted_is_taken_over_by_one)
{
	struct notice_record e = event_of(NOTICE_LOST, "report", "e1");
	int64_t now = host_wall_ms(&host);
	const char *dead = name_of(now, 0xdead, "e1"), *alive = name_of(now, 'o', "e2"),
		   *old = name_of(now - NOTICES_KEEP_MS, 0xdead, "e3");
	struct buffer data;
	char text[400];

	joins("other", "1.0", 1);
	buffer_init(&data, RECORD_NOTICE_MAX);
	cr_assert_eq(record_pack_notice(&data, &e), 0);
	notices_set_rules(&notices, rules, 2);
	pass(0);
	asks("create notices", ok());
	pass(0);
	asks("list notices", names(dead, alive, "odd", NULL));
	idle();
	notices_listen(&notices, true);
	pass(0);
	asks("list notices", names(dead, alive, old, "odd", NULL));
	asks(asked("delete", old), ok());
	asks(asked("get", dead), holds(data.data, data.len, (struct store_stat){0}));
	snprintf(text, sizeof(text), "check workers/me, delete notices/%s, create notices/%s", dead,
		 name_of(now, SESSION, "e1"));
	asks(text, ok());
	pass(0);
	idle();
	cr_expect_str_eq(told, "e1");
	leaves("other");
	notices_left(&notices);
	pass(0);
	idle();
	pass(NOTICES_RETRY_MS + NOTICES_STAGGER_MS);
	asks("list notices", names(alive, name_of(now, SESSION, "e1"), NULL));
	asks(asked("get", alive), failed(STORE_NO_NODE));
	pass(0);
	idle();
	buffer_done(&data);
}

Test(notices, what_is_about_zookeeper_being_away_is_told_without_it)
{
	struct notice_record e = event_of(NOTICE_DISCONNECTED, "", "e1");

	settle();
	connection(STORE_CONNECTING);
	notices_note_here(&registry, &e);
	pass(0);
	cr_expect_str_eq(told, "e1");
	notices_taken(&notices, "e1", 2);
	pass(0);
	cr_expect_eq(notices.n, 0);
}

Test(notices, more_than_are_kept_are_counted)
{
	struct notice_record e = event_of(NOTICE_DISCONNECTED, "", "e1");

	notices_set_rules(&notices, rules, 2);
	for (int i = 0; i < NOTICES_MAX + 3; i++)
		notices_note_here(&registry, &e);
	cr_expect_eq(notices.n, NOTICES_MAX);
	cr_expect_eq(notices.dropped, 3);
}
