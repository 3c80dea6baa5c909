/*
 * The simulator: what all of its parts share. Time is virtual, in microseconds since the run began;
 * a run is a function of its seed and the options alone.
 */
#ifndef TESTS_SIMNODE_SIM_H
#define TESTS_SIMNODE_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVERS_MAX 5
#ifndef HOSTS_MAX /* big fleets have more */
#define HOSTS_MAX 24
#endif
#define TASKS_MAX 48
#define MS	  INT64_C(1000)
#define SECOND	  (1000 * MS)
#define HOUR	  (3600 * SECOND)
#define EPOCH_MS  INT64_C(1795000000000) /* the true wall clock at time 0 */

/* --- faults, counted ------------------------------------------------------------------------------ */

#define FAULTS(X)                                                    \
	X(RESET, "connections reset")                                \
	X(LINK, "client links stalled")                              \
	X(LINK_ONE_WAY, "client links stalled one way")              \
	X(PARTITION, "servers cut off")                              \
	X(SERVER_PAUSE, "servers paused")                            \
	X(LEADER_STALL, "servers' leaders paused for about T")       \
	X(SERVER_CRASH, "servers restarted")                         \
	X(SERVER_WIPE, "servers restarted without data")             \
	X(ENSEMBLE_CRASH, "all servers restarted")                   \
	X(ENSEMBLE_WIPE, "all servers restarted without data")       \
	X(TIMEOUT, "servers restarted with other session timeouts")  \
	X(SHRINK, "sessions cut off after their timeout had shrunk") \
	X(SERVER_CLOCK, "server clocks set")                         \
	X(LOST_REQUEST, "requests lost")                             \
	X(LOST_ANSWER, "answers lost")                               \
	X(PAUSE, "sidecars paused")                                  \
	X(SUSPEND, "machines suspended")                             \
	X(KILL, "sidecars killed")                                   \
	X(LEAVE, "sidecars stopped by TERM")                         \
	X(RESTART, "sidecars restarted with their session")          \
	X(JOIN, "sidecars started")                                  \
	X(COPY, "sidecars started with another's session file")      \
	X(VERSION, "versions changed")                               \
	X(CONFIG, "yield modes changed")                             \
	X(TASKS, "tasks taken from or given to a sidecar")           \
	X(ORDER, "orders given: drain, resign, pause, pin")          \
	X(HEALTH, "health changed")                                  \
	X(WALL, "wall clocks set")                                   \
	X(SLOW, "sidecars slow")                                     \
	X(HAND_DELETE, "leader nodes deleted by hand")               \
	X(HAND_SET, "leader nodes written by hand")                  \
	X(HAND_TAKE, "leader nodes replaced by hand")                \
	X(HAND_STAY, "persistent nodes made under leaders by hand")  \
	X(HAND_WORKER, "worker nodes deleted by hand")               \
	X(HAND_RECORD, "foreign records written by hand")            \
	/* these come of themselves */                               \
	X(OLDER, "sidecars given the older release")                 \
	X(RELEASE, "connections reset during a handover")            \
	X(DEPOSED, "leaders deposed while cut off or paused")        \
	X(EXPIRED, "sessions expired")                               \
	X(UNKNOWN_DONE, "writes done, answer lost")                  \
	X(UNKNOWN_NOT, "writes not done, answer lost")               \
	X(MOVED, "requests refused as the session had moved")        \
	X(STALE, "reads that were stale")                            \
	X(TRUNCATED, "proposals lost with their leader")

#define FAULT_ENUM(name, text) FAULT_##name,
enum fault { FAULTS(FAULT_ENUM) FAULT_KINDS };
extern const char *const fault_names[FAULT_KINDS];

/* --- figures of one run, summed over all ---------------------------------------------------------- */

