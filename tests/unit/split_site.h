/*
 * A node of node_site.h that reads which numbers of partitions are in force: ROOT/partitions, and what the
 * session tells of it. The first list of that folder is the test's to answer.
 */
#ifndef ZKLEADER_TEST_SPLIT_SITE_H
#define ZKLEADER_TEST_SPLIT_SITE_H

#include "node_site.h"

#define CHANGED_MS (WALL_MS - 500000) /* the server's clock when a number came into force */

static size_t n_splits;		 /* how often it was told that the numbers may be others */
static char listings_told[1000]; /* the names of the listings that were told of */

static void split_on_up(void *arg)
{
	site_up(arg);
	partitions_up(&leaders);
}

static void split_on_cut(void *arg)
{
	partitions_cut(&leaders);
	site_cut(arg);
}

static void split_on_expired(void *arg)
{
	site_expired(arg);
	partitions_expired(&leaders);
}

static void split_on_watch(enum store_watch type, const char *path)
{
	partitions_watch(&leaders, type, path);
}

static void split_on_split(void *arg)
{
	(void)arg;
	n_splits++;
}

static void split_on_listing(void *arg, struct listing *listing)
{
	size_t used = strlen(listings_told);

	(void)arg;
	snprintf(listings_told + used, sizeof(listings_told) - used, "%s ", listing->name);
}

static inline void split_begin(void)
{
	site_begin();
	session.handlers.up = split_on_up;
	session.handlers.cut = split_on_cut;
	session.handlers.expired = split_on_expired;
	site.watched = split_on_watch;
	leaders.handlers.split = split_on_split;
	leaders.handlers.listing = split_on_listing;
	partitions_up(&leaders);
}

/* The connection goes, and with it the answers to what is open. */
static inline void split_cut(void)
{
	connection(STORE_CONNECTING);
	answer_all(STORE_UNKNOWN);
}

static inline void split_back(void)
{
	connection(STORE_CONNECTED);
	script_confirm();
	cr_assert(session_is_up(&session));
}

/* The folder is listed anew, as soon as that may be. */
#define lists(reply) script_lists(reply, __LINE__)
static inline void script_lists(struct store_reply reply, int line)
{
	pass(FOLDER_LIST_EVERY_MS);
	script_asks("list! partitions", reply, line);
}

/* A record of ROOT/partitions: as it was put in force, from that number, by that user. */
static inline struct store_reply number(unsigned n, unsigned from, const char *by)
{
	static struct buffer data;
	struct split_record record = {.partitions = n, .from = from, .since = WALL_MS};

	snprintf(record.by, sizeof(record.by), "%s", by);
	snprintf(record.host, sizeof(record.host), "there");
	buffer_done(&data);
	buffer_init(&data, RECORD_SPLIT_MAX);
	cr_assert_eq(record_pack_split(&data, &record), 0);
	return holds(data.data, data.len, (struct store_stat){.czxid = 1, .ctime = CHANGED_MS});
}

/* The marker in the place of the leader node of a task that is led by partitions. */
static inline struct store_reply marker_of(int64_t owner)
{
	static struct buffer data;

	buffer_done(&data);
	buffer_init(&data, RECORD_LEADER_MAX);
	cr_assert_eq(record_pack_marker(&data), 0);
	return holds(data.data, data.len, (struct store_stat){.czxid = 1, .owner = owner});
}

static inline struct store_reply version(int32_t n)
{
	return of_stat((struct store_stat){.version = n});
}

/* The server is asked for its time, as we have no record, in the folder; then for the numbers' version. */
#define begins_with(reply) script_begins_with(reply, __LINE__)
static inline void script_begins_with(struct store_reply reply, int line)
{
	script_asks("set workers", ok(), line);
	script_asks("get partitions", reply, line);
}

/* This host's files: one task, split into so many, 0: not split. */
static inline struct listing *has_file(const char *task, unsigned partitions)
{
	struct task_settings s = settings_of(task);

	s.partitions = partitions;
	tasks_apply(&leaders, &site_timing, &s, 1);
	turn();
	return listings_find(&leaders, task, strlen(task));
}

static inline struct listing *split_listing(const char *task)
{
	return listings_find(&leaders, task, strlen(task));
}

/* --- another number is asked for --------------------------------------------------------------------------- */

static struct {
	int times;
	enum partitions_result result;
	char text[PARTITIONS_TEXT_MAX];
} told;

static inline void split_told(void *arg, enum partitions_result result, const char *text)
{
	cr_assert_eq(arg, &told);
	told.times++;
	told.result = result;
	snprintf(told.text, sizeof(told.text), "%s", text);
}

static inline void changes(unsigned n)
{
	partitions_change(&leaders, "scan", n, "more", "root", split_told, &told);
}

#define tells(result, text) script_tells(result, text, __LINE__)
static inline void script_tells(enum partitions_result result, const char *text, int line)
{
	cr_assert_eq(told.times, 1, "line %d: told %d times", line, told.times);
	cr_expect_eq(told.result, result, "line %d: %d", line, (int)told.result);
	cr_expect_str_eq(told.text, text, "line %d: %s", line, told.text);
	cr_expect(LIST_EMPTY(&leaders.partitions.changes), "line %d", line);
	told.times = 0;
}

/* That number of "scan" is in force, 0: none; it is paused by "p1". */
static inline void given(unsigned n)
{
	char name[16], path[64];

	snprintf(name, sizeof(name), "scan:%u", n);
	snprintf(path, sizeof(path), "get partitions/%s", name);
	has_file("scan", n > 1 ? n : 0);
	decides("p1", POLICY_PAUSE, "scan", "", "");
	asks("list! partitions", n > 0 ? names(name, NULL) : names(NULL));
	if (n > 0)
		asks(path, number(n, 0, ""));
	idle();
}

#endif
