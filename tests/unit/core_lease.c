#include <criterion/criterion.h>
#include <inttypes.h>

#include "core/election/lease.h"

/* T is 10 s, so a slack is 200 ms, and what was heard 2700 ms before a write was sent is reported. */
#define T     10000
#define SLACK 200
#define SPAN  (T - SLACK)

/* A write that is answered at once. */
static void commit(struct lease *l, int64_t at_ms)
{
	lease_heard(l, at_ms, at_ms);
	lease_committed(l, at_ms, at_ms);
}

Test(lease, a_session_counts_from_when_it_was_asked_for)
{
	struct lease l = {0};

	cr_expect_eq(lease_left(&l, 0), 0);
	lease_committed(&l, 1000, 1000);
	cr_expect_eq(lease_left(&l, 1000), 0, "there is no session");

	lease_begin(&l, T, 1000);
	cr_expect_eq(lease_left(&l, 1000), 0, "nothing was committed yet");
	commit(&l, 1500);
	cr_expect_eq(lease_left(&l, 1500), 1000 + SPAN - 1500);
	cr_expect_eq(lease_left(&l, 1000 + SPAN - 1), 1);
	cr_expect_eq(lease_left(&l, 1000 + SPAN), 0);
	cr_expect_eq(lease_left(&l, INT64_MAX), 0);

	lease_end(&l);
	cr_expect_eq(lease_left(&l, 1500), 0, "the session has ended");
	commit(&l, 1600);
	cr_expect_eq(lease_left(&l, 1600), 0, "an answer came after its end");
}

Test(lease, a_new_session_inherits_nothing)
{
	struct lease l;

	lease_begin(&l, T, 1000);
	for (int64_t at = 2000; at < 10000; at += 500)
		commit(&l, at);
	lease_begin(&l, T, 10000);
	cr_expect_eq(lease_left(&l, 10000), 0);
	commit(&l, 10100);
	cr_expect_eq(lease_left(&l, 10100), SPAN - 100);
}

Test(lease, timeouts_that_give_none)
{
	static const int64_t timeouts[] = {-1, 0, 1, 100, 101};

	for (size_t i = 0; i < sizeof(timeouts) / sizeof(timeouts[0]); i++) {
		struct lease l;
		lease_begin(&l, timeouts[i], 1000);
		commit(&l, 1001);
		commit(&l, 1200);
		cr_expect_eq(lease_left(&l, 1001), 0, "%" PRId64, timeouts[i]);
	}
}

Test(lease, two_commits_prove_what_was_heard_before_the_first)
{
	struct lease l;

	lease_begin(&l, T, 1000);
	lease_heard(&l, 2000, 2050);
	lease_committed(&l, 4750, 5000);
	cr_expect_eq(lease_left(&l, 5000), 1000 + SPAN - 5000, "one may come before the expiry");
	lease_committed(&l, 5199, 5300);
	cr_expect_eq(lease_left(&l, 5300), 1000 + SPAN - 5300, "sent too soon after the first");
	lease_committed(&l, 5200, 5400);
	cr_expect_eq(lease_left(&l, 5400), 2000 + SPAN - 5400, "it counts from when it was sent");
	lease_committed(&l, 5100, 5500);
	cr_expect_eq(lease_left(&l, 5500), 2000 + SPAN - 5500, "an older one takes nothing back");
}

Test(lease, what_was_heard_may_not_have_been_reported)
{
	struct lease l;

	lease_begin(&l, T, 1000);
	lease_heard(&l, 2000, 2050);
	lease_committed(&l, 4749, 4760);
	lease_committed(&l, 5000, 5010);
	cr_expect_eq(lease_left(&l, 5010), 1000 + SPAN - 5010);
	/* The newest answer that is old enough counts. */
	lease_heard(&l, 5500, 5600);
	lease_heard(&l, 6000, 6100);
	lease_heard(&l, 7000, 7100);
	lease_committed(&l, 8800, 8810);
	lease_committed(&l, 9010, 9020);
	cr_expect_eq(lease_left(&l, 9020), 6000 + SPAN - 9020);
}

