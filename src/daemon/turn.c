#include "daemon/turn.h"

static void on_prepare(uv_prepare_t *prepare)
{
	struct turns *t = prepare->data;
	uint64_t now = uv_hrtime(), idle = uv_metrics_idle_time(t->loop);

	if (t->last_ns > 0 && now - t->last_ns - (idle - t->idle_ns) > t->longest_ns)
		t->longest_ns = now - t->last_ns - (idle - t->idle_ns);
	t->last_ns = now;
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

int64_t turns_longest_us(const struct turns *t)
{
	return (int64_t)(t->longest_ns / 1000);
}
