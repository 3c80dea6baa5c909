/* zkleader job, cancel, dead, requeue, purge: commands about jobs that were submitted. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/call.h"
#include "api/json.h"
#include "cli/queues/job_text.h"
#include "cli/ui/ask.h"
#include "cli/ui/table.h"
#include "core/queue/job_id.h"
#include "wire/pack.h"

#define WHO_MAY "Only root, the sidecar's own user and the members of its socket-group may.\n"

/* --- job ------------------------------------------------------------------ */

enum { OPTION_WAIT };

static const struct option_spec job_options[] = {
	{300, "wait", NULL, "until it has ended; the exit code is its status"},
	{0, NULL, NULL, NULL},
};

static int run_job(struct context *c)
{
	json_auto_t *job = NULL;
	bool wait = c->values[OPTION_WAIT] != NULL;
	int code = wait ? job_text_wait(c, c->args[0], &job) : ask(c, "job", JSON_OBJECT, &job);

	if (code != 0)
		return code;
	if (c->output.json)
		output_json(&c->output, job);
	else
		job_text_print(c, job);
	return wait ? job_text_status(job) : ZKLEADER_OK;
}

const struct command command_job = {
	.name = "job",
	.args = "ID",
	.help = "what became of a job",
	.more = "Its state, attempts, node, exit status; the end of what it wrote only to who may\n"
		"submit to its queue, or does its jobs.\n",
	.exits = "0 done, 2 no sidecar or no answer, 3 misuse: no such job; with --wait the\n"
		 "      job's own status, 70 where it has none",
	.min_args = 1,
	.max_args = 1,
	.options = job_options,
	.run = run_job,
};

/* --- cancel --------------------------------------------------------------- */

static void show_cancelled(const struct context *c, const json_t *result)
{
	output_line(&c->output, COLOR_NONE, "%s", json_text(result, "message", "done"));
}

static int run_cancel(struct context *c)
{
	return ask_and_show(c, "cancel", JSON_OBJECT, show_cancelled);
}

const struct command command_cancel = {
	.name = "cancel",
	.args = "ID",
	.help = "end a job, or have it never begin",
	.more = "One that runs gets TERM, and KILL 10 s later. One that has ended stays as it "
		"is.\n" WHO_MAY,
	.min_args = 1,
	.max_args = 1,
	.run = run_cancel,
};

/* --- dead ----------------------------------------------------------------- */

static const struct table_column dead_columns[] = {
	{"JOB", 0},
	{"STATE", 0},
	{"ENDED", TABLE_RIGHT},
	{"TRIES", TABLE_RIGHT},
	{"EXIT", TABLE_RIGHT},
	{"NODE", TABLE_HOST | TABLE_DROP},
	{"WHY", 0},
};

#define N_DEAD_COLUMNS (sizeof(dead_columns) / sizeof(dead_columns[0]))

static void add_dead(struct table *t, const struct output *o, const json_t *job)
{
	char ended[OUTPUT_AGE_SIZE], tries[24], status[24] = "-";
	const char *state = json_text(job, "state", "-");
	const char *cells[N_DEAD_COLUMNS] = {json_text(job, "id", NULL),
					     state,
					     ended,
					     tries,
					     status,
					     json_text(job, "node", NULL),
					     json_text(job, "why", NULL)};

	age_text(json_text(job, "ended", NULL), o->now_ms, ended);
	snprintf(tries, sizeof(tries), "%" PRId64, json_number(job, "attempt", 0));
	if (json_number(job, "exit_status", -1) >= 0)
		snprintf(status, sizeof(status), "%" PRId64, json_number(job, "exit_status", -1));
	table_row(t, cells, COLOR_NONE);
}

/* Asks a queue about the dead letters that follow the job `after`. NULL: about all. */
static int ask_behind(struct context *c, const char *method, const char *after, json_type type,
		      json_t **ret_result)
{
	struct request request;
	struct pack *p = request_begin(&request, after ? 2 : 1);

	pack_str(p, c->args[0]);
	if (after) {
		pack_map(p, 1);
		pack_kv_str(p, "after", after);
	}
	return ask_packed(c, method, &request, type, ret_result);
}

/*
 * Whether a job's id comes after another one's. A longer id does, as the minutes in ids are numbers
 * without leading zeros and all else has the same length within a queue.
 */
static bool is_behind(const char *id, const char *other)
{
	size_t n = strlen(id), other_n = strlen(other);

	return n != other_n ? n > other_n : strcmp(id, other) > 0;
}

/* An answer has only some of the dead letters, so this asks again until there are no more. */
static int ask_all_dead(struct context *c, json_t *all)
{
	const char *last = NULL;

	for (;;) {
		json_auto_t *jobs = NULL;
		const char *before = last;
		int code = ask_behind(c, "dead", before, JSON_ARRAY, &jobs);

		if (code != 0 || json_array_size(jobs) == 0)
			return code;
		json_array_extend(all, jobs);
		last = json_text(json_array_get(all, json_array_size(all) - 1), "id", "");
		if (!is_behind(last, before ? before : ""))
			return 0; /* the sidecar repeats itself: asking on would never end */
	}
}

