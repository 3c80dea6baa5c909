/*
 * The load that a big fleet puts on its servers, in virtual time: whole sidecars as they ship, on the simulator's
 * model of ZooKeeper (tests/simnode), whose servers take time for what they are asked. Without faults.
 */
#ifndef TESTS_SIMSCALE_SCALE_H
#define TESTS_SIMSCALE_SCALE_H

#include "sim.h"
#include "tree.h"

#define SCALE_ROOT "/apps"

struct plan {
	unsigned workers, tasks;
	unsigned spread;  /* workers that list a task; 0: all */
	unsigned servers; /* that serve clients; one of them leads the others */
	int64_t timeout_ms;
	size_t roll_from;
	int64_t yield_delay_ms, start_us;    /* all workers are started within */
	int64_t restart_us;		     /* between two restarts of the rolling upgrade */
	unsigned restarts;		     /* of so many workers, 0: of all */
	int64_t read_us, write_us, event_us; /* what each costs a server */
	double bytes_per_us;
};
extern struct plan plan;
extern const char *const *task_name;
extern unsigned
	groups; /* of workers that list the same tasks: task k is listed by group k % groups */

/* --- load.c: what the servers have to do ------------------------------------------------------------- */

struct load {
	uint64_t reads, writes, events, in, out; /* in, out: bytes */
	uint64_t worst_requests, worst_out;	 /* in one second */
	int64_t worst_wait;			 /* us, of an answer in a server's queue */
};
extern struct load load;

void load_begin(void); /* a fleet begins: the model tells what happens from now on */
void load_reset(void); /* a phase begins */

/* --- best.c: whether each task is led by the best ------------------------------------------------------ */

struct best {
	unsigned n_wrong; /* tasks that are led by another than the best of those who are there */
	int64_t right_since; /* when there was none any more */
	int64_t changed_at;  /* when somebody joined or left last */
	int64_t worst_unled; /* us, from the end of a leadership to the next of that task */
	uint64_t claims, worst_claims; /* of all tasks, and of the one with most */
	size_t record_bytes;	       /* of the worker that joined last */
};
extern struct best best;

void best_begin(void);
void best_reset(void); /* counts claims anew */
int64_t watches_set(void);

/* --- shared.c: records of workers, parsed once for the whole fleet ---------------------------------------- */

/* How many there are. */
size_t shared_records(void);

/* --- places.c: the sidecars ------------------------------------------------------------------------------- */

void places_begin(void);
void places_end(void);
void place_start(unsigned place);
void place_restart(
	unsigned place); /* it ends its session, and 200 ms later begins with a newer version */
void place_kill(unsigned place);

#endif
