/* Requests that wait: how long they live, what they count, and what they are told. */
#include "control_site.h"

#include "control/ask/user.h"

TestSuite(ask, .init = control_begin);

static size_t n_due, n_gone, n_done;
static char order[100]; /* the names of those that were met */

struct note {
	struct ask ask;
	char name[8], user[USER_NAME_MAX + 1];
};

static void note_due(struct ask *a)
{
	strcat(order, ((struct note *)a)->name);
	n_due++;
	ask_end(a);
}

static void note_gone(struct ask *a)
{
	cr_expect_null(a->client);
	n_gone++;
	ask_end(a);
}

static void note_done(struct ask *a)
{
	(void)a;
	n_done++;
}

static const struct ask_kind stays = {.size = sizeof(struct note), .asks = true, .done = note_done};
static const struct ask_kind goes = {
	.size = sizeof(struct note), .gone = note_gone, .due = note_due, .done = note_done};

static struct note *begins(struct peer *c, const struct ask_kind *kind, const char *name)
{
	static uint32_t msgid;
	struct call call = {.m = &methods, .c = c, .msgid = ++msgid};
	struct note *n = ask_new(&call, kind);

	snprintf(n->name, sizeof(n->name), "%s", name);
	return n;
}

static void goes_away(struct peer *c)
{
	methods_client_gone(&methods, c);
}

Test(ask, it_counts_until_it_is_answered)
{
	struct note *a = begins(alice, &stays, "a"), *b = begins(alice, &goes, "b");

	ask_holds(&b->ask, 100);
	cr_expect_eq(alice->parked, 2);
	cr_expect_eq(alice->asking, 1, "one of them asks ZooKeeper");
	cr_expect_eq(alice->held, 100);
	pack_map(ask_result(&a->ask), 0);
	ask_end(&a->ask);
	cr_expect_eq(clients[0].n_results, 1);
	ask_fail(&b->ask, RPC_NOBODY, "nobody is there");
	is_refused(alice, RPC_NOBODY, "nobody is there");
	is_free(alice);
	cr_expect_eq(n_done, 2);
}

Test(ask, one_that_takes_long_does_not_count_as_asking)
{
	struct note *a = begins(alice, &stays, "a");

	ask_takes_long(&a->ask);
	cr_expect(alice->parked == 1 && alice->asking == 0);
	ask_end(&a->ask);
	is_free(alice);
}

/* An answer that is packed then goes nowhere: peer_begin() would fail the test. */
Test(ask, it_goes_on_without_its_client)
{
	struct note *a = begins(alice, &stays, "a"), *b = begins(bob, &stays, "b");

	goes_away(alice);
	is_free(alice);
	cr_expect_eq(bob->parked, 1);
	cr_expect_eq(n_done, 0, "it lives until it is answered");
	pack_kv_str(ask_result(&a->ask), "key", "a value");
	ask_end(&a->ask);
	cr_expect_eq(clients[0].n_results + clients[0].n_errors, 0);
	cr_expect_eq(n_done, 1);
	ask_end(&b->ask);
}

Test(ask, it_is_told_once_that_its_client_has_gone)
{
	begins(alice, &goes, "a");
	struct note *b = begins(bob, &goes, "b");
	begins(alice, &goes, "c");

	goes_away(alice);
	goes_away(alice);
	cr_expect_eq(n_gone, 2);
	cr_expect_eq(n_done, 2);
	ask_end(&b->ask);
}

Test(ask, deadlines_come_in_their_order_and_none_behind_the_answer)
{
	struct note *late = begins(alice, &goes, "l"), *none = begins(alice, &goes, "n");
	struct note *soon = begins(alice, &goes, "s"), *over = begins(alice, &goes, "o");

	ask_until(&late->ask, host.now_ms + 2000);
	ask_until(&soon->ask, host.now_ms + 1000);
	ask_until(&over->ask, host.now_ms + 1500);
	pass(999);
	cr_expect_eq(n_due, 0);
	pass(1);
	cr_expect_str_eq(order, "s");
	ask_end(&over->ask);
	pass(1000);
	cr_expect_str_eq(order, "sl");
	pass(100000);
	cr_expect_eq(n_due, 2, "one has no deadline");
	ask_end(&none->ask);
	is_free(alice);
}

/* A later deadline is due in its time also where it replaces an earlier one. */
Test(ask, a_deadline_may_be_put_off)
{
	struct note *a = begins(alice, &goes, "a");

	ask_until(&a->ask, host.now_ms + 100);
	ask_until(&a->ask, host.now_ms + 500);
	pass(499);
	cr_expect_eq(n_due, 0);
	pass(1);
	cr_expect_eq(n_due, 1);
}

static bool ends_all(struct ask *a, void *but)
{
	strcat(order, ((struct note *)a)->name);
	if (but == a)
		return false;
	ask_end(a);
	return true;
}

