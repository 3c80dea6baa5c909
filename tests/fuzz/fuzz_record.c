/* Records of workers, leaders and runs: what a znode may hold. Each input is tried as each. */
#include "fuzz.h"

#include <errno.h>

#include "wire/pack.h"
#include "wire/reader.h"
#include "wire/record.h"

#define TIME_MAX_MS INT64_C(253402300799999)

static bool is_terminated(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static void check_worker(const struct worker *w)
{
	FUZZ_CHECK(is_terminated(w->id, sizeof(w->id)) && name_is_id(w->id, strlen(w->id)));
	FUZZ_CHECK(is_terminated(w->version, sizeof(w->version)) &&
		   name_is_version(w->version, strlen(w->version)));
	FUZZ_CHECK(is_terminated(w->ip, sizeof(w->ip)) && name_is_ip(w->ip, strlen(w->ip)));
	FUZZ_CHECK(is_terminated(w->hostname, sizeof(w->hostname)) &&
		   name_is_host(w->hostname, strlen(w->hostname)));
	FUZZ_CHECK(w->started_at >= 0 && w->started_at <= TIME_MAX_MS);
	FUZZ_CHECK(w->timeout_ms >= 0 && w->timeout_ms <= INT32_MAX);
	FUZZ_CHECK(w->n_tasks <= WORKER_TASKS_MAX);
	for (size_t i = 0; i < w->n_tasks; i++) {
		FUZZ_CHECK(name_is_task(w->tasks[i], strlen(w->tasks[i])));
		FUZZ_CHECK(i == 0 || strcmp(w->tasks[i - 1], w->tasks[i]) < 0);
	}
}

static bool same_worker(const struct worker *a, const struct worker *b)
{
	for (size_t i = 0; i < a->n_tasks && a->n_tasks == b->n_tasks; i++)
		if (strcmp(a->tasks[i], b->tasks[i]) != 0)
			return false;
	return strcmp(a->id, b->id) == 0 && strcmp(a->version, b->version) == 0 &&
	       strcmp(a->ip, b->ip) == 0 && strcmp(a->hostname, b->hostname) == 0 &&
	       memcmp(a->random_ints, b->random_ints, sizeof(a->random_ints)) == 0 &&
	       a->started_at == b->started_at && a->timeout_ms == b->timeout_ms &&
	       a->n_tasks == b->n_tasks;
}

static void check_refusal(int e, const char *why)
{
	FUZZ_CHECK(e == -EBADMSG);
	FUZZ_CHECK(why && why[0] != '\0' && fuzz_is_line(why, strlen(why)));
}

/* The record with its first pair once more, if that is one that counts: true, and the bytes in out. */
static bool repeat_first(const uint8_t *data, size_t size, struct buffer *out)
{
	static const char *const names[] = {"id", "version", "ip", "hostname"};
	struct reader r, pair;
	struct reader_text key;
	struct pack p;
	bool counts = false;
	size_t n;

	reader_init(&r, data, size);
	FUZZ_CHECK(reader_map(&r, &n) == 0 && n > 0);
	pair = r;
	if (reader_str(&r, &key) < 0)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		counts = counts || reader_text_is(key, names[i]);
	FUZZ_CHECK(reader_skip(&r) == 0);
	pack_init(&p, out);
	pack_map(&p, n + 1);
	FUZZ_CHECK(buffer_append(out, pair.p, (size_t)(r.p - pair.p)) == 0);
	FUZZ_CHECK(buffer_append(out, pair.p, (size_t)(pair.end - pair.p)) == 0);
	return counts;
}

static void check_repeated(const uint8_t *data, size_t size)
{
	struct leader_record l;
	struct worker *w = NULL;
	struct run_record r;
	struct buffer out;
	const char *why;

	buffer_init(&out, 2 * RECORD_WORKER_MAX);
	if (repeat_first(data, size, &out)) {
		FUZZ_CHECK(record_parse_run(out.data, out.len, &r, &why) == -EBADMSG);
		FUZZ_CHECK(record_parse_worker(out.data, out.len, &w, &why) == -EBADMSG);
		FUZZ_CHECK(record_parse_leader(out.data, out.len, &l, &why) == -EBADMSG);
	}
	buffer_done(&out);
}

static void try_worker(const uint8_t *data, size_t size)
{
	struct worker *w = NULL, *again = NULL;
	const char *why = NULL;
	struct buffer out;
	int e = record_parse_worker(data, size, &w, &why);

	if (e < 0) {
		FUZZ_CHECK(!w);
		check_refusal(e, why);
		return;
	}
	FUZZ_CHECK(e == 0 && size <= RECORD_WORKER_MAX);
	check_worker(w);
	check_repeated(data, size);
	buffer_init(&out, RECORD_WORKER_MAX);
	FUZZ_CHECK(record_pack_worker(&out, w) == 0);
	FUZZ_CHECK(record_parse_worker(out.data, out.len, &again, &why) == 0);
	FUZZ_CHECK(same_worker(w, again));
	/* Cut short or with a byte too many it is none. */
	FUZZ_CHECK(record_parse_worker(data, size - 1, &again, &why) == -EBADMSG);
	FUZZ_CHECK(buffer_append(&out, "", 1) == 0);
	FUZZ_CHECK(record_parse_worker(out.data, out.len, &again, &why) == -EBADMSG);
	buffer_done(&out);
	worker_free(again);
	worker_free(w);
}

static void check_leader(const struct leader_record *l)
{
	FUZZ_CHECK(is_terminated(l->id, sizeof(l->id)) && name_is_id(l->id, strlen(l->id)));
	FUZZ_CHECK(is_terminated(l->version, sizeof(l->version)) &&
		   name_is_version(l->version, strlen(l->version)));
	FUZZ_CHECK(is_terminated(l->ip, sizeof(l->ip)) && name_is_ip(l->ip, strlen(l->ip)));
	FUZZ_CHECK(is_terminated(l->hostname, sizeof(l->hostname)) &&
		   name_is_host(l->hostname, strlen(l->hostname)));
	FUZZ_CHECK(l->since >= 0 && l->since <= TIME_MAX_MS);
}

static void try_leader(const uint8_t *data, size_t size)
{
	struct leader_record l, again;
	const char *why = NULL;
	struct buffer out;
	int e;

	memset(&l, 0xa5, sizeof(l));
	e = record_parse_leader(data, size, &l, &why);
	if (e < 0) {
		FUZZ_CHECK((unsigned char)l.id[0] == 0xa5); /* untouched */
		check_refusal(e, why);
		return;
	}
	FUZZ_CHECK(e == 0 && size <= RECORD_LEADER_MAX);
	check_leader(&l);
	check_repeated(data, size);
	buffer_init(&out, RECORD_LEADER_MAX);
	FUZZ_CHECK(record_pack_leader(&out, &l) == 0);
	FUZZ_CHECK(record_parse_leader(out.data, out.len, &again, &why) == 0);
	FUZZ_CHECK(strcmp(l.id, again.id) == 0 && strcmp(l.ip, again.ip) == 0 &&
		   strcmp(l.hostname, again.hostname) == 0 &&
		   strcmp(l.version, again.version) == 0 && l.since == again.since);
	FUZZ_CHECK(record_parse_leader(data, size - 1, &again, &why) == -EBADMSG);
	buffer_done(&out);
}

static void check_run(const struct run_record *r)
{
	FUZZ_CHECK(is_terminated(r->state, sizeof(r->state)) && r->state[0] != '\0');
	FUZZ_CHECK(is_terminated(r->id, sizeof(r->id)) && name_is_id(r->id, strlen(r->id)));
	FUZZ_CHECK(is_terminated(r->hostname, sizeof(r->hostname)) &&
		   name_is_host(r->hostname, strlen(r->hostname)));
	FUZZ_CHECK(is_terminated(r->run, sizeof(r->run)) &&
		   (r->run[0] == '\0' || name_is_id(r->run, strlen(r->run))));
	FUZZ_CHECK(r->session >= 0 && r->token > 0);
	FUZZ_CHECK(r->attempt > 0 && r->attempt <= INT32_MAX);
	FUZZ_CHECK(r->started_at >= 0 && r->started_at <= TIME_MAX_MS);
	FUZZ_CHECK(r->ended_at >= 0 && r->ended_at <= TIME_MAX_MS);
	FUZZ_CHECK(r->exit_status >= -1 && r->exit_status <= 255);
}

static void try_run(const uint8_t *data, size_t size)
{
	struct run_record r, again;
	const char *why = NULL;
	struct buffer out;
	int e;

	memset(&r, 0xa5, sizeof(r));
	e = record_parse_run(data, size, &r, &why);
	if (e < 0) {
		FUZZ_CHECK((unsigned char)r.id[0] == 0xa5); /* untouched */
		check_refusal(e, why);
		return;
	}
	FUZZ_CHECK(e == 0 && size <= RECORD_RUN_MAX);
	check_run(&r);
	check_repeated(data, size);
	buffer_init(&out, RECORD_RUN_MAX);
	FUZZ_CHECK(record_pack_run(&out, &r) == 0);
	FUZZ_CHECK(record_parse_run(out.data, out.len, &again, &why) == 0);
	FUZZ_CHECK(strcmp(r.state, again.state) == 0 && strcmp(r.id, again.id) == 0 &&
		   strcmp(r.hostname, again.hostname) == 0 && strcmp(r.run, again.run) == 0);
	FUZZ_CHECK(r.session == again.session && r.token == again.token &&
		   r.attempt == again.attempt && r.started_at == again.started_at &&
		   r.ended_at == again.ended_at && r.exit_status == again.exit_status);
	FUZZ_CHECK(record_parse_run(data, size - 1, &again, &why) == -EBADMSG);
	buffer_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_run(data, size);
	try_worker(data, size);
	try_leader(data, size);
	return 0;
}
