/*
 * Parked requests: they wait for answers of ZooKeeper or for an election to settle.
 */
#ifndef ZKLEADER_CONTROL_ANSWER_PARKED_H
#define ZKLEADER_CONTROL_ANSWER_PARKED_H

#include "control/ask/methods.h"
#include "control/ask/subject.h"

struct parked {
	struct ask ask;
	enum parked_kind {
		PARKED_CHECK,
		PARKED_CHECK_ANY,
		PARKED_TASKS,
		PARKED_WORKERS,
		PARKED_EXPLAIN,
		PARKED_PARTITIONS
	} kind;
	struct subjects subjects; /* subjects of the request; owned */
	bool all;		  /* the request is about all tasks */
	struct round *round;	  /* WORKERS: the survey that it waits for; NULL: the next one */
};

/* Whether the answer to a check is final: waiting longer would not change it. */
bool parked_settled(const struct task *t);
/* Makes a request with a deadline; the caller then adds its subjects. */
struct parked *parked_add(const struct call *call, enum parked_kind kind, int64_t wait_ms);
/* Adds a subject to the request. */
void parked_about(struct parked *k, const struct subject *s);
/* Has the requests checked again, at the end of this turn. */
void parked_wake(struct methods *m);
/* Answers requests that are ready or have waited long enough. */
void parked_look(struct methods *m);
/* Starts a survey for the requests that need one, if none is in progress. */
void parked_begin_round(struct methods *m);
void parked_task_removed(struct methods *m, struct task *t);

#endif
