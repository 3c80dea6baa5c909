/*
 * A run: carries out the actions of core/election/run.h, with the ledger, the election and the
 * owner. For runs.c alone, which has the list of runs.
 */
#ifndef ZKLEADER_NODE_RUNS_RUN_STEPS_H
#define ZKLEADER_NODE_RUNS_RUN_STEPS_H

#include "core/election/run.h"
#include "node/runs/runs.h"

struct run {
	TAILQ_ENTRY(run) link;
	struct runs *runs;
	struct holder held;
	uint32_t request;  /* to be answered: the claim, then the finish */
	int64_t pid;	   /* of its supervisor */
	struct task *task; /* NULL: gone */
	char task_name[NAME_ELECTION_MAX + 1];
	/* Task of a claim of any partition; `task` is set while a partition is chosen. */
	char whole[NAME_TASK_MAX + 1];
	struct run_any {
		int64_t until_ms;      /* end of the wait for partitions to be led here */
		int64_t not_before_ms; /* a claim failed: no other before this time */
		uint64_t tried[NAME_PARTITIONS_MAX / 64]; /* claimed already, by K */
		size_t looked, looks;		   /* final reads of records: sent; outstanding */
		bool found;			   /* a record was found */
		char older[NAME_ELECTION_MAX + 1]; /* whose ledger keeps no tick so old; "" */
	} any;
	struct run_options options;
	char tick[TICK_NAME_SIZE]; /* "": none */
	int64_t begins_ms;	   /* time of the tick, by the caller's wall clock */
	char uuid[NAME_ID_MAX + 1];
	struct run_state state;
	struct run_record record; /* ours, or as last read */
	char *output;		  /* of the record; NULL: none */
	bool holds, calls;	  /* as last passed to the election, and to the fleet */
	bool going, dying;	  /* as counted in the task */
	bool watches;		  /* the record of its tick */
	bool kept;		  /* in the handoff file */
	int64_t behind_ms; /* CLOCK_BOOTTIME: until then its end waits for those of older runs */
};

/* Carries out the action of the core, and the actions that follow. */
void run_perform(struct run *r, enum run_action action);
/* Asks the core what to do now. */
void run_advance(struct run *r);
/* Called after each step: updates the hold on the task, and the standby for a takeover. */
void run_settle(struct run *r);
/* Frees it. */
void run_free(struct run *r);
/* Detaches the run from its task, and drops its hold. */
void run_let_go(struct run *r);
/*
 * The job has ended: "ok", "failed", "timeout" or "lost"; or it was never begun. start: why the
 * command could not be started; NULL or "": it was.
 */
void run_end(struct run *r, const char *state, int64_t exit_status, const char *start);
/* run_record.c: its record as that of this attempt, which begins now. */
void run_record_fill(struct run *r, int64_t attempt);
/* run_record.c: extracts what the core needs from a record; and takes a record for this run. */
struct run_seen run_record_seen(const struct run *r, const struct run_record *record);
void run_record_take(struct run *r, const struct run_record *record);
/* Answers to its owner: run_answers.c. */
void run_send(const struct run *r, const struct run_answer *answer);
/* Answers a claim. */
void run_answer(struct run *r, const char *outcome, bool busy, const char *why);
void run_answer_attached(struct run *r, bool is);
/* The wait is over. */
void run_tell_waited(struct run *r);
/* The tick is not run here; whether it was run elsewhere is not known. */
void run_tell_refused(struct run *r, enum run_action how);
/* Answers a claim of any partition that claimed none. */
void run_answer_end(struct run *r, const char *outcome, bool busy, const char *why,
		    const char *notice);
/* run_sight.c */
struct run_sight run_sight_of(const struct run *r);
/* Whether the leadership is still the one that the job started under. */
bool run_is_same(const struct run *r);
/* The offer of the schedule, if it is for this run; NULL. */
const struct due_offer *run_offer(const struct run *r);
/* Milliseconds for which the job may go on. */
int64_t run_renew(struct run *r);

#endif
