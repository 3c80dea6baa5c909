/* How long the loop works between two waits: whoever asks meanwhile waits for so long. */
#ifndef ZKLEADER_DAEMON_TURN_H
#define ZKLEADER_DAEMON_TURN_H

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

/* Before the loop runs. */
void turns_init(struct turns *t, uv_loop_t *loop);
/*
 * Microseconds that the longest turn took since the start, and the most of processor time that one
 * took: where the first is far above the second, the machine had other things to do.
 */
void turns_longest(const struct turns *t, int64_t *ret_us, int64_t *ret_cpu_us);

#endif
