/* Jobs in the C API: what is sent, what is made of the answer, and ids that are good once more. */
#include "client_fake.h"

#include <errno.h>

#include "zkleader.h"
#include "api/job_api.h"

#define LONG_MS 10000
#define ID	"q.htg7k.0a1b2c3d-5e6f-4a7b-8c9d-0e1f2a3b4c5d"
#define OTHER	"q.htg7k.ffffffff-5e6f-4a7b-8c9d-0e1f2a3b4c5d"

TestSuite(jobs, .timeout = 60);

/* The sidecar's script, and what the sidecar was told. */
struct script {
	int error;	    /* the code of a refusal, 0: none; -1: it goes without an answer */
	const char *drawn;  /* the answer to job_id, NULL: as of an earlier release */
	bool lost;	    /* its clock is not known yet, and so job_id refused */
	const char *answer; /* MessagePack of the result */
	size_t len;
	char method[40], id[200], at[40], key[40], callback[40];
	int64_t in_ms, wait_ms;
	size_t n_options, payload_len;
	unsigned char payload[ZKLEADER_PAYLOAD_MAX];
};

static void take_text(struct reader *r, char *to, size_t size)
{
	struct reader_text text;

	cr_assert_eq(reader_str(r, &text), 0);
	cr_assert_eq(reader_text_copy(text, to, size), 0);
}

static void take_option(struct script *s, struct reader *r)
{
	struct reader_text text;
	char key[40];

	take_text(r, key, sizeof(key));
	if (strcmp(key, "id") == 0) {
		take_text(r, s->id, sizeof(s->id));
	} else if (strcmp(key, "at") == 0) {
		take_text(r, s->at, sizeof(s->at));
	} else if (strcmp(key, "key") == 0) {
		take_text(r, s->key, sizeof(s->key));
	} else if (strcmp(key, "callback") == 0) {
		take_text(r, s->callback, sizeof(s->callback));
	} else if (strcmp(key, "payload") == 0) {
		cr_assert_eq(reader_bin(r, &text), 0);
		memcpy(s->payload, text.data, text.len);
		s->payload_len = text.len;
	} else {
		cr_assert_eq(reader_int(r, strcmp(key, "in_ms") == 0 ? &s->in_ms : &s->wait_ms), 0,
			     "%s", key);
	}
}

/* The id that the sidecar draws. False: that is not what it was asked for. */
static bool draws(const struct script *s, int fd, const struct fake_request *r)
{
	struct buffer b;
	struct pack p;

	if (!reader_text_is(r->m.method, "job_id"))
		return false;
	if (!s->drawn) {
		fake_error(fd, r->m.msgid, s->lost ? 2 : 3, s->lost ? "not known" : "no method");
		return true;
	}
	buffer_init(&b, RPC_REQUEST_MAX);
	pack_init(&p, &b);
	rpc_pack_result(&p, r->m.msgid);
	pack_map(&p, 1);
	pack_kv_str(&p, "id", s->drawn);
	fake_send_buffer(fd, &b);
	return true;
}

static void serve(struct fake *f, int fd)
{
	union {
		const void *in;
		struct script *out;
	} u = {.in = f->arg};
	struct script *s = u.out;
	static struct fake_request r;
	char first[200];

	while (fake_read(f, fd, &r)) {
		if (draws(s, fd, &r))
			continue;
		struct reader params = r.m.params;
		struct buffer b;
		struct pack p;

		snprintf(s->method, sizeof(s->method), "%.*s", (int)r.m.method.len,
			 r.m.method.data);
		take_text(&params, first, sizeof(first));
		s->n_options = 0;
		if (r.m.n_params > 1)
			cr_assert_eq(reader_map(&params, &s->n_options), 0);
		for (size_t i = 0; i < s->n_options; i++)
			take_option(s, &params);
		if (s->error < 0)
			return;
		if (s->error > 0) {
			fake_error(fd, r.m.msgid, s->error, "not now");
			continue;
		}
		buffer_init(&b, RPC_REQUEST_MAX);
		pack_init(&p, &b);
		rpc_pack_result(&p, r.m.msgid);
		if (s->answer) {
			buffer_append(&b, s->answer, s->len);
		} else {
			pack_map(&p, 2);
			pack_kv_nil(&p, "of a later version");
			pack_kv_str(&p, "id", s->id);
		}
		fake_send_buffer(fd, &b);
	}
}

