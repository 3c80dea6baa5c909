/* The identity of this machine. */
#ifndef ZKLEADER_DAEMON_MACHINE_MACHINE_H
#define ZKLEADER_DAEMON_MACHINE_MACHINE_H

#include "base/text/worker.h"

/*
 * A digest of the machine's id, as the id itself must not be published. Without an id, as in a
 * container, a digest of the running system's; "" if that cannot be read.
 */
void machine_id(char id[WORKER_MACHINE_MAX + 1]);

#endif