Test(ask, those_of_a_kind_are_met_the_oldest_first_and_may_end)
{
	struct note *other = begins(alice, &stays, "x");

	begins(alice, &goes, "a");
	struct note *b = begins(bob, &goes, "b");
	begins(alice, &goes, "c");
	asks_each(&methods.asks, &goes, ends_all, b);
	cr_expect_str_eq(order, "ab");
	asks_each(&methods.asks, &goes, ends_all, NULL);
	cr_expect_str_eq(order, "abbc");
	ask_end(&other->ask);
	cr_expect(TAILQ_EMPTY(&methods.asks.list));
}

Test(ask, one_that_was_answered_early_is_not_told_that_its_client_goes)
{
	struct note *a = begins(alice, &goes, "a");

	ask_until(&a->ask, host.now_ms + 100);
	pack_map(ask_result(&a->ask), 0);
	ask_send(&a->ask);
	cr_expect_eq(clients[0].n_results, 1);
	is_free(alice);
	goes_away(alice);
	pass(1000);
	cr_expect_eq(n_gone + n_due, 0);
	ask_end(&a->ask);
	cr_expect_eq(clients[0].n_results, 1);
}

/* --- other threads -------------------------------------------------------------------------------------- */

static void tells_user(struct ask *a)
{
	pack_str(ask_result(a), ((struct note *)a)->user);
	ask_end(a);
}

Test(ask, the_name_of_a_user_is_looked_up_by_another_thread)
{
	struct note *a = begins(alice, &stays, "a");
	struct reader_text text;

	ask_user(&a->ask, a->user, tells_user);
	waits(alice);
	threads_end();
	struct reader r = result_of(alice);
	cr_assert_eq(reader_str(&r, &text), 0);
	cr_expect(reader_text_is(text, "uid 4000000"));
}

Test(ask, without_a_thread_the_user_has_a_number)
{
	struct note *a = begins(bob, &stays, "a");

	no_threads = true;
	ask_user(&a->ask, a->user, tells_user);
	struct reader r = result_of(bob);
	struct reader_text text;
	cr_assert_eq(reader_str(&r, &text), 0);
	cr_expect(reader_text_is(text, "uid 4000001"));
}

static void works(struct ask *a)
{
	strcat(order, ((struct note *)a)->name);
}

/* The thread uses it until then. */
Test(ask, it_is_told_that_its_client_has_gone_once_the_thread_is_done)
{
	struct note *a = begins(alice, &goes, "a");

	cr_assert_eq(ask_offload(&a->ask, works, tells_user), 0);
	goes_away(alice);
	cr_expect_eq(n_gone + n_done, 0);
	threads_end();
	cr_expect_str_eq(order, "a");
	cr_expect_eq(n_gone, 1);
	cr_expect_eq(n_done, 1);
	cr_expect_eq(clients[0].n_results, 0);
}

/* As an order does, which is carried out all the same. */
Test(ask, one_that_stays_goes_on_behind_the_thread)
{
	struct note *a = begins(alice, &stays, "a"), *b = begins(alice, &goes, "b");

	ask_user(&a->ask, a->user, tells_user);
	ask_user(&b->ask, b->user, tells_user);
	goes_away(alice);
	cr_expect_eq(n_done, 1, "that has ended");
	threads_end();
	cr_expect_eq(n_done, 2);
	cr_expect_eq(clients[0].n_results, 0);
}

static void notes_user(struct ask *a)
{
	strcat(order, ((struct note *)a)->name);
	ask_end(a);
}

/* A name is looked up once for all requests of its user, which are served in their order, and kept. */
Test(ask, the_requests_of_a_user_are_served_in_their_order)
{
	struct note *a = begins(alice, &stays, "a"), *b = begins(alice, &stays, "b");
	struct note *other = begins(bob, &stays, "o"), *c, *d;

	ask_user(&a->ask, a->user, notes_user);
	ask_user(&other->ask, other->user, notes_user);
	ask_user(&b->ask, b->user, notes_user);
	cr_expect_eq(n_offloaded, 2, "one thread for each user");
	threads_end();
	cr_expect_str_eq(order, "abo");
	c = begins(alice, &stays, "c");
	ask_user(&c->ask, c->user, notes_user);
	cr_expect_str_eq(order, "aboc", "it is known");
	cr_expect_not_null(user_known(&methods, alice->uid));
	pass(USERS_KEPT_MS);
	cr_expect_null(user_known(&methods, alice->uid));
	d = begins(alice, &stays, "d");
	ask_user(&d->ask, d->user, notes_user);
	cr_expect_eq(n_offloaded, 1, "it is looked up anew");
	threads_end();
	cr_expect_str_eq(order, "abocd");
}
