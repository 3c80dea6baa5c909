#include "core/queue/bucket.h"

static int64_t full(const struct bucket *b)
{
	return b->most * b->period_ms;
}

/* The level at now_ms: each millisecond brings `most` parts. */
static int64_t level_at(const struct bucket *b, int64_t now_ms)
{
	int64_t passed = now_ms - b->since_ms;

	if (passed <= 0)
		return b->level;
	if (passed >= b->period_ms)
		return full(b);
	int64_t level = b->level + passed * b->most;
	return level < full(b) ? level : full(b);
}

void bucket_fill(struct bucket *b, int64_t most, int64_t period_ms, int64_t now_ms)
{
	*b = (struct bucket){.most = most, .period_ms = period_ms, .since_ms = now_ms};
	b->level = full(b);
}

void bucket_resize(struct bucket *b, int64_t most, int64_t period_ms, int64_t now_ms)
{
	int64_t tokens = b->most > 0 ? level_at(b, now_ms) / b->period_ms : most;

	bucket_fill(b, most, period_ms, now_ms);
	if (tokens < most)
		b->level = tokens * period_ms;
}

void bucket_drain(struct bucket *b, int64_t now_ms)
{
	b->level = 0;
	b->since_ms = now_ms;
}

bool bucket_take(struct bucket *b, int64_t now_ms)
{
	if (b->most == 0)
		return true;
	b->level = level_at(b, now_ms);
	if (now_ms > b->since_ms)
		b->since_ms = now_ms;
	if (b->level < b->period_ms)
		return false;
	b->level -= b->period_ms;
	return true;
}

void bucket_give_back(struct bucket *b)
{
	b->level += b->period_ms;
	if (b->level > full(b))
		b->level = full(b);
}

int64_t bucket_wait_ms(const struct bucket *b, int64_t now_ms)
{
	int64_t lacks = b->period_ms - level_at(b, now_ms);

	if (b->most == 0 || lacks <= 0)
		return 0;
	return (lacks + b->most - 1) / b->most;
}
