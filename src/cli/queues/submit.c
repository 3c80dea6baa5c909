/* zkleader submit: submits a job to a queue. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/job_api.h"
#include "api/json.h"
#include "base/clock.h"
#include "base/text/duration.h"
#include "cli/queues/job_text.h"
#include "cli/ui/ask.h"

#define DELAY_MAX_MS (INT64_C(90) * 24 * 3600 * 1000)
#define ANSWER_MS    30000 /* time until ZooKeeper has committed the job */

enum { OPTION_AT, OPTION_IN, OPTION_KEY, OPTION_ID, OPTION_CALLBACK, OPTION_WAIT, OPTION_WHILE };

static const struct option_spec options[] = {
	{300, "at", "T", "not before T, such as 2026-11-20T02:00:00Z"},
	{301, "in", "D", "not before D is over"},
	{302, "key", "K", "one job of this key at a time: its id, if there is one"},
	{303, "id", "ID", "that was printed before, to submit the same once more"},
	{304, "callback", "URL", "that is sent the job as JSON at its end"},
	{305, "wait", NULL, "until it has ended; the exit code is its status"},
	{306, "while", "kept|open",
	 "with --key: another once that job has ended\n(kept: never so far)"},
	{0, NULL, NULL, NULL},
};

struct submission {
	struct zkleader_submission job;
	char id[ZKLEADER_JOB_ID_SIZE], own[ZKLEADER_JOB_ID_SIZE]; /* own: of what was handed in */
	unsigned char payload[ZKLEADER_PAYLOAD_MAX + 1];
};

/* --- what is submitted ---------------------------------------------------- */

/*
 * Draws the job's id before the sidecar is asked, so that it is known even if the answer is lost.
 */
static int take_id(const struct context *c, struct submission *s)
{
	const char *given = c->values[OPTION_ID];
	char why[ZKLEADER_TEXT_SIZE];
	int e;

	if (given && given[0] == '\0') {
		output_error(&c->output, "\"\" is not the id of a job, which is QUEUE.MINUTE.UUID");
		return -EINVAL;
	}
	e = job_api_id(s->job.queue, given ? given : "", s->id, why);
	if (e < 0)
		output_error(&c->output, "no random bytes: %s", strerror(-e));
	else if (e > 0)
		output_error(&c->output, "%s", why);
	return e == 0 ? 0 : -EINVAL;
}

static int take_while(const struct context *c, struct submission *s)
{
	const char *text = c->values[OPTION_WHILE];

	if (!text)
		return 0;
	s->job.while_open = strcmp(text, "open") == 0;
	if (!c->values[OPTION_KEY])
		output_error(&c->output, "--while goes with --key");
	else if (!s->job.while_open && strcmp(text, "kept") != 0)
		output_error(&c->output, "--while \"%s\": kept or open is needed", text);
	else
		return 0;
	return -EINVAL;
}

static int take_times(const struct context *c, struct submission *s)
{
	const char *at = c->values[OPTION_AT], *in = c->values[OPTION_IN];
	char why[OPTIONS_WHY_SIZE];
	int64_t ms = 0;

	if (at && in)
		output_error(&c->output, "--at and --in go not together");
	else if (at && (clock_parse(at, &ms) < 0 || ms <= 0))
		output_error(&c->output, "--at: \"%s\" is no time such as 2026-11-20T02:00:00Z",
			     at);
	else if (in && options_duration("in", in, DURATION_MAX_MS, &s->job.in_ms, why) < 0)
		output_error(&c->output, "%s", why);
	else if (s->job.in_ms > DELAY_MAX_MS)
		output_error(&c->output, "--in: a job may wait for 90 days at most");
	else {
		s->job.at_s = (ms + 999) / 1000; /* no earlier */
		return 0;
	}
	return -EINVAL;
}

static int read_payload(const struct context *c, struct submission *s)
{
	while (s->job.len < sizeof(s->payload)) {
		ssize_t n = read(STDIN_FILENO, s->payload + s->job.len,
				 sizeof(s->payload) - s->job.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			output_error(&c->output,
				     "the payload cannot be read from standard input: %s",
				     strerror(errno));
			return -errno;
		}
		if (n == 0)
			return 0;
		s->job.len += (size_t)n;
	}
	return 0; /* too long a payload: zkleader_submit() refuses it */
}

/* --- submitting ----------------------------------------------------------- */

