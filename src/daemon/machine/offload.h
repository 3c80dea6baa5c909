/*
 * Runs work that may block for seconds, in a thread of its own that ends with it. So no work waits
 * for other work, and an idle sidecar has no such thread.
 */
#ifndef ZKLEADER_DAEMON_MACHINE_OFFLOAD_H
#define ZKLEADER_DAEMON_MACHINE_OFFLOAD_H

#include <uv.h>

/*
 * work() in the other thread, then done() on the loop, which is alive until then. 0, or a negative
 * errno and neither is called.
 */
int offload(uv_loop_t *loop, void (*work)(void *arg), void (*done)(void *arg), void *arg);

#endif
