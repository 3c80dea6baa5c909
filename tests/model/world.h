/*
 * The world of one election, with all that it can notice: the leader node as it really is, the
 * connection with what is on its way in either direction, one other worker, and operators' hands.
 */
#ifndef TESTS_MODEL_WORLD_H
#define TESTS_MODEL_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/election/election_times.h"

#define WORLD_QUEUE_MAX	  12
#define WORLD_TIMEOUT_MS  10000
#define WORLD_PACKED_SIZE 256
#define WORLD_SELF	  99 /* session ids */
#define WORLD_OTHER	  7

/* A read is a get; where there is no node, an exists behind it; where now there is, a get again. */
enum request_type { REQUEST_READ, REQUEST_EXISTS, REQUEST_CLAIM, REQUEST_RELEASE, REQUEST_GLANCE };

struct request {
	enum request_type type;
	uint64_t to;
	int32_t version;
};

/* A message on its way to the election: ELECTION_UP, WATCH, NODE, GLANCE, CLAIMED or RELEASED. */
struct incoming {
	enum election_event_type type;
	enum election_watch watch;
	enum election_outcome outcome;
	struct election_node node;
	bool again; /* NODE: says nothing yet, but leads to a request of type next */
	enum request_type next;
};

enum watch_kind { WATCH_NONE, WATCH_DATA, WATCH_EXIST };

struct world {
	struct election e;
	int64_t now;
	int64_t next_token;
	/* the node as the quorum has it; owner 0: there is none */
	int64_t owner, token;
	int32_t version;
	bool seen;    /* the election has been told of this very node */
	bool touched; /* written by some hand: looks like a yield to who watches */
	/* the other worker */
	bool other_registered;
	bool other_in_fleet; /* as our listing last said */
	int64_t danger_ms;   /* until then it may think it leads, although a hand took its node */
	/* disagreement about who is best */
	bool returned;	 /* yielded to the best candidate, which did not keep it so far */
	bool given_up;	 /* by the other, as the election has been told, and nobody led since */
	int64_t calm_ms; /* no yield to that candidate before */
	/* our connection */
	bool connected;
	enum watch_kind watch;	   /* at the server */
	enum watch_kind lib_watch; /* as the client library would set it again */
	int64_t lib_token;
	int32_t lib_version;
	struct request requests[WORLD_QUEUE_MAX]; /* not yet at the server */
	size_t n_requests;
	struct incoming incoming[WORLD_QUEUE_MAX]; /* not yet at the election */
	size_t n_incoming;
	enum request_type unanswered[WORLD_QUEUE_MAX]; /* the election waits for these, in order */
	size_t n_unanswered;
	/* what went wrong, NULL */
	const char *fault;
};

/* Everything that may happen next. */
enum happening {
	HAPPEN_DELIVER,	     /* the next incoming reaches the election */
	HAPPEN_SERVE,	     /* the server takes the next request */
	HAPPEN_SERVE_REFUSE, /* and refuses a claim though there is no node: not registered */
	HAPPEN_DEADLINE,
	HAPPEN_CUT,
	HAPPEN_RECONNECT,
	HAPPEN_EXPIRE,
	HAPPEN_OTHER_CLAIM,
	HAPPEN_OTHER_YIELD,
	HAPPEN_OTHER_GONE,
	HAPPEN_OTHER_BACK,
	HAPPEN_HAND_DELETE,
	HAPPEN_HAND_SET,
	HAPPEN_VIEW_NONE,
	HAPPEN_VIEW_BEST,
	HAPPEN_VIEW_SECOND,
	HAPPEN_VIEW_SECOND_OLDER,
	HAPPEN_VIEW_THIRD,
	HAPPEN_INTEREST,
	HAPPEN_HOLD,
	HAPPEN_CONFIG,
	HAPPEN_GLANCE,
	HAPPENINGS
};

const char *happening_name(enum happening what);
void world_init(struct world *w);
bool world_possible(const struct world *w, enum happening what);
/* Lets it happen; w->fault says what is wrong afterwards. */
void world_happen(struct world *w, enum happening what);
/* Whether the world, if nothing more goes wrong, comes to rest: sets w->fault if not. */
void world_settle(struct world *w);
/* All that matters of it, with times relative to now and tokens numbered anew. */
size_t world_pack(const struct world *w, uint8_t bytes[WORLD_PACKED_SIZE]);

/* Gives the event to the election, and notes the moves that it makes. */
void model_step(struct election *e, struct election_event *event, int64_t now,
		struct election_actions *ret_actions);
extern uint64_t model_moves[ELECTION_STATES][ELECTION_STATES];
/* Whether a deadline that has come leads to something; NULL or what is wrong. */
const char *model_check_deadline(const struct election *e, int64_t now);

/* For small things to be put into bytes. */
struct packer {
	uint8_t *bytes;
	size_t n;
	int64_t tokens[WORLD_QUEUE_MAX + 4];
	size_t n_tokens;
};
void pack_number(struct packer *p, int64_t value);
void pack_token(struct packer *p, int64_t token);
void pack_election(struct packer *p, const struct election *e, int64_t now);

#endif