static void print_id(const struct context *c, const char *id, bool committed)
{
	if (!c->output.json) {
		output_line(&c->output, COLOR_NONE, "%s", id);
		return;
	}
	json_auto_t *json = json_pack("{s:s}", "id", id);
	if (!committed)
		json_object_set_new(json, "committed", json_null());
	output_json(&c->output, json);
}

/*
 * Submits the job. 0 and its id in s->id, which is that of an earlier job if that has the same key;
 * or an exit code.
 */
static int submit(struct context *c, struct submission *s)
{
	int e = zkleader_open(c->socket, &c->z);

	if (e == 0 && !c->values[OPTION_ID])
		e = job_api_ask_id(c->z, s->job.queue, s->id);
	memcpy(s->own, s->id, sizeof(s->own));
	if (e == 0)
		e = zkleader_submit(c->z, &s->job, ANSWER_MS, s->id);
	return e == 0 ? 0 : context_failed(c, e);
}

/* Says on standard error that no job was made, as an ended job has the same key. */
static void tell_old(struct context *c, const struct submission *s)
{
	json_auto_t *job = NULL;
	char age[OUTPUT_AGE_SIZE];
	const char *state, *detail;
	bool letter;

	if (job_text_read(c, s->id, &job) != 0 || !job_text_ended(job))
		return;
	state = json_text(job, "state", "-");
	letter = strcmp(state, "dead") == 0 || strcmp(state, "lost") == 0;
	age_text(json_text(job, "ended", NULL), c->output.now_ms, age);
	detail = json_text(job, "detail", NULL);
	output_error(&c->output,
		     "no job was made: the one of this key has ended, %s %s ago%s%s, and is kept; "
		     "--while open makes another%s%s",
		     state, age, detail ? ", " : "", detail ? detail : "",
		     letter ? ", zkleader requeue tries this one anew: " : "", letter ? s->id : "");
}

static int wait_for(struct context *c, const struct submission *s)
{
	json_auto_t *job = NULL;
	int code = job_text_wait(c, s->id, &job);

	if (code != 0) {
		if (c->output.json)
			print_id(c, s->id, true);
		return code;
	}
	if (c->output.json)
		output_json(&c->output, job);
	else
		job_text_output(c, job);
	code = job_text_status(job);
	if (code == JOB_WITHOUT_STATUS)
		output_error(&c->output, "%s: %s", s->id, json_text(job, "state", "-"));
	return code;
}

static int run(struct context *c)
{
	struct submission s = {.job = {.size = sizeof(s.job),
				       .queue = c->args[0],
				       .key = c->values[OPTION_KEY],
				       .callback = c->values[OPTION_CALLBACK]}};
	bool wait = c->values[OPTION_WAIT] != NULL;
	int code;

	s.job.payload = s.payload;
	if (take_while(c, &s) < 0 || take_id(c, &s) < 0 || take_times(c, &s) < 0 ||
	    read_payload(c, &s) < 0)
		return ZKLEADER_MISUSE;
	code = submit(c, &s);
	if (code == ZKLEADER_CANNOT_TELL) {
		print_id(c, s.id, false);
		output_error(&c->output,
			     "it may or may not be submitted: the same again with --id %s is safe",
			     s.id);
	}
	if (code != 0)
		return code;
	if (!wait || !c->output.json)
		print_id(c, s.id, true);
	if (strcmp(s.id, s.own) != 0)
		tell_old(c, &s);
	if (!wait)
		return 0;
	output_flush(&c->output);
	return wait_for(c, &s);
}

const struct command command_submit = {
	.name = "submit",
	.args = "QUEUE < PAYLOAD",
	.help = "hand a job in; prints its id once it is committed",
	.more = "From any host that has the queue, by its submitters, root, the sidecar's own\n"
		"user and socket-group. PAYLOAD, up to 16,384 bytes, becomes the standard input\n"
		"of the queue's command, or is posted to its url. Where the outcome is unknown,\n"
		"the id is printed as well, and the same command with --id ID is safe for 10\n"
		"minutes: the job is there once. With --wait what the job wrote follows.\n",
	.exits = "0 committed, 2 unknown whether it is, 3 misuse: no such queue here, too\n"
		 "      big, may not, 4 the queue is full or paused, or nobody serves it; with\n"
		 "      --wait the job's own status, 70 where it has none: dead by url, lost,\n"
		 "      cancelled",
	.min_args = 1,
	.max_args = 1,
	.options = options,
	.run = run,
};
