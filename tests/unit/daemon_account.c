#include <criterion/criterion.h>

#include "daemon/socket/account.h"

static void use(struct account *a, struct account_use *now, struct account_use next)
{
	account_count(a, now, &next);
	*now = next;
}

Test(account, is_one_for_each_user_and_kind)
{
	struct accounts all = {.list = TAILQ_HEAD_INITIALIZER(all.list)};
	struct account *a = account_get(&all, 1000, false), *b = account_get(&all, 1000, true);

	cr_assert_eq(account_get(&all, 1000, false), a);
	cr_assert_neq(a, b);
	cr_assert_neq(account_get(&all, 1001, false), a);
	account_put(&all, a);
	cr_assert_eq(a->refs, 1);
	account_put(&all, a);
	account_put(&all, b);
	account_put(&all, TAILQ_FIRST(&all.list));
	cr_assert(TAILQ_EMPTY(&all.list), "each goes with its last reference");
}

Test(account, comes_last_after_its_turn)
{
	struct accounts all = {.list = TAILQ_HEAD_INITIALIZER(all.list)};
	struct account *a[3];

	for (uid_t uid = 0; uid < 3; uid++)
		a[uid] = account_get(&all, uid, false);
	cr_assert_eq(TAILQ_FIRST(&all.list), a[2]);
	account_rotate(&all, a[2]);
	cr_assert_eq(TAILQ_FIRST(&all.list), a[1]);
	account_rotate(&all, a[1]);
	cr_assert_eq(TAILQ_FIRST(&all.list), a[0]);
	account_rotate(&all, a[0]);
	cr_assert_eq(TAILQ_FIRST(&all.list), a[2]);
	account_rotate(&all, a[0]);
	cr_assert_eq(TAILQ_FIRST(&all.list), a[2], "the last stays it");
	for (int i = 0; i < 3; i++)
		account_put(&all, a[i]);
}

Test(account, has_room_until_its_bytes_or_those_of_all_others_are_used)
{
	struct accounts all = {.list = TAILQ_HEAD_INITIALIZER(all.list)};
	struct account_use used[6] = {{0}}, trusted_used = {0};
	struct account *a[6], *root = account_get(&all, 0, true);

	for (uid_t i = 0; i < 6; i++)
		a[i] = account_get(&all, 1000 + i, false);
	use(a[0], &used[0], (struct account_use){.bytes = ACCOUNT_BYTES_MAX - 1});
	cr_assert(account_has_room(a[0]));
	use(a[0], &used[0], (struct account_use){.bytes = ACCOUNT_BYTES_MAX});
	cr_assert_not(account_has_room(a[0]));
	cr_assert_not(account_may(a[0], URGENCY_TABLE));
	cr_assert(account_may(a[0], URGENCY_CHECK));
	cr_assert(account_has_room(a[5]));
	for (int i = 1; i < 5; i++)
		use(a[i], &used[i], (struct account_use){.bytes = ACCOUNT_BYTES_MAX});
	cr_assert_not(account_has_room(a[5]), "all that may not change anything share some");
	cr_assert(account_has_room(root), "which is nothing to the others");
	use(root, &trusted_used, (struct account_use){.bytes = ACCOUNT_BYTES_TRUSTED_MAX});
	cr_assert_not(account_has_room(root));
	for (int i = 0; i < 5; i++)
		use(a[i], &used[i], (struct account_use){.bytes = 0});
	cr_assert(account_has_room(a[5]));
	for (int i = 0; i < 6; i++)
		account_put(&all, a[i]);
	account_put(&all, root);
}

Test(account, may_begin_what_has_not_too_many_waiting)
{
	struct accounts all = {.list = TAILQ_HEAD_INITIALIZER(all.list)};
	struct account_use used = {0};
	struct account *a = account_get(&all, 1000, false);

	use(a, &used, (struct account_use){.parked = ACCOUNT_PARKED_MAX});
	cr_assert_not(account_may(a, URGENCY_CHECK));
	cr_assert(account_may(a, URGENCY_TABLE));
	cr_assert_not(account_may_wait(a), "for a job, for hours");
	use(a, &used, (struct account_use){.asking = ACCOUNT_ASKING_MAX, .parked = 1});
	cr_assert(account_may(a, URGENCY_CHECK));
	cr_assert(account_may_wait(a));
	cr_assert_not(account_may(a, URGENCY_TABLE));
	use(a, &used, (struct account_use){.asking = 1000, .parked = 100000, .bytes = 1 << 30});
	cr_assert(account_may(a, URGENCY_JOB), "what keeps a job alive is never put off");
	cr_assert(account_may(a, URGENCY_HEARD));
	use(a, &used,
	    (struct account_use){.subscribed = ACCOUNT_SUBSCRIBED_MAX - 1, .subscribers = 1});
	cr_assert(account_may_subscribe(a, 1, 1));
	cr_assert_not(account_may_subscribe(a, 2, 1));
	use(a, &used, (struct account_use){.subscribers = ACCOUNT_SUBSCRIBERS_MAX});
	cr_assert_not(account_may_subscribe(a, 1, 1));
	cr_assert(account_may_subscribe(a, 1, 0), "one that subscribes anew");
	account_put(&all, a);
}

Test(account, shares_what_it_may)
{
	struct accounts all = {.list = TAILQ_HEAD_INITIALIZER(all.list)};
	struct account *a = account_get(&all, 1000, false);

	cr_assert_eq(account_share(a, 0, 4096, 262144), 262144);
	cr_assert_eq(account_share(a, 1, 4096, 262144), 262144);
	cr_assert_eq(account_share(a, 100, 4096, 262144), ACCOUNT_BYTES_MAX / 100);
	cr_assert_eq(account_share(a, 100000, 4096, 262144), 4096);
	account_put(&all, a);
}
