/*
 * A task of this node, with the state of each part of the node. Only the file named above a member
 * writes it; tests/lint/run checks that.
 */
#ifndef ZKLEADER_NODE_ELECTION_TASK_H
#define ZKLEADER_NODE_ELECTION_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/election/election.h"
#include "core/election/task_settings.h"
#include "core/fleet/fleet.h"
#include "node/election/audit.h"
#include "node/election/candidates.h"
#include "node/election/inheritance.h"
#include "node/election/leader_node.h"
#include "node/election/renames.h"
#include "node/election/transactions.h"
#include "node/tree/reads.h"

struct gone;
struct last_run;
struct leaders;
struct ledger_ticks;
struct listing;
struct standby;
struct task_counts;
struct task_due;
struct task_losses;
struct task_overdue;
struct unclaimed;

struct task {
	/* tasks.c */
	struct leaders *leaders;
	struct listing *listing;	      /* NULL once it is withdrawn */
	char *listed;			      /* T of T:K, NULL */
	const struct task_settings *settings; /* the listing's; once there is none, its own */
	struct task_settings *own;	      /* NULL while there is a listing */
	char *description;		      /* from its own settings, NULL */
	char *min_version, *spread;	      /* from `own` or the listing, NULL */
	size_t index;			      /* in leaders.tasks and in the fleet's contests */
	unsigned partition;		      /* K */
	bool withdrawn; /* no longer configured: freed once it has nothing left in ZooKeeper */
	/* audit.c */
	struct task_audit audit;
	/* inheritance.c */
	struct task_inheritance inheritance;
	/* candidates.c */
	struct contest contest;
	struct task_standing standing;
	/* leaders.c */
	struct election election;
	unsigned watchers;    /* subscribers to its leader */
	unsigned holds;	      /* runs that keep the task here */
	uint64_t leaderships; /* begun here */
	int64_t unled_ms;     /* CLOCK_BOOTTIME: nobody leads it, and could, since; 0: not so */
	/* leader_node.c */
	struct task_leader leader;
	/* transactions.c */
	struct task_transaction transaction;
	/* renames.c */
	struct task_rename rename;
	/* reads.c */
	struct reads_item reads;
	/* ledger.c */
	struct ledger_ticks *ticks; /* NULL: none are known */
	/* gone.c */
	struct gone *gone; /* NULL: there is nothing to prune */
	/* last_run.c */
	struct last_run *last; /* NULL: not requested yet, and none known */
	/* overdue.c */
	struct task_overdue *overdue; /* NULL: nothing is known */
	/* run_steps.c */
	unsigned going; /* runs whose job goes on here */
	unsigned dying; /* runs without a supervisor whose job may be alive */
	/* standby.c */
	struct standby *standby; /* NULL: none so far */
	/* unclaimed.c */
	struct unclaimed *unclaimed; /* NULL: none so far */
	/* control/answer/handover.c */
	void *above; /* data of the layer above, NULL */
	/* schedules.c */
	struct task_due *due; /* NULL: it never had a schedule */
	/* counts.c */
	struct task_counts *counts; /* of runs; NULL: all of them are 0 */
	/* losses.c */
	struct task_losses *losses; /* NULL: never looked */
	char name[];		    /* of the task, or of a partition of it: T:K; tasks.c */
};

#endif