/* An observer behind a follower: half a tick to that, and half a tick more to the leader. */
Test(lease, a_known_tick_is_waited_for_whole)
{
	static const struct {
		int64_t tick_ms, report_ms;
	} cases[] = {
		{0, T / 4}, {200, T / 4}, {T / 4, T / 4}, {T / 4 + 1, T / 4 + 1}, {T / 2, T / 2}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t reported_ms = 2050 + cases[i].report_ms + SLACK;
		struct lease l;

		lease_begin(&l, T, 1000);
		lease_set_tick(&l, cases[i].tick_ms);
		lease_heard(&l, 2000, 2050);
		lease_committed(&l, reported_ms - 1, reported_ms);
		lease_committed(&l, reported_ms + SLACK, reported_ms + SLACK);
		cr_expect_eq(lease_left(&l, 8000), 1000 + SPAN - 8000,
			     "%zu: it may not be reported", i);
		lease_begin(&l, T, 1000);
		lease_set_tick(&l, cases[i].tick_ms);
		lease_heard(&l, 2000, 2050);
		lease_committed(&l, reported_ms, reported_ms);
		lease_committed(&l, reported_ms + SLACK, reported_ms + SLACK);
		cr_expect_eq(lease_left(&l, 8000), 2000 + SPAN - 8000, "%zu: it is reported", i);
	}
	/* With two ticks in a timeout there is still a lease, all the time. */
	struct lease l;
	int64_t next = 0, least = T;

	lease_begin(&l, T, 0);
	lease_set_tick(&l, T / 2);
	for (int64_t at = 100; at < 10 * T; at++) {
		if (at >= next) {
			commit(&l, at);
			next = at + lease_next(&l, at, true);
		}
		if (lease_left(&l, at) < least)
			least = lease_left(&l, at);
	}
	cr_expect_gt(least, T / 4, "%" PRId64, least);
}

/* Answers that lay in a buffer while this process was stopped. */
Test(lease, only_the_time_of_sending_counts)
{
	struct lease l;

	lease_begin(&l, T, 1000);
	for (int64_t at = 1100; at < 3000; at += 100)
		lease_heard(&l, at, 60000);
	for (int64_t at = 1100; at < 3000; at += 100)
		lease_committed(&l, at, 60000);
	cr_expect_eq(lease_left(&l, 60000), 0);
	/* All that is known is that they were answered before this one was sent. */
	commit(&l, 62699);
	commit(&l, 62900);
	cr_expect_eq(lease_left(&l, 62900), 0);
}

Test(lease, what_was_heard_is_spaced)
{
	struct lease l;

	lease_begin(&l, T, 1000);
	lease_heard(&l, 2000, 2001);
	lease_heard(&l, 2415, 2416);
	cr_expect_eq(l.n_heard, 1);
	lease_heard(&l, 2416, 2417);
	cr_expect_eq(l.n_heard, 2);
	/* More than there is room for: the oldest goes. */
	for (int64_t i = 2; i < 3 * LEASE_HEARD_MAX; i++)
		lease_heard(&l, 2000 + i * 416, 2001 + i * 416);
	cr_expect_eq(l.n_heard, LEASE_HEARD_MAX);
	cr_expect_eq(l.heard[0].sent_ms, 2000 + 2 * LEASE_HEARD_MAX * 416);
	cr_expect_eq(l.heard[LEASE_HEARD_MAX - 1].sent_ms, 2000 + (3 * LEASE_HEARD_MAX - 1) * 416);
}

