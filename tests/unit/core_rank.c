#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "core/fleet/rank.h"

/* 100 characters, the longest name of a task */
#define TEN(x)	x x x x x x x x x x
#define LONGEST TEN(TEN("x"))

/*
 * From another implementation, python3-xxhash:
 *   key = xxh64_intdigest(struct.pack("<5i", *random_ints), seed=0)
 *   score = xxh64_intdigest(task.encode(), seed=key) >> 11
 */
static const struct {
	int32_t random_ints[WORKER_RANDOM_INTS];
	const char *task;
	uint64_t key, score;
} vectors[] = {
	{{0, 0, 0, 0, 0}, "a", UINT64_C(0x5c41df61e8f6b241), UINT64_C(8329249654021521)},
	{{0, 0, 0, 0, 0},
	 "nightly-report",
	 UINT64_C(0x5c41df61e8f6b241),
	 UINT64_C(792796966610762)},
	{{0, 0, 0, 0, 0},
	 "billing.close_2026",
	 UINT64_C(0x5c41df61e8f6b241),
	 UINT64_C(8021728891685334)},
	{{0, 0, 0, 0, 0}, LONGEST, UINT64_C(0x5c41df61e8f6b241), UINT64_C(5331432873387017)},
	{{1, 2, 3, 4, 5}, "a", UINT64_C(0x1ee2a9ec71a1a54a), UINT64_C(6364187733456441)},
	{{1, 2, 3, 4, 5},
	 "nightly-report",
	 UINT64_C(0x1ee2a9ec71a1a54a),
	 UINT64_C(2265613893624609)},
	{{1, 2, 3, 4, 5},
	 "billing.close_2026",
	 UINT64_C(0x1ee2a9ec71a1a54a),
	 UINT64_C(4417119990663522)},
	{{1, 2, 3, 4, 5}, LONGEST, UINT64_C(0x1ee2a9ec71a1a54a), UINT64_C(6486185490098914)},
	{{-1, -2, -3, -4, -5}, "a", UINT64_C(0x5c5bec1dc2a27527), UINT64_C(4179536350852032)},
	{{-1, -2, -3, -4, -5},
	 "nightly-report",
	 UINT64_C(0x5c5bec1dc2a27527),
	 UINT64_C(5818957360261650)},
	{{-1, -2, -3, -4, -5},
	 "billing.close_2026",
	 UINT64_C(0x5c5bec1dc2a27527),
	 UINT64_C(6800172999200924)},
	{{-1, -2, -3, -4, -5}, LONGEST, UINT64_C(0x5c5bec1dc2a27527), UINT64_C(4484580417233308)},
	{{INT32_MAX, INT32_MIN, 0, 1, -1},
	 "a",
	 UINT64_C(0xb4ed7d7a3e86e033),
	 UINT64_C(6833819775638049)},
	{{INT32_MAX, INT32_MIN, 0, 1, -1},
	 "nightly-report",
	 UINT64_C(0xb4ed7d7a3e86e033),
	 UINT64_C(1599565554682602)},
	{{INT32_MAX, INT32_MIN, 0, 1, -1},
	 "billing.close_2026",
	 UINT64_C(0xb4ed7d7a3e86e033),
	 UINT64_C(5419865942549523)},
	{{INT32_MAX, INT32_MIN, 0, 1, -1},
	 LONGEST,
	 UINT64_C(0xb4ed7d7a3e86e033),
	 UINT64_C(7161101469940594)},
	{{305419896, -1164413356, 19088743, -1985229329, 42},
	 "a",
	 UINT64_C(0x7f086176fe115415),
	 UINT64_C(5982453410613887)},
	{{305419896, -1164413356, 19088743, -1985229329, 42},
	 "nightly-report",
	 UINT64_C(0x7f086176fe115415),
	 UINT64_C(2715743740255044)},
	{{305419896, -1164413356, 19088743, -1985229329, 42},
	 "billing.close_2026",
	 UINT64_C(0x7f086176fe115415),
	 UINT64_C(7784210977845653)},
	{{305419896, -1164413356, 19088743, -1985229329, 42},
	 LONGEST,
	 UINT64_C(0x7f086176fe115415),
	 UINT64_C(4723279697171660)},
};

