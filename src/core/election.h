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
 * - The caller calls again with ELECTION_DEADLINE once election_deadline() has come.
 */
#ifndef ZKLEADER_CORE_ELECTION_H
#define ZKLEADER_CORE_ELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELECTION_ACTIONS_MAX 6
#define ELECTION_NEVER	     INT64_MAX

/* Between the turns of two neighbours in rank while nobody leads. */
#define ELECTION_TURN_MS 500
/* What a worker to which leadership was yielded has, before its former leader may claim again. */
#define ELECTION_ACCEPT_MS 3000
/*
 * However short the yield-delay: for who becomes the best later than it joined, to look at the
 * node.
 */
#define ELECTION_YIELD_MIN_MS 500
/* After a yield that was not taken: before the next to the same worker, doubling to the longest. */
#define ELECTION_BACKOFF_MIN_MS 10000
#define ELECTION_BACKOFF_MAX_MS 300000
/* After a yield, before it looks who has taken it: as a rule its heir has by then. */
#define ELECTION_LOOK_MS 200
/*
 * How old the news that nobody leads may be for a claim: an owner may have come back and gone
 * unheard since.
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
	ELECTION_FOLLOWING, /* somebody else leads, or nobody has looked yet */
	ELECTION_VACANT,    /* nobody leads; ours comes in its turn */
	ELECTION_CLAIMING,  /* a claim is on its way */
	ELECTION_RESOLVING, /* something may have happened: only a read will tell */
	ELECTION_LEADING,   /* the node is ours, with a token */
	ELECTION_RELEASING, /* no more "leads" is said; the deletion is on its way */
	ELECTION_STATES
};

/* The leader node, as last read. */
struct election_node {
	bool known; /* false: not read, or a watch has fired since */
	bool exists;
	bool mine;	 /* owned by the present session */
	int64_t owner;	 /* session; kept as the last owner once the node is gone */
	int64_t token;	 /* creation zxid */
	int32_t version; /* data version */
};

/* This node's place among the candidates, from fleet_stand(). */
struct election_view {
	bool candidate;
	bool newer;	      /* the best has a newer version than we */
	uint32_t place;	      /* 0: we are the best candidate */
	uint64_t best;	      /* who is best: its serial, 0 for nobody */
	int64_t best_seen_ms; /* since when the best has been there */
	bool best_returned;   /* it was there before: it may know who led the task once */
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
	ELECTION_INTEREST,    /* on: somebody wants to know who leads, whatever our place is */
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
	bool handed_over; /* the last leader gave it up of itself: set and deleted, not just gone */
	bool stranger;	  /* somebody may have had it since whose node was never read here */
	uint32_t reads;	  /* on their way */
	int64_t timeout_ms;    /* of the session */
	int64_t best_since_ms; /* since when it has a right to the task */
	int64_t unfit_ms;      /* since when we are no candidate */
	int64_t owner_ms;      /* as in the last event that said it */
	bool owner_listed;     /* node.owner has been seen among the members */
	int64_t hold_until_ms;
	int64_t promised_ms; /* "leads" has been promised until then */
	int64_t vacant_ms;   /* since when it is VACANT */
	int64_t absent_ms;   /* when the server said last that nobody has it */
	int64_t retry_ms;    /* no read or claim that failed is tried again before */
	int64_t look_ms;     /* a task that is vacant is not read before, unless somebody asks */
	int64_t release_ms;  /* nor a release */
	bool yielded;	     /* we gave it up, and nobody has been seen to take it since */
	int64_t backoff_ms;  /* the present pause between yields that nobody took, 0: none */
	int64_t backoff_until_ms; /* no yield before */
};

void election_init(struct election *e, const struct election_config *config);
void election_step(struct election *e, const struct election_event *event,
		   struct election_actions *ret_actions);
/*
 * CLOCK_BOOTTIME at which a DEADLINE event is wanted, at the wall time of now; ELECTION_NEVER:
 * none.
 */
int64_t election_deadline(const struct election *e, struct election_time now);
/* Whether the role is ours; "leads" also needs the lease. */
bool election_leads(const struct election *e);
/*
 * Promises "leads" for as many ms from now on as may be, lease_ms being left of the lease: no
 * handover of our own will comes before they are over. No more than to the next such handover, nor
 * than yield-delay or a quarter of the session's timeout, whichever is longer, so that a better
 * candidate to come does not wait long. 0: it may not be said.
 */
int64_t election_promise(struct election *e, struct election_time now, int64_t lease_ms);
/* Whether "leads" may be said: what election_promise() would promise is not nothing. */
bool election_says(const struct election *e, struct election_time now, int64_t lease_ms);
/* Somebody else has promised it until then in our name. */
void election_promised(struct election *e, int64_t until_ms);
/* Whether the present state is one that will settle by itself soon. */
bool election_unsettled(const struct election *e);
/* When a yield that is due will be made, and why not before; false: none is due. */
bool election_yield_at(const struct election *e, struct election_time now, int64_t *ret_boot_ms,
		       const char **ret_reason);
/* Asserts the invariants; called at the end of every step. */
void election_check(const struct election *e);

const char *election_state_name(enum election_state state);
bool election_move_allowed(enum election_state from, enum election_state to);

#endif
