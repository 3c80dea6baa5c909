/*
 * Records byte for byte as the releases before wrote them: each with all that it may say, and with
 * as little as it can.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "wire/records/barrier_record.h"
#include "wire/records/gang_record.h"
#include "wire/records/job_record.h"
#include "wire/records/notice_record.h"
#include "wire/records/recipe_record.h"
#include "wire/records/record.h"
#include "wire/records/rolling_record.h"
#include "wire/records/schedule_record.h"
#include "wire/records/seen_record.h"

#define TIME INT64_C(1700000000123)

static struct buffer out;

/* The bytes' number and FNV-1a of 64 bits. Prints them as text where they are not those. */
static void expect(const char *what, int e, size_t len, uint64_t digest)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	cr_expect_eq(e, 0, "%s: %d", what, e);
	for (size_t i = 0; i < out.len; i++)
		h = (h ^ out.data[i]) * UINT64_C(0x100000001b3);
	cr_expect(out.len == len && h == digest, "%s: %zu bytes, 0x%016" PRIx64, what, out.len, h);
	if (out.len != len || h != digest) {
		for (size_t i = 0; i < out.len; i++)
			fprintf(stderr, out.data[i] >= ' ' && out.data[i] < 127 ? "%c" : "<%02x>",
				out.data[i]);
		fputc('\n', stderr);
	}
	buffer_done(&out);
}

