/* The notification of the sidecar to a runner that a job was assigned to this node. */
#ifndef ZKLEADER_RUNNER_OFFER_H
#define ZKLEADER_RUNNER_OFFER_H

#include "base/text/name.h"
#include "wire/reader.h"

#define OFFER_ID_SIZE 200
#define OFFER_MAX     4096 /* bytes of a notification */

struct offer {
	char queue[NAME_TASK_MAX + 1];
	char id[OFFER_ID_SIZE];
};

/* Reads the parameter of a notification `job`: 0 or -EBADMSG. */
int offer_parse(struct reader r, struct offer *ret);

#endif
