/* A job in text for people, and the exit code that follows from its end. */
#ifndef ZKLEADER_CLI_QUEUES_JOB_TEXT_H
#define ZKLEADER_CLI_QUEUES_JOB_TEXT_H

#include <stdbool.h>

#include <jansson.h>

#include "cli/ui/command.h"

#define JOB_WITHOUT_STATUS 70 /* the exit code of a job that ended without one */

/* Whether it has ended, for ever. */
bool job_text_ended(const json_t *job);
enum color job_text_color(const char *state);
/* All of it: a line for each property, and its output. */
void job_text_print(const struct context *c, const json_t *job);
/* Its output, unchanged, and a newline. */
void job_text_output(const struct context *c, const json_t *job);
/* Its exit status, or JOB_WITHOUT_STATUS. */
int job_text_status(const json_t *job);
/* Reads it as it is. 0, or an exit code, without a message. */
int job_text_read(struct context *c, const char *id, json_t **ret_job);
/*
 * Asks until the job has ended, over restarts of the sidecar too: 0 and the job; or an exit code
 * after a line on the error stream.
 */
int job_text_wait(struct context *c, const char *id, json_t **ret_job);

#endif
