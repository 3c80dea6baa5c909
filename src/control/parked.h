/*
 * Requests that wait for something to come from ZooKeeper or for an election to settle. For
 * methods.c alone.
 */
#ifndef ZKLEADER_CONTROL_PARKED_H
#define ZKLEADER_CONTROL_PARKED_H

#include "control/methods.h"
#include "control/subject.h"

struct parked {
	struct parked *prev, *next;
	struct peer *client;
	uint32_t msgid;
	enum parked_kind {
		PARKED_CHECK,
		PARKED_CHECK_ANY,
		PARKED_TASKS,
		PARKED_WORKERS,
		PARKED_EXPLAIN,
		PARKED_PARTITIONS
	} kind;
	int64_t deadline_ms;
	struct subjects subjects; /* that it is about; owned */
	bool all;		  /* or it is about all */
	struct round
		*round; /* WORKERS: of the tasks that are not ours; NULL: it waits for the next */
};

/* Whether waiting longer could not change the answer of a check. */
bool parked_settled(const struct task *t);
/* One more, in front; the caller says what tasks it is about. */
struct parked *parked_add(struct methods *m, struct peer *c, uint32_t msgid, enum parked_kind kind,
			  int64_t wait_ms);
/* It is about this one. */
void parked_about(struct parked *k, const struct subject *s);
/* Sets the timer for the first deadline. */
void parked_schedule(struct methods *m);
/* They are looked at again, at the end of this turn. */
void parked_wake(struct methods *m);
/* Answers what is ready or has waited long enough. */
void parked_look(struct methods *m);
/* Starts a survey for those who want one, if none goes on. */
void parked_begin_round(struct methods *m);
void parked_client_gone(struct methods *m, const struct peer *c);
void parked_task_removed(struct methods *m, const struct task *t);

#endif
