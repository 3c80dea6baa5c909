/*
 * One task's election at one sidecar: a pure step function.
 *
 * election_step() takes one event and the time it came, changes the state, and says in `actions`
 * what the caller has to do. It has no clock, no random, no allocation and no I/O, and cannot fail.
 * The same code runs in the sidecar and in the simulator. docs/ELECTION.md has the table of states
 * by events.
 *
 * The contract with the caller:
 * - Events come in the order in which the ZooKeeper client delivered them.
 * - ELECTION_UP is given only when a quorum write that checks this worker's registration has been
 * acknowledged on this very connection: reads that follow cannot then be older than that write, and
 * nothing sent over an earlier connection can still happen.
 * - Each ELECTION_READ is answered by one NODE or NODE_FAILED; each CLAIM by one CLAIMED and then
 * one NODE or NODE_FAILED from the read that the caller pipelines behind it; each RELEASE by one
 * RELEASED. After EXPIRED nothing of what was asked before is answered any more.
 * - Every read sets a watch, whether the node is there or not, but where NODE says `unwatched`,
 * which it may while FOLLOWING alone; WATCH tells that it has fired.
 * - The caller calls again with ELECTION_DEADLINE once election_deadline() (core/election_times.h)
 * has come.
 */
#ifndef ZKLEADER_CORE_ELECTION_H
#define ZKLEADER_CORE_ELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELECTION_ACTIONS_MAX 6
#define ELECTION_NEVER	     INT64_MAX

/* While nobody leads, each candidate claims so much later than the one before it in rank. */
#define ELECTION_TURN_MS 500
/* How long the worker that a task was yielded to has to claim it, before we claim it again. */
#define ELECTION_ACCEPT_MS 3000
/*
 * The least yield-delay where others have to learn of the change first: a worker that becomes the
 * best later than it joined reads the leader node in this time.
 */
#define ELECTION_YIELD_MIN_MS 500
/* The pause between two yields that nobody took: it doubles from the first to the second. */
#define ELECTION_BACKOFF_MIN_MS 10000
#define ELECTION_BACKOFF_MAX_MS 300000
/* After a yield or a deletion, before the node is read: as a rule it has its next leader then. */
#define ELECTION_VACANT_READ_MS 200
/*
 * A claim follows from a read that found no node. The read may be no older than this: later a
 * leader may have come and gone unheard.
 */
#define ELECTION_NEWS_MS 250
/* Before a read or claim that failed while connected is tried again. */
#define ELECTION_RETRY_MS 1000

enum election_yield { ELECTION_YIELD_RANK, ELECTION_YIELD_VERSION, ELECTION_YIELD_NEVER };

struct election_config {
	enum election_yield yield;
	int64_t yield_delay_ms;
	int64_t tick_guard_ms; /* below 30 s */
};

enum election_state {
	ELECTION_DOWN,	    /* no session of ours has a registration */
	ELECTION_FOLLOWING, /* another leads, or the node has not been read yet */
	ELECTION_VACANT,    /* nobody leads; our claim follows in its turn */
	ELECTION_CLAIMING,  /* a claim is outstanding */
	ELECTION_RESOLVING, /* an outcome is unknown: a read will tell who leads */
	ELECTION_LEADING,   /* the node is ours, with a token */
	ELECTION_RELEASING, /* "leads" is not said any more; the deletion is outstanding */
	ELECTION_STATES
};

/* The leader node, as last read. */
struct election_node {
	int64_t owner;	 /* session; kept as the last owner once the node is gone */
	int64_t token;	 /* creation zxid */
	int32_t version; /* data version */
	bool known;	 /* false: not read, or a watch has fired since */
	bool exists;
	bool mine; /* owned by the present session */
};

/* This node's place among the candidates, from fleet_stand(). */
struct election_view {
	bool candidate;
	bool newer;	      /* the best has a newer version than we */
	bool next;	      /* we are the best if that leaves, whatever our place */
	bool best_returned;   /* it was there before: it may know who led the task once */
	uint32_t place;	      /* 0: we are the best candidate */
	uint64_t best;	      /* who is best: its serial, 0 for nobody */
	int64_t best_seen_ms; /* since when the best has been there */
};

enum election_outcome {
	ELECTION_DONE,	  /* committed */
	ELECTION_REFUSED, /* not done: a check or an operation in it did not hold */
	ELECTION_UNKNOWN, /* the connection went: it may or may not have happened */
};

