/*
 * The election of one task at one sidecar: a pure step function.
 *
 * election_step() takes one event and the time it came, changes the state, and says in `actions`
 * what the caller has to do. It has no clock, no random, no allocation and no I/O, and cannot fail.
 * The same code runs in the sidecar and in the simulator. docs/ELECTION.md has the table of states
 * by events.
 *
 * The contract with the caller:
 * - Events come in the order in which the ZooKeeper client delivered them.
 * - ELECTION_UP is given only when a quorum write that checks this worker's registration has been
 * acknowledged on this connection. Then later reads cannot be older than that write, and no request
 * of an earlier connection can still be executed.
 * - Each ELECTION_READ is answered by one NODE or NODE_FAILED; each CLAIM by one CLAIMED and then
 * one NODE or NODE_FAILED from the read that the caller pipelines behind it; each RELEASE by one
 * RELEASED. After EXPIRED no earlier request is answered.
 * - Every read sets a watch, whether the node exists or not; WATCH says that it has fired. The
 * exception is NODE with `unwatched`, which is allowed only while FOLLOWING.
 * - The caller calls again with ELECTION_DEADLINE at election_deadline()
 * (core/election/election_times.h).
 */
#ifndef ZKLEADER_CORE_ELECTION_ELECTION_H
#define ZKLEADER_CORE_ELECTION_ELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELECTION_ACTIONS_MAX 6
#define ELECTION_NEVER	     INT64_MAX

/* The stagger: while nobody leads, each candidate claims this long after the next better one. */
#define ELECTION_STAGGER_MS 500
/* The time that the successor has after a yield to claim the task, before we claim it again. */
#define ELECTION_ACCEPT_MS 3000
/*
 * The least yield-delay if the best candidate became the best only after it joined: it reads the
 * leader node in this time.
 */
#define ELECTION_YIELD_MIN_MS 500
/*
 * The pause of the yields to a best candidate that does not keep the task: it did not take it, or
 * gave it up again, as one does whose files name another best. It doubles each time, from MIN (or
 * yield-delay, if that is longer) to MAX.
 */
#define ELECTION_BACKOFF_MIN_MS 10000
#define ELECTION_BACKOFF_MAX_MS 300000
/*
 * The time from a yield or a deletion to the next read of the node: usually it has a new leader by
 * then.
 */
#define ELECTION_VACANT_READ_MS 200
/*
 * A claim follows from a read that found no node. The read may be no older than this:
 * since an older one, a leader may have come and gone unnoticed.
 */
#define ELECTION_NEWS_MS 250
/*
 * Candidates behind the two that watch the node, which glance at it now and then: should all those
 * before one of them die at once, it knows whose leadership has ended. It would have to wait for
 * the lease of a leader that it never heard of.
 */
#define ELECTION_GLANCE_PLACES 3
/* Before a read or claim that failed while connected is retried. */
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
	ELECTION_VACANT,    /* nobody leads; we claim after our stagger */
	ELECTION_CLAIMING,  /* a claim is outstanding */
	ELECTION_RESOLVING, /* an outcome is unknown: a read will show the leader */
	ELECTION_LEADING,   /* the node is ours, with a token */
	ELECTION_RELEASING, /* we no longer say "leads"; the deletion is outstanding */
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
	bool newer;	     /* the best candidate has a newer version than we */
	bool next;	     /* we become the best candidate if the present one leaves */
	bool best_returned;  /* the best candidate has restarted: it may know an earlier leader */
	bool best_disagrees; /* the best candidate's files say something else about who is best */
	uint32_t place;	     /* 0: we are the best candidate */
	uint64_t best;	     /* serial of the best candidate, 0 for none */
	/* when we first saw the best candidate; in a big fleet, when others may have, too */
	int64_t best_seen_ms;
};

enum election_outcome {
	ELECTION_DONE,	  /* committed */
	ELECTION_REFUSED, /* not done: a check or an operation in it failed */
	ELECTION_UNKNOWN, /* the connection was lost: it may or may not be committed */
};