static int submit(struct script *s, const struct zkleader_submission *job, char *id, char *message)
{
	struct zkleader *z;
	struct fake f;
	int e;

	fake_start(&f, serve, s);
	cr_assert_eq(zkleader_open(fake_path(&f), &z), 0);
	e = zkleader_submit(z, job, LONG_MS, id);
	if (message)
		snprintf(message, ZKLEADER_TEXT_SIZE, "%s", zkleader_message(z));
	zkleader_close(z);
	fake_stop(&f);
	return e;
}

Test(jobs, all_that_can_be_said_of_one)
{
	static unsigned char every[ZKLEADER_PAYLOAD_MAX];
	static struct script s;
	char id[ZKLEADER_JOB_ID_SIZE] = "";
	struct zkleader_submission job = {.size = sizeof(job),
					  .queue = "q",
					  .payload = every,
					  .len = sizeof(every),
					  .key = "k",
					  .at_s = 1795226400,
					  .in_ms = 5,
					  .callback = "http://h/"};

	for (size_t i = 0; i < sizeof(every); i++)
		every[i] = (unsigned char)i;
	cr_assert_eq(submit(&s, &job, id, NULL), 0);
	cr_expect_str_eq(s.method, "submit");
	cr_expect_eq(s.payload_len, sizeof(every));
	cr_expect_eq(memcmp(s.payload, every, sizeof(every)), 0);
	cr_expect_str_eq(s.at, "2026-11-21T02:00:00Z");
	cr_expect_eq(s.in_ms, 5);
	cr_expect_str_eq(s.key, "k");
	cr_expect_str_eq(s.callback, "http://h/");
	cr_expect_str_eq(id, s.id);
	cr_expect(strncmp(id, "q.", 2) == 0 && strlen(id) > 40, "%s", id);
	/* And what has to be there alone. */
	cr_assert_eq(submit(&s, &(struct zkleader_submission){.size = 0, .queue = "q"}, id, NULL),
		     0);
	cr_expect_eq(s.n_options, 2);
	cr_expect_eq(s.payload_len, 0);
}

/* Its minute is that of the clock that jobs go by, which this host's may differ from. */
Test(jobs, the_sidecar_draws_the_id_where_it_can)
{
	static struct script s = {.drawn = OTHER};
	const struct zkleader_submission job = {.size = sizeof(job), .queue = "q"};
	char id[ZKLEADER_JOB_ID_SIZE] = "";

	cr_assert_eq(submit(&s, &job, id, NULL), 0);
	cr_expect_str_eq(s.id, OTHER);
	cr_expect_str_eq(id, OTHER);
	/* An id that was there is not replaced by another. */
	strcpy(id, ID);
	cr_assert_eq(submit(&s, &job, id, NULL), 0);
	cr_expect_str_eq(s.id, ID);
	static struct script unknown = {.lost = true};
	id[0] = '\0';
	cr_expect_eq(submit(&unknown, &job, id, NULL), ZKLEADER_CANNOT_TELL);
	cr_expect_str_eq(unknown.method, "", "nothing was submitted");
}

/* A failure leaves the id that was sent, and the same once more sends it again. */
Test(jobs, an_unknown_outcome_is_repeated)
{
	static const struct {
		int error, e;
	} cases[] = {{-1, -ECONNRESET}, {2, ZKLEADER_CANNOT_TELL}, {4, ZKLEADER_NOBODY}};
	const struct zkleader_submission job = {.size = sizeof(job), .queue = "q"};
	static struct script s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char id[ZKLEADER_JOB_ID_SIZE] = "", sent[200];

		s.error = cases[i].error;
		cr_expect_eq(submit(&s, &job, id, NULL), cases[i].e);
		cr_expect(id[0] && strcmp(id, s.id) == 0, "%s %s", id, s.id);
		strcpy(sent, s.id);
		s.error = 0;
		cr_expect_eq(submit(&s, &job, id, NULL), 0);
		cr_expect_str_eq(s.id, sent);
		cr_expect_str_eq(id, sent);
	}
}

Test(jobs, an_answer_may_name_another_and_nothing_but_a_job)
{
	static const struct {
		const char *answer, *id;
		int e;
	} cases[] = {
		{"\x81\xa2id\xd9\x2c" OTHER, OTHER, 0},
		{"\x81\xa2id\xa4none", ID, -EBADMSG},
		{"\x81\xa2id\xc0", ID, -EBADMSG},
		{"\x80", ID, -EBADMSG},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct script s;
		char id[ZKLEADER_JOB_ID_SIZE] = ID;
		const struct zkleader_submission job = {.size = sizeof(job), .queue = "q"};

		s.answer = cases[i].answer;
		s.len = strlen(cases[i].answer);
		cr_expect_eq(submit(&s, &job, id, NULL), cases[i].e, "%zu", i);
		cr_expect_str_eq(id, cases[i].id);
	}
}

