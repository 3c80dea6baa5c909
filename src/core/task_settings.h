/* What is configured about one task, as far as elections and runs go by it: plain data. */
#ifndef ZKLEADER_CORE_TASK_SETTINGS_H
#define ZKLEADER_CORE_TASK_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/election.h"

#define TASK_USERS_MAX 32

enum task_on_crash { TASK_ON_CRASH_SKIP, TASK_ON_CRASH_RERUN };
/* What a run does whose predecessor on this host has not ended. */
enum task_overlap { TASK_OVERLAP_FORBID, TASK_OVERLAP_ALLOW };

struct task_settings {
	const char *name;
	const char *description; /* for people, NULL: none */
	const char *min_version; /* NULL: none */
	enum election_yield yield;
	int rank_position; /* 0..4, -1: a ranking of its own */
	bool oldest;	   /* the older version is the better one */
	int64_t tick_ms;
	int64_t wait_ms;
	enum task_on_crash on_crash;
	enum task_overlap overlap;
	int64_t hold_max_ms;
	int history;		    /* records of runs that are kept */
	uid_t uids[TASK_USERS_MAX]; /* of those who may run it, as far as this host knows them */
	size_t n_uids;
	bool users_asked; /* and others are being looked up */
};

#endif
