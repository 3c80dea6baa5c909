#include "node/counts.h"

#include <string.h>

#include "node/task.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)

const struct histogram_bounds counts_run_bounds = {.n = 10,
						   .le = {SECOND / 10, SECOND, 5 * SECOND,
							  15 * SECOND, MINUTE, 5 * MINUTE,
							  15 * MINUTE, HOUR, 4 * HOUR, 24 * HOUR}};

static const char *const names[COUNTS_ENDS] = {"ok", "failed", "lost", "claimed", "timeout"};

const char *counts_end_name(enum counts_end end)
{
	return names[end];
}

void counts_led(struct task *t)
{
	t->counts.leaderships++;
}

void counts_run(struct task *t, const char *state, int64_t began_ms, int64_t ended_ms)
{
	for (size_t i = 0; i < COUNTS_ENDS; i++) {
		if (strcmp(state, names[i]) != 0)
			continue;
		t->counts.ends[i]++;
		if (i != COUNTS_CLAIMED)
			histogram_add(&t->counts.run_ms, &counts_run_bounds, ended_ms - began_ms);
		if (i == COUNTS_OK)
			t->counts.ok_ms = ended_ms;
	}
}

void counts_missed(struct task *t, uint64_t n)
{
	t->counts.missed += n;
}

int64_t counts_last_ok(const struct task *t)
{
	const struct last_run *last = &t->last;
	bool newest = strcmp(last->state, names[COUNTS_OK]) == 0;

	return newest && last->ended_at > t->counts.ok_ms ? last->ended_at : t->counts.ok_ms;
}