/* Refused without asking; what is there of an id stays. */
Test(jobs, what_cannot_be_submitted)
{
	static unsigned char big[ZKLEADER_PAYLOAD_MAX + 1];
	static char long_key[RPC_REQUEST_MAX + 1];
	static const struct {
		struct zkleader_submission job;
		const char *id, *message;
		int e;
	} cases[] = {
		{{.queue = "a b"}, "", "is not the name of a queue", ZKLEADER_MISUSE},
		{{.queue = ""}, "", "is not the name of a queue", ZKLEADER_MISUSE},
		{{.queue = "q"}, "q.1", "is not the id of a job", ZKLEADER_MISUSE},
		{{.queue = "r"}, ID, "of a job of q, and not of r", ZKLEADER_MISUSE},
		{{.queue = "q", .payload = big, .len = sizeof(big)},
		 "",
		 "more than 16384 bytes",
		 ZKLEADER_MISUSE},
		{{.queue = "q", .in_ms = -1}, "", "not a time", -EINVAL},
		{{.queue = "q", .at_s = -1}, "", "not a time", -EINVAL},
		{{.queue = "q", .at_s = INT64_MAX}, "", "not a time", -EINVAL},
		{{.queue = "q", .key = long_key}, ID, "too much", -EMSGSIZE},
	};

	memset(long_key, 'k', sizeof(long_key) - 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct script s;
		char id[ZKLEADER_JOB_ID_SIZE], message[ZKLEADER_TEXT_SIZE];

		strcpy(id, cases[i].id);
		cr_expect_eq(submit(&s, &cases[i].job, id, message), cases[i].e, "%zu", i);
		cr_expect(strstr(message, cases[i].message), "%zu: %s", i, message);
		cr_expect_str_eq(id, cases[i].id);
		cr_expect_str_eq(s.method, "", "nothing was asked");
	}
}

/* The struct may be that of a later release, if nothing is set that is not known here. */
Test(jobs, a_submission_of_another_release)
{
	struct {
		struct zkleader_submission job;
		char later[16];
	} later = {.job = {.size = sizeof(later), .queue = "q"}};
	static struct script s;
	char id[ZKLEADER_JOB_ID_SIZE] = "";

	cr_expect_eq(submit(&s, &later.job, id, NULL), 0);
	later.later[15] = 1;
	cr_expect_eq(submit(&s, &later.job, id, NULL), -E2BIG);
}

static int read_job(struct script *s, const char *id, int64_t wait_ms, struct zkleader_job *job)
{
	struct zkleader *z;
	struct fake f;
	int e;

	fake_start(&f, serve, s);
	cr_assert_eq(zkleader_open(fake_path(&f), &z), 0);
	e = zkleader_read_job(z, id, wait_ms, LONG_MS, job);
	cr_expect_eq(zkleader_message(z)[0] == '\0', e == 0);
	zkleader_close(z);
	fake_stop(&f);
	return e;
}

/* Its map, which is good until the next call; no exit status: INT64_MIN. */
static void script_job(struct script *s, const char *state, int64_t status, const char *output,
		       size_t output_len)
{
	static struct buffer b;
	struct pack p;

	buffer_done(&b);
	buffer_init(&b, RPC_REQUEST_MAX);
	pack_init(&p, &b);
	pack_map(&p, 7);
	pack_kv_str(&p, "id", ID);
	pack_kv_str(&p, "queue", "q");
	pack_kv_str(&p, "state", state);
	pack_kv_int(&p, "attempt", 2);
	pack_kv_str(&p, "node", output ? "host\n1" : NULL);
	if (status == INT64_MIN)
		pack_kv_nil(&p, "exit_status");
	else
		pack_kv_int(&p, "exit_status", status);
	pack_str(&p, "output");
	if (output)
		pack_strn(&p, output, output_len);
	else
		pack_nil(&p);
	s->answer = (const char *)b.data;
	s->len = b.len;
}

