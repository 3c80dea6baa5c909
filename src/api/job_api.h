/* Helpers for jobs, shared by the C API and the commands. */
#ifndef ZKLEADER_API_JOB_API_H
#define ZKLEADER_API_JOB_API_H

#include "zkleader.h"

/*
 * The id for a job to submit to the queue: a new one if given is "", else the given one. Returns 0;
 * ZKLEADER_MISUSE if that is no id of a job of this queue, with a line in why; or a negative errno
 * if the system has no random bytes.
 */
int job_api_id(const char *queue, const char *given, char ret_id[ZKLEADER_JOB_ID_SIZE],
	       char why[ZKLEADER_TEXT_SIZE]);
/*
 * Replaces the id by one that the sidecar draws, as it knows the clock that jobs go by. The id
 * stays as it is if the sidecar is of an earlier release. 0, or ZKLEADER_CANNOT_TELL: nothing can
 * be submitted now.
 */
int job_api_ask_id(struct zkleader *z, const char *queue, char id[ZKLEADER_JOB_ID_SIZE]);
/* Whether a job in this state has ended, for ever. */
bool job_api_state_is_end(const char *state);

#endif
