/*
 * What can block for seconds, done in a thread of its own that ends with it: it waits for nothing
 * else, nothing else waits for it, and an idle sidecar has no thread for it.
 */
#ifndef ZKLEADER_DAEMON_OFFLOAD_H
#define ZKLEADER_DAEMON_OFFLOAD_H

#include <uv.h>

/*
 * work() in the other thread, then done() on the loop, which is alive until then. 0, or a negative
 * errno and neither is called.
 */
int offload(uv_loop_t *loop, void (*work)(void *arg), void (*done)(void *arg), void *arg);

#endif
