/* The settings of one task that elections and runs use: plain data. */
#ifndef ZKLEADER_CORE_ELECTION_TASK_SETTINGS_H
#define ZKLEADER_CORE_ELECTION_TASK_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/election/election.h"
#include "core/fleet/version.h"
#include "core/queue/queue_settings.h"
#include "core/time/owed.h"

#define TASK_USERS_MAX 32 /* entries of `users` */

enum task_on_crash { TASK_ON_CRASH_SKIP, TASK_ON_CRASH_RERUN };
/* The rule for a run while the previous one on this host goes on. */
enum task_overlap { TASK_OVERLAP_FORBID, TASK_OVERLAP_ALLOW };

/* The schedule of a task. All of it is borrowed until the next settings are given. */
struct task_schedule {
	const char *text;     /* as it is written */
	const char *timezone; /* name of the effective zone */
	const struct schedule *schedule;
	const struct zone *zone; /* NULL: UTC */
	enum owed_catch_up catch_up;
	int64_t window_ms, splay_ms;
	int64_t timeout_ms; /* limit of a run; 0: none */
	int64_t retries, retry_delay_ms;
};

struct task_settings {
	const char *name;
	const char *description;  /* for people, NULL: none */
	const char *min_version;  /* NULL: none */
	const char *renamed_from; /* NULL: it never had another name */
	const char *keys;	  /* marks of its keys (base/text/marks.h); NULL: not known */
	enum election_yield yield;
	int rank_position; /* 0..4, -1: a ranking of its own */
	enum version_policy version_policy;
	unsigned partitions;	  /* 2..NAME_PARTITIONS_MAX; 0: it has none */
	unsigned partition_limit; /* partitions that a worker leads while others may; 0: no limit */
	unsigned partition_jobs; /* runs of partitions at a time on this host; 0: one a processor */
	const char *spread;	 /* the group of tasks that are spread evenly; NULL: none */
	int64_t tick_ms;
	int64_t wait_ms;
	enum task_on_crash on_crash;
	enum task_overlap overlap;
	int64_t hold_max_ms;
	int64_t alert_after_ms; /* overdue after so long without a successful run; 0: never */
	const uid_t *uids;	/* users who may run it, as far as known on this host; borrowed */
	size_t n_uids;
	const struct task_schedule *schedule; /* NULL: none */
	const struct queue_settings *queue;   /* borrowed likewise; NULL: not a queue */
	int history;			      /* records of runs kept */
	bool index;			      /* runs are told the number of this node */
	bool ping;	  /* the task has a ping-url: reports of runs have their output */
	bool keep_output; /* so they do, and also of what is written to a terminal */
	bool users_asked; /* more users are being looked up */
	bool has_user;	  /* false: no schedule and no queue, or the user is unknown on this host */
	uid_t user;	  /* user of scheduled runs or jobs; may also run the task by hand */
};

#endif
