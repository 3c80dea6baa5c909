/* The id of a job says where its record lies: QUEUE.MINUTE.UUID. */
#ifndef ZKLEADER_CORE_JOB_ID_H
#define ZKLEADER_CORE_JOB_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/name.h"

#define JOB_ID_MAX (NAME_TASK_MAX + 1 + 12 + 1 + 36) /* bytes of its text */

struct job_id {
	char queue[NAME_TASK_MAX + 1];
	int64_t minute; /* of its submission, since the epoch; base 36 in lower case */
	char uuid[37];
};

/* Whether the text is one; what is no canonical form is none. */
bool job_id_parse(const char *text, size_t len, struct job_id *ret_id);
void job_id_format(const struct job_id *id, char text[JOB_ID_MAX + 1]);

#endif
