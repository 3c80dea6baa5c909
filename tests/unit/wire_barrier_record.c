#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "wire/records/barrier_record.h"
#include "wire/pack.h"

static struct barrier_record record, back;

static void open_round(uint64_t first, size_t n)
{
	uint64_t ids[BARRIER_COUNT_MAX];

	for (size_t i = 0; i < n; i++)
		ids[i] = first + i;
	barrier_record_open(&record, ids, n);
}

static int there_and_back(const char **ret_why)
{
	struct buffer b;

	buffer_init(&b, RECORD_BARRIER_MAX);
	cr_assert_eq(record_pack_barrier(&b, &record), 0);
	memset(&back, 0xff, sizeof(back));
	int e = record_parse_barrier(b.data, b.len, &back, ret_why);
	for (size_t cut = 0; cut<b.len; cut += b.len> 200 ? 97 : 1) {
		struct barrier_record other;
		const char *why;
		cr_assert_eq(record_parse_barrier(b.data, cut, &other, &why), -EBADMSG);
	}
	buffer_done(&b);
	return e;
}

static bool has(uint64_t id)
{
	for (size_t i = 0; i < back.n_ids; i++)
		if (back.ids[i] == id)
			return true;
	return false;
}

Test(barrier_record, rounds_there_and_back)
{
	const char *why = "";

	memset(&record, 0, sizeof(record));
	cr_assert_eq(there_and_back(&why), 0, "%s", why);
	cr_assert_eq(back.round, 0);
	cr_assert_eq(back.n_rounds, 0);
	open_round(10, 2);
	open_round(UINT64_MAX - 2, 3);
	cr_assert_eq(there_and_back(&why), 0, "%s", why);
	cr_assert_eq(back.round, 2);
	cr_assert_eq(back.n_rounds, 2);
	cr_assert_eq(back.sizes[0], 3);
	cr_assert_eq(back.ids[0], UINT64_MAX - 2);
	cr_assert_eq(back.ids[4], 11);
	cr_assert_eq(memcmp(&record, &back, offsetof(struct barrier_record, ids)), 0);
}

/* The oldest rounds are forgotten whole, by their number or by their members'. */
Test(barrier_record, what_is_too_much_is_forgotten)
{
	const char *why = "";

	memset(&record, 0, sizeof(record));
	for (uint64_t i = 0; i < 3; i++)
		open_round(UINT64_MAX - 5000 + i * 1000, 1000);
	cr_assert_eq(there_and_back(&why), 0, "%s", why);
	cr_assert_eq(back.n_rounds, 2);
	cr_assert(!has(UINT64_MAX - 5000 + 999) && has(UINT64_MAX - 4000));
	open_round(7, 1);
	cr_assert_eq(there_and_back(&why), 0, "%s", why);
	cr_assert_eq(back.n_rounds, 2);
	cr_assert(has(7) && !has(UINT64_MAX - 4000) && has(UINT64_MAX - 3000));
	memset(&record, 0, sizeof(record));
	for (uint64_t i = 0; i < 2 * BARRIER_ROUNDS_MAX; i++)
		open_round(i + 1, 1);
	cr_assert_eq(there_and_back(&why), 0, "%s", why);
	cr_assert_eq(back.n_rounds, BARRIER_ROUNDS_MAX);
	cr_assert_eq(back.round, 2 * BARRIER_ROUNDS_MAX);
}

static void pack_ids(struct pack *p, size_t n)
{
	pack_array(p, n);
	for (size_t i = 0; i < n; i++)
		pack_uint(p, i + 1);
}

static int parse_parts(int64_t round, int64_t count, size_t n, size_t rounds_before,
		       size_t n_before, const char **ret_why)
{
	struct buffer b;
	struct pack p;

	buffer_init(&b, 2 * RECORD_BARRIER_MAX);
	pack_init(&p, &b);
	pack_map(&p, 5);
	pack_kv_str(&p, "later", "passed over");
	pack_kv_int(&p, "round", round);
	pack_kv_int(&p, "count", count);
	pack_str(&p, "members");
	pack_ids(&p, n);
	pack_str(&p, "before");
	pack_array(&p, rounds_before);
	for (size_t i = 0; i < rounds_before; i++)
		pack_ids(&p, n_before);
	int e = record_parse_barrier(b.data, b.len, &back, ret_why);
	buffer_done(&b);
	return e;
}

Test(barrier_record, parts_that_do_not_fit)
{
	static const struct {
		int64_t round, count;
		size_t n, rounds, before;
		const char *why; /* how it begins; NULL: it is good */
	} cases[] = {
		{0, 0, 0, 0, 0, NULL},		{1, 2, 2, 0, 0, NULL},
		{9, 2, 2, 3, 5, NULL},		{-1, 2, 2, 0, 0, "round"},
		{1, 3, 2, 0, 0, "count"},	{0, 2, 2, 0, 0, "round"},
		{1, 0, 0, 0, 0, "round"},	{3, 0, 0, 2, 1, "round"},
		{2, 2, 2, 2, 1, "before"},	{9, 2, 2, 3, 0, "before"},
		{1, 1001, 1001, 0, 0, "count"}, {101, 1, 1, 100, 1, "before"},
		{9, 1, 1, 2, 1000, "before"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why = NULL;
		int e = parse_parts(cases[i].round, cases[i].count, cases[i].n, cases[i].rounds,
				    cases[i].before, &why);
		cr_assert_eq(e, cases[i].why ? -EBADMSG : 0, "case %zu: %d", i, e);
		cr_assert(!cases[i].why || strncmp(why, cases[i].why, strlen(cases[i].why)) == 0,
			  "case %zu: %s", i, why);
	}
}