Test(jobs, what_became_of_one)
{
	static const struct {
		const char *state;
		bool ended, ok;
	} cases[] = {{"queued", false, false},	 {"assigned", false, false},
		     {"running", false, false},	 {"ok", true, true},
		     {"dead", true, false},	 {"lost", true, false},
		     {"cancelled", true, false}, {"of a later version", false, false}};
	static struct script s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct zkleader_job job = {.size = sizeof(job)};

		script_job(&s, cases[i].state, INT64_MIN, NULL, 0);
		cr_assert_eq(read_job(&s, ID, 0, &job), 0);
		cr_expect_str_eq(job.state, cases[i].state);
		cr_expect(job.ended == cases[i].ended && job.ok == cases[i].ok, "%s", job.state);
		cr_expect_eq(job.attempt, 2);
		cr_expect_eq(job.exit_status, -1);
		cr_expect_eq(job.output_len, 0);
		cr_expect_str_eq(job.node, "");
	}
	cr_expect_str_eq(s.method, "job");
	cr_expect_eq(s.n_options, 0);
}

Test(jobs, what_one_wrote_and_how_long_is_waited)
{
	static char output[ZKLEADER_OUTPUT_SIZE];
	struct zkleader_job job = {.size = sizeof(job)};
	static struct script s;

	for (size_t i = 0; i < sizeof(output); i++)
		output[i] = (char)(i % 0x80);
	script_job(&s, "dead", 255, output, sizeof(output) - 1);
	cr_assert_eq(read_job(&s, ID, 500, &job), 0);
	cr_expect_eq(s.wait_ms, 500);
	cr_expect_eq(job.exit_status, 255);
	cr_expect_str_eq(job.node, "host\\n1");
	cr_expect_eq(job.output_len, sizeof(output) - 1);
	cr_expect_eq(memcmp(job.output, output, sizeof(output) - 1), 0);
	/* The answer is to come in time. */
	cr_assert_eq(read_job(&s, ID, LONG_MS, &job), 0);
	cr_expect_eq(s.wait_ms, LONG_MS / 10 * 9);
}

Test(jobs, answers_that_make_no_sense)
{
	static char output[ZKLEADER_OUTPUT_SIZE];
	struct zkleader_job job = {.size = sizeof(job), .attempt = 99};
	static struct script s;

	script_job(&s, "ok", 0, output, sizeof(output));
	cr_expect_eq(read_job(&s, ID, 0, &job), -EBADMSG);
	script_job(&s, "ok", -2, NULL, 0);
	cr_expect_eq(read_job(&s, ID, 0, &job), -EBADMSG);
	script_job(&s, "ok", INT64_C(1) << 40, NULL, 0);
	cr_expect_eq(read_job(&s, ID, 0, &job), -EBADMSG);
	script_job(&s, "ok", 0, NULL, 0);
	cr_expect_eq(read_job(&s, OTHER, 0, &job), -EBADMSG, "that is another job");
	cr_expect_eq(read_job(&s, "q", 0, &job), ZKLEADER_MISUSE);
	cr_expect_eq(read_job(&s, ID, -1, &job), -EINVAL);
	s.error = 3;
	cr_expect_eq(read_job(&s, ID, 0, &job), ZKLEADER_MISUSE);
	cr_expect_eq(job.attempt, 99);
}

Test(jobs, cancel)
{
	static struct script s = {.answer = "\x82\xa2id\xa1x\xa4"
					    "done\xc3",
				  .len = 12};
	bool done = false;
	struct zkleader *z;
	struct fake f;

	fake_start(&f, serve, &s);
	cr_assert_eq(zkleader_open(fake_path(&f), &z), 0);
	cr_expect_eq(zkleader_cancel_job(z, ID, LONG_MS, &done), 0, "%s", zkleader_message(z));
	cr_expect(done);
	cr_expect_str_eq(s.method, "cancel");
	s.answer = "\x80";
	s.len = 1;
	cr_expect_eq(zkleader_cancel_job(z, ID, LONG_MS, &done), -EBADMSG);
	cr_expect_eq(zkleader_cancel_job(z, "q", LONG_MS, &done), ZKLEADER_MISUSE);
	cr_expect(done);
	zkleader_close(z);
	fake_stop(&f);
}

Test(jobs, no_id_is_chosen_twice)
{
	char a[ZKLEADER_JOB_ID_SIZE], b[ZKLEADER_JOB_ID_SIZE], why[ZKLEADER_TEXT_SIZE], queue[101];

	memset(queue, 'q', sizeof(queue) - 1);
	queue[sizeof(queue) - 1] = '\0';
	cr_assert_eq(job_api_id(queue, "", a, why), 0);
	cr_assert_eq(job_api_id(queue, "", b, why), 0);
	cr_expect_str_neq(a, b);
	cr_expect_eq(job_api_id(queue, a, b, why), 0);
	cr_expect_str_eq(a, b);
}
