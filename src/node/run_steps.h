/*
 * One run: what core/run.h says is done here, with the ledger, the election and the owner. For
 * runs.c alone, which has the list of them.
 */
#ifndef ZKLEADER_NODE_RUN_STEPS_H
#define ZKLEADER_NODE_RUN_STEPS_H

#include "node/runs.h"

struct run {
	struct run *prev, *next;
	struct runs *runs;
	void *owner;	  /* NULL: gone */
	uint32_t request; /* that is to be answered: the claim, then the finish */
	int64_t pid;	  /* of who supervises it */
	uint32_t id;
	struct task *task; /* NULL: gone */
	char task_name[NAME_ELECTION_MAX + 1];
	/* A claim of any partition of this task; it has a `task` while it is one of a partition. */
	char whole[NAME_TASK_MAX + 1];
	struct run_any {
		int64_t until_ms; /* it waits until then for partitions that come to be led here */
		int64_t not_before_ms; /* one could not be claimed: no other is tried before */
		uint64_t tried[NAME_PARTITIONS_MAX / 64]; /* claimed already, by K */
		size_t looked, looks; /* records that were asked for at the end; not answered yet */
		bool found;	      /* one was there */
		char older[NAME_ELECTION_MAX + 1]; /* whose ledger keeps none so old; "": none */
	} any;
	struct run_options options;
	char tick[TICK_NAME_SIZE]; /* "": none */
	int64_t begins_ms;	   /* the tick, by the caller's wall clock */
	char uuid[NAME_ID_MAX + 1];
	struct run_state state;
	struct run_record record; /* ours, or as last read */
	char *output;		  /* of the record; NULL: none */
	bool holds, calls;	  /* as told to the election, and to the fleet */
	bool going, dying;	  /* as counted for the task */
	bool kept;		  /* it is in the file for the sidecar that comes after us */
};

/* Does what the core says, and what follows. */
void run_perform(struct run *r, enum run_action action);
/* Asks the core what to do now. */
void run_advance(struct run *r);
/* After each step: the job holds the task, and who wants to take a run over asks to lead. */
void run_settle(struct run *r);
/* Frees it. */
void run_free(struct run *r);
/* It is not about its task any more, and holds nothing of it. */
void run_let_go(struct run *r);
/* The owner has nothing to do with it any more. */
void run_release(struct run *r);
/* The job has ended: "ok", "failed", "timeout" or "lost"; or it was never begun. */
void run_end(struct run *r, const char *state, int64_t exit_status);
/* What its owner is told: run_answers.c. */
void run_send(const struct run *r, const struct run_answer *answer);
/* Answers a claim. */
void run_answer(struct run *r, const char *outcome, bool busy, const char *why);
void run_answer_attached(struct run *r, bool is);
/* The wait is over. */
void run_tell_waited(struct run *r);
/* The tick is not run here, and whether it is or was elsewhere cannot be told. */
void run_tell_refused(struct run *r, enum run_action how);
/* Answers a claim of any partition that got none. */
void run_answer_end(struct run *r, const char *outcome, bool busy, const char *why,
		    const char *notice);
struct run_sight run_sight_of(const struct run *r);
/* For how many ms the job may go on. */
int64_t run_renew(const struct run *r);

#endif
