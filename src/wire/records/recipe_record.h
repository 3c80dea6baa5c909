/* The records of the recipes: the content of the znodes of counters, the roster and locks. */
#ifndef ZKLEADER_WIRE_RECORDS_RECIPE_RECORD_H
#define ZKLEADER_WIRE_RECORDS_RECIPE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/name.h"
#include "base/text/worker.h"
#include "wire/keys.h"

#define RECORD_COUNTER_MAX (128 * 1024) /* bytes */
#define COUNTER_NODES_MAX  256		/* number of nodes whose last addition is kept */

struct counter_record {
	int64_t value;
	/* The last addition of each node, the newest first. */
	struct counter_last {
		char node[WORKER_NODE_MAX + 1];
		char machine[WORKER_MACHINE_MAX + 1]; /* "": not known */
		int64_t op;			      /* id of the addition: random, from 1 on */
		int64_t value;			      /* value after that addition */
	} last[COUNTER_NODES_MAX];
	size_t n;
};

#define RECORD_ROSTER_MAX 2048
#define ROSTER_INDEX_MAX  INT64_C(1000000)

/* A node that is or was in the fleet: its number, and when it left. */
struct roster_record {
	int64_t index;
	int64_t since;	  /* ms since the epoch: when the node got its number */
	int64_t departed; /* ms since the epoch; 0: it has not left */
	char hostname[NAME_HOST_MAX + 1];
};

/* The content of ROOT/roster itself. */
struct roster_head {
	int64_t next; /* the smallest number that was never given out */
};

#define RECORD_LOCK_MAX	 2048
#define LOCK_SLOTS_MAX	 INT64_C(1000)
#define LOCK_COMMAND_MAX 100 /* bytes of a command that are shown */

/* The record of a lock's folder: how many may hold the lock at a time. */
struct lock_record {
	int64_t slots;
};

/* A process that holds a lock or waits for it. */
struct locker_record {
	char node[WORKER_NODE_MAX + 1];
	char command[LOCK_COMMAND_MAX + 1]; /* the beginning of its command line, UTF-8; "": none */
	int64_t pid;			    /* 0: not known */
	bool held;     /* the process waited, and has held the lock since this was written */
	int64_t slots; /* the number that it came with; 0: that of the lock */
};

RECORD_DECLARE(lock, lock_record);
RECORD_DECLARE(locker, locker_record);
RECORD_DECLARE(roster, roster_record);
RECORD_DECLARE(roster_head, roster_head);
RECORD_DECLARE(counter, counter_record);
#endif
