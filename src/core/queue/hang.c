#include "core/queue/hang.h"

#define STEP_MIN_MS 20
#define STEP_MAX_MS 500
#define NS_PER_MS   1000000

int64_t hang_step_ms(int64_t timeout_ms)
{
	int64_t step = timeout_ms / HANG_LOOKS;

	return step < STEP_MIN_MS ? STEP_MIN_MS : step > STEP_MAX_MS ? STEP_MAX_MS : step;
}

/* How much of the time since the last look counts, if the loop has not turned. */
static int64_t counts(const struct hang_look *last, const struct hang_look *look,
		      int64_t timeout_ms)
{
	int64_t gap = look->now_ms - last->now_ms;
	int64_t used = (look->cpu_ns - last->cpu_ns) / NS_PER_MS;

	if (gap > 2 * hang_step_ms(timeout_ms))
		return 0; /* this thread did not run either */
	/* A processor's time that is more has jumped, as where a library fakes clocks. */
	return look->asleep || used > gap ? gap : used;
}

bool hang_look(struct hang *h, const struct hang_look *look, int64_t timeout_ms)
{
	bool turned = h->last.turns != look->turns || h->last.idle_ns != look->idle_ns;

	h->stuck_ms = turned || h->last.now_ms == 0
			      ? 0
			      : h->stuck_ms + counts(&h->last, look, timeout_ms);
	h->last = *look;
	return h->stuck_ms >= timeout_ms;
}
