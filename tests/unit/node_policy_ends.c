/*
 * When a decision that was made for a while is ended, whatever becomes of the clocks. The store, the session
 * and the machine's clocks are the test's.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "node/fleet/policy.h"

#define HOUR_MS	  (INT64_C(3600) * 1000)
#define EPOCH_MS  INT64_C(1795000000000)
#define LOOK_MS	  60000
#define LENGTH_MS (2 * HOUR_MS)

static int64_t now_ms = 1000000, ahead_ms, rings_ms; /* 0: the timer is not set */
static bool up = true, off, unsure;
static int ended;
static char ended_path[STORE_PATH_MAX];
static struct worker other = {.id = "another"}, self = {.id = "me"};
static struct member members[] = {{.worker = &other}, {.worker = &self}};
static struct member *by_id[] = {&members[0], &members[1]};
static struct registry r;
static struct session session;
static struct policy p;
static struct policy_item item = {.name = "d"};
static struct policy_item *items[] = {&item};

int64_t host_now_ms(const struct host *h)
{
	(void)h;
	return now_ms;
}

int64_t host_wall_ms(const struct host *h)
{
	(void)h;
	return EPOCH_MS + now_ms + ahead_ms;
}

void host_timer_start(struct host_timer *t, int64_t ms)
{
	(void)t;
	rings_ms = now_ms + ms;
}

void host_timer_stop(struct host_timer *t)
{
	(void)t;
	rings_ms = 0;
}

bool session_is_up(const struct session *s)
{
	(void)s;
	return up;
}

bool clocks_is_off(const struct clocks *c)
{
	(void)c;
	return off;
}

bool clocks_is_unsure(const struct clocks *c)
{
	(void)c;
	return unsure;
}

size_t policy_end_ops(struct policy *policy, const char *task, int64_t at_ms, struct policy_end *e,
		      struct store_op ops[POLICY_END_OPS])
{
	(void)policy, (void)task, (void)e;
	cr_assert_eq(at_ms, item.record.until, "a pause ends when it is to");
	ops[0] = (struct store_op){.type = STORE_OP_CREATE};
	return 1;
}

void store_multi(struct store *s, const struct store_op *ops, size_t n, store_reply_fn fn,
		 void *arg)
{
	(void)s, (void)fn, (void)arg;
	cr_assert(n == 2 && ops->type == STORE_OP_DELETE && ops[1].type == STORE_OP_CREATE);
	snprintf(ended_path, sizeof(ended_path), "%s", ops->path);
	ended++;
}

/* Decided now, for two hours, by a clock that is right; seen to be made, or it was there before us. */
static void decided(bool seen)
{
	static const struct node_settings settings = {.root = "/r"};

	r.settings = &settings;
	r.session = &session;
	r.fleet.by_id = by_id;
	r.fleet.n_members = 2;
	memcpy(r.id, "me", sizeof("me"));
	p.session = &session;
	p.registry = &r;
	p.items = items;
	p.n = 1;
	item.record.since = EPOCH_MS + now_ms;
	item.record.until = item.record.since + LENGTH_MS;
	item.seen_ms = seen ? now_ms : POLICY_UNSEEN;
	policy_end_due(&p);
}

/* The timer rings as often as it is set for, for so long. */
static void pass(int64_t ms)
{
	int64_t until = now_ms + ms;

	while (rings_ms > 0 && rings_ms <= until) {
		cr_assert(rings_ms > now_ms, "it does not ring all the time");
		now_ms = rings_ms;
		policy_end_due(&p);
	}
	now_ms = until;
}

Test(policy_ends, one_that_was_seen_made_has_its_length_whatever_is_set)
{
	decided(true);
	ahead_ms = 24 * HOUR_MS;
	pass(HOUR_MS);
	ahead_ms = -24 * HOUR_MS;
	off = unsure = true;
	pass(HOUR_MS - 1);
	cr_expect(ended == 0);
	pass(1000);
	cr_expect(ended == 1);
	cr_expect_str_eq(ended_path, "/r/policy/d");
}

Test(policy_ends, one_that_was_there_before_follows_a_clock_that_is_set_right)
{
	ahead_ms = -24 *
		   HOUR_MS; /* after a start without a battery; the fleet has not judged it yet */
	decided(false);
	pass(HOUR_MS);
	ahead_ms = 0;
	pass(HOUR_MS - 1);
	cr_expect(ended == 0, "not before its end");
	pass(LOOK_MS);
	cr_expect(ended > 0, "nor a day late");
}

Test(policy_ends, one_that_was_there_before_is_not_ended_by_a_clock_that_was_ahead)
{
	decided(false);
	ahead_ms = HOUR_MS + 50000;
	pass(30000);
	ahead_ms = 0;
	pass(2 * HOUR_MS - 40000);
	cr_expect(ended == 0);
	pass(LOOK_MS);
	cr_expect(ended > 0);
}

Test(policy_ends, a_clock_that_is_off_ends_nothing_that_was_there_before)
{
	ahead_ms = 24 * HOUR_MS;
	unsure = true; /* the servers' time is not known yet */
	decided(false);
	pass(LOOK_MS);
	cr_expect(ended == 0);
	unsure = false;
	off = true;
	pass(HOUR_MS);
	cr_expect(ended == 0);
	members[0].clock_off = true; /* nobody is there whose clock is right */
	pass(1000);
	cr_expect(ended == 1);
}

Test(policy_ends, it_is_tried_again_and_waits_for_the_session)
{
	up = false;
	decided(true);
	pass(LENGTH_MS + HOUR_MS);
	cr_expect(ended == 0);
	up = true;
	pass(1000);
	cr_expect(ended == 1);
	pass(9000);
	cr_expect(ended == 1);
	pass(1000);
	cr_expect(ended == 2, "the answer may have been lost");
}

Test(policy_ends, what_has_no_end_needs_no_timer)
{
	decided(true);
	cr_assert(rings_ms > 0);
	item.record.until = 0;
	policy_end_due(&p);
	cr_expect(rings_ms == 0);
	item.record.until = item.record.since + 1;
	policy_end_due(&p);
	cr_expect(rings_ms == now_ms + 1 + 20, "after the one before it in the fleet");
}
