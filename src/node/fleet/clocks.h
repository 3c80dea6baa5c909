/*
 * Compares this sidecar's clock with the ZooKeeper server's and the other workers'. The server's is
 * read from the times of our writes, and the difference is published in the registration. All nodes
 * judge from the same records which clocks are off. Part of the registry.
 */
#ifndef ZKLEADER_NODE_FLEET_CLOCKS_H
#define ZKLEADER_NODE_FLEET_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/fleet/fleet.h"
#include "core/time/skew.h"
#include "core/time/tick.h"
#include "node/host.h"
#include "node/store.h"

struct registry;

#define CLOCKS_TOLERANCE_MS 30000 /* as long as nobody has said another */
#define CLOCKS_TEXT_MAX	    200
/*
 * The clock of jobs is not judged anew for so long after the server's has changed: others may hear
 * of that late, and publish what they hear some seconds later.
 */
#define CLOCKS_JOBS_SETTLE_MS 40000

struct clocks {
	struct registry *registry;
	struct skew skew;
	int64_t tolerance_ms;
	int64_t offset_ms;  /* to be published: by how much our clock is ahead of the server's */
	bool folder;	    /* the write is of the workers' folder: we have no record yet */
	bool gone;	    /* our record was not there when that write came */
	bool asking;	    /* a write of ours will tell the server's time */
	bool mute;	    /* the server does not tell its time: no offset is published */
	bool off;	    /* our clock was off when it was judged last */
	size_t against;	    /* workers whose clocks differed from ours then */
	int64_t cleared_ms; /* CLOCK_BOOTTIME: until then it still counts as off; 0: no longer */
	int64_t ask_ms;	    /* CLOCK_BOOTTIME of the next such write */
	int64_t hint_ms;    /* before this no other worker's record makes us ask */
	int64_t publish_ms; /* no other offset is published before */
	/* The clock of jobs; it outlives sessions. */
	bool jobs_known;
	bool jobs_doubted;	 /* the others have not been asked yet which clock is right */
	int64_t jobs_base_ms;	 /* its time when our CLOCK_BOOTTIME was 0 */
	int64_t jobs_error_ms;	 /* by how much that may be wrong, either way */
	int64_t jobs_offset_ms;	 /* by how much it is ahead of the server's */
	int64_t jobs_settled_ms; /* CLOCK_BOOTTIME; until then it is not judged anew */
	struct host_timer due;
};

void clocks_init(struct clocks *c, struct registry *r, struct host *h);
void clocks_done(struct clocks *c);
void clocks_set_tolerance(struct clocks *c, int64_t tolerance_ms);

/*
 * Whether our offset is known. If not, the server is asked, and registry_clocked() is called then.
 */
bool clocks_ready(struct clocks *c);
/* To be called when we are registered: measuring goes on. */
void clocks_registered(struct clocks *c);
/* Likewise, with the record of the previous sidecar. */
void clocks_taken_over(struct clocks *c, const struct worker *w);
void clocks_expired(struct clocks *c);
/*
 * Writes our record unchanged, or the workers' folder while there is none. fn passes the answer to
 * clocks_heard().
 */
void clocks_ask(struct clocks *c, store_reply_fn fn, void *arg);
/* Takes the answer to a write of ours: its Stat has the server's time. */
void clocks_heard(struct clocks *c, const struct store_reply *reply);
/*
 * Takes another worker's record. If it differs much from ours, the server's clock may have jumped.
 */
void clocks_joined(struct clocks *c, const struct worker *w);

/*
 * Judges which members' clocks are off, in the order of fleet.by_id. False: not now, as the
 * server's clock has just jumped; the last judgement stays.
 */
bool clocks_judge(struct clocks *c, bool *ret_off);
/*
 * Sets the clock of jobs. Until the others' offsets are known, it is the earlier one of the
 * server's and ours if these differ.
 */
void clocks_judge_jobs(struct clocks *c);
/* Whether our clock is off at this moment, or not known yet: then no tick is to be claimed. */
bool clocks_is_off(const struct clocks *c);
bool clocks_is_unsure(const struct clocks *c);
/*
 * The latest time that can be right: the later of our clock and the server's, plus the tolerance;
 * INT64_MAX: not known.
 */
int64_t clocks_latest_ms(const struct clocks *c);
/*
 * The name of that time, for tick_place(), where ticks are named by a clock that is zone_ms ahead
 * of UTC; TICK_NO_LIMIT where it is not known.
 */
void clocks_limit(const struct clocks *c, int64_t zone_ms, char limit[TICK_NAME_SIZE]);
/*
 * The time that jobs go by: the server's, unless most others' clocks say another. If the server's
 * clock jumps, this one goes on as before until all others have published their offsets again.
 * False: not known yet, and *ret_ms is our own clock's.
 */
bool clocks_jobs(const struct clocks *c, int64_t *ret_ms);
/* The greatest error of that time in ms, either way: half of what the answer that told it took. */
int64_t clocks_jobs_error(const struct clocks *c);
/*
 * Whether that time is the earlier one of two that differ, until the others' offsets can be judged:
 * a delay that counts from it could end early.
 */
bool clocks_jobs_doubted(const struct clocks *c);
/* The difference of that time from the server's, positive if ahead. */
int64_t clocks_jobs_offset(const struct clocks *c);
/* The difference of our clock from the server's, positive if ahead; false: not known. */
bool clocks_offset(const struct clocks *c, int64_t *ret_ms);
/* "24h ahead of the ZooKeeper server's", or "3m behind" it; and of our own offset now. */
void clocks_say(int64_t offset_ms, char text[CLOCKS_TEXT_MAX]);
void clocks_say_own(const struct clocks *c, char text[CLOCKS_TEXT_MAX]);

#endif
