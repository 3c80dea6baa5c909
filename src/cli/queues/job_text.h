/* A job in text for people, and the exit code that follows from its end. */
#ifndef ZKLEADER_CLI_QUEUES_JOB_TEXT_H
#define ZKLEADER_CLI_QUEUES_JOB_TEXT_H

#include <stdbool.h>

#include <jansson.h>

#include "cli/ui/command.h"

#define JOB_WITHOUT_STATUS 70 /* the exit code of a job that ended without one */

/* Whether the job has ended for good. */
bool job_text_ended(const json_t *job);
enum color job_text_color(const char *state);
/* Prints all of the job: a line for each property, and its output. */
void job_text_print(const struct context *c, const json_t *job);
/* Prints the output of the job, as json_output() has it, and a newline. */
void job_text_output(const struct context *c, const json_t *job);
/* The exit status of the job, or JOB_WITHOUT_STATUS. */
int job_text_status(const json_t *job);
/* Reads the job as it is now. 0, or an exit code, without a message. */
int job_text_read(struct context *c, const char *id, json_t **ret_job);
/*
 * Asks until the job has ended, over restarts of the sidecar too: 0 and the job; or an exit code
 * after a line on the error stream.
 */
int job_text_wait(struct context *c, const char *id, json_t **ret_job);

#endif
