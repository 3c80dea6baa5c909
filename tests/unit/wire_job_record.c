#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/records/job_record.h"
#include "wire/pack.h"

static struct job_record full(void)
{
	static char output[RECORD_OUTPUT_MAX], payload[JOB_PAYLOAD_MAX];
	struct job_record j = {.id = "q.1.01234567-89ab-cdef-0123-456789abcdef",
			       .queue = "q",
			       .state = "running",
			       .attempt = 7,
			       .base = 3,
			       .key = "k\xc3\xa4y",
			       .callback = "https://host/x",
			       .by = "user",
			       .host = "host",
			       .submitted = 1,
			       .due = 2,
			       .started = 3,
			       .ended = 4,
			       .node = "host:/s",
			       .exit_status = 255,
			       .why = "status",
			       .detail = "exit status 255",
			       .purged = true,
			       .output = output,
			       .output_len = sizeof(output),
			       .payload = payload,
			       .payload_len = sizeof(payload)};

	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (char)i;
	return j;
}

Test(job_record, there_and_back)
{
	struct job_record j = full(), back;
	const char *why = "";
	struct buffer b;

	buffer_init(&b, 2 * RECORD_JOB_MAX);
	cr_assert_eq(record_pack_job(&b, &j), 0);
	cr_assert_eq(record_parse_job(b.data, b.len, &back, &why), 0, "%s", why);
	cr_expect_str_eq(back.id, j.id);
	cr_expect_str_eq(back.state, "running");
	cr_expect_str_eq(back.key, j.key);
	cr_expect_str_eq(back.callback, j.callback);
	cr_expect_eq(back.base, 3);
	cr_expect_eq(back.ended, 4);
	cr_expect_eq(back.exit_status, 255);
	cr_expect_str_eq(back.why, "status");
	cr_expect_str_eq(back.detail, "exit status 255");
	cr_expect(back.purged);
	cr_assert_eq(back.payload_len, j.payload_len);
	cr_expect_eq(memcmp(back.payload, j.payload, j.payload_len), 0);
	cr_expect_eq(back.output_len, j.output_len);
	for (size_t cut = 0; cut < b.len; cut += 97)
		cr_assert_eq(record_parse_job(b.data, cut, &back, &why), -EBADMSG);
	/* The least that a record says; an empty payload is one. */
	j = (struct job_record){.id = "i",
				.queue = "q",
				.state = "queued",
				.by = "u",
				.host = "h",
				.exit_status = -1,
				.payload = ""};
	buffer_truncate(&b, 0);
	cr_assert_eq(record_pack_job(&b, &j), 0);
	cr_assert_eq(record_parse_job(b.data, b.len, &back, &why), 0, "%s", why);
	cr_expect_eq(back.exit_status, -1);
	cr_expect_str_eq(back.why, "");
	cr_expect_str_eq(back.detail, "");
	cr_expect(back.payload && back.payload_len == 0);
	cr_expect_null(back.output);
	j.payload = NULL;
	buffer_truncate(&b, 0);
	cr_assert_eq(record_pack_job(&b, &j), 0);
	cr_assert_eq(record_parse_job(b.data, b.len, &back, &why), 0, "%s", why);
	cr_expect_null(back.payload);
	buffer_done(&b);
}

Test(job_record, what_is_refused)
{
	static char long_bytes[JOB_PAYLOAD_MAX + 1];
	const char *why = "";
	struct job_record back;
	struct buffer b, small;

	buffer_init(&b, 4 * RECORD_JOB_MAX);
	buffer_init(&small, 100);
	struct job_record j = full();
	cr_expect_eq(record_pack_job(&small, &j), -ENOBUFS);
	cr_expect_eq(small.len, 0);
	j.output_len = 0;
	j.payload = long_bytes;
	j.payload_len = sizeof(long_bytes);
	cr_assert_eq(record_pack_job(&b, &j), 0);
	cr_expect_eq(record_parse_job(b.data, b.len, &back, &why), -EBADMSG);
	cr_expect_str_eq(why, "payload: not at most 16384 bytes");
	j = full();
	j.payload = NULL;
	j.output = long_bytes;
	j.output_len = RECORD_OUTPUT_MAX + 1;
	buffer_truncate(&b, 0);
	cr_assert_eq(record_pack_job(&b, &j), 0);
	cr_expect_eq(record_parse_job(b.data, b.len, &back, &why), -EBADMSG);
	cr_expect_str_eq(why, "output: not at most 2048 bytes");
	static const char *const states[] = {"assigned", "", "okay"};
	for (size_t i = 0; i < 3; i++) {
		j = full();
		strcpy(j.state, states[i]);
		buffer_truncate(&b, 0);
		cr_assert_eq(record_pack_job(&b, &j), 0);
		cr_expect_eq(record_parse_job(b.data, b.len, &back, &why), -EBADMSG);
		cr_expect_str_eq(why,
				 "state: not one of queued, running, ok, dead, lost, cancelled");
	}
	/* Values of another type. */
	buffer_truncate(&b, 0);
	struct pack p;
	pack_init(&p, &b);
	pack_map(&p, 1);
	pack_kv_str(&p, "payload", "text");
	cr_expect_eq(record_parse_job(b.data, b.len, &back, &why), -EBADMSG);
	buffer_truncate(&b, 0);
	pack_init(&p, &b);
	pack_map(&p, 1);
	pack_kv_int(&p, "output", 1);
	cr_expect_eq(record_parse_job(b.data, b.len, &back, &why), -EBADMSG);
	buffer_done(&b);
	buffer_done(&small);
}

