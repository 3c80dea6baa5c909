/* A place in the fleet: a machine, the sidecar that runs on it, and what outlives that. */
#ifndef TESTS_SIMNODE_SITE_H
#define TESTS_SIMNODE_SITE_H

#include "machine.h"
#include "node/node.h"

#define SITE_ROOT     "/apps"
#define SITE_RUNS_MAX 64
#define SITE_STOP_US  (60 * SECOND) /* for which TERM waits for jobs */

struct site {
	unsigned id;
	struct machine *machine;
	struct node_settings settings;
	char hostname[16], name[32], machine_id[16];
	bool renamed;
	struct node node;
	bool running;
	bool stopping;	 /* told to, by TERM */
	bool withdrawn;	 /* registered anew, without tasks, before that */
	bool parting;	 /* no job goes on any more, and the session is being ended */
	int64_t stop_by; /* true time at which it goes, whatever the server says */
	uint64_t life;	 /* of its process */
	/* what it is told of itself */
	uint64_t tasks;	 /* bits */
	uint64_t queues; /* likewise */
	unsigned version;
	uint64_t unhealthy; /* bits of tasks */
	bool sick;
	int64_t yield_delay_ms; /* as its configuration has it */
	/* Its runner: true times since when it hangs, and until when; 0: it does not */
	int64_t hung_at, hung_until;
	/* kept for the process after this one */
	struct handoff kept; /* session 0: nothing */
	struct handoff_run kept_runs[SITE_RUNS_MAX];
	size_t n_kept_runs;
	struct handoff_place kept_place; /* where that was written */
	struct handoff_place place;	 /* its own */
};

extern struct site sites[HOSTS_MAX];
/* With --partitions the tasks are those of this one, in the order of their names. */
#define PARTITIONED "scan"
#define PARTITIONS  12
extern struct task_settings task_settings[TASKS_MAX];
extern struct node_timing timing;
extern const char *const version_names[];
extern const unsigned n_version_names;

/* Machines and places, tasks and how they are handed over: by the seed. */
void sites_reset(void);
/* Frees all that a run has left. */
void sites_done(void);
/* In every tenth fleet some sidecars are of an older release, if it has no more than that knows. */
bool sites_are_mixed(void);
/* Its next process is of either release there. */
void site_install(struct site *s);
/* Its process begins; with take_over it goes on with what was kept, if anything was. */
void site_start(struct site *s, bool take_over);
/*
 * Copies what the other site has kept to this one, which does not run, as a disk or backup is
 * copied.
 */
void site_copy_kept(struct site *s, const struct site *from);
/* TERM: jobs end first, then the session. */
void site_stop(struct site *s);
/* KILL; keeps: the next process will be told what this one had. */
void site_kill(struct site *s);
void site_configure(struct site *s);
/* Its files have a task more or less, or a renamed one; it is configured by the caller. */
void site_toggle_task(struct site *s);
void site_set_version(struct site *s, unsigned version);
void site_set_health(struct site *s);
/* Its main file gives it another name, or that of before, which its next process has. */
void site_rename(struct site *s);
/* Its task by number, NULL. */
struct task *site_task(struct site *s, unsigned task);
/* The number of a task of the simulator, TASKS_MAX if it is none. */
unsigned task_number(const char *name);

#endif
