#include "node/ledger/counts.h"
#include "node/ledger/last_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/election/task.h"

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

/* Allocated on first use: a follower of thousands of tasks counts nothing for most of them. */
static struct task_counts *of(struct task *t)
{
	if (!t->counts)
		t->counts = mem_calloc(1, sizeof(*t->counts));
	return t->counts;
}

const struct task_counts *counts_of(const struct task *t)
{
	static const struct task_counts none;

	return t->counts ? t->counts : &none;
}

void counts_forget(struct task *t)
{
	free(t->counts);
	t->counts = NULL;
}

void counts_run(struct task *t, const char *state, int64_t began_ms, int64_t ended_ms)
{
	for (size_t i = 0; i < COUNTS_ENDS; i++) {
		if (strcmp(state, names[i]) != 0)
			continue;
		of(t)->ends[i]++;
		if (i != COUNTS_CLAIMED)
			histogram_add(&of(t)->run_ms, &counts_run_bounds, ended_ms - began_ms);
		if (i == COUNTS_OK)
			of(t)->ok_ms = ended_ms;
	}
}

void counts_missed(struct task *t, uint64_t n)
{
	of(t)->missed += n;
}

int64_t counts_last_ok(const struct task *t)
{
	const struct last_run *last = last_run_of(t);
	int64_t ok_ms = counts_of(t)->ok_ms;
	bool newest = strcmp(last->state, names[COUNTS_OK]) == 0;

	return newest && last->ended_at > ok_ms ? last->ended_at : ok_ms;
}
