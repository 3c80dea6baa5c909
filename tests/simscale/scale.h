/*
 * The load that a big fleet puts on its servers, in virtual time: the sidecars' elections, leases and
 * ranking as they are, around them what the daemon asks for, without faults of servers and network.
 *
 * A fleet of thousands would not fit if each sidecar had a fleet and all elections of its own. Two things
 * save that. What a sidecar knows of the fleet is what the list of workers showed when it last read it,
 * so it is a position in the one history of joins and leaves, and who was best at that position is worked
 * out once for all. And who is neither best nor second best for a task, nor leads or watches it, has an
 * election that nothing happens to: it is made when that changes. docs/SIMULATION.md says what is left out.
 */
#ifndef TESTS_SIM_SCALE_H
#define TESTS_SIM_SCALE_H

#include "sim.h"

#include "core/election_times.h"
#include "core/lease.h"

#define BATCH_MAX 50

struct plan {
	unsigned workers, tasks;
	unsigned spread;  /* workers that list a task; 0: all */
	unsigned servers; /* that serve clients */
	int64_t timeout_ms;
	int64_t list_every_ms;		  /* between two lists at least; -1: as the sidecar does */
	int64_t yield_delay_ms, start_us; /* all workers are started within */
	int64_t restart_us;		  /* between two restarts of the rolling upgrade */
	unsigned restarts;		  /* of so many workers, 0: of all */
	int64_t read_us, write_us, event_us; /* what each costs a server */
	double bytes_per_us;
};
extern struct plan plan;

/* --- ranking.c: the one history of the fleet --------------------------------------------------------- */

#define NOBODY UINT32_MAX

struct member {
	unsigned sidecar, version, group;
	uint64_t key;
	int64_t session;
	uint32_t joined, left; /* positions; NOBODY: it is there */
};
struct top {
	uint32_t at; /* position from which on it is so */
	uint32_t best, second;
};
extern struct member *members; /* by number, in the order of joining */
extern uint32_t position;      /* of now */

void ranking_reset(void);
void ranking_join(unsigned sidecar, unsigned version, const int32_t *random_ints, int64_t session,
		  uint32_t *ret_number);
void ranking_leave(uint32_t number);
bool ranking_there(uint32_t number, uint32_t at);
bool ranking_lists(unsigned group, unsigned task);
const struct top *ranking_top(unsigned task, uint32_t at);
/* Who joined after one position and is there at the other. */
unsigned ranking_new(uint32_t from, uint32_t to);
unsigned ranking_count(void);
/* The tasks whose two best changed after one position, up to the other; next is kept by the caller. */
bool ranking_changed(uint32_t to, size_t *next, unsigned *ret_task);
size_t ranking_changes_at(uint32_t at);
extern const char *const *task_name;
extern unsigned groups;

/* --- server.c ---------------------------------------------------------------------------------------- */

enum call_kind {
	CALL_OPEN, /* a session and its registration, and the list of the policy */
	CALL_CONFIRM,
	CALL_TOUCH,
	CALL_LIST,
	CALL_RECORDS, /* n records of workers */
	CALL_GET,     /* leader nodes */
	CALL_EXISTS,
	CALL_CLAIM,
	CALL_RELEASE,
	CALL_AUDIT,
	CALL_CLOSE,
	CALL_KINDS
};
extern const char *const call_names[CALL_KINDS];

struct node {
	bool exists, mine;
	int64_t owner, czxid;
	int32_t version;
};
struct sidecar;
struct call {
	struct call *next; /* free */
	enum call_kind kind;
	struct sidecar *s;
	uint64_t life;
	int64_t sent_ms;
	unsigned n, tasks[BATCH_MAX];
	struct node
		nodes[BATCH_MAX]; /* GET and EXISTS: the answer; RELEASE: the version to be there */
	uint32_t number;	  /* OPEN: whom it registers; RELEASE: the heir, NOBODY */
	uint32_t at;		  /* LIST: the position that it shows */
	bool done;
	unsigned failed; /* of the tasks, n: the check */
	int64_t zxid;
	size_t bytes_in, bytes_out;
};

struct load {
	uint64_t calls[CALL_KINDS], reads, writes, events, in, out;
	uint64_t claims, worst_claims;
	uint64_t worst_requests, worst_out; /* in one second */
	int64_t worst_answer;		    /* us from sending to the answer */
};
extern struct load load;
extern unsigned n_wrong; /* tasks that are not led by whom the present fleet ranks best */
extern int64_t right_since, changed_at; /* since when there is none; when the fleet last changed */
extern int64_t n_watches;
extern size_t record_bytes;

void server_reset(void);
struct call *server_call(struct sidecar *s, enum call_kind kind);
void server_send(struct call *c);
void server_expire(struct sidecar *s); /* its session has ended */
void load_reset(void);
/* Whether the ranking of a task has changed, or who leads it: n_wrong follows. */
void server_judge(unsigned task);

/* --- sidecar.c ---------------------------------------------------------------------------------------- */

struct active {
	unsigned task, pending;
	bool left_out;
	struct election election;
	uint32_t best; /* of the last view */
};
struct seen {
	uint32_t at;
	int64_t ms;
};
struct sidecar {
	unsigned id, version, server, group;
	bool running;
	uint64_t life;
	int64_t delay, last_done; /* us */
	int32_t random_ints[5];
	/* as the server has it */
	int64_t session, heard;
	uint32_t number, known_number; /* of its record; and what it knows itself */
	bool child_watch;
	int64_t watches;
	/* the session */
	bool up, leading;
	struct lease lease;
	uint64_t confirm_life, due_life, list_life;
	/* the fleet */
	bool ready, listing, again, due;
	unsigned records_left;
	int64_t listed_ms;
	uint32_t at;
	size_t changes; /* of the ranking, that have been looked at */
	struct seen *seen;
	size_t n_seen, seen_capacity;
	/* elections */
	struct active *actives; /* by task */
	size_t n, capacity;
	unsigned n_leading;
	int64_t next_due;
	unsigned *claims, *reads, *exists;
	size_t reads_out; /* leader nodes that are being read */
	int64_t claims_since;
	size_t n_claims, n_reads, n_exists, n_releases;
	struct {
		unsigned task;
		uint32_t heir;
		int32_t version;
	} * releases;
};
extern struct sidecar *sidecars;

void sidecars_reset(void);
void sidecar_start(struct sidecar *s);
void sidecar_stop(struct sidecar *s);
void sidecar_kill(struct sidecar *s);
void sidecar_answer(struct call *c);
void sidecar_child_event(struct sidecar *s);
void sidecar_event(struct sidecar *s, unsigned task, enum election_watch what);

#endif
