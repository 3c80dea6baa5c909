/* The key `queues` of a worker's record: the queues of jobs that it serves, and its slots. */
#ifndef ZKLEADER_WIRE_RECORDS_WORKER_QUEUES_H
#define ZKLEADER_WIRE_RECORDS_WORKER_QUEUES_H

#include "base/text/worker.h"
#include "wire/pack.h"
#include "wire/reader.h"

/* The value of the key, into a struct worker; 0 or a negative errno. */
int worker_queues_parse(struct reader *r, void *worker);
/* Key and value. */
void worker_queues_pack(struct pack *p, const struct worker *w);

#endif
