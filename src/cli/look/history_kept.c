#include "cli/look/history_kept.h"

#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text/names.h"

#define SHOWN_MAX 10

void history_kept_note(struct history_kept *k, const char *task, const json_t *record,
		       int64_t since_ms)
{
	const char *tick = json_text(record, "tick", "-");
	int64_t ms = INT64_MAX;

	if (!json_flag(record, "oldest_kept"))
		return;
	clock_parse(tick, &ms);
	if (ms <= since_ms)
		return; /* all that is asked for is there */
	k->list = mem_resize(k->list, k->n + 1, sizeof(*k->list));
	k->list[k->n++] = (struct history_cut){mem_strdup(task), mem_strdup(tick)};
}

static int by_task(const void *a, const void *b)
{
	const struct history_cut *x = a, *y = b;

	return names_natural(x->task, y->task);
}

void history_kept_print(const struct output *o, struct history_kept *k)
{
	size_t width = 0;

	if (k->n == 0)
		return;
	qsort(k->list, k->n, sizeof(*k->list), by_task);
	for (size_t i = 0; i < k->n && i < SHOWN_MAX; i++)
		width = strlen(k->list[i].task) > width ? strlen(k->list[i].task) : width;
	output_line(o, COLOR_NONE, "%s", "");
	output_line(o, COLOR_NONE, "older runs are not kept (key history) of");
	for (size_t i = 0; i < k->n && i < SHOWN_MAX; i++)
		output_line(o, COLOR_NONE, "  %-*s since %s", (int)width, k->list[i].task,
			    k->list[i].tick);
	if (k->n > SHOWN_MAX)
		output_line(o, COLOR_NONE, "  and %zu more tasks", k->n - SHOWN_MAX);
}

void history_kept_done(struct history_kept *k)
{
	for (size_t i = 0; i < k->n; i++) {
		free(k->list[i].task);
		free(k->list[i].tick);
	}
	free(k->list);
}
