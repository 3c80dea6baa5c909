/* The holders and waiters of locks, read from ZooKeeper for each request. */
#ifndef ZKLEADER_NODE_RECIPES_LOCK_LOCK_LIST_H
#define ZKLEADER_NODE_RECIPES_LOCK_LOCK_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/fleet/registry.h"
#include "node/recipes/lock/lock_name.h"
#include "wire/records/recipe_record.h"

#define LOCK_LIST_MAX 10000 /* locks; holders and waiters in all. The last of more are omitted */

struct lock_list_entry {
	struct lock_name name;
	char node[LOCK_NODE_MAX + 1];
	bool read; /* the node still existed: the fields below are known */
	int64_t token;
	int64_t asked_ms, held_ms; /* the server's wall clock; held_ms 0: it waits */
	struct locker_record record;
};

struct lock_list_lock {
	char name[NAME_TASK_MAX + 1];
	int64_t slots;			 /* 0: not understood */
	struct lock_list_entry *entries; /* in their order */
	size_t n;
};

struct lock_list {
	struct lock_list_lock *locks; /* sorted by name */
	size_t n;
	bool more; /* LOCK_LIST_MAX was exceeded */
};

/* NULL: the session was lost, or the servers do not answer. Valid during the call. */
typedef void (*lock_list_fn)(void *arg, const struct lock_list *list);

/* Reads one lock, or all for NULL. fn is called once, maybe before this returns. */
void lock_list_read(struct session *session, const struct registry *registry, const char *name,
		    lock_list_fn fn, void *arg);

#endif
