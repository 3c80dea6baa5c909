/*
 * The tick ledger in ZooKeeper: ROOT/runs/TASK/TICK, one record for each tick that was claimed. The
 * data of ROOT/runs/TASK is the oldest tick that pruning has left, and each pruning writes it: a
 * claim checks its version, so no tick can be pruned away between the look at the ledger and the
 * claim.
 */
#ifndef ZKLEADER_NODE_LEDGER_H
#define ZKLEADER_NODE_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "core/run.h"
#include "core/tick.h"
#include "node/store.h"
#include "wire/record.h"

struct leaders;
struct notice_record;
struct registry;
struct task;

/*
 * What the ledger holds of a task, for the next claim. Good for one leadership: meanwhile nobody
 * else claims, and that the oldest are still the oldest is checked by the claim.
 */
struct ledger_ticks {
	char (*names)[TICK_NAME_SIZE]; /* sorted; NULL: not known */
	size_t n;
	char floor[TICK_NAME_SIZE]; /* the oldest that pruning has left, "" */
	int32_t version;	    /* of ROOT/runs/TASK, which each pruning writes */
	int64_t token;		    /* of that leadership */
};

/* record is NULL unless it was read and is good; version is that of the record's znode. */
typedef void (*ledger_fn)(void *arg, enum ledger_result result, const struct run_record *record,
			  int32_t version);

/*
 * Whether a tick has been claimed, with a watch on its record, there or not; whole: with the
 * record. limit: as in tick_place(). Each calls fn once.
 */
void ledger_look(struct leaders *l, const char *task, const char *tick, const char *limit,
		 bool whole, ledger_fn fn, void *arg);
/*
 * Claims a tick, if it is not claimed, this worker is registered and the task is led; and prunes to
 * what the task's history keeps, in the same transaction. trigger: the path of a znode that goes
 * with it, NULL: none. fn may be called before this returns.
 */
void ledger_claim(struct task *t, const char *tick, const char *limit, const char *trigger,
		  const struct run_record *record, ledger_fn fn, void *arg);
/*
 * Replaces a record that still has this version. With must_lead only while this worker is
 * registered and the task is led; trigger as above. event: is noted with it; NULL.
 */
void ledger_write(struct leaders *l, const char *task, const char *tick, const char *trigger,
		  const struct run_record *record, int32_t version, bool must_lead,
		  const struct notice_record *event, ledger_fn fn, void *arg);
/*
 * Makes a record of the state "missed" of each of these ticks, oldest first, if this worker is
 * registered and leads the task: all of them or none. Where the ledger holds far more than the
 * task's history, the oldest that have ended and are not to be run again go. event: is noted with
 * them.
 */
void ledger_missed(struct task *t, const int64_t *ticks, size_t n, const struct run_record *record,
		   const struct notice_record *event, ledger_fn fn, void *arg);

/* What follows from a reply that nothing else is made of, and a line in the log where it is due. */
enum ledger_result ledger_failure(const char *task, const char *tick,
				  const struct store_reply *reply);

/* The task is about to be freed. */
void ledger_forget(struct task *t);

struct ledger_entry {
	char tick[TICK_NAME_SIZE];
	struct run_record record;
	char *output; /* of the record; good as long as the entry, NULL: none */
};
/* All records of a task, oldest first; n is 0 also where they cannot be read, with ok false. */
typedef void (*ledger_history_fn)(void *arg, bool ok, const struct ledger_entry *entries, size_t n);
void ledger_history(struct leaders *l, const char *task, ledger_history_fn fn, void *arg);

/* The oldest tick that pruning has left, as the task's folder says; "": it never pruned. */
void ledger_floor(const struct store_reply *reply, char floor[TICK_NAME_SIZE]);
/* The ticks of a list of the ledger's znodes, sorted; an array of the caller's. */
char (*ledger_names(const struct store_reply *reply, size_t *ret_n))[TICK_NAME_SIZE];

/* A record's state as it is told: "lost" where it runs, and the session that runs it is gone. */
const char *ledger_state(const struct registry *r, const char *state, int64_t session);

#endif
