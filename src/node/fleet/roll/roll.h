/*
 * The roll of a big fleet: one worker keeps ROOT/roll, which tells who joins and leaves, and all
 * others watch that in place of the folder of workers. So a change costs each of them a few hundred
 * bytes, and not a list of all.
 *
 * It is a hint about who is there. Its log names the transactions of the folder that it has, so
 * each sidecar knows what it has missed, and lists the folder where that is more than the log goes
 * back. Once in a session timeout each compares it with the folder itself. Whoever makes
 * ROOT/roll/keeper first keeps it; each write goes by the version of the one before, so two cannot
 * mix theirs. A session that the roll says is gone is sure to be only once a list of our own says
 * so as well: see roll_is_sure().
 */
#ifndef ZKLEADER_NODE_FLEET_ROLL_ROLL_H
#define ZKLEADER_NODE_FLEET_ROLL_ROLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "core/fleet/fleet.h"
#include "node/session/session.h"
#include "node/tree/folder.h"
#include "wire/records/roll_record.h"

#define ROLL_READS_MIN	  2    /* and a tenth of roll-from: new nodes that are read one by one */
#define ROLL_TURN_MS	  200  /* from the attempt of one to keep the roll to that of the next */
#define ROLL_BATCH_MS	  100  /* from one write of the head to the next */
#define ROLL_LISTS_PER_MS 2    /* of those who list the folder at the same time */
#define ROLL_LAG_MS	  1000 /* that the roll may be behind the folder, and more in big fleets */
#define ROLL_SURE_MAX	  64
#define ROLL_LOG_KEEP	  ((size_t)512)	       /* bytes of older batches that stay in the log */
#define ROLL_CHUNK_NODES  96		       /* workers of a chunk, on the average, at most */
#define ROLL_CHUNK_LACKS  12		       /* changes, with which it is written in any case */
#define ROLL_AT_ONCE	  ((size_t)256 * 1024) /* bytes of chunks in one transaction */

enum roll_state {
	ROLL_OFF,	/* the fleet is small, or the roll is not wanted */
	ROLL_SEEKING,	/* the folder is listed; a roll that is kept is looked for */
	ROLL_FOLLOWING, /* the folder is not watched */
	ROLL_KEEPING
};

struct roll_handlers {
	/* The bytes of a member's record, appended; false: others have to read it. */
	bool (*record)(void *arg, const struct member *m, struct buffer *out);
	void *arg;
};

/* Changes since the roll was written, packed. */
struct roll_pending {
	struct buffer joined, left;
	size_t n_joined, n_left;
};

struct roll {
	struct session *session;
	struct folder *folder; /* ROOT/workers */
	const struct fleet *fleet;
	const char *self; /* our id, "" */
	size_t from;	  /* workers from which there is a roll; SIZE_MAX: never */
	struct roll_handlers handlers;
	enum roll_state state;
	int64_t zxid;  /* all changes of the folder up to this one are known */
	bool own;      /* our own record has changed, and the zxid may be behind that */
	int64_t first; /* seeking: zxid of the first list; 0: none yet */

	/* the head as it was read last */
	struct buffer bytes;
	struct roll_head head; /* its log points into the bytes; zxid 0: there is no good one */
	int64_t sum;
	int32_t version;
	bool there, asked, again;
	bool blank;   /* it has no head: whoever keeps it is about to write one */
	bool patient; /* seeking: the head is behind, and has time; the timer runs */
	int64_t patient_ms, patient_with; /* since when, 0; with a head of that sum */
	bool renewed;	    /* and the list was made once more, as nobody keeps the roll yet */
	bool waited;	    /* and that is over */
	bool behind;	    /* seeking: the timer runs to the next list, as the log has a gap */
	bool told;	    /* that it lags, or differs; until it is followed again */
	int64_t bad;	    /* the sum of a head that is not followed any more; 0: none */
	size_t chunk_reads; /* outstanding */
	int64_t chunks_of;  /* the sum of the head by which they were asked for */
	bool has_read[ROLL_CHUNKS_MAX]; /* since the last list */

	struct host_timer seek; /* to list the folder */
	struct host_timer look; /* to compare the roll with the folder */
	struct host_timer lag;
	int64_t lag_zxid;

	/* Sessions that are not there by the roll, and the list that proves it. */
	struct {
		int64_t session;
		uint64_t lists;
	} sure[ROLL_SURE_MAX];
	size_t n_sure;

	/* keeping */
	struct host_timer
		turn;	      /* to make ROOT/roll/keeper, or to write what is left to be written */
	bool watched, vacant; /* the keeper; vacant: there is none */
	bool turning, ours;   /* the timer runs; ours: it is our turn */
	int64_t doubted_ms; /* when the keeper's term is ended, as it does nothing; 0: it is not */
	bool collects;	    /* changes are noted as pending */
	int64_t turn_ms;    /* CLOCK_BOOTTIME: when the timer fires */
	int64_t sent_ms;    /* likewise: when the head was written last */
	int64_t collected;  /* the head's zxid that they follow; 0: they have a gap */
	int64_t written;    /* the sum of the head that we wrote last */
	struct roll_pending pending;
	struct {
		struct buffer bytes;
		int64_t sum;	 /* of the head that is outstanding, or perhaps written; 0: none */
		int32_t version; /* that it replaces */
		size_t joined, n_joined, left, n_left; /* of what is pending */
		bool chunks[ROLL_CHUNKS_MAX];
	} sent;
	bool busy, chunks_known, all_chunks;
	bool resting;			 /* for ROLL_BATCH_MS */
	size_t n_made;			 /* chunks that are there as nodes, from 0 on */
	uint16_t dirty[ROLL_CHUNKS_MAX]; /* changes that each chunk lacks, or more */
	size_t next_chunk;
};

void roll_init(struct roll *r, struct session *session, struct folder *folder,
	       const struct fleet *fleet, const char *self, size_t from,
	       const struct roll_handlers *handlers);
void roll_done(struct roll *r);
/* The id of the worker that keeps the roll which is followed here, or our own; "": none is. */
const char *roll_keeper(const struct roll *r);
/* Whether there is one once the fleet is big enough. */
bool roll_is_wanted(const struct roll *r);

/* From the session's handlers; the folder's are to be told after it. */
void roll_up(struct roll *r);
void roll_cut(struct roll *r);
void roll_expired(struct roll *r);
void roll_watch(struct roll *r, enum store_watch type, const char *path);

/* From the folder's: it was listed; true: its new nodes are supplied. It has settled. */
bool roll_listed(struct roll *r);
void roll_settled(struct roll *r);
/* A worker node has come, as the reply says; left: its record goes with it. */
void roll_joined(struct roll *r, const char *id, const struct store_reply *reply, bool readable);
void roll_joined_self(struct roll *r);
void roll_left(struct roll *r, const char *id);

/*
 * Whether a session that is not in the fleet is gone for certain. If not, the folder is listed, and
 * its handler `changed` called.
 */
bool roll_is_sure(struct roll *r, int64_t session);
/* Likewise of the whole fleet: whether a list of our own has all that is known. */
bool roll_is_proven(struct roll *r);
/* Something makes it likely that the roll is behind: the folder is listed. */
void roll_doubt(struct roll *r);

#endif
