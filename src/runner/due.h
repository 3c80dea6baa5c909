/* The notification of the sidecar to a runner that a task of its user is due. */
#ifndef ZKLEADER_RUNNER_DUE_H
#define ZKLEADER_RUNNER_DUE_H

#include <stdint.h>

#include "base/text/name.h"
#include "wire/reader.h"

#define DUE_TICK_SIZE 32
#define DUE_MAX	      4096 /* bytes of a notification */

struct due {
	char task[NAME_ELECTION_MAX + 1];
	char tick[DUE_TICK_SIZE]; /* RFC 3339 in UTC */
	int64_t attempt;	  /* from 1 on */
};

/* Reads the parameter of a notification `due`: 0 or -EBADMSG. */
int due_parse(struct reader r, struct due *ret);

#endif
