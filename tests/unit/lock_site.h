/* A node that has locks, before a ZooKeeper that the test plays (node_site.h). */
#ifndef ZKLEADER_TEST_LOCK_SITE_H
#define ZKLEADER_TEST_LOCK_SITE_H

#include "node_site.h"

#include "node/recipes/lock/lock.h"

#define ID    "00112233445566778899aabbccddeeff"
#define OTHER "ffeeddccbbaa99887766554433221100"

static struct roster roster;
static struct locks locks;
static int owner, n_told, n_released;
static struct lock_answer told;

static inline void on_answer(void *arg, const struct lock_answer *answer)
{
	cr_expect_eq(arg, &owner);
	told = *answer;
	n_told++;
}

static inline void on_released(void *who)
{
	cr_expect_eq(who, &owner);
	n_released++;
}

static inline void watched(enum store_watch type, const char *path)
{
	locks_watch(&locks, type, path);
}

static inline void begin_locks(void)
{
	site_begin();
	roster.session = &session;
	roster.registry = &registry;
	locks_init(&locks, &session, &registry, &roster);
	locks_on_release(&locks, on_released);
	site.watched = watched;
}

static inline struct store_reply slots(int64_t n)
{
	static struct buffer data;
	const struct lock_record record = {.slots = n};

	buffer_done(&data);
	buffer_init(&data, RECORD_LOCK_MAX);
	cr_assert_eq(record_pack_lock(&data, &record), 0);
	return holds(data.data, data.len, (struct store_stat){0});
}

/* The node of a locker before us. */
static inline struct store_reply locker(bool held)
{
	static struct buffer data;
	const struct locker_record record = {.node = "there", .command = "true", .held = held};

	buffer_done(&data);
	buffer_init(&data, RECORD_LOCK_MAX);
	cr_assert_eq(record_pack_locker(&data, &record), 0);
	return holds(data.data, data.len, (struct store_stat){0});
}

/* The node of a locker that came with so many slots. */
static inline struct store_reply came_with(int64_t n)
{
	static struct buffer data;
	const struct locker_record record = {.node = "there", .command = "true", .slots = n};

	buffer_done(&data);
	buffer_init(&data, RECORD_LOCK_MAX);
	cr_assert_eq(record_pack_locker(&data, &record), 0);
	return holds(data.data, data.len, (struct store_stat){0});
}

static inline struct store_reply ours(void)
{
	return of_stat((struct store_stat){.owner = SESSION, .czxid = 77});
}

#endif
