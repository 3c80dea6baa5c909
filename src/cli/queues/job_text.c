#include "cli/queues/job_text.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "api/call.h"
#include "api/job_api.h"
#include "api/json.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cli/ui/ask.h"
#include "wire/pack.h"

#define WAIT_MS	   20000 /* how long one request waits at the sidecar */
#define ANSWER_MS  35000
#define KNOCK_MS   200
#define PATIENT_MS 60000 /* how long a sidecar may be away or without a session */

bool job_text_ended(const json_t *job)
{
	return job_api_state_is_end(json_text(job, "state", ""));
}

enum color job_text_color(const char *state)
{
	if (strcmp(state, "ok") == 0)
		return COLOR_GREEN;
	if (strcmp(state, "dead") == 0 || strcmp(state, "lost") == 0)
		return COLOR_RED;
	return strcmp(state, "running") == 0 ? COLOR_BOLD : COLOR_NONE;
}

static void print_text(const struct output *o, const char *name, const char *text)
{
	if (text)
		output_line(o, COLOR_NONE, "%-10s %s", name, text);
}

static void print_time(const struct output *o, const json_t *job, const char *key)
{
	const char *time = json_text(job, key, NULL);
	int64_t ms, now_ms = clock_wall_ms(); /* the command may have waited for the job */
	char age[OUTPUT_AGE_SIZE];

	if (!time)
		return;
	if (clock_parse(time, &ms) == 0 && ms > now_ms) {
		elapsed_text(ms - now_ms, age);
		output_line(o, COLOR_NONE, "%-10s %s (in %s)", key, time, age);
		return;
	}
	age_text(time, now_ms, age);
	output_line(o, COLOR_NONE, "%-10s %s (%s ago)", key, time, age);
}

void job_text_output(const struct context *c, const json_t *job)
{
	mem_auto char *output = json_output(job);

	if (output)
		fprintf(c->output.out, "%s\n", output);
}

void job_text_print(const struct context *c, const json_t *job)
{
	const struct output *o = &c->output;
	const char *state = json_text(job, "state", "-"), *host = json_text(job, "host", NULL);
	int64_t status = json_number(job, "exit_status", -1);
	int64_t attempt = json_number(job, "attempt", 0);

	print_text(o, "id", json_text(job, "id", "-"));
	print_text(o, "queue", json_text(job, "queue", "-"));
	output_line(o, job_text_color(state), "%-10s %s", "state", state);
	if (attempt > 0)
		output_line(o, COLOR_NONE, "%-10s %" PRId64, "attempt", attempt);
	print_text(o, "key", json_text(job, "key", NULL));
	if (json_text(job, "by", NULL))
		output_line(o, COLOR_NONE, "%-10s %s%s%s", "by", json_text(job, "by", ""),
			    host ? " at " : "", host ? host : "");
	print_time(o, job, "submitted");
	print_time(o, job, "due");
	print_time(o, job, "started");
	print_time(o, job, "ended");
	print_text(o, "node", json_text(job, "node", NULL));
	if (status >= 0)
		output_line(o, COLOR_NONE, "%-10s %" PRId64, "exit", status);
	if (json_text(job, "why", NULL))
		output_line(o, COLOR_NONE, "%-10s %s: %s", "why", json_text(job, "why", ""),
			    json_text(job, "detail", "-"));
	if (json_text(job, "output", "")[0]) {
		output_line(o, COLOR_NONE, "output:");
		job_text_output(c, job);
	}
}

int job_text_status(const json_t *job)
{
	int64_t status = json_number(job, "exit_status", -1);
	bool ok = strcmp(json_text(job, "state", ""), "ok") == 0;

	if (ok)
		return 0;
	return strcmp(json_text(job, "state", ""), "dead") == 0 && status > 0 && status <= 255
		       ? (int)status
		       : JOB_WITHOUT_STATUS;
}

static int ask_once(struct context *c, const char *id, int64_t wait_ms, struct reader *ret_result)
{
	struct request request;
	struct pack *p = request_begin(&request, 2);

	pack_str(p, id);
	pack_map(p, 1);
	pack_kv_int(p, "wait_ms", wait_ms);
	return ask_call(c, "job", &request, ANSWER_MS, ret_result);
}

int job_text_read(struct context *c, const char *id, json_t **ret_job)
{
	struct reader result;
	int e = ask_once(c, id, 0, &result);

	return e != 0 ? ZKLEADER_CANNOT_TELL : ask_to_json(c, result, JSON_OBJECT, ret_job);
}

int job_text_wait(struct context *c, const char *id, json_t **ret_job)
{
	int64_t heard_ms = clock_boot_ms();

	for (;;) {
		json_auto_t *job = NULL;
		struct reader result;
		int code, e = ask_once(c, id, WAIT_MS, &result);

		if (e > 0 && e != ZKLEADER_CANNOT_TELL)
			return context_failed(c, e);
		if (e != 0 && clock_boot_ms() - heard_ms >= PATIENT_MS)
			return context_failed(c, e);
		if (e != 0) {
			poll(NULL, 0, KNOCK_MS);
			continue;
		}
		heard_ms = clock_boot_ms();
		code = ask_to_json(c, result, JSON_OBJECT, &job);
		if (code != 0)
			return code;
		if (job_text_ended(job)) {
			*ret_job = json_incref(job);
			return 0;
		}
	}
}
