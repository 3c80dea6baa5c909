/*
 * The tick ledger in ZooKeeper: ROOT/runs/TASK/TICK, one record for each claimed tick. The data of
 * ROOT/runs/TASK is the oldest tick that pruning has left, and each pruning writes it. A claim
 * checks its version, so no tick can be pruned between the read of the ledger and the claim.
 */
#ifndef ZKLEADER_NODE_LEDGER_LEDGER_H
#define ZKLEADER_NODE_LEDGER_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "core/election/run.h"
#include "core/time/tick.h"
#include "node/session/watches.h"
#include "wire/records/record.h"

struct leaders;
struct notice_record;
struct registry;
struct task;

/*
 * The ticks of a task in the ledger, for the next claim. Valid for one leadership: meanwhile no
 * other node claims, and the claim itself checks that nothing was pruned.
 */
struct ledger_ticks {
	char (*names)[TICK_NAME_SIZE]; /* sorted; NULL: not known */
	size_t n;
	char floor[TICK_NAME_SIZE]; /* the oldest that pruning has left, "" */
	int32_t version;	    /* of ROOT/runs/TASK, which each pruning writes */
	int64_t token;		    /* of the leadership */
};

/* record: NULL unless it was read and is valid; version: of its znode. */
typedef void (*ledger_fn)(void *arg, enum ledger_result result, const struct run_record *record,
			  int32_t version);

struct ledger_sight {
	const char *limit;   /* as in tick_place() */
	bool whole;	     /* reads the record */
	const void *watcher; /* hears of changes, until ledger_unwatch(); NULL: nobody */
	enum watch_class class;
};

/*
 * Whether a tick has been claimed; the watch is on its record, existing or not. Each of these
 * functions calls fn once.
 */
void ledger_look(struct leaders *l, const char *task, const char *tick,
		 const struct ledger_sight *sight, ledger_fn fn, void *arg);
void ledger_unwatch(struct leaders *l, const char *task, const char *tick, const void *watcher);
/*
 * Claims a tick, if it is not claimed, this worker is registered and the task is led. The same
 * transaction prunes to the task's history, but nothing that would make a tick from `owed` on older
 * than the oldest kept; TICK_NO_LIMIT: none is owed. trigger: path of a znode to delete with it,
 * and the tick may be older than all that are kept; NULL: none. fn may be called before this
 * returns.
 */
void ledger_claim(struct task *t, const char *tick, const char *limit, const char *owed,
		  const char *trigger, const struct run_record *record, ledger_fn fn, void *arg);
/*
 * Replaces a record that still has this version. must_lead: only while this worker is registered
 * and the task is led; trigger: as above. event: noted with it; NULL: none.
 */
void ledger_write(struct leaders *l, const char *task, const char *tick, const char *trigger,
		  const struct run_record *record, int32_t version, bool must_lead,
		  const struct notice_record *event, ledger_fn fn, void *arg);
/*
 * Makes a record with the state "missed" for each of these ticks, oldest first, if this worker is
 * registered and leads the task: all or none. If the ledger has far more ticks than the task's
 * history, the oldest that have ended and are not retried are deleted.
 */
struct ledger_missing {
	const int64_t *ticks;
	size_t n;
	const char *owed; /* behind them, as for a claim */
	const char *trigger;
	const struct run_record *record; /* but for why and detail */
	/* The reason for each tick; NULL: that of the record. */
	const struct missed_why {
		const char *why; /* a constant */
		char detail[RECORD_DETAIL_MAX + 1];
	} * whys;
	const struct notice_record *event; /* noted with them */
};
void ledger_missed(struct task *t, const struct ledger_missing *missing, ledger_fn fn, void *arg);

/* The result of a reply that has no other meaning; logs it where needed. */
enum ledger_result ledger_failure(const char *task, const char *tick,
				  const struct store_reply *reply);

/* The task is about to be freed. */
void ledger_forget(struct task *t);

struct ledger_entry {
	char tick[TICK_NAME_SIZE];
	struct run_record record;
	char *output; /* of the record; valid as long as the entry; NULL: none */
	bool cut;     /* the oldest one, and older ones have been pruned */
};
/* The records that are read: of the ticks from `since` on the newest ones. */
struct ledger_range {
	char since[TICK_NAME_SIZE]; /* "": from the oldest on */
	int64_t most;		    /* 0: all */
};
/* Records of a task, all if range is NULL, oldest first; ok false: they cannot be read, n is 0. */
typedef void (*ledger_history_fn)(void *arg, bool ok, const struct ledger_entry *entries, size_t n);
void ledger_history(struct leaders *l, const char *task, const struct ledger_range *range,
		    ledger_history_fn fn, void *arg);

/* A record's state for answers: "lost" if it says running, and its session is gone. */
const char *ledger_state(const struct registry *r, const char *state, int64_t session);

#endif