static int run_dead(struct context *c)
{
	const struct output *o = &c->output;
	json_auto_t *jobs = json_array();
	const json_t *job;
	size_t i;
	int code = ask_all_dead(c, jobs);

	if (code != 0)
		return code;
	if (o->json) {
		output_json(o, jobs);
		return ZKLEADER_OK;
	}
	if (json_array_size(jobs) == 0) {
		output_line(o, COLOR_NONE, "%s has no dead letters", c->args[0]);
		return ZKLEADER_OK;
	}
	struct table *t = table_new(o, dead_columns, N_DEAD_COLUMNS);
	json_array_foreach(jobs, i, job) add_dead(t, o, job);
	table_print(t);
	return ZKLEADER_OK;
}

const struct command command_dead = {
	.name = "dead",
	.args = "QUEUE",
	.help = "the dead letters of a queue, the oldest first",
	.more = "Jobs whose attempts are used up, and those that were lost with their worker.\n"
		"requeue has one of them, or all, tried anew; purge deletes them.\n",
	.min_args = 1,
	.max_args = 1,
	.run = run_dead,
};

/* --- requeue, purge ------------------------------------------------------- */

enum { OPTION_ALL };

static const struct option_spec requeue_options[] = {
	{301, "all", "QUEUE", "all dead letters of this queue, in place of ids"},
	{0, NULL, NULL, NULL},
};

/* Prints to how many jobs a command was applied. */
static void tell(const struct output *o, const char *key, int64_t n, const char *what)
{
	json_auto_t *result = json_pack("{s:I}", key, (json_int_t)n);

	if (o->json)
		output_json(o, result);
	else
		output_line(o, COLOR_NONE, "%s %" PRId64 " %s%s", key, n, what, n == 1 ? "" : "s");
}

/* Asks once, for the jobs behind that id; NULL: for all. */
typedef int (*ask_fn)(struct context *c, const char *after, json_t **ret_result);

/* The sidecar answers after some seconds even if jobs are left, so this asks again for them. */
static int for_all(struct context *c, ask_fn ask_once, const char *key, const char *what)
{
	char after[JOB_ID_MAX + 1] = "";
	int64_t n = 0;
	bool more;
	int code;

	do {
		json_auto_t *result = NULL;

		code = ask_once(c, after[0] ? after : NULL, &result);
		n += json_number(result, key, 0);
		const char *last = json_text(result, "more", "");
		more = is_behind(last, after) && strlen(last) < sizeof(after);
		if (more)
			snprintf(after, sizeof(after), "%s", last);
	} while (code == 0 && more);
	if (code == 0 || n > 0)
		tell(&c->output, key, n, what);
	return code;
}

static int ask_requeue_all(struct context *c, const char *after, json_t **ret_result)
{
	struct request request;
	struct pack *p = request_begin(&request, 1);
	size_t map;

	map = pack_open(p);
	pack_kv_str(p, "queue", c->values[OPTION_ALL]);
	if (after)
		pack_kv_str(p, "after", after);
	pack_close(p, map);
	return ask_packed(c, "requeue", &request, JSON_OBJECT, ret_result);
}

static int ask_purge(struct context *c, const char *after, json_t **ret_result)
{
	return ask_behind(c, "purge", after, JSON_OBJECT, ret_result);
}

/* Requeues the named jobs, which are too few for some to be left. */
static int ask_requeue(struct context *c, const char *after, json_t **ret_result)
{
	(void)after;
	return ask(c, "requeue", JSON_OBJECT, ret_result);
}

static int run_requeue(struct context *c)
{
	bool all = c->values[OPTION_ALL] != NULL;

	if (all == (c->n_args > 0)) {
		output_error(&c->output, "requeue takes the ids of jobs, or --all QUEUE");
		return ZKLEADER_MISUSE;
	}
	return for_all(c, all ? ask_requeue_all : ask_requeue, "requeued", "job");
}

const struct command command_requeue = {
	.name = "requeue",
	.args = "ID...",
	.help = "have dead letters tried anew",
	.more = "Their attempts begin anew, while ZKLEADER_ATTEMPT goes on.\n" WHO_MAY,
	.max_args = COMMAND_ARGS_ANY,
	.options = requeue_options,
	.run = run_requeue,
};

static int run_purge(struct context *c)
{
	return for_all(c, ask_purge, "purged", "dead letter");
}

const struct command command_purge = {
	.name = "purge",
	.args = "QUEUE",
	.help = "delete the dead letters of a queue",
	.more = WHO_MAY,
	.min_args = 1,
	.max_args = 1,
	.run = run_purge,
};
