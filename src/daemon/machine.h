/* What tells this machine from others. */
#ifndef ZKLEADER_DAEMON_MACHINE_H
#define ZKLEADER_DAEMON_MACHINE_H

#include "base/worker.h"

/*
 * A digest of the machine's id, as that itself is not to leave it; of the running system's where
 * it has none, as in a container; "" where that cannot be read.
 */
void machine_id(char id[WORKER_MACHINE_MAX + 1]);

#endif