#define PACKED(what, record, len, digest)                                     \
	do {                                                                  \
		buffer_init(&out, 1 << 20);                                   \
		expect(#what, record_pack_##what(&out, record), len, digest); \
	} while (0)

static struct worker *least_worker(void)
{
	static const char *const tasks[] = {"a", "b", "c"};
	struct worker *w = worker_new();

	strcpy(w->id, "id-1");
	strcpy(w->version, "1.6.0");
	strcpy(w->ip, "10.0.0.1");
	strcpy(w->hostname, "host");
	for (int i = 0; i < WORKER_RANDOM_INTS; i++)
		w->random_ints[i] = i * 1000000 - 5;
	worker_set_tasks(w, tasks, 3);
	w->started_at = TIME;
	return w;
}

static char **names(size_t n, const char *const *texts)
{
	char **copies = mem_calloc(n, sizeof(copies[0]));

	for (size_t i = 0; i < n; i++)
		copies[i] = mem_strdup(texts[i]);
	return copies;
}

Test(wire_recorded, workers)
{
	static const char *const groups[] = {"", "g", "g"}, *const others[] = {"b", "c"};
	struct worker *w = least_worker();

	PACKED(worker, w, 116, UINT64_C(0xcaafdbe23ea83c9d));
	w->timeout_ms = 30000;
	strcpy(w->node, "node");
	strcpy(w->machine, "machine");
	w->clock_offset_ms = -7;
	w->clock_tolerance_ms = 1000;
	w->returned = w->sick = w->knows_splits = true;
	worker_take_unhealthy(w, names(2, others), 2);
	w->scheme = 3;
	w->digests = mem_calloc(3, sizeof(w->digests[0]));
	w->n_digests = 3;
	w->digests[0] = w->digests[1] = w->digests[2] = UINT32_MAX;
	w->splits = mem_calloc(2, sizeof(w->splits[0]));
	w->n_splits = 1;
	strcpy(w->splits[0].task, "b");
	w->splits[0].partitions = 200;
	w->groups = names(3, groups);
	w->n_groups = 3;
	w->queues = mem_calloc(2, sizeof(w->queues[0]));
	w->n_queues = 2;
	strcpy(w->queues[0].queue, "c");
	w->queues[0].slots = 4;
	strcpy(w->queues[1].queue, "d");
	w->queues[1].slots = 1000;
	worker_take_answers(w, names(2, others), 2);
	w->renamed = names(2, others);
	w->n_renamed = 2;
	PACKED(worker, w, 321, UINT64_C(0x19a74c67aed9cef2));
	w->digests[1] = 12;
	w->clock_tolerance_ms = 0;
	PACKED(worker, w, 288, UINT64_C(0xee91d8814a520f1e));
	worker_free(w);
}

Test(wire_recorded, leaders_and_runs)
{
	struct leader_record l = {"id-1", "::1", "host", "1.0", TIME};
	struct run_record r = {.state = "missed",
			       .id = "id-1",
			       .hostname = "host",
			       .token = INT64_MAX,
			       .attempt = 1,
			       .failures = -1,
			       .started_at = TIME,
			       .exit_status = -1,
			       .output = ""};

	PACKED(leader, &l, 57, UINT64_C(0x9e3901e29e3d42a2));
	buffer_init(&out, 1000);
	expect("marker", record_pack_marker(&out), 13, UINT64_C(0x0910b274b275db8e));
	PACKED(run, &r, 80, UINT64_C(0x311ed8f663ea132e));
	strcpy(r.node, "node");
	strcpy(r.run, "run-1");
	r.session = TIME;
	r.failures = r.exit_status = 0;
	r.ended_at = TIME + 1;
	strcpy(r.by, "me@host");
	strcpy(r.why, "outage");
	strcpy(r.detail, "nobody led \xff");
	r.output = "all \0\xff of it";
	r.output_len = 12;
	PACKED(run, &r, 223, UINT64_C(0xb5e0a78e74793574));
}

Test(wire_recorded, decisions_and_splits)
{
	struct policy_record p = {.kind = "pause", .host = "host", .since = TIME};
	struct split_record s = {.partitions = 4, .host = "host", .since = TIME};

	PACKED(policy, &p, 41, UINT64_C(0x8ba1f0cc7dcab17a));
	strcpy(p.task, "a:1");
	strcpy(p.node, "node");
	strcpy(p.machine, "machine");
	strcpy(p.version, "1.0");
	strcpy(p.reason, "so");
	strcpy(p.by, "me");
	p.until = TIME + 5;
	strcpy(p.rolling, "group");
	p.halted = true;
	PACKED(policy, &p, 137, UINT64_C(0x0514dd794e64bcb0));
	PACKED(split, &s, 44, UINT64_C(0x23f29628b72393fd));
	s.from = 2;
	strcpy(s.reason, "so");
	strcpy(s.by, "me");
	PACKED(split, &s, 60, UINT64_C(0x2bd4308428db83f6));
}

Test(wire_recorded, jobs_and_assignments)
{
	struct job_record j = {.id = "q.1.x", .queue = "q", .state = "queued", .exit_status = -1};
	struct at_record a = {.session = -5, .worker = "id-1"};

	PACKED(job, &j, 66, UINT64_C(0x2403cc1b12333a3c));
	j.payload = "";
	PACKED(job, &j, 76, UINT64_C(0x93092a9ec42a4fe4));
	j.attempt = 3;
	j.base = 1;
	strcpy(j.key, "key");
	strcpy(j.callback, "https://x/");
	strcpy(j.by, "me");
	strcpy(j.host, "host");
	j.submitted = j.due = j.started = j.ended = TIME;
	strcpy(j.node, "node");
	j.exit_status = 0;
	strcpy(j.why, "status");
	strcpy(j.detail, "text");
	j.purged = true;
	j.output = "out";
	j.output_len = 3;
	j.payload = "in\0";
	j.payload_len = 3;
	PACKED(job, &j, 235, UINT64_C(0x753b1ad7aa3f60a7));
	PACKED(at, &a, 22, UINT64_C(0x03081ba54dfd1640));
	a.cancelled = true;
	a.attempt = 2;
	PACKED(at, &a, 42, UINT64_C(0x6fbbeae8800d0e9b));
}

Test(wire_recorded, notices_and_schedules)
{
	struct notice_record n = {.event = NOTICE_LOST, .id = "id-1", .exit_status = -1};
	struct schedule_record s = {"every 5m", "Europe/Berlin", TIME};
	struct seen_record seen = {.since = TIME};

	PACKED(notice, &n, 115, UINT64_C(0x54ab2b7b7cb6c618));
	strcpy(n.task, "a");
	strcpy(n.node, "node");
	strcpy(n.version, "1.0");
	n.time = TIME;
	n.token = 7;
	strcpy(n.tick, "2026-01-01");
	n.led = true;
	n.attempt = 2;
	n.exit_status = 255;
	strcpy(n.text, "text");
	strcpy(n.why, "node");
	strcpy(n.detail, "more");
	n.output = "out";
	n.output_len = 3;
	PACKED(notice, &n, 157, UINT64_C(0xe131642fb91a6c8d));
	PACKED(schedule, &s, 53, UINT64_C(0xdbb72b1e5b749b46));
	PACKED(seen, &seen, 20, UINT64_C(0x4a2b292260a0c87c));
	seen.ok = seen.told = true;
	PACKED(seen, &seen, 26, UINT64_C(0xd48fc4b2893e2ea4));
}

Test(wire_recorded, recipes)
{
	static struct counter_record c = {.value = -3};
	struct roster_record r = {.index = 5, .since = TIME};
	struct roster_head h = {70000};
	struct lock_record l = {2};
	struct locker_record k = {.node = "node"};

	PACKED(counter, &c, 14, UINT64_C(0x511e996459e9e6e0));
	c.n = 2;
	c.last[0] = (struct counter_last){"node", "machine", 12345678901, -9};
	c.last[1] = (struct counter_last){"other", "", 1, 1};
	PACKED(counter, &c, 48, UINT64_C(0xa44fa12979f90e23));
	PACKED(roster, &r, 33, UINT64_C(0x7b203aa649a9f9c2));
	r.departed = TIME;
	strcpy(r.hostname, "host");
	PACKED(roster, &r, 55, UINT64_C(0xc8e1f3b65c87d612));
	PACKED(roster_head, &h, 11, UINT64_C(0xab7f870cd5a66393));
	PACKED(lock, &l, 8, UINT64_C(0x72643850347e682a));
	PACKED(locker, &k, 31, UINT64_C(0xe5a57a2a0770153c));
	strcpy(k.command, "sleep");
	k.pid = 77;
	k.held = true;
	k.slots = 9;
	PACKED(locker, &k, 43, UINT64_C(0xbcea3863d5fadc80));
}

Test(wire_recorded, parties)
{
	static struct barrier_record b;
	static struct gang_record g = {.count = 2};
	static const uint64_t ids[] = {5, UINT64_MAX, 70};
	struct gang_member_record m = {.node = "node", .ip = "::1", .hostname = "host"};

	PACKED(barrier, &b, 32, UINT64_C(0xb66038ea9b820207));
	barrier_record_open(&b, ids, 3);
	PACKED(barrier, &b, 43, UINT64_C(0x1eb67cc30495fcf6));
	barrier_record_open(&b, ids, 2);
	barrier_record_open(&b, ids + 1, 1);
	PACKED(barrier, &b, 64, UINT64_C(0xc9d01f895a6a3834));
	PACKED(gang, &g, 49, UINT64_C(0x3f0a6bd64b5616d3));
	g.instance = 4;
	g.goes_on = g.lost = true;
	g.empty = 99;
	g.n = 2;
	g.members[0] = (struct gang_place){"k", 5, "::1", "host"};
	g.members[1] = (struct gang_place){"l", UINT64_MAX, "10.0.0.1", "other"};
	PACKED(gang, &g, 89, UINT64_C(0xc73ae9f75c38df80));
	PACKED(gang_member, &m, 41, UINT64_C(0x0b370496c40f93bb));
	strcpy(m.machine, "machine");
	PACKED(gang_member, &m, 48, UINT64_C(0x8074dd5b47d88ea3));
}

Test(wire_recorded, rolling_restarts)
{
	struct rolling_group g = {.max_unavailable = 2};
	struct rolling_slot s = {.id = "id-1",
				 .drain = "drain-1",
				 .state = ROLLING_SOAKING,
				 .node = "node",
				 .boot_id = "boot-1",
				 .by = "me",
				 .host = "host",
				 .since = TIME,
				 .exit_status = -1};
	struct rolling_waiter w = {"node", TIME};

	PACKED(rolling_group, &g, 18, UINT64_C(0x13cbc0095ea9b83e));
	g.halted_since = TIME;
	strcpy(g.halted_node, "node");
	strcpy(g.halted_why, "so");
	PACKED(rolling_group, &g, 43, UINT64_C(0x1d6ca6292504d958));
	PACKED(rolling_slot, &s, 93, UINT64_C(0x386576a78a302a1d));
	strcpy(s.machine, "machine");
	strcpy(s.process, "5 6");
	s.exit_status = 0;
	PACKED(rolling_slot, &s, 134, UINT64_C(0x5d42626680d91e54));
	PACKED(rolling_waiter, &w, 26, UINT64_C(0xc1e17e1fd7665b4e));
}