struct figures {
	uint64_t runs, failed, events;
	int64_t time;
	uint64_t faults[FAULT_KINDS];
	uint64_t elections;   /* tokens said for the first time */
	uint64_t questions;   /* asked at random moments */
	uint64_t changes;     /* single changes of membership in quiet times */
	uint64_t taken_over;  /* sessions, by a process that was started again */
	uint64_t requests;    /* by sidecars */
	uint64_t excused;     /* overlaps after a deletion by hand that nobody could know of */
	uint64_t checks;      /* of the fleet at rest */
	uint64_t forgotten;   /* times that all tokens began anew, as all data was lost */
	int64_t worst_settle; /* from the last fault until all is as it should be */
	/* for how long nobody led a task in quiet times */
	int64_t worst_yield, worst_leave, worst_kill;
	double sum_requests, worst_requests; /* per worker and change */
	/* runs */
	uint64_t offers, missed, retried, ordered, triggers, expired; /* of schedules */
	int64_t worst_offer; /* the latest behind its tick, in quiet times */
	/* Files with another name of a task; what was moved; times that both were led. */
	uint64_t renamed, moved, beside;
	uint64_t lists;		     /* that hands damaged */
	uint64_t roll, roll_rest[4]; /* damages by hand; sidecars at rest, by their state */
	uint64_t asked, starts, reruns, finished, killed, died, refused;
	/* recipes */
	uint64_t counted[3];		       /* additions and questions by their outcome */
	uint64_t noted, told;		       /* events, and what notifiers took */
	uint64_t ended_badly, ended_noted;     /* records of runs, and those with a note */
	uint64_t seen;			       /* writes of since when no run ended well */
	uint64_t numbered, forgot, indexed[2]; /* numbers of the roster; questions for one */
	uint64_t opened, barrier_told[10];     /* rounds of barriers; answers by their outcome */
	uint64_t slots, rolled;		       /* of rolling restarts: taken, and freed by health */
	uint64_t submits[3];		       /* told as committed, refused, unknown */
	uint64_t jobs[4];		  /* processes begun; assigned; ends recorded, and not */
	uint64_t locks[3];		  /* commands begun; locks not got; commands killed */
	uint64_t gangs[3], gang_told[10]; /* begun; come back; killed; answers by their outcome */
	uint64_t hostages[4];		  /* sessions, by what was done to them */
	int64_t worst_hostage;		  /* until another led, behind twice the session timeout */
	/* Requests of the crowd; those whose client has gone; ticks that were asked for where they are claimed. */
	uint64_t crowd_asked, crowd_left, crowd_claimed;
	int64_t worst_packet, worst_looks; /* bytes of watches; paths looked at by time */
};

/* --- the run -------------------------------------------------------------------------------------- */

struct options {
	uint64_t seed;
	double hours;
	unsigned hosts, tasks; /* 0: by the seed */
	bool ticks;	       /* runs at each tick */
	bool alerts;	       /* alert-after is judged */
	bool notices;	       /* people are told of events; with ticks */
	bool schedules;	       /* ticks of schedules, and nobody else's; with ticks */
	bool recipes;	       /* counters and the like are used */
	bool queues;	       /* jobs are handed in, and done */
	bool partitions;       /* the tasks are the partitions of one */
	bool disagree;	       /* sites' files differ in who is best */
	bool creep;	       /* time goes on within a turn */
	bool crowd;	       /* hundreds of tasks, and a user who waits for thousands of things */
	bool lists;	       /* what workers list is apart, in lists that are damaged */
	bool roll;	       /* fleets of two and more have a roll, which hands damage */
	bool hostages; /* in quiet times servers keep sessions whose requests they do not do */
	bool verbose;
};

struct sim {
	struct options options;
	int64_t now;
	uint64_t random;
	struct figures figures;
	bool tracing;
	uint64_t cuts;	   /* connections that sidecars lost */
	uint64_t caused;   /* requests of theirs but for those at regular times */
	uint64_t records;  /* of workers that were written */
	bool stop;	   /* a violation: the run ends */
	char problem[512]; /* what was violated, "" */
	/* drawn from the seed */
	unsigned n_servers, n_hosts, n_tasks;
	int64_t tick_ms, timeout_ms, sync_ms;
	int64_t least_ms; /* session timeout with which these links leave something of the lease */
	int64_t delay_us, server_delay_us; /* typical, one way */
	int64_t packet_max; /* bytes of watches that a server takes at once; 0: as by default */
	int64_t late_us;    /* after which a loop is woken at the latest for what has come */
};

extern struct sim sim;

/* Ends the run: a guarantee was broken. */
void sim_violation(const char *format, ...) __attribute__((format(printf, 1, 2)));
void trace_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define TRACE(...)                               \
	do {                                     \
		if (sim.tracing)                 \
			trace_line(__VA_ARGS__); \
	} while (0)
/* The last lines traced, oldest first. */
void trace_print(void);

/* --- random numbers ------------------------------------------------------------------------------- */

uint64_t random_bits(void);
/* low <= x <= high */
int64_t random_range(int64_t low, int64_t high);
bool random_chance(unsigned per_mille);
/* Exponentially distributed, up to 20 times the mean. */
int64_t random_exp(int64_t mean);

/* --- events --------------------------------------------------------------------------------------- */

typedef void (*event_fn)(void *arg, uint64_t number);

/* Forgets all; dispose is told what each would have called. */
void events_reset(void (*dispose)(event_fn fn, void *arg));
void event_at(int64_t at, event_fn fn, void *arg, uint64_t number);
/* Takes the next event and lets it happen; false if there is none before end. */
bool event_next(int64_t end);

/* --- clocks: each runs at a rate and from a start of its own -------------------------------------- */

struct clock {
	int64_t start; /* microseconds at time 0 */
	int64_t ppm;   /* faster than true time */
};

void clock_draw(struct clock *c);
int64_t clock_us(const struct clock *c, int64_t at);
/* The first moment at which the clock shows this or more. */
int64_t clock_when(const struct clock *c, int64_t us);

#endif
