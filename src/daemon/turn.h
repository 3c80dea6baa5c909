/* How long the loop works between two waits: whoever asks meanwhile waits for so long. */
#ifndef ZKLEADER_DAEMON_TURN_H
#define ZKLEADER_DAEMON_TURN_H

#include <stdint.h>
#include <uv.h>

struct turns {
	uv_loop_t *loop;
	uv_prepare_t prepare;
	uint64_t last_ns, idle_ns; /* at the end of the last turn */
	uint64_t longest_ns;	   /* since the start */
};

/* Before the loop runs. */
void turns_init(struct turns *t, uv_loop_t *loop);
/* Microseconds that the longest turn took since the start. */
int64_t turns_longest_us(const struct turns *t);

#endif