enum election_event_type {
	ELECTION_UP,	      /* up_timeout_ms */
	ELECTION_CUT,	      /* the connection is lost; the session may live */
	ELECTION_EXPIRED,     /* the session has ended, or was given up */
	ELECTION_VIEW,	      /* view */
	ELECTION_WATCH,	      /* watch */
	ELECTION_NODE,	      /* node */
	ELECTION_NODE_FAILED, /* a read has failed */
	ELECTION_GLANCE,      /* node: exists, as a read that no action asked for has found */
	ELECTION_CLAIMED,     /* outcome */
	ELECTION_RELEASED,    /* outcome */
	ELECTION_INTEREST,    /* on: a subscriber wants to know the leader, whatever our place */
	ELECTION_HOLD,	      /* on: a run holds the task until hold_until_ms */
	ELECTION_CONFIG,      /* config */
	ELECTION_DEADLINE,
	ELECTION_EVENTS
};

enum election_watch { ELECTION_CREATED, ELECTION_CHANGED, ELECTION_DELETED };

struct election_time {
	int64_t boot_ms; /* CLOCK_BOOTTIME */
	int64_t wall_ms; /* the local clock, for the tick guard alone */
	bool leased;	 /* the session's lease is valid, and earlier events have been delivered */
	bool reading;	 /* many workers are still to be read, and one of them may be the best */
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
	int64_t token;	/* CLAIMED: of our node, if the answer contains it; else 0 */
	int64_t owner;	/* CLAIMED: our session */
	bool unwatched; /* NODE: the node is absent, and no watch was set */
	/*
	 * VIEW, WATCH, NODE, GLANCE: the session timeout of the worker whose session owns the
	 * leader node (the one just read, or else the last known); 0: no such worker is registered
	 * now.
	 */
	int64_t owner_ms;
	/*
	 * The same events: not all workers have been read, so the owner may still turn out to be
	 * one.
	 */
	bool owner_unsure;
};

enum election_action_type {
	ELECTION_CLAIM,	  /* multi[check(workers/ME), create(leaders/TASK)], and a read behind it */
	ELECTION_RELEASE, /* multi[check(workers/TO), set(leaders/TASK), delete(leaders/TASK)] */
	ELECTION_READ,	  /* read leaders/TASK and set a watch on it */
	ELECTION_TELL,	  /* the state has changed from .from to the present one */
};

struct election_action {
	enum election_action_type type;
	union {
		struct {
			uint64_t
				/* RELEASE: serial of the successor; 0: none is checked */
				to;
			int32_t version; /* RELEASE: data version that the node must still have */
		};
		struct { /* TELL */
			enum election_state from;
			const char *reason; /* a constant text of a word or two */
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
	bool viewed;  /* a view has come in this session; before it nothing is decided */
	bool watched; /* a watch of ours is set at the server */
	bool fresh;   /* the node was read on this connection */
	bool interest;
	bool held;
	bool handed_over; /* the last leader yielded: the node was set and deleted */
	/* since our last read, a leader may have come and gone whose node we never read */
	bool unseen_leader;
	bool owner_listed;     /* node.owner has been seen among the members */
	bool yielded;	       /* we yielded it, and have seen no other leader since */
	uint32_t reads;	       /* outstanding */
	uint64_t read_best;    /* the best candidate when the node was last read */
	uint64_t yielded_to;   /* the best candidate, if we yielded it to that one; else 0 */
	int64_t timeout_ms;    /* session timeout */
	int64_t best_since_ms; /* since when the task is to go to the best candidate */
	int64_t unfit_ms;      /* when we ceased to be a candidate */
	int64_t owner_ms;      /* for how long the last owner may go on leading unnoticed */
	int64_t hold_until_ms;
	int64_t promised_ms;	  /* we have promised to lead until then */
	int64_t vacant_ms;	  /* since when it is VACANT */
	int64_t absent_ms;	  /* when the server last said that there is no node */
	int64_t retry_ms;	  /* a read or claim that failed is not retried before */
	int64_t vacant_read_ms;	  /* while it is VACANT the node is not read before */
	int64_t release_ms;	  /* a release that failed is not retried before */
	int64_t backoff_ms;	  /* the last pause of yields to this best candidate; 0: none */
	int64_t backoff_until_ms; /* no yield before, unless another becomes the best candidate */
};

void election_init(struct election *e, const struct election_config *config);
void election_step(struct election *e, const struct election_event *event,
		   struct election_actions *ret_actions);
/* Whether we are the leader by state; to say "leads" also takes the lease. */
bool election_leads(const struct election *e);
/* Whether the present state will soon settle by itself. */
bool election_unsettled(const struct election *e);
/* Asserts the invariants; called at the end of every step. */
void election_check(const struct election *e);

const char *election_state_name(enum election_state state);
bool election_move_allowed(enum election_state from, enum election_state to);

#endif