Test(lease, commits_are_spaced)
{
	struct lease l;

	lease_begin(&l, T, 1000);
	lease_committed(&l, 2000, 2050);
	lease_committed(&l, 2010, 2099);
	cr_expect_eq(l.n_commits, 1, "of many at a time the first will be old enough the soonest");
	/* More than there is room for: the oldest goes. */
	for (int64_t i = 1; i < 2 * LEASE_COMMITS_MAX; i++)
		lease_committed(&l, 2000 + i * 50, 2050 + i * 50);
	cr_expect_eq(l.n_commits, LEASE_COMMITS_MAX);
	cr_expect_eq(l.commits[0].heard_ms, 2050 + LEASE_COMMITS_MAX * 50);
	cr_expect_eq(l.commits[LEASE_COMMITS_MAX - 1].heard_ms, 2000 + 2 * LEASE_COMMITS_MAX * 50);
}

/* A thousand claims in a second leave room for the one that the next will need. */
Test(lease, many_commits_at_a_time)
{
	struct lease l;

	lease_begin(&l, T, 0);
	for (int64_t at = 1000; at < 10000; at += 500)
		commit(&l, at);
	cr_expect_eq(lease_left(&l, 10000), 6000 + SPAN - 10000);
	for (int64_t at = 10000; at < 11000; at++)
		commit(&l, at);
	cr_expect_eq(lease_left(&l, 11000), 8000 + SPAN - 11000);
}

/* The quorum's leader has agreed to the new connection after all that was heard over the old one. */
Test(lease, a_session_that_moves)
{
	struct lease l;

	lease_begin(&l, T, 1000);
	lease_moved(&l, T);
	commit(&l, 1500);
	cr_expect_eq(lease_left(&l, 1500), 1000 + SPAN - 1500, "nothing was heard");
	lease_heard(&l, 2000, 2050);
	lease_moved(&l, T);
	cr_expect_eq(lease_left(&l, 2100), 1000 + SPAN - 2100, "moving alone gives nothing");
	commit(&l, 2100);
	cr_expect_eq(lease_left(&l, 2100), 2000 + SPAN - 2100);
	lease_moved(&l, T);
	commit(&l, 2150);
	cr_expect_eq(lease_left(&l, 2150), 2000 + SPAN - 2150, "a later one takes nothing back");
}

