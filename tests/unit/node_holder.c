/*
 * Promises for a command: the end of its lease, owners that go and come back, and the end of all.
 */
#include "node_site.h"

#include "node/holder/holder.h"

static struct holders holders;
static struct holder held;
static int owner, other, n_released;

static void on_released(void *who)
{
	cr_expect_eq(who, &owner);
	n_released++;
}

static void begin(void)
{
	site_begin();
	holders = (struct holders){.session = &session, .released = on_released};
	holder_init(&holders, &held, &owner);
}

static void told(void)
{
	cr_assert(holder_tells(&holders, &held));
}

static int64_t renew(void)
{
	return holder_renew(&holders, &held, true);
}

TestSuite(holder, .init = begin);

Test(holder, is_called_by_its_owner_and_its_number_once_that_was_told)
{
	struct holder next;

	cr_expect(!holder_is(&held, &owner, held.number));
	told();
	holder_init(&holders, &next, &owner);
	cr_expect_neq(next.number, held.number);
	cr_expect(holder_is(&held, &owner, held.number));
	cr_expect(!holder_is(&held, &owner, next.number));
	cr_expect(!holder_is(&held, &other, held.number));
}

Test(holder, goes_on_for_the_whole_lease_over_a_cut)
{
	told();
	renews_over_a_cut(renew);
}

Test(holder, a_command_is_not_begun_by_the_end_of_a_lease_but_goes_on_by_it)
{
	struct holder former;

	holder_init(&holders, &former, NULL);
	holder_attach(&former, &owner);
	connection(STORE_CONNECTING);
	pass(session_lease_left(&session) - 1);
	cr_expect(!holder_tells(&holders, &held));
	cr_expect(holder_tells(&holders, &former));
	pass(1);
	cr_expect(!holder_tells(&holders, &former));
}

/* The promise stands, whatever is answered later. */
Test(holder, lives_until_the_last_promise_is_over_where_nobody_comes_back)
{
	told();
	int64_t left = renew();

	cr_expect_gt(left, 0);
	holder_owner_gone(&holders, &held);
	cr_expect_eq(n_released, 0, "nobody is told of an owner that is gone");
	pass(left - 1);
	cr_expect(holder_is_alive(&holders, &held));
	cr_expect(!holder_is_over(&holders, &held));
	pass(1);
	cr_expect(!holder_is_alive(&holders, &held));
	cr_expect(holder_is_over(&holders, &held));
	holder_attach(&held, &owner);
	cr_expect(!held.attaching, "it was told");
	cr_expect(holder_is_alive(&holders, &held));
	cr_expect(!holder_is_over(&holders, &held));
}

Test(holder, a_shorter_promise_takes_none_back)
{
	told();
	int64_t left = renew(), until_ms = held.lease_ms;

	cr_expect_eq(holder_promise(&holders, &held, left / 2), left / 2);
	cr_expect_eq(held.lease_ms, until_ms);
}

Test(holder, of_the_sidecar_before_us_lives_by_what_that_may_have_promised)
{
	struct holder former;

	holder_init(&holders, &former, NULL);
	cr_expect(!holder_is_alive(&holders, &former));
	holder_attach(&former, &owner);
	cr_expect(former.attaching);
	cr_expect(holder_is_alive(&holders, &former));
	holder_owner_gone(&holders, &former);
	pass(session_told_timeout(&session) - 1);
	cr_expect(holder_is_alive(&holders, &former));
	pass(1);
	cr_expect(!holder_is_alive(&holders, &former));
}

Test(holder, nothing_is_promised_of_what_is_lost_or_revoked_or_held_no_more)
{
	told();
	cr_expect_eq(holder_renew(&holders, &held, false), 0);
	int64_t until_ms = held.lease_ms;

	holders.revoked = true;
	cr_expect_eq(renew(), 0);
	holders.revoked = false;
	holder_lose(&held);
	cr_expect_eq(renew(), 0);
	cr_expect_eq(held.lease_ms, until_ms);
	cr_expect(!holder_tells(&holders, &held));
}

Test(holder, its_owner_has_one_less_once)
{
	holder_let_go(&holders, &held);
	holder_let_go(&holders, &held);
	cr_expect_eq(n_released, 1);
	cr_expect_null(held.owner);
}

/* From our start until the session is confirmed, and from then on. */
Test(holder, commands_of_the_sidecar_before_us_live_in_its_session_alone)
{
	struct holder_former former = {.until_ms = 0};

	holder_former_up(&former, &session);
	cr_expect_eq(former.until_ms, 0);
	holder_former_take_over(&former, &session, 5);
	cr_expect_eq(former.until_ms, host.now_ms + 5);
	session.taken_over = session.id;
	holder_former_up(&former, &session);
	cr_expect_eq(former.until_ms, host.now_ms + session_told_timeout(&session));
	holder_former_take_over(&former, &session, 5);
	session.taken_over = session.id + 1;
	holder_former_up(&former, &session);
	cr_expect_eq(former.until_ms, 0);
}