Test(job_record, assignments)
{
	static const struct at_record cases[] = {
		{.session = 1, .worker = "w"},
		{.session = INT64_MIN, .worker = "w-1", .cancelled = true},
		{.session = 0, .worker = "none", .attempt = 5}};
	const char *why = "";
	struct at_record back;
	struct buffer b;

	buffer_init(&b, RECORD_AT_MAX);
	for (size_t i = 0; i < 3; i++) {
		buffer_truncate(&b, 0);
		cr_assert_eq(record_pack_at(&b, &cases[i]), 0);
		cr_assert_eq(record_parse_at(b.data, b.len, &back, &why), 0, "%s", why);
		cr_expect_eq(back.session, cases[i].session);
		cr_expect_str_eq(back.worker, cases[i].worker);
		cr_expect_eq(back.cancelled, cases[i].cancelled);
		cr_expect_eq(back.attempt, cases[i].attempt);
		for (size_t cut = 0; cut < b.len; cut++)
			cr_assert_eq(record_parse_at(b.data, cut, &back, &why), -EBADMSG);
	}
	buffer_done(&b);
	buffer_init(&b, 5);
	cr_expect_eq(record_pack_at(&b, &cases[0]), -ENOBUFS);
	buffer_done(&b);
}

/* A record with these queues, there and back. */
static int queues_of(const struct worker_queue *list, size_t n, struct worker **ret_worker)
{
	struct worker w = {.id = "id",
			   .version = "1",
			   .ip = "::1",
			   .hostname = "host",
			   .n_queues = n,
			   .queues = (struct worker_queue *)(uintptr_t)list};
	const char *why = "";
	struct buffer b;

	buffer_init(&b, 1 << 20);
	cr_assert_eq(record_pack_worker(&b, &w), 0);
	int e = record_parse_worker(b.data, b.len, ret_worker, &why);
	cr_expect(e == 0 || strncmp(why, "queues: not a map", 17) == 0, "%s", why);
	buffer_done(&b);
	return e;
}

Test(worker_queues, there_and_back)
{
	static const struct worker_queue some[] = {{"b", 1000}, {"a", 1}};
	static const struct worker_queue twice[] = {{"a", 1}, {"a", 2}};
	static const struct worker_queue none[] = {{"a", 0}}, many[] = {{"a", 1001}},
					 bad[] = {{"a/b", 1}};
	static struct worker_queue lots[WORKER_QUEUES_MAX + 1];
	struct worker *w;

	cr_expect_eq(queues_of(some, 2, &w), 0);
	cr_expect_eq(worker_slots(w, "a"), 1);
	cr_expect_eq(worker_slots(w, "b"), 1000);
	cr_expect_eq(worker_slots(w, "c"), 0);
	worker_free(w);
	cr_expect_eq(queues_of(twice, 2, &w), -EBADMSG);
	cr_expect_eq(queues_of(none, 1, &w), -EBADMSG);
	cr_expect_eq(queues_of(many, 1, &w), -EBADMSG);
	cr_expect_eq(queues_of(bad, 1, &w), -EBADMSG);
	for (size_t i = 0; i <= WORKER_QUEUES_MAX; i++) {
		snprintf(lots[i].queue, sizeof(lots[i].queue), "q%zu", i);
		lots[i].slots = 1;
	}
	cr_expect_eq(queues_of(lots, WORKER_QUEUES_MAX + 1, &w), -EBADMSG);
	cr_expect_eq(queues_of(lots, WORKER_QUEUES_MAX, &w), 0);
	worker_free(w);
}
