/*
 * How an attempt of a run or of a job has ended: judged by what ended it, and by its status only
 * where it ended by itself. A command that exits 0 on TERM has not done its work.
 */
#ifndef ZKLEADER_CORE_QUEUE_ATTEMPT_H
#define ZKLEADER_CORE_QUEUE_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

/* The answer to a request in place of a command: one that is ended by a signal gets none. */
enum attempt_answer {
	ATTEMPT_NO_ANSWER, /* a command: its status counts */
	ATTEMPT_ACCEPTED,
	ATTEMPT_REFUSED, /* no further attempt would help */
	ATTEMPT_UNANSWERED
};

/* The end of an attempt, as its supervisor and the sidecar know it. */
struct attempt_end {
	/* ended by the loss of its lease, the stop of its sidecar, or the end of its supervisor */
	bool interrupted;
	bool timeout;	/* ended by its timeout */
	bool cancelled; /* somebody wants it ended: jobs alone */
	enum attempt_answer answer;
	int64_t exit_status; /* of a command: 0 to 255, -1: not known */
};

#define ATTEMPT_START_MAX 150 /* bytes: why a command could not be started */

/* The end of an attempt that nobody is left to report. */
#define ATTEMPT_CRASHED                                \
	{                                              \
		.interrupted = true, .exit_status = -1 \
	}

enum attempt_how {
	ATTEMPT_OK,
	ATTEMPT_FAILED,
	ATTEMPT_TIMEOUT,
	ATTEMPT_LOST,
	ATTEMPT_CANCELLED,
	ATTEMPT_DEAD /* the receiver has refused it */
};

enum attempt_how attempt_how(const struct attempt_end *end);

#endif
