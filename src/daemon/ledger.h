/*
 * The tick ledger in ZooKeeper: ROOT/runs/TASK/TICK, one record for each tick that was claimed. The data
 * of ROOT/runs/TASK is the oldest tick that pruning has left, and each pruning writes it: a claim checks
 * its version, so no tick can be pruned away between the look at the ledger and the claim.
 */
#ifndef ZKLEADER_DAEMON_LEDGER_H
#define ZKLEADER_DAEMON_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "core/tick.h"
#include "daemon/leaders.h"
#include "wire/record.h"

enum ledger_result {
	LEDGER_ABSENT, /* look: there is no record of it, and a watch waits for one */
	LEDGER_PRESENT, /* look: there is; claim: there is, or the tick counts as claimed (no record) */
	LEDGER_DONE,	/* claim, write: committed */
	LEDGER_AGAIN,	/* something else is there than was expected: look again */
	LEDGER_UNKNOWN, /* the connection went: look again when it is back */
	LEDGER_FAILED,	/* refused by the server, and logged */
};

/* record is NULL unless it was read and is good; version is that of the record's znode. */
typedef void (*ledger_fn)(void *arg, enum ledger_result result, const struct run_record *record,
			  int32_t version);

/* Reads a tick's record and sets a watch on it, whether it is there or not. Each calls fn once. */
void ledger_look(struct leaders *l, const char *task, const char *tick, ledger_fn fn, void *arg);
/*
 * Claims a tick, if it is not claimed, this worker is registered and the task is led; then prunes to
 * keep records.
 */
void ledger_claim(struct leaders *l, const char *task, const char *tick,
		  const struct run_record *record, size_t keep, ledger_fn fn, void *arg);
/*
 * Replaces a record that still has this version. With must_lead only while this worker is registered
 * and the task is led.
 */
void ledger_write(struct leaders *l, const char *task, const char *tick,
		  const struct run_record *record, int32_t version, bool must_lead, ledger_fn fn,
		  void *arg);

struct ledger_entry {
	char tick[TICK_NAME_SIZE];
	struct run_record record;
};
/* All records of a task, oldest first; n is 0 also where they cannot be read, with ok false. */
typedef void (*ledger_history_fn)(void *arg, bool ok, const struct ledger_entry *entries, size_t n);
void ledger_history(struct leaders *l, const char *task, ledger_history_fn fn, void *arg);

/* ROOT/runs/TASK/TICK. */
void ledger_path(const struct leaders *l, const char *task, const char *tick,
		 char path[ZK_PATH_MAX]);

#endif
