/* A node with members of a gang, "g" of two, before a ZooKeeper that the test plays (node_site.h). */
#ifndef ZKLEADER_TEST_GANG_SITE_H
#define ZKLEADER_TEST_GANG_SITE_H

#include "node_site.h"

#include "node/recipes/party/gang.h"
#include "node/recipes/party/party_ticket.h"

/* The nodes below it: an id, the session (ours is 7) and a key, and a number, all of a digit. */
#define MADE(id, session, key)		 "000000000000000" id "-2-s-000000000000000" session "-" key "-"
#define NODE(id, session, key, number)	 MADE(id, session, key) "000000000" number
#define GOES_ON(id, session, key)	 "000000000000000" id "-2-c-000000000000000" session "-" key "-"
#define KEEPER(id, session, key, number) GOES_ON(id, session, key) "000000000" number
#define LEFT(id)			 "000000000000000" id "-left"

static struct roster roster;
static struct parties gangs;
static struct gang_record record; /* as it is in ZooKeeper, in version 3 */
static int owner, n_told, n_released, n_done;
static struct party_answer told;

static inline void on_answer(void *arg, const struct party_answer *answer)
{
	cr_expect_eq(arg, &owner);
	told = *answer;
	told.record = NULL;
	n_told++;
}

static inline void on_released(void *who)
{
	cr_expect_eq(who, &owner);
	n_released++;
}

static inline void on_done(void *arg)
{
	cr_expect_eq(arg, &owner);
	n_done++;
}

static inline void watched(enum store_watch type, const char *path)
{
	(void)type;
	parties_watch(&gangs, path);
}

static inline void begin_gangs(void)
{
	site_begin();
	roster.session = &session;
	roster.registry = &registry;
	parties_init(&gangs, &gang_kind, &session, &registry, &roster);
	parties_on_release(&gangs, on_released);
	site.watched = watched;
	snprintf(registry.node, sizeof(registry.node), "here:/s");
	snprintf(registry.machine, sizeof(registry.machine), "m1");
	snprintf(registry.ip, sizeof(registry.ip), "192.0.2.1");
	snprintf(registry.hostname, sizeof(registry.hostname), "here");
	record.count = 2;
}

static inline void join_as(const struct gang_request *request)
{
	struct gang_request q = *request;

	q.owner = &owner;
	q.name = "g";
	gangs_join(&gangs, &q, on_answer, &owner);
}

/* Joins as one of two members, and stops when the other is lost. */
static inline void join(uint64_t id, const char *key)
{
	join_as(&(struct gang_request){.id = id, .key = key, .count = 2, .timeout_ms = -1});
}

static inline void join_keeper(uint64_t id, const char *key)
{
	join_as(&(struct gang_request){
		.id = id, .key = key, .count = 2, .timeout_ms = -1, .goes_on = true});
}

/* A gang of these two runs. */
static inline void runs(bool goes_on)
{
	record.instance = 1;
	record.goes_on = goes_on;
	record.n = 2;
	for (size_t i = 0; i < 2; i++) {
		record.members[i].id = i + 1;
		snprintf(record.members[i].key, sizeof(record.members[i].key), "%c",
			 (char)('a' + i));
		snprintf(record.members[i].ip, sizeof(record.members[i].ip), "192.0.2.9");
		snprintf(record.members[i].hostname, sizeof(record.members[i].hostname), "there");
	}
}

static inline struct store_stat gang_stat(void)
{
	return (struct store_stat){.version = 3, .czxid = 5, .pzxid = 6};
}

static inline struct store_reply record_reply(void)
{
	static struct buffer data;

	buffer_done(&data);
	buffer_init(&data, RECORD_GANG_MAX);
	cr_assert_eq(record_pack_gang(&data, &record), 0);
	return holds(data.data, data.len, gang_stat());
}

/* A member's node, with whose it is. */
static inline struct store_reply member_of(const char *node, const char *machine)
{
	static struct buffer data;
	struct gang_member_record m = {.ip = "192.0.2.9", .hostname = "there"};

	snprintf(m.node, sizeof(m.node), "%s", node);
	snprintf(m.machine, sizeof(m.machine), "%s", machine);
	buffer_done(&data);
	buffer_init(&data, RECORD_GANG_MEMBER_MAX);
	cr_assert_eq(record_pack_gang_member(&data, &m), 0);
	return holds(data.data, data.len, (struct store_stat){0});
}

/* The three reads of a look; members here: with a watch. */
#define sees(...)   script_sees(true, names(__VA_ARGS__, NULL), __LINE__)
#define sweeps(...) script_sees(false, names(__VA_ARGS__, NULL), __LINE__)
#define NOBODY	    NULL
static inline void script_sees(bool watch, struct store_reply list, int line)
{
	script_asks(watch ? "get! gangs/g" : "get gangs/g", record_reply(), line);
	script_asks("list gangs/g", list, line);
	script_asks("exists gangs/g", of_stat(gang_stat()), line);
}

/* Likewise, once it has been taken away. */
#define sees_none(watch) script_sees_none(watch, __LINE__)
static inline void script_sees_none(bool watch, int line)
{
	script_asks(watch ? "get! gangs/g" : "get gangs/g", failed(STORE_NO_NODE), line);
	script_asks("list gangs/g", failed(STORE_NO_NODE), line);
	script_asks("exists gangs/g", failed(STORE_NO_NODE), line);
}

#define answered(outcome, why) is_answered(outcome, why, __LINE__)
static inline void is_answered(enum party_outcome outcome, const char *why, int line)
{
	cr_expect_eq(n_told, 1, "line %d: %d answers", line, n_told);
	cr_expect_eq(told.outcome, outcome, "line %d: outcome %d", line, told.outcome);
	if (why)
		cr_expect_str_eq(told.why, why, "line %d: %s", line, told.why);
	n_told = 0;
}

#endif
