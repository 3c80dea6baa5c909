#include "control/ticks/ticks.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "control/answer/answers.h"
#include "control/ask/options.h"
#include "core/time/calendar.h"
#include "core/time/schedule.h"
#include "node/election/tasks.h"
#include "node/node.h"
#include "node/schedule/schedules.h"

#define NEXT_EACH_MAX 1000  /* instants of a task */
#define NEXT_ALL_MAX  20000 /* instants of all tasks of a request */
#define LOCAL_SIZE    32    /* as "2026-03-29T03:00:00+02:00" */
#define HOUR_S	      3600
#define MINUTE_S      60
#define EACH_DEFAULT  5
#define NEXT_WHY_SIZE 400

/* A task of the request, with copies of all that the other thread needs. */
struct next_task {
	char *name;
	struct schedule schedule;
	struct zone_file *zone;
	int64_t decided;   /* ticks up to then were decided by a clock that was ahead */
	int64_t *instants; /* seconds since the epoch */
	size_t n;
};

/*
 * The time up to which a clock that was ahead has decided the ticks of all elections of the task;
 * 0: none.
 */
static int64_t decided_ms_of(const struct node *s, const struct listing *listing)
{
	int64_t first_ms = 0;

	for (size_t i = 0; i < listing->n; i++) {
		int64_t ms = schedules_decided_until(&s->schedules, listing->tasks[i]);
		if (ms == 0)
			return 0;
		first_ms = first_ms == 0 || ms < first_ms ? ms : first_ms;
	}
	return first_ms;
}

void answers_pack_due(struct pack *p, const struct node *s, struct listing *listing)
{
	int64_t from_ms = host_wall_ms(s->host), decided_ms = 0;

	if (listing)
		decided_ms = decided_ms_of(s, listing);
	if (decided_ms > from_ms)
		from_ms = decided_ms;
	pack_kv_time(p, "due", listing ? listing_due_ms(listing, from_ms) : 0);
}

/* A request that is being computed. */
struct next_request {
	struct ask ask;
	int64_t from;
	size_t each;
	struct next_task *tasks;
	size_t n;
	char why[NEXT_WHY_SIZE]; /* why the request is refused */
};

/* --- computing, off the loop ------------------------------------------------ */

static void compute(struct ask *a)
{
	struct next_request *r = (struct next_request *)a;

	for (size_t i = 0; i < r->n; i++) {
		struct next_task *t = &r->tasks[i];
		int64_t at = r->from - 1 > t->decided ? r->from - 1 : t->decided;

		t->instants = mem_calloc(r->each, sizeof(*t->instants));
		while (t->n < r->each && schedule_next(&t->schedule, t->zone->zone, at, &at))
			t->instants[t->n++] = at;
	}
}

/* --- answering -------------------------------------------------------------- */

static void local_text(const struct zone *zone, int64_t at, char text[LOCAL_SIZE])
{
	int32_t offset = zone_offset(zone, at), distance = offset < 0 ? -offset : offset;
	char utc[CLOCK_TEXT_SIZE];

	clock_format((at + offset) * 1000, utc);
	snprintf(text, LOCAL_SIZE, "%.19s%c%02d:%02d", utc, offset < 0 ? '-' : '+',
		 (int)(distance / HOUR_S) % 100, (int)(distance % HOUR_S / MINUTE_S));
}

static void pack_instant(struct pack *p, const struct next_task *t, int64_t at)
{
	char tick[CLOCK_TEXT_SIZE], local[LOCAL_SIZE];

	clock_format(at * 1000, tick);
	local_text(t->zone->zone, at, local);
	pack_map(p, 4);
	pack_kv_str(p, "task", t->name);
	pack_kv_str(p, "tick", tick);
	pack_kv_str(p, "local", local);
	pack_kv_str(p, "timezone", t->zone->name);
}

static void next_done(struct ask *a)
{
	struct next_request *r = (struct next_request *)a;

	for (size_t i = 0; i < r->n; i++) {
		free(r->tasks[i].name);
		free(r->tasks[i].instants);
		zone_file_unref(r->tasks[i].zone);
	}
	free(r->tasks);
}

static void on_computed(struct ask *a)
{
	struct next_request *r = (struct next_request *)a;
	struct pack *p = ask_result(a);
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->tasks[i].n;
	pack_array(p, n);
	for (size_t i = 0; i < r->n; i++)
		for (size_t j = 0; j < r->tasks[i].n; j++)
			pack_instant(p, &r->tasks[i], r->tasks[i].instants[j]);
	ask_end(a);
}

/* --- asking ----------------------------------------------------------------- */