/* A lease that was counted with a longer timeout is void at once. */
Test(lease, a_session_that_is_granted_less)
{
	static const struct {
		const char *what;
		int64_t timeout_ms;   /* of the new connection */
		int64_t moved_ms;     /* when it was made */
		int64_t expected_end; /* of the lease */
	} cases[] = {
		{"the same", T, 6200, 2500 + SPAN},
		{"more", 2 * T, 6200, 2500 + SPAN},
		/* The newest that was heard over the old connection was sent at 6000. */
		{"less", 4000, 6200, 6000 + 4000 - 140},
		{"less, and all of it is over", 2000, 9000, 6000 + 2000 - 120},
		{"nothing", 0, 6200, 0},
		{"what is no time", -1, 6200, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lease l;
		int64_t now = cases[i].moved_ms, end = cases[i].expected_end;
		lease_begin(&l, T, 1000);
		for (int64_t at = 2000; at <= 6000; at += 500)
			commit(&l, at);
		cr_assert_eq(lease_left(&l, 6100), 2500 + SPAN - 6100);
		lease_moved(&l, cases[i].timeout_ms);
		cr_expect_eq(lease_left(&l, now), now < end ? end - now : 0, "%s: %" PRId64,
			     cases[i].what, lease_left(&l, now));
	}
}

/* Before anything was committed there is no lease, whatever is granted. */
Test(lease, a_session_that_is_granted_less_before_it_counts)
{
	struct lease l;

	lease_begin(&l, T, 1000);
	lease_moved(&l, 2000);
	cr_expect_eq(lease_left(&l, 1100), 0);
	commit(&l, 1100);
	cr_expect_eq(lease_left(&l, 1100), 1000 + 2000 - 120 - 1100);
}

/* The lease goes on with the shorter timeout, as in a session that began with it. */
Test(lease, a_session_that_was_granted_less_goes_on_with_less)
{
	struct lease l;

	lease_begin(&l, T, 0);
	for (int64_t at = 1000; at < 20000; at += lease_next(&l, at, true))
		commit(&l, at);
	lease_moved(&l, 2000);
	for (int64_t at = 20000; at < 30000; at += lease_next(&l, at, true)) {
		commit(&l, at);
		cr_assert_leq(lease_left(&l, at), 2000 - 120);
		cr_assert(at < 21500 || lease_left(&l, at) > 2000 / 4, "%" PRId64, at);
	}
}

/* A longer one counts for what was sent from the time on that was said, and not before that is proven. */
Test(lease, a_session_that_is_granted_more)
{
	struct lease l;
	int64_t at = 1000, longer_at = 0;

	lease_begin(&l, 2000, 0);
	for (; at < 10000; at += lease_next(&l, at, true))
		commit(&l, at);
	lease_moved(&l, T);
	lease_lengthen(&l, T, 15000);
	for (; at < 30000 && longer_at == 0; at += lease_next(&l, at, true)) {
		commit(&l, at);
		cr_assert_gt(lease_left(&l, at), 2000 / 4, "no gap");
		if (lease_left(&l, at) > 2000)
			longer_at = at;
	}
	cr_expect_geq(longer_at, 15000 + 2000 / 4);
	cr_expect_leq(longer_at, 17000);
	cr_expect_geq(l.alive_ms, 15000);
	cr_expect_eq(l.timeout_ms, T);
}

Test(lease, what_does_not_lengthen)
{
	struct lease l;

	lease_begin(&l, T, 1000);
	lease_lengthen(&l, T, 0);
	lease_lengthen(&l, 2000, 0);
	commit(&l, 1100);
	cr_expect_eq(lease_left(&l, 1100), 1000 + SPAN - 1100, "no more than before");
	lease_lengthen(&l, 2 * T, 1200);
	lease_moved(&l, 2 * T);
	for (int64_t at = 1300; at < 9000; at += 500)
		commit(&l, at);
	cr_expect_eq(l.timeout_ms, T, "the next connection begins anew");
	lease_end(&l);
	lease_lengthen(&l, T, 0);
	commit(&l, 9100);
	cr_expect_eq(lease_left(&l, 9100), 0, "there is no session");
}

Test(lease, next_sign_of_life)
{
	struct lease l;

	lease_begin(&l, T, 1000);
	cr_expect_eq(lease_next(&l, 1000, false), 1666);
	cr_expect_eq(lease_next(&l, 1000, true), 212, "there is no lease yet");
	commit(&l, 1000);
	cr_expect_eq(lease_next(&l, 1000, true), 833);
	cr_expect_eq(lease_next(&l, 10800 - 3333, true), 833);
	cr_expect_eq(lease_next(&l, 10800 - 3332, true), 212);
	cr_expect_eq(lease_next(&l, 10800 - 3332, false), 1666);
	lease_begin(&l, 1000, 1000);
	cr_expect_eq(lease_next(&l, 1000, true), 83, "never less often than usual");
}

/*
 * The lease that is left when all goes well, for the timeouts in use and a network that takes 50
 * ms.
 */
Test(lease, stays_up)
{
	static const int64_t timeouts[] = {2000, 4000, 10000, 30000, 40000};

	for (size_t i = 0; i < sizeof(timeouts) / sizeof(timeouts[0]); i++) {
		const int64_t timeout = timeouts[i];
		int64_t at = timeout, least = timeout, writes = 0;
		struct lease l;

		lease_begin(&l, timeout, 0);
		for (; at < 12 * timeout; at += lease_next(&l, at, true)) {
			if (at > 2 * timeout && lease_left(&l, at) < least)
				least = lease_left(&l, at);
			writes += at >= 2 * timeout;
			lease_heard(&l, at, at + 50);
			lease_committed(&l, at, at + 50);
		}
		cr_expect_gt(least, timeout / 4, "%" PRId64 ": %" PRId64, timeout, least);
		cr_expect_leq(writes, 10 * 12 + 2, "%" PRId64 ": %" PRId64, timeout, writes);
	}
}
