/* The id of a job, from which the place of its record follows: QUEUE.MINUTE.UUID. */
#ifndef ZKLEADER_CORE_QUEUE_JOB_ID_H
#define ZKLEADER_CORE_QUEUE_JOB_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/name.h"

#define JOB_NAME_MAX	(12 + 1 + 36)			   /* bytes of MINUTE.UUID */
#define JOB_ID_MAX	(NAME_TASK_MAX + 1 + JOB_NAME_MAX) /* bytes of its text */
#define JOB_MINUTE_SIZE 13
#define JOB_MINUTE_MS	60000

struct job_id {
	char queue[NAME_TASK_MAX + 1];
	int64_t minute; /* minute of the submission since the epoch; base 36, lower case */
	char uuid[37];
};

/* Whether the text is an id in canonical form. */
bool job_id_parse(const char *text, size_t len, struct job_id *ret_id);
void job_id_format(const struct job_id *id, char text[JOB_ID_MAX + 1]);
/* MINUTE.UUID, as used by pointers within the queue's folder; leaves ret_id->queue alone. */
bool job_name_parse(const char *text, size_t len, struct job_id *ret_id);
void job_name_format(const struct job_id *id, char text[JOB_NAME_MAX + 1]);

/* A pointer to a job within its queue: MINUTE.UUID, or MS.MINUTE.UUID with its due time. */
struct job_pointer {
	int64_t due_ms; /* since the epoch; of a pointer in due/ */
	int64_t minute;
	char uuid[37];
	bool callback; /* for the callback at the job's end: the name ends with .callback */
};

#define JOB_POINTER_MAX (15 + 1 + JOB_NAME_MAX + 9)

bool job_pointer_parse(const char *text, size_t len, bool due, struct job_pointer *ret);
void job_pointer_format(const struct job_pointer *p, bool due, char text[JOB_POINTER_MAX + 1]);
bool job_pointer_same(const struct job_pointer *a, const struct job_pointer *b);
/* Converts the id of a job to its pointer, and back. */
struct job_pointer job_pointer_to(const struct job_id *id, int64_t due_ms, bool callback);
void job_pointer_id(const struct job_pointer *p, const char *queue, struct job_id *ret_id);
/* A minute by itself. */
bool job_minute_parse(const char *text, size_t len, int64_t *ret_minute);
void job_minute_format(int64_t minute, char text[JOB_MINUTE_SIZE]);

#endif