Test(rank, vectors)
{
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		uint64_t key = rank_key(vectors[i].random_ints);
		cr_expect_eq(key, vectors[i].key, "key %zu", i);
		cr_expect_eq(rank_score(key, vectors[i].task), vectors[i].score, "score %zu", i);
		cr_expect(rank_score(key, vectors[i].task) < UINT64_C(1) << 53);
	}
}

/* Each is before the next; an equal sign marks one that is equal to the one before it. */
static const char *const addresses[] = {
	"",
	"300.1.1.1",
	"fe80::1%eth0",
	"host",
	"0.0.0.0",
	"9.255.255.255",
	"10.0.0.2",
	"10.0.0.10",
	"10.0.1.0",
	"127.0.0.1",
	"192.168.9.1",
	"192.168.10.1",
	"255.255.255.255",
	"::",
	"::1",
	"=0:0:0:0:0:0:0:1",
	"::2",
	"::10",
	"::ffff:10.0.0.9",
	"::ffff:10.0.0.10",
	"2001:db8::9",
	"2001:db8::10",
	"=2001:DB8::0010",
	"fe80::1",
	"ffff::",
};

static int sign(int x)
{
	return (x > 0) - (x < 0);
}

Test(rank, addresses)
{
	const size_t n = sizeof(addresses) / sizeof(addresses[0]);
	int place[sizeof(addresses) / sizeof(addresses[0])];
	const char *text[sizeof(addresses) / sizeof(addresses[0])];

	for (size_t i = 0; i < n; i++) {
		bool equal = addresses[i][0] == '=';
		text[i] = addresses[i] + equal;
		place[i] = i == 0 ? 0 : place[i - 1] + !equal;
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++)
			cr_expect_eq(sign(rank_compare_ip(text[i], text[j])),
				     sign(place[i] - place[j]), "%s %s", text[i], text[j]);
	}
}

/*
 * Sidecars of different releases compare these, so they never change. From python3-xxhash:
 *   xxh64_intdigest(min_version, seed=position + 1 | 0x100 if oldest | 0x200 if there is a min_version)
 */
Test(rank, digest_of_what_a_task_goes_by)
{
	static const struct {
		int position;
		const char *min_version;
		bool oldest;
		uint32_t digest;
	} cases[] = {
		{-1, NULL, false, 0x51d8e999}, {-1, "", false, 0xdf832cf5},
		{0, NULL, false, 0x36a3be4b},  {4, NULL, false, 0x981cfd3b},
		{-1, NULL, true, 0x9cae652d},  {-1, "1.2", false, 0x87465b12},
		{2, "1.2", true, 0xf0e63a28},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(rank_digest(&(struct rank_keys){
				     .position = cases[i].position,
				     .min_version = cases[i].min_version,
				     .version_policy =
					     cases[i].oldest ? VERSION_OLDEST : VERSION_NEWEST}),
			     cases[i].digest, "%zu", i);
}

Test(rank, each_new_key_makes_another_digest)
{
	static const struct rank_keys keys[] = {
		{.position = -1},
		{.position = -1, .version_policy = VERSION_ANY},
		{.position = -1, .partitions = 8},
		{.position = -1, .partitions = 16},
		{.position = -1, .partitions = 8, .limit = 2},
		{.position = -1, .spread = "feeds"},
		{.position = -1, .spread = "scans"},
		{.position = -1, .spread = "scans", .min_version = "1"},
	};
	size_t n = sizeof(keys) / sizeof(keys[0]);

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			cr_expect_neq(rank_digest(&keys[i]), rank_digest(&keys[j]), "%zu %zu", i,
				      j);
}
