/* zkleader rolling: its parts. */
#ifndef ZKLEADER_CLI_DECIDE_ROLLING_H
#define ZKLEADER_CLI_DECIDE_ROLLING_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "cli/ui/command.h"
#include "supervise/signals.h"

#define ROLLING_FOREVER (-1)
#define ROLLING_ID_SIZE 65

struct rolling_steps {
	struct context *c;
	const char *group;
	int64_t max_unavailable;
	int64_t soak_ms;
	int64_t timeout_ms;	       /* for a slot; ROLLING_FOREVER */
	char boot_id[ROLLING_ID_SIZE]; /* of this machine */
	char process[ROLLING_ID_SIZE]; /* identifies this process on this machine */
	char slot[ROLLING_ID_SIZE];    /* once there is one */
	char before[ROLLING_ID_SIZE];  /* the process that handled the slot before */
	bool waiting_told;	       /* we have said that the sidecar is away */
	const struct signals *signals; /* while they are blocked; NULL */
};

/* A request of the method `rolling`; NULL and values below 0 are omitted. */
struct rolling_step {
	const char *order, *state, *node;
	int64_t timeout_ms; /* including a wait for others */
	int64_t exit_status;
	bool waits;   /* for others */
	bool patient; /* waits for a sidecar that is away */
	bool begins;  /* but fails at once if there is no sidecar */
};

/* rolling_step.c: 0 and the answer, or an exit code after a line on the error stream. */
int rolling_step(struct rolling_steps *s, const struct rolling_step *step, json_t **ret_answer);
/* Sets boot_id and process: 0, or an exit code after a line. */
int rolling_identify(struct rolling_steps *s);
/* Whether the process that a slot names is alive on this machine. */
bool rolling_process_lives(const struct rolling_steps *s, const char *process);
/* "done", "nothing", …; never NULL. */
const char *rolling_result(const json_t *answer);

/* rolling_run.c: all steps, or those after a reboot. Exit codes. */
int rolling_run(struct rolling_steps *s, const char *const *argv);
int rolling_finish(struct rolling_steps *s);

/*
 * rolling_job.c: runs CMD and returns its status as a shell would report it. *ret_ended: TERM has
 * ended CMD, or this process has received TERM, INT, HUP or QUIT.
 */
int rolling_job(const struct output *o, const struct signals *signals, const char *const *argv,
		bool *ret_ended);
/* Whether one of those signals is pending. */
bool rolling_job_is_ended(const struct signals *signals);

/* rolling_show.c */
void rolling_show(const struct output *o, const json_t *group);

#endif
