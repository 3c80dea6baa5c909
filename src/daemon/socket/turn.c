#include "daemon/socket/turn.h"

#include <time.h>

/* The processor time that this thread has used. */
static int64_t cpu_now_us(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0)
		return 0;
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void on_prepare(uv_prepare_t *prepare)
{
	struct turns *t = prepare->data;
	uint64_t now = uv_hrtime(), idle = uv_metrics_idle_time(t->loop);
	int64_t cpu_us = cpu_now_us();

	if (t->last_ns > 0 && now - t->last_ns - (idle - t->idle_ns) > t->longest_ns)
		t->longest_ns = now - t->last_ns - (idle - t->idle_ns);
	if (t->last_ns > 0 && cpu_us - t->cpu_us > t->longest_cpu_us)
		t->longest_cpu_us = cpu_us - t->cpu_us;
	t->last_ns = now;
	t->cpu_us = cpu_us;
	t->idle_ns = idle;
}

void turns_init(struct turns *t, uv_loop_t *loop)
{
	*t = (struct turns){.loop = loop};
	uv_loop_configure(loop, UV_METRICS_IDLE_TIME);
	uv_prepare_init(loop, &t->prepare);
	t->prepare.data = t;
	uv_prepare_start(&t->prepare, on_prepare);
}

void turns_longest(const struct turns *t, int64_t *ret_us, int64_t *ret_cpu_us)
{
	*ret_us = (int64_t)(t->longest_ns / 1000);
	*ret_cpu_us = t->longest_cpu_us;
}
