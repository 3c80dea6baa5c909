/*
 * The machine that a node runs on, behind node/host.h: libuv's timers, and the clocks of the
 * system.
 */
#ifndef ZKLEADER_DAEMON_MACHINE_HOST_UV_H
#define ZKLEADER_DAEMON_MACHINE_HOST_UV_H

#include <sys/queue.h>
#include <uv.h>

#include "node/host.h"

struct uv_turn;

struct host {
	uv_loop_t *loop;
	uv_prepare_t prepare;
	uv_check_t check;
	TAILQ_HEAD(uv_turn_list, uv_turn) turns; /* in the order in which they were made */
};

/* Works until the loop ends; then the caller closes the two handles. */
void host_init(struct host *h, uv_loop_t *loop);

#endif
