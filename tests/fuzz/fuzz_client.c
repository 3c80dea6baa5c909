/* The C API of the socket against a hostile sidecar, and the conversion of what it sent to JSON. */
#include "fake_sidecar.h"
#include "json_check.h"

#include "api/answer.h"
#include "api/json.h"
#include "zkleader.h"

#define CHECKS_MAX	  3
#define NOTIFICATIONS_MAX 50

static void check_message(const struct zkleader *z, int r)
{
	const char *message = zkleader_message(z);

	FUZZ_CHECK(fuzz_is_line(message, strlen(message)));
	FUZZ_CHECK(strlen(message) < ZKLEADER_TEXT_SIZE);
	FUZZ_CHECK(r >= 0 || message[0] != '\0');
	FUZZ_CHECK(r != 0 || message[0] == '\0');
}

static void check_line(const char *text, size_t size)
{
	FUZZ_CHECK(memchr(text, '\0', size) && fuzz_is_line(text, strlen(text)));
}

static void check_answer(const struct zkleader_answer *a)
{
	check_line(a->state, sizeof(a->state));
	check_line(a->why, sizeof(a->why));
	check_line(a->led_by_id, sizeof(a->led_by_id));
	check_line(a->led_by_ip, sizeof(a->led_by_ip));
	check_line(a->led_by_hostname, sizeof(a->led_by_hostname));
	check_line(a->led_by_version, sizeof(a->led_by_version));
	check_line(a->led_by_node, sizeof(a->led_by_node));
	FUZZ_CHECK(zkleader_still_leads(a) == a->leader);
	if (!a->leader) {
		FUZZ_CHECK(a->lease_ms == 0);
		return;
	}
	FUZZ_CHECK(a->token > 0 && a->lease_ms > 0 && a->lease_ms <= ANSWER_LEASE_MAX_MS);
	FUZZ_CHECK(a->valid_until == fake.now + a->lease_ms);
}

static void ask_checks(struct zkleader *z, struct feed *f)
{
	for (int i = 0; i < CHECKS_MAX; i++) {
		struct zkleader_answer a;
		int64_t wait_ms = feed_byte(f) * 7, timeout_ms = feed_byte(f) * 5;
		int r;

		fake.feed = *f;
		memset(&a, 0xa5, sizeof(a));
		a.size = sizeof(a);
		r = zkleader_check(z, "nightly-report", wait_ms, timeout_ms, &a);
		*f = fake.feed;
		check_message(z, r);
		if (r == 0)
			check_answer(&a);
		else
			FUZZ_CHECK((unsigned char)a.state[0] == 0xa5);
	}
}

static void claim(struct zkleader *z, struct feed *f)
{
	for (int i = 0; i < CHECKS_MAX; i++) {
		struct zkleader_tick t;
		int r;

		fake.feed = *f;
		memset(&t, 0xa5, sizeof(t));
		t.size = sizeof(t);
		r = zkleader_claim(z, "nightly-report", 60000, 500, 1000, &t);
		*f = fake.feed;
		check_message(z, r);
		if (r != 0) {
			FUZZ_CHECK((unsigned char)t.tick[0] == 0xa5);
			continue;
		}
		FUZZ_CHECK(t.outcome != ZKLEADER_YOURS || t.token > 0);
		FUZZ_CHECK(t.valid_until <= fake.now + ANSWER_LEASE_MAX_MS);
		check_line(t.tick, sizeof(t.tick));
		check_line(t.worker_id, sizeof(t.worker_id));
		check_line(t.version, sizeof(t.version));
		check_line(t.why, sizeof(t.why));
	}
}

/* The id is the same each time: what is sent does not depend on chance. */
static void jobs(struct zkleader *z, struct feed *f)
{
	const char *const given = "q.htg7k.0a1b2c3d-5e6f-4a7b-8c9d-0e1f2a3b4c5d";
	struct zkleader_submission s = {.size = sizeof(s), .queue = "q", .payload = "x", .len = 1};
	char id[ZKLEADER_JOB_ID_SIZE];
	struct zkleader_job job;
	bool done;
	int r;

	fake.feed = *f;
	strcpy(id, given);
	r = zkleader_submit(z, &s, 1000, id);
	check_message(z, r);
	check_line(id, sizeof(id));
	FUZZ_CHECK(r == 0 || strcmp(id, given) == 0);
	memset(&job, 0xa5, sizeof(job));
	job.size = sizeof(job);
	r = zkleader_read_job(z, given, 500, 1000, &job);
	check_message(z, r);
	if (r == 0) {
		check_line(job.state, sizeof(job.state));
		check_line(job.node, sizeof(job.node));
		FUZZ_CHECK(job.ended || !job.ok);
		FUZZ_CHECK(job.exit_status >= -1);
		FUZZ_CHECK(job.output_len < sizeof(job.output) &&
			   job.output[job.output_len] == '\0');
	} else {
		FUZZ_CHECK((unsigned char)job.state[0] == 0xa5);
	}
	check_message(z, zkleader_cancel_job(z, given, 1000, &done));
	*f = fake.feed;
}

static void check_json(const void *data, size_t len)
{
	json_t *json = NULL;
	char *text;
	int r = json_from_msgpack(data, len, &json);

	FUZZ_CHECK(r == 0 || r == -EBADMSG || r == -E2BIG);
	FUZZ_CHECK((r == 0) == (json != NULL));
	if (!json)
		return;
	text = json_dumps(json, JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
	FUZZ_CHECK(text && json_is_one(text, strlen(text)));
	free(text);
	json_decref(json);
}

static void check_object(const void *data, size_t len)
{
	size_t measured;

	FUZZ_CHECK(reader_measure(data, len, len, &measured) == 1 && measured == len);
	check_json(data, len);
}

static void call(struct zkleader *z, struct feed *f, const char *method)
{
	const void *result = NULL;
	size_t len = 0;
	int r;

	fake.feed = *f;
	r = zkleader_call(z, method, NULL, 0, 1000, &result, &len);
	*f = fake.feed;
	check_message(z, r);
	if (r == 0)
		check_object(result, len);
}

static void subscribe(struct zkleader *z, struct feed *f)
{
	call(z, f, "subscribe");
	for (int i = 0; i < NOTIFICATIONS_MAX; i++) {
		struct zkleader_notification n = {.size = sizeof(n)};
		int r;

		fake.feed = *f;
		r = zkleader_next(z, i % 2 ? 500 : -1, &n);
		*f = fake.feed;
		check_message(z, r);
		if (r == -ETIMEDOUT)
			continue;
		if (r < 0) {
			FUZZ_CHECK(r == -ENOTCONN || zkleader_fd(z) < 0);
			return;
		}
		check_line(n.method, sizeof(n.method));
		check_object(n.param, n.len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = {data, size};
	uint8_t kind = feed_byte(&f);
	struct zkleader *z;

	fake_begin(&f);
	check_json(f.p, f.left);
	FUZZ_CHECK(zkleader_open("/nowhere", &z) == 0);
	switch (kind % 4) {
	case 0: ask_checks(z, &f); break;
	case 1:
		call(z, &f, "status");
		call(z, &f, "list");
		break;
	case 2: subscribe(z, &f); break;
	default:
		claim(z, &f);
		jobs(z, &f);
		break;
	}
	zkleader_close(z);
	fake_over();
	return 0;
}
