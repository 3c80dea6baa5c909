/* The time that the loop works between two waits, for which a request may have to wait. */
#ifndef ZKLEADER_DAEMON_SOCKET_TURN_H
#define ZKLEADER_DAEMON_SOCKET_TURN_H

#include <stdint.h>
#include <uv.h>

struct turns {
	uv_loop_t *loop;
	uv_prepare_t prepare;
	uint64_t last_ns, idle_ns; /* at the end of the last turn */
	int64_t cpu_us;		   /* likewise, of the loop's thread */
	uint64_t longest_ns;	   /* since the start */
	int64_t longest_cpu_us;	   /* likewise */
};

/* Called before the loop runs. */
void turns_init(struct turns *t, uv_loop_t *loop);
/*
 * The longest turn since the start in microseconds, and the most processor time of a turn: if the
 * first is far above the second, the machine was busy with other work.
 */
void turns_longest(const struct turns *t, int64_t *ret_us, int64_t *ret_cpu_us);

#endif
