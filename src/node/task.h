/*
 * One task of this node, and what each part of the node keeps of it: a part writes only what is its
 * own.
 */
#ifndef ZKLEADER_NODE_TASK_H
#define ZKLEADER_NODE_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/election.h"
#include "core/fleet.h"
#include "core/task_settings.h"
#include "node/audit.h"
#include "node/candidates.h"
#include "node/last_run.h"
#include "node/ledger.h"
#include "node/reads.h"
#include "node/standby.h"
#include "node/transactions.h"
#include "node/unclaimed.h"

struct handover;
struct leaders;

struct task {
	struct leaders *leaders;
	char *name;
	struct task_settings settings;
	char *description, *min_version; /* of the settings, NULL */
	struct contest contest;
	struct election election;
	size_t index;	   /* in leaders.tasks and in the fleet's contests */
	unsigned pending;  /* requests that will come back to this task */
	bool left_out;	   /* of a claim: what the read behind it says decides */
	unsigned watchers; /* subscribers that want to know who leads it */
	bool recovers;	   /* it may be ours by a session that was taken over: until it is known */
	unsigned holds;	   /* runs that keep the task here */
	unsigned dying;	   /* runs whose job may be alive with nobody to tell */
	struct ledger_ticks ticks;
	struct last_run last;
	struct standby standby;
	struct unclaimed unclaimed;
	bool withdrawn; /* not configured any more: freed once nothing of it is left in ZooKeeper */
	char leader_id[NAME_ID_MAX + 1]; /* as the leader node says */
	int64_t since;			 /* ms since the epoch, as the leader node says */
	struct task_standing standing;
	struct task_release release; /* while it is given up */
	struct task_reads reads;
	struct task_audit audit;
	struct handover *handover; /* control/handover.c's, NULL */
};

#endif
