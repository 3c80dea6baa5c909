/* zkleader submit: hands a job in. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "client/ask.h"
#include "client/job_text.h"
#include "client/json.h"
#include "core/job_id.h"
#include "wire/pack.h"
#include "wire/rpc.h"

#define PAYLOAD_MAX  16384 /* bytes */
#define DELAY_MAX_MS (INT64_C(90) * 24 * 3600 * 1000)
#define MINUTE_MS    60000
#define ANSWER_MS    30000 /* until it is committed */

enum { OPTION_AT, OPTION_IN, OPTION_KEY, OPTION_ID, OPTION_CALLBACK, OPTION_WAIT };

static const struct option_spec options[] = {
	{300, "at", "T", "not before T, such as 2026-11-20T02:00:00Z"},
	{301, "in", "D", "not before D is over"},
	{302, "key", "K", "one job of this key at a time: its id where there is one"},
	{303, "id", "ID", "that was printed before, to submit the same once more"},
	{304, "callback", "URL", "that is sent the job as JSON at its end"},
	{305, "wait", NULL, "until it has ended; the exit code is its status"},
	{0, NULL, NULL, NULL},
};

struct submission {
	const char *queue, *key, *callback, *at;
	int64_t in_ms; /* -1: not given */
	char id[JOB_ID_MAX + 1];
	unsigned char payload[PAYLOAD_MAX + 1];
	size_t len;
};

/* --- what is submitted ---------------------------------------------------- */

static void new_uuid(char uuid[37])
{
	unsigned char b[16];

	if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
		abort(); /* it is never short below 256 bytes */
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	snprintf(uuid, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
		 b[13], b[14], b[15]);
}

static int take_id(const struct context *c, struct submission *s)
{
	const char *given = c->values[OPTION_ID];
	struct job_id id;

	if (!name_is_task(s->queue, strlen(s->queue))) {
		output_error(&c->output, "\"%s\" is not the name of a queue", s->queue);
		return -EINVAL;
	}
	if (given && !job_id_parse(given, strlen(given), &id)) {
		output_error(&c->output,
			     "\"%s\" is not the id of a job, which is QUEUE.MINUTE.UUID", given);
		return -EINVAL;
	}
	if (given && strcmp(id.queue, s->queue) != 0) {
		output_error(&c->output, "%s is the id of a job of %s, and not of %s", given,
			     id.queue, s->queue);
		return -EINVAL;
	}
	if (!given) {
		memcpy(id.queue, s->queue, strlen(s->queue) + 1);
		id.minute = clock_wall_ms() / MINUTE_MS;
		new_uuid(id.uuid);
	}
	job_id_format(&id, s->id);
	return 0;
}

static int take_times(const struct context *c, struct submission *s)
{
	char why[OPTIONS_WHY_SIZE];
	int64_t ms;

	s->at = c->values[OPTION_AT];
	if (s->at && c->values[OPTION_IN])
		output_error(&c->output, "--at and --in go not together");
	else if (s->at && clock_parse(s->at, &ms) < 0)
		output_error(&c->output, "--at: \"%s\" is no time such as 2026-11-20T02:00:00Z",
			     s->at);
	else if (s->at && ms - clock_wall_ms() > DELAY_MAX_MS)
		output_error(&c->output, "--at: a job may wait for 90 days at most");
	else if (c->values[OPTION_IN] &&
		 options_duration("in", c->values[OPTION_IN], DURATION_MAX_MS, &s->in_ms, why) < 0)
		output_error(&c->output, "%s", why);
	else if (s->in_ms > DELAY_MAX_MS)
		output_error(&c->output, "--in: a job may wait for 90 days at most");
	else
		return 0;
	return -EINVAL;
}

static int read_payload(const struct context *c, struct submission *s)
{
	while (s->len < sizeof(s->payload)) {
		ssize_t n = read(STDIN_FILENO, s->payload + s->len, sizeof(s->payload) - s->len);

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
		s->len += (size_t)n;
	}
	output_error(&c->output,
		     "the payload has more than %d bytes: put it somewhere that the workers reach, "
		     "and submit where",
		     PAYLOAD_MAX);
	return -EFBIG;
}

static void pack_submission(const struct submission *s, struct pack *p)
{
	pack_array(p, 2);
	pack_str(p, s->queue);
	pack_map(p, 2U + (s->at ? 1U : 0U) + (s->in_ms >= 0 ? 1U : 0U) + (s->key ? 1U : 0U) +
			    (s->callback ? 1U : 0U));
	pack_kv_str(p, "id", s->id);
	pack_kv_bin(p, "payload", s->payload, s->len);
	if (s->at)
		pack_kv_str(p, "at", s->at);
	if (s->in_ms >= 0)
		pack_kv_int(p, "in_ms", s->in_ms);
	if (s->key)
		pack_kv_str(p, "key", s->key);
	if (s->callback)
		pack_kv_str(p, "callback", s->callback);
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

/* 0 and the job's id, which is another where there is one of its key; or an exit code. */
static int submit(struct context *c, struct submission *s)
{
	json_auto_t *result = NULL;
	const void *data = NULL;
	struct buffer params;
	struct pack p;
	size_t len = 0;
	int e;

	buffer_init(&params, RPC_REQUEST_MAX);
	pack_init(&p, &params);
	pack_submission(s, &p);
	e = p.failed ? p.failed : zkleader_open(c->socket, &c->z);
	if (e == 0)
		e = zkleader_call(c->z, "submit", params.data, params.len, ANSWER_MS, &data, &len);
	buffer_done(&params);
	e = e != 0 ? ask_failed(c, e) : ask_to_json(c, data, len, JSON_OBJECT, &result);
	if (e == 0)
		snprintf(s->id, sizeof(s->id), "%s", json_text(result, "id", s->id));
	return e;
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
	struct submission s = {.queue = c->args[0],
			       .key = c->values[OPTION_KEY],
			       .callback = c->values[OPTION_CALLBACK],
			       .in_ms = -1};
	bool wait = c->values[OPTION_WAIT] != NULL;
	int code;

	if (take_id(c, &s) < 0 || take_times(c, &s) < 0 || read_payload(c, &s) < 0)
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
	if (!wait)
		return 0;
	output_flush(&c->output);
	return wait_for(c, &s);
}

const struct command command_submit = {
	.name = "submit",
	.args = "QUEUE < PAYLOAD",
	.help = "hand a job in; prints its id once it is committed",
	.more = "From any host that has the queue, by its submitters, root, the sidecar's own user "
		"and\n"
		"socket-group. PAYLOAD, up to 16,384 bytes, becomes the standard input of the "
		"queue's\n"
		"command, or is posted to its url. Where the outcome is unknown, the id is printed "
		"as\n"
		"well, and the same command with --id ID is safe for 10 minutes: the job is there "
		"once.\n"
		"With --wait what the job wrote follows.\n",
	.exits =
		"0 committed, 2 unknown whether it is, 3 misuse: no such queue here, too big, may\n"
		"      not, 4 the queue is full or paused, or nobody serves it; with --wait the "
		"job's\n"
		"      own status, 70 where it has none: dead by url, lost, cancelled",
	.min_args = 1,
	.max_args = 1,
	.options = options,
	.run = run,
};
