/* Records of workers, leaders, runs, policies, recipes and notices: what a znode may hold. Each input is tried as each. */
#include "fuzz.h"

#include <errno.h>

#include "wire/pack.h"
#include "wire/reader.h"
#include "wire/records/barrier_record.h"
#include "wire/records/gang_record.h"
#include "wire/records/job_record.h"
#include "wire/records/notice_record.h"
#include "wire/records/recipe_record.h"
#include "wire/records/record.h"
#include "wire/records/seen_record.h"

#define TIME_MAX_MS INT64_C(253402300799999)

static bool is_terminated(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static void check_names(char *const *names, size_t n)
{
	FUZZ_CHECK(n <= WORKER_TASKS_MAX);
	for (size_t i = 0; i < n; i++) {
		FUZZ_CHECK(name_is_task(names[i], strlen(names[i])));
		FUZZ_CHECK(i == 0 || strcmp(names[i - 1], names[i]) < 0);
	}
}

static bool same_names(char *const *a, size_t n_a, char *const *b, size_t n_b)
{
	for (size_t i = 0; i < n_a && n_a == n_b; i++)
		if (strcmp(a[i], b[i]) != 0)
			return false;
	return n_a == n_b;
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
	FUZZ_CHECK(is_terminated(w->node, sizeof(w->node)));
	FUZZ_CHECK(w->scheme >= 0 && w->scheme <= INT32_MAX);
	FUZZ_CHECK(w->n_digests <= WORKER_TASKS_MAX);
	check_names(w->tasks, w->n_tasks);
	check_names(w->unhealthy, w->n_unhealthy);
	for (size_t i = 0; i < w->n_unhealthy; i++)
		FUZZ_CHECK(worker_is_unhealthy(w, w->unhealthy[i]));
	FUZZ_CHECK(worker_is_unhealthy(w, "") == w->sick);
}

static bool same_worker(const struct worker *a, const struct worker *b)
{
	return strcmp(a->id, b->id) == 0 && strcmp(a->version, b->version) == 0 &&
	       strcmp(a->ip, b->ip) == 0 && strcmp(a->hostname, b->hostname) == 0 &&
	       memcmp(a->random_ints, b->random_ints, sizeof(a->random_ints)) == 0 &&
	       a->started_at == b->started_at && a->timeout_ms == b->timeout_ms &&
	       strcmp(a->node, b->node) == 0 && a->sick == b->sick && a->returned == b->returned &&
	       a->scheme == b->scheme && same_names(a->tasks, a->n_tasks, b->tasks, b->n_tasks) &&
	       same_names(a->unhealthy, a->n_unhealthy, b->unhealthy, b->n_unhealthy) &&
	       a->n_digests == b->n_digests &&
	       (a->n_digests == 0 ||
		memcmp(a->digests, b->digests, a->n_digests * sizeof(a->digests[0])) == 0);
}

static void check_refusal(int e, const char *why)
{
	FUZZ_CHECK(e == -EBADMSG);
	FUZZ_CHECK(why && why[0] != '\0' && fuzz_is_line(why, strlen(why)));
}

/* The record with its first pair once more, if that is one that counts: true, and the bytes in out. */
static bool repeat_first(const uint8_t *data, size_t size, struct buffer *out)
{
	static const char *const names[] = {"id", "kind", "hostname", "host"};
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
	struct policy_record p;
	struct run_record r;
	struct buffer out;
	const char *why;

	buffer_init(&out, 2 * RECORD_WORKER_MAX);
	if (repeat_first(data, size, &out)) {
		FUZZ_CHECK(record_parse_run(out.data, out.len, &r, &why) == -EBADMSG);
		FUZZ_CHECK(record_parse_worker(out.data, out.len, &w, &why) == -EBADMSG);
		FUZZ_CHECK(record_parse_leader(out.data, out.len, &l, &why) == -EBADMSG);
		FUZZ_CHECK(record_parse_policy(out.data, out.len, &p, &why) == -EBADMSG);
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

/* A list is sorted, and can be written and read again. */
static void try_list(const uint8_t *data, size_t size)
{
	struct worker *w = NULL, *again = NULL;
	const char *why = NULL;
	struct buffer out;
	int e = record_parse_list(data, size, &w, &why);

	if (e < 0) {
		FUZZ_CHECK(!w);
		check_refusal(e, why);
		return;
	}
	FUZZ_CHECK(e == 0 && size <= RECORD_LIST_MAX && !w->apart && !w->unlisted);
	for (size_t i = 1; i < w->n_tasks; i++)
		FUZZ_CHECK(strcmp(w->tasks[i - 1], w->tasks[i]) < 0);
	FUZZ_CHECK(w->n_groups == 0 || w->n_groups == w->n_tasks);
	FUZZ_CHECK(w->n_keys == 0 || w->n_keys == w->n_tasks);
	buffer_init(&out, RECORD_LIST_MAX);
	FUZZ_CHECK(record_pack_list(&out, w) == 0);
	FUZZ_CHECK(record_parse_list(out.data, out.len, &again, &why) == 0);
	FUZZ_CHECK(again->n_tasks == w->n_tasks && again->n_digests == w->n_digests);
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
	FUZZ_CHECK(is_terminated(r->by, sizeof(r->by)) && r->output_len <= RECORD_OUTPUT_MAX);
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
	FUZZ_CHECK(strcmp(r.by, again.by) == 0 && r.output_len == again.output_len &&
		   (r.output_len == 0 || memcmp(r.output, again.output, r.output_len) == 0));
	FUZZ_CHECK(r.session == again.session && r.token == again.token &&
		   r.attempt == again.attempt && r.started_at == again.started_at &&
		   r.ended_at == again.ended_at && r.exit_status == again.exit_status);
	FUZZ_CHECK(record_parse_run(data, size - 1, &again, &why) == -EBADMSG);
	buffer_done(&out);
}

static void check_policy(const struct policy_record *p)
{
	enum policy_kind kind = POLICY_KINDS;

	FUZZ_CHECK(is_terminated(p->kind, sizeof(p->kind)));
	FUZZ_CHECK(policy_kind_parse(p->kind, strlen(p->kind), &kind) && kind < POLICY_KINDS);
	FUZZ_CHECK(strcmp(policy_kind_name(kind), p->kind) == 0);
	FUZZ_CHECK(is_terminated(p->task, sizeof(p->task)) &&
		   (kind == POLICY_DRAIN ? p->task[0] == '\0'
					 : name_is_task(p->task, strlen(p->task))));
	FUZZ_CHECK(is_terminated(p->node, sizeof(p->node)) &&
		   (p->node[0] != '\0') == (kind == POLICY_DRAIN || kind == POLICY_RESIGN ||
					    kind == POLICY_RERUN || kind == POLICY_TRIGGER));
	FUZZ_CHECK(is_terminated(p->version, sizeof(p->version)) &&
		   (kind == POLICY_PIN ? name_is_version(p->version, strlen(p->version))
				       : p->version[0] == '\0'));
	FUZZ_CHECK(is_terminated(p->reason, sizeof(p->reason)));
	FUZZ_CHECK(is_terminated(p->by, sizeof(p->by)));
	FUZZ_CHECK(is_terminated(p->host, sizeof(p->host)) &&
		   name_is_host(p->host, strlen(p->host)));
	FUZZ_CHECK(p->since >= 0 && p->since <= TIME_MAX_MS);
	FUZZ_CHECK(p->until >= 0 && p->until <= TIME_MAX_MS);
}

static bool same_policy(const struct policy_record *a, const struct policy_record *b)
{
	return strcmp(a->kind, b->kind) == 0 && strcmp(a->task, b->task) == 0 &&
	       strcmp(a->node, b->node) == 0 && strcmp(a->version, b->version) == 0 &&
	       strcmp(a->reason, b->reason) == 0 && strcmp(a->by, b->by) == 0 &&
	       strcmp(a->host, b->host) == 0 && a->since == b->since && a->until == b->until;
}

static void try_policy(const uint8_t *data, size_t size)
{
	struct policy_record p, again;
	const char *why = NULL;
	struct buffer out;
	int e;

	memset(&p, 0xa5, sizeof(p));
	e = record_parse_policy(data, size, &p, &why);
	if (e < 0) {
		FUZZ_CHECK((unsigned char)p.kind[0] == 0xa5); /* untouched */
		check_refusal(e, why);
		return;
	}
	FUZZ_CHECK(e == 0 && size <= RECORD_POLICY_MAX);
	check_policy(&p);
	check_repeated(data, size);
	buffer_init(&out, RECORD_POLICY_MAX);
	FUZZ_CHECK(record_pack_policy(&out, &p) == 0);
	FUZZ_CHECK(record_parse_policy(out.data, out.len, &again, &why) == 0);
	FUZZ_CHECK(same_policy(&p, &again));
	FUZZ_CHECK(record_parse_policy(data, size - 1, &again, &why) == -EBADMSG);
	buffer_done(&out);
}

static void try_counter(const uint8_t *data, size_t size)
{
	static struct counter_record c, again;
	const char *why = NULL;
	struct buffer out;
	int e = record_parse_counter(data, size, &c, &why);

	if (e < 0) {
		check_refusal(e, why);
		return;
	}
	FUZZ_CHECK(e == 0 && size <= RECORD_COUNTER_MAX && c.n <= COUNTER_NODES_MAX);
	for (size_t i = 0; i < c.n; i++) {
		FUZZ_CHECK(is_terminated(c.last[i].node, sizeof(c.last[i].node)));
		FUZZ_CHECK(is_terminated(c.last[i].machine, sizeof(c.last[i].machine)));
		FUZZ_CHECK(c.last[i].op > 0);
	}
	buffer_init(&out, RECORD_COUNTER_MAX);
	FUZZ_CHECK(record_pack_counter(&out, &c) == 0);
	FUZZ_CHECK(record_parse_counter(out.data, out.len, &again, &why) == 0);
	FUZZ_CHECK(memcmp(&c, &again, sizeof(c)) == 0);
	FUZZ_CHECK(record_parse_counter(data, size - 1, &again, &why) == -EBADMSG);
	buffer_done(&out);
}

static void try_roster(const uint8_t *data, size_t size)
{
	struct roster_record r = {.index = -1}, again;
	const char *why = NULL;
	struct buffer out;
	int e = record_parse_roster(data, size, &r, &why);

	if (e < 0) {
		FUZZ_CHECK(r.index == -1); /* untouched */
		check_refusal(e, why);
		return;
	}
	FUZZ_CHECK(e == 0 && r.index >= 0 && r.index <= ROSTER_INDEX_MAX);
	FUZZ_CHECK(r.since >= 0 && r.since <= TIME_MAX_MS);
	FUZZ_CHECK(r.departed >= 0 && r.departed <= TIME_MAX_MS);
	buffer_init(&out, RECORD_ROSTER_MAX);
	FUZZ_CHECK(record_pack_roster(&out, &r) == 0);
	FUZZ_CHECK(record_parse_roster(out.data, out.len, &again, &why) == 0);
	FUZZ_CHECK(r.index == again.index && r.since == again.since &&
		   r.departed == again.departed && strcmp(r.hostname, again.hostname) == 0);
	FUZZ_CHECK(record_parse_roster(data, size - 1, &again, &why) == -EBADMSG);
	buffer_done(&out);
}

static void try_seen(const uint8_t *data, size_t size)
{
	struct seen_record s = {.since = -1}, again;
	const char *why = NULL;
	struct buffer out;
	int e = record_parse_seen(data, size, &s, &why);

	if (e < 0) {
		FUZZ_CHECK(s.since == -1); /* untouched */
		check_refusal(e, why);
		return;
	}
	FUZZ_CHECK(e == 0 && s.since >= 0 && s.since <= TIME_MAX_MS);
	buffer_init(&out, RECORD_SEEN_MAX);
	FUZZ_CHECK(record_pack_seen(&out, &s) == 0);
	FUZZ_CHECK(record_parse_seen(out.data, out.len, &again, &why) == 0);
	FUZZ_CHECK(s.since == again.since && s.ok == again.ok);
	FUZZ_CHECK(record_parse_seen(data, size - 1, &again, &why) == -EBADMSG);
	buffer_done(&out);
}

static void try_trouble(const uint8_t *data, size_t size)
{
	struct trouble_record s = {.since = -1}, again;
	const char *why = NULL;
	struct buffer out;
	int e = record_parse_trouble(data, size, &s, &why);

	if (e < 0) {
		FUZZ_CHECK(s.since == -1); /* untouched */
		check_refusal(e, why);
		return;
	}
	FUZZ_CHECK(e == 0 && s.since >= 0 && s.since <= TIME_MAX_MS);
	buffer_init(&out, RECORD_SEEN_MAX);
	FUZZ_CHECK(record_pack_trouble(&out, &s) == 0);
	FUZZ_CHECK(record_parse_trouble(out.data, out.len, &again, &why) == 0);
	FUZZ_CHECK(s.since == again.since && s.failed == again.failed);
	FUZZ_CHECK(record_parse_trouble(data, size - 1, &again, &why) == -EBADMSG);
	buffer_done(&out);
}

static void try_lock(const uint8_t *data, size_t size)
{
	struct lock_record l, again;
	const char *why = NULL;
	struct buffer out;
	int e = record_parse_lock(data, size, &l, &why);

	if (e < 0) {
		check_refusal(e, why);
		return;
	}
	FUZZ_CHECK(e == 0 && l.slots >= 1 && l.slots <= LOCK_SLOTS_MAX);
	buffer_init(&out, RECORD_LOCK_MAX);
	FUZZ_CHECK(record_pack_lock(&out, &l) == 0);
	FUZZ_CHECK(record_parse_lock(out.data, out.len, &again, &why) == 0);
	FUZZ_CHECK(l.slots == again.slots);
	FUZZ_CHECK(record_parse_lock(data, size - 1, &again, &why) == -EBADMSG);
	buffer_done(&out);
}

static void try_locker(const uint8_t *data, size_t size)
{
	struct locker_record l, again;
	const char *why = NULL;
	struct buffer out;
	int e = record_parse_locker(data, size, &l, &why);

	if (e < 0) {
		check_refusal(e, why);
		return;
	}
	FUZZ_CHECK(e == 0 && size <= RECORD_LOCK_MAX && l.pid >= 0);
	FUZZ_CHECK(is_terminated(l.node, sizeof(l.node)));
	FUZZ_CHECK(is_terminated(l.command, sizeof(l.command)));
	buffer_init(&out, RECORD_LOCK_MAX);
	FUZZ_CHECK(record_pack_locker(&out, &l) == 0);
	FUZZ_CHECK(record_parse_locker(out.data, out.len, &again, &why) == 0);
	FUZZ_CHECK(memcmp(&l, &again, sizeof(l)) == 0);
	FUZZ_CHECK(record_parse_locker(data, size - 1, &again, &why) == -EBADMSG);
	buffer_done(&out);
}

static void try_gang(const uint8_t *data, size_t size)
{
	static struct gang_record g, again;
	struct buffer out;
	const char *why = NULL;

	memset(&g, 0, sizeof(g));
	int e = record_parse_gang(data, size, &g, &why);
	if (e != 0) {
		FUZZ_CHECK(e == -EBADMSG && why && g.n == 0);
		return;
	}
	FUZZ_CHECK(size <= RECORD_GANG_MAX && g.n <= GANG_COUNT_MAX);
	FUZZ_CHECK(g.n == 0 ? g.instance == 0 : g.instance > 0 && (int64_t)g.n == g.count);
	for (size_t i = 0; i < g.n; i++) {
		FUZZ_CHECK(g.members[i].key[0] &&
			   is_terminated(g.members[i].key, GANG_KEY_MAX + 1));
		FUZZ_CHECK(name_is_ip(g.members[i].ip, strlen(g.members[i].ip)));
		FUZZ_CHECK(name_is_host(g.members[i].hostname, strlen(g.members[i].hostname)));
	}
	buffer_init(&out, RECORD_GANG_MAX);
	FUZZ_CHECK(record_pack_gang(&out, &g) == 0);
	FUZZ_CHECK(record_parse_gang(out.data, out.len, &again, &why) == 0);
	FUZZ_CHECK(again.n == g.n && again.instance == g.instance && again.lost == g.lost);
	FUZZ_CHECK(record_parse_gang(data, size - 1, &again, &why) == -EBADMSG);
	buffer_done(&out);
}

static void try_gang_member(const uint8_t *data, size_t size)
{
	struct gang_member_record m, again;
	struct buffer out;
	const char *why = NULL;
	int e = record_parse_gang_member(data, size, &m, &why);

	if (e != 0) {
		FUZZ_CHECK(e == -EBADMSG && why);
		return;
	}
	buffer_init(&out, RECORD_GANG_MEMBER_MAX);
	FUZZ_CHECK(record_pack_gang_member(&out, &m) == 0);
	FUZZ_CHECK(record_parse_gang_member(out.data, out.len, &again, &why) == 0);
	FUZZ_CHECK(memcmp(&m, &again, sizeof(m)) == 0);
	buffer_done(&out);
}

static void try_barrier(const uint8_t *data, size_t size)
{
	static struct barrier_record b, again;
	const char *why = NULL;
	struct buffer out;

	b.round = -1;
	int e = record_parse_barrier(data, size, &b, &why);
	if (e < 0) {
		FUZZ_CHECK(b.round == -1); /* untouched */
		check_refusal(e, why);
		return;
	}
	FUZZ_CHECK(e == 0 && size <= RECORD_BARRIER_MAX && b.n_ids <= BARRIER_IDS_MAX);
	FUZZ_CHECK(b.n_rounds <= BARRIER_ROUNDS_MAX && (int64_t)b.n_rounds <= b.round);
	FUZZ_CHECK((b.round == 0) == (b.n_rounds == 0));
	size_t n = 0;
	for (size_t i = 0; i < b.n_rounds; i++) {
		FUZZ_CHECK(b.sizes[i] > 0 && b.sizes[i] <= BARRIER_COUNT_MAX);
		n += b.sizes[i];
	}
	FUZZ_CHECK(n == b.n_ids);
	buffer_init(&out, RECORD_BARRIER_MAX);
	FUZZ_CHECK(record_pack_barrier(&out, &b) == 0);
	FUZZ_CHECK(record_parse_barrier(out.data, out.len, &again, &why) == 0);
	FUZZ_CHECK(memcmp(&b, &again, sizeof(b)) == 0);
	FUZZ_CHECK(record_parse_barrier(data, size - 1, &again, &why) == -EBADMSG);
	buffer_done(&out);
}

static void try_job(const uint8_t *data, size_t size)
{
	struct job_record j, again;
	const char *why = NULL;
	struct buffer out;
	int e = record_parse_job(data, size, &j, &why);

	if (e < 0) {
		check_refusal(e, why);
		return;
	}
	FUZZ_CHECK(e == 0 && size <= RECORD_JOB_MAX && j.attempt >= 0 && j.exit_status <= 255);
	FUZZ_CHECK(is_terminated(j.id, sizeof(j.id)) && is_terminated(j.node, sizeof(j.node)));
	FUZZ_CHECK(is_terminated(j.why, sizeof(j.why)) &&
		   is_terminated(j.detail, sizeof(j.detail)));
	FUZZ_CHECK(j.output_len <= RECORD_OUTPUT_MAX && j.payload_len <= JOB_PAYLOAD_MAX);
	buffer_init(&out, RECORD_JOB_MAX);
	FUZZ_CHECK(record_pack_job(&out, &j) == 0);
	FUZZ_CHECK(record_parse_job(out.data, out.len, &again, &why) == 0);
	FUZZ_CHECK(strcmp(j.id, again.id) == 0 && strcmp(j.key, again.key) == 0 &&
		   strcmp(j.state, again.state) == 0 && j.due == again.due &&
		   j.ended == again.ended && j.output_len == again.output_len &&
		   !j.payload == !again.payload && j.payload_len == again.payload_len);
	FUZZ_CHECK(record_parse_job(data, size - 1, &again, &why) == -EBADMSG);
	buffer_done(&out);
}

static void try_at(const uint8_t *data, size_t size)
{
	struct at_record a, again;
	const char *why = NULL;
	struct buffer out;
	int e = record_parse_at(data, size, &a, &why);

	if (e < 0) {
		check_refusal(e, why);
		return;
	}
	FUZZ_CHECK(e == 0 && size <= RECORD_AT_MAX && a.attempt >= 0);
	buffer_init(&out, RECORD_AT_MAX);
	FUZZ_CHECK(record_pack_at(&out, &a) == 0);
	FUZZ_CHECK(record_parse_at(out.data, out.len, &again, &why) == 0);
	FUZZ_CHECK(memcmp(&a, &again, sizeof(a)) == 0);
	FUZZ_CHECK(record_parse_at(data, size - 1, &again, &why) == -EBADMSG);
	buffer_done(&out);
}

static void check_notice(const struct notice_record *n)
{
	FUZZ_CHECK(n->event < NOTICE_EVENTS);
	FUZZ_CHECK(is_terminated(n->id, sizeof(n->id)) && name_is_id(n->id, strlen(n->id)));
	FUZZ_CHECK(is_terminated(n->task, sizeof(n->task)) &&
		   is_terminated(n->node, sizeof(n->node)));
	FUZZ_CHECK(is_terminated(n->version, sizeof(n->version)) &&
		   (n->version[0] == '\0' || name_is_host(n->version, strlen(n->version))));
	FUZZ_CHECK(is_terminated(n->tick, sizeof(n->tick)) &&
		   is_terminated(n->text, sizeof(n->text)));
	FUZZ_CHECK(is_terminated(n->why, sizeof(n->why)) &&
		   is_terminated(n->detail, sizeof(n->detail)));
	FUZZ_CHECK(n->time >= 0 && n->time <= TIME_MAX_MS && n->token >= 0 && n->attempt >= 0);
	FUZZ_CHECK(n->exit_status >= -1 && n->exit_status <= 255);
	FUZZ_CHECK(n->output_len <= RECORD_OUTPUT_MAX);
}

static void check_told(const struct notice_record *n)
{
	struct buffer out;
	struct reader r;
	struct pack p;

	buffer_init(&out, 4 * RECORD_NOTICE_MAX);
	pack_init(&p, &out);
	notice_pack(&p, n);
	reader_init(&r, out.data, out.len);
	FUZZ_CHECK(reader_skip(&r) == 0 && r.p == r.end);
	buffer_done(&out);
}

static void try_notice(const uint8_t *data, size_t size)
{
	struct notice_record n, again;
	const char *why = NULL;
	struct buffer out;
	int e;

	memset(&n, 0xa5, sizeof(n));
	e = record_parse_notice(data, size, &n, &why);
	if (e < 0) {
		FUZZ_CHECK((unsigned char)n.id[0] == 0xa5); /* untouched */
		check_refusal(e, why);
		return;
	}
	FUZZ_CHECK(e == 0 && size <= RECORD_NOTICE_MAX);
	check_notice(&n);
	check_told(&n);
	buffer_init(&out, RECORD_NOTICE_MAX);
	FUZZ_CHECK(record_pack_notice(&out, &n) == 0);
	FUZZ_CHECK(record_parse_notice(out.data, out.len, &again, &why) == 0);
	FUZZ_CHECK(n.event == again.event && n.time == again.time && n.token == again.token &&
		   n.led == again.led && n.attempt == again.attempt &&
		   n.exit_status == again.exit_status && n.output_len == again.output_len);
	FUZZ_CHECK(strcmp(n.id, again.id) == 0 && strcmp(n.task, again.task) == 0 &&
		   strcmp(n.node, again.node) == 0 && strcmp(n.version, again.version) == 0 &&
		   strcmp(n.tick, again.tick) == 0 && strcmp(n.text, again.text) == 0);
	FUZZ_CHECK(record_parse_notice(data, size - 1, &again, &why) == -EBADMSG);
	buffer_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_policy(data, size);
	try_run(data, size);
	try_worker(data, size);
	try_list(data, size);
	try_leader(data, size);
	try_counter(data, size);
	try_roster(data, size);
	try_barrier(data, size);
	try_gang(data, size);
	try_gang_member(data, size);
	try_seen(data, size);
	try_trouble(data, size);
	try_lock(data, size);
	try_locker(data, size);
	try_job(data, size);
	try_at(data, size);
	try_notice(data, size);
	return 0;
}