/* name: the task's, or a partition's. */
static void add(struct next_request *r, const struct task_config *t, const char *name)
{
	const struct node *s = r->ask.methods->node;
	const struct task *task = tasks_find(&s->leaders, name, strlen(name));
	const struct listing *listing = listings_find(&s->leaders, name, strlen(name));
	int64_t decided_ms = task      ? schedules_decided_until(&s->schedules, task)
			     : listing ? decided_ms_of(s, listing)
				       : 0;

	r->tasks = mem_resize(r->tasks, r->n + 1, sizeof(*r->tasks));
	r->tasks[r->n++] = (struct next_task){.name = mem_strdup(name),
					      .schedule = t->schedule->schedule,
					      .zone = zone_file_ref(t->schedule->zone),
					      .decided = decided_ms / 1000};
}

static bool has_schedule(const struct task_config *t)
{
	return t->schedule && t->schedule->zone;
}

/* A request without names is about all tasks that have a schedule. */
static void add_all(struct next_request *r)
{
	size_t n;
	const struct task_config **tasks = task_files_tasks(r->ask.methods->process->tasks, &n);

	for (size_t i = 0; i < n; i++)
		if (has_schedule(tasks[i]))
			add(r, tasks[i], tasks[i]->name);
	free(tasks);
}

/* Says why the request is refused. Returns -EINVAL. */
static int refuse(struct next_request *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int refuse(struct next_request *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->why, sizeof(r->why), format, args);
	va_end(args);
	return -EINVAL;
}

static int add_named(struct next_request *r, struct reader_text name)
{
	char text[NAME_ELECTION_MAX + 1], whole[NAME_TASK_MAX + 1];
	size_t len = name.len;
	unsigned k = 0;

	if (name.len > NAME_ELECTION_MAX || !name_is_election(name.data, name.len))
		return refuse(r, "%s", "a parameter is not the name of a task");
	memcpy(text, name.data, name.len);
	text[name.len] = '\0';
	bool is_part = name_partition_parse(text, name.len, &len, &k);
	memcpy(whole, text, len);
	whole[len] = '\0';
	const struct task_config *t = task_files_find(r->ask.methods->process->tasks, whole);
	if (!t)
		return refuse(r, "unknown task \"%s\"", whole);
	if (is_part && t->partitions == 0)
		return refuse(r, "%s has no partitions", whole);
	if (is_part && k >= t->partitions)
		return refuse(r, "%s has %u partitions: %s:0 to %s:%u", whole, t->partitions, whole,
			      whole, t->partitions - 1);
	if (!has_schedule(t))
		return refuse(r, "task \"%s\" has no schedule", text);
	if (r->n == NEXT_ALL_MAX)
		return refuse(r, "%s", "more names than one request may have");
	add(r, t, text);
	return 0;
}

static int read_each(struct reader *r, void *to)
{
	int64_t n;
	int e = keys_parse_int(r, 1, NEXT_EACH_MAX, &n);

	if (e == 0)
		((struct next_request *)to)->each = (size_t)n;
	return e;
}

static int take_options(struct next_request *r, struct reader *params)
{
	static const struct key keys[] = {OPTION("n", read_each, "a number from 1 to 1000"),
					  OPTION_INT(next_request, from, "from", 0, CALENDAR_END_S,
						     "a time before the year 10000")};
	const char *wrong = options_read(params, OPTIONS(keys), r);

	return wrong ? refuse(r, "%s", wrong) : 0;
}

static int take_params(struct next_request *r, struct call *call)
{
	bool named = false;
	int e = 0;

	for (size_t i = 0; i < call->n_params && e == 0; i++) {
		enum reader_type type = READER_NIL;
		struct reader_text name;

		if (i == call->n_params - 1 && reader_peek(&call->params, &type) == 0 &&
		    type == READER_MAP) {
			e = take_options(r, &call->params);
		} else if (reader_str(&call->params, &name) < 0) {
			e = refuse(r, "%s", "a parameter is not the name of a task");
		} else {
			named = true;
			e = add_named(r, name);
		}
	}
	if (e == 0 && !named)
		add_all(r);
	if (e == 0 && r->n * r->each > NEXT_ALL_MAX)
		e = refuse(r, "%s", "more than 20,000 instants: ask for fewer, or name the tasks");
	return e;
}

void method_next(struct call *call)
{
	static const struct ask_kind kind = {.size = sizeof(struct next_request),
					     .done = next_done};
	struct next_request *r = ask_new(call, &kind);

	r->each = EACH_DEFAULT;
	r->from = host_wall_ms(call->m->node->host) / 1000 + 1;
	if (take_params(r, call) < 0) {
		ask_fail(&r->ask, RPC_MISUSE, r->why);
	} else if (ask_offload(&r->ask, compute, on_computed) != 0) {
		compute(&r->ask);
		on_computed(&r->ask);
	}
}
