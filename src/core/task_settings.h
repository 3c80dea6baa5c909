/* What is configured about one task, as far as elections and runs go by it: plain data. */
#ifndef ZKLEADER_CORE_TASK_SETTINGS_H
#define ZKLEADER_CORE_TASK_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/election.h"
#include "core/owed.h"
#include "core/queue_settings.h"
#include "core/version.h"

#define TASK_USERS_MAX 32 /* that `users` has */

enum task_on_crash { TASK_ON_CRASH_SKIP, TASK_ON_CRASH_RERUN };
/* What a run does whose predecessor on this host has not ended. */
enum task_overlap { TASK_OVERLAP_FORBID, TASK_OVERLAP_ALLOW };

/* When it is due by itself. All of it is borrowed until the next settings are given. */
struct task_schedule {
	const char *text;     /* as it is written */
	const char *timezone; /* the name of the zone that counts */
	const struct schedule *schedule;
	const struct zone *zone; /* NULL: UTC */
	enum owed_catch_up catch_up;
	int64_t window_ms, splay_ms;
	int64_t timeout_ms; /* of a run; 0: none */
	int64_t retries, retry_delay_ms;
};

struct task_settings {
	const char *name;
	const char *description; /* for people, NULL: none */
	const char *min_version; /* NULL: none */
	enum election_yield yield;
	int rank_position; /* 0..4, -1: a ranking of its own */
	enum version_policy version_policy;
	unsigned partitions;	  /* 2..NAME_PARTITIONS_MAX; 0: it has none */
	unsigned partition_limit; /* led by a worker while others may take more; 0: none */
	unsigned partition_jobs;  /* of its runs at a time on this host; 0: its processors */
	const char *spread;	  /* the group of tasks that it is spread evenly with; NULL: none */
	int64_t tick_ms;
	int64_t wait_ms;
	enum task_on_crash on_crash;
	enum task_overlap overlap;
	int64_t hold_max_ms;
	int64_t alert_after_ms; /* with no good run for so long it is overdue; 0: never */
	const uid_t *uids;	/* of those who may run it, as far as this host knows; borrowed */
	size_t n_uids;
	/* By whom what is due by its schedule is run; he may run it otherwise, too. */
	const struct task_schedule *schedule; /* NULL: none */
	const struct queue_settings *queue;   /* borrowed likewise; NULL: a task, and no queue */
	int history;			      /* records of runs that are kept */
	bool index;			      /* a run is told the number of this node */
	bool ping;			      /* its runs are told of: with what they wrote */
	bool users_asked;		      /* others than uids are being looked up */
	bool has_user; /* false: it has neither of them, or this host does not know him */
	uid_t user;
};

#endif
