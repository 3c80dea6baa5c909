/*
 * The machine that a node runs on: time, timers and random bytes. The daemon implements it with
 * libuv (host_uv.c), the simulator with a virtual machine. All functions are called, and call back,
 * on one thread.
 */
#ifndef ZKLEADER_NODE_HOST_H
#define ZKLEADER_NODE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host;

/* Milliseconds since the boot, suspension included (CLOCK_BOOTTIME): it never goes back. */
int64_t host_now_ms(const struct host *h);
/* Milliseconds since the epoch, by a clock that anybody may set. */
int64_t host_wall_ms(const struct host *h);
/* Bytes that nobody can guess. */
void host_random(struct host *h, void *bytes, size_t len);

typedef void (*host_fn)(void *arg);

/*
 * A timer, which rings once each time it is set. A zeroed timer was never set and needs no _done().
 */
struct host_timer {
	struct host *host;
	host_fn fn;
	void *arg;
	void *impl; /* the host's */
};

void host_timer_init(struct host_timer *t, struct host *h, host_fn fn, void *arg);
/* Calls fn after this many milliseconds, in a later turn; a set timer is set again. */
void host_timer_start(struct host_timer *t, int64_t ms);
/* fn is not called any more. Does nothing to a timer that is not set. */
void host_timer_stop(struct host_timer *t);
bool host_timer_is_set(const struct host_timer *t);
/* Stops it and gives up what the host keeps for it. */
void host_timer_done(struct host_timer *t);

/*
 * Called at the end of each turn: once all that had come was handled, before the host waits for
 * more. Those of a host are called in the order in which they were made. What is asked of ZooKeeper
 * in fn is sent in this turn.
 */
struct host_turn {
	struct host *host;
	host_fn fn;
	void *arg;
	void *impl; /* the host's */
};

void host_turn_init(struct host_turn *t, struct host *h, host_fn fn, void *arg);
void host_turn_done(struct host_turn *t);

#endif