enum election_event_type {
	ELECTION_UP,	      /* up_timeout_ms */
	ELECTION_CUT,	      /* the connection is lost; the session may live */
	ELECTION_EXPIRED,     /* the session has ended, or is given up */
	ELECTION_VIEW,	      /* view */
	ELECTION_WATCH,	      /* watch */
	ELECTION_NODE,	      /* node */
	ELECTION_NODE_FAILED, /* a read did not work out */
	ELECTION_CLAIMED,     /* outcome */
	ELECTION_RELEASED,    /* outcome */
	ELECTION_INTEREST,    /* on: a subscriber wants to know who leads, whatever our place is */
	ELECTION_HOLD,	      /* on: a run holds the task until hold_until_ms */
	ELECTION_CONFIG,      /* config */
	ELECTION_DEADLINE,
	ELECTION_EVENTS
};

enum election_watch { ELECTION_CREATED, ELECTION_CHANGED, ELECTION_DELETED };

struct election_time {
	int64_t boot_ms; /* CLOCK_BOOTTIME */
	int64_t wall_ms; /* the local clock, for the tick guard alone */
	bool leased;	 /* the session's lease is good: what was said before it has been heard */
};

struct election_event {
	enum election_event_type type;
	struct election_time now;
	union {
		int64_t up_timeout_ms;
		struct election_view view;
		enum election_watch watch;
		struct election_node node;
		enum election_outcome outcome;
		bool on;
		struct election_config config;
	};
	int64_t hold_until_ms;
	int64_t token;	/* CLAIMED: of our node, where the answer told it; else 0 */
	int64_t owner;	/* CLAIMED: our session */
	bool unwatched; /* NODE: it is absent, and no watch was set */
	/*
	 * VIEW, WATCH, NODE: the session timeout of a worker that is registered now with the
	 * session that owns the leader node, the one just read or else the last known; 0: there is
	 * none.
	 */
	int64_t owner_ms;
	/*
	 * The same events: workers are still to be read, so that the owner may yet turn out to be
	 * one.
	 */
	bool owner_unsure;
};

enum election_action_type {
	ELECTION_CLAIM,	  /* multi[check(workers/ME), create(leaders/TASK)], and a read behind it */
	ELECTION_RELEASE, /* multi[check(workers/TO), set(leaders/TASK), delete(leaders/TASK)] */
	ELECTION_READ,	  /* read leaders/TASK and set a watch on it */
	ELECTION_TELL,	  /* the role has changed from .from to the state that is now there */
};

struct election_action {
	enum election_action_type type;
	union {
		struct {
			uint64_t
				/* RELEASE: serial of the successor, 0: nobody's presence matters */
				to;
			int32_t version; /* RELEASE: data version that the node must still have */
		};
		struct { /* TELL */
			enum election_state from;
			const char *reason; /* a constant word or two */
		};
	};
};

struct election_actions {
	struct election_action list[ELECTION_ACTIONS_MAX];
	size_t n;
};

struct election {
	struct election_config config;
	enum election_state state;
	struct election_view view;
	struct election_node node;
	bool up;
	bool viewed;  /* a view has come in this session: what came before it decides nothing */
	bool watched; /* a watch of ours is set at the server */
	bool fresh;   /* the node was read on this connection */
	bool interest;
	bool held;
	bool handed_over; /* the last leader yielded: the node was set and deleted */
	/* since our last read of the node another may have led whose node was never read here */
	bool unseen_leader;
	bool owner_listed;     /* node.owner has been seen among the members */
	bool yielded;	       /* we gave it up, and no other leader was seen since */
	uint32_t reads;	       /* outstanding */
	int64_t timeout_ms;    /* of the session */
	int64_t best_since_ms; /* since when the best of the view is to get the task */
	int64_t unfit_ms;      /* when we ceased to be a candidate */
	int64_t owner_ms;      /* for how long the last owner may lead on unheard */
	int64_t hold_until_ms;
	int64_t promised_ms;	  /* "leads" has been promised until then */
	int64_t vacant_ms;	  /* since when it is VACANT */
	int64_t absent_ms;	  /* when the server last said that there is no node */
	int64_t retry_ms;	  /* what failed, a read or a claim, is not tried again before */
	int64_t vacant_read_ms;	  /* while it is VACANT the node is not read before */
	int64_t release_ms;	  /* a release that failed is not tried again before */
	int64_t backoff_ms;	  /* the present pause between yields that nobody took, 0: none */
	int64_t backoff_until_ms; /* no yield before */
};

void election_init(struct election *e, const struct election_config *config);
void election_step(struct election *e, const struct election_event *event,
		   struct election_actions *ret_actions);
/* Whether the role is ours; "leads" also needs the lease. */
bool election_leads(const struct election *e);
/* Whether the present state is one that will settle by itself soon. */
bool election_unsettled(const struct election *e);
/* Asserts the invariants; called at the end of every step. */
void election_check(const struct election *e);

const char *election_state_name(enum election_state state);
bool election_move_allowed(enum election_state from, enum election_state to);

#endif
