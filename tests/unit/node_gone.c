/* The ledgers of partitions that are no more: when they are pruned, and what is proved first. */
#include "node_site.h"

#include "node/ledger/gone.h"

#define T1 "2026-11-20T01:00:00Z"
#define T2 "2026-11-20T02:00:00Z"
#define T3 "2026-11-20T03:00:00Z"
#define T4 "2026-11-20T04:00:00Z"

TestSuite(gone, .init = site_begin);

static void absent(unsigned from, unsigned to)
{
	char text[80];

	for (unsigned k = from; k < to; k++) {
		snprintf(text, sizeof(text), "get runs/scan:%u", k);
		asks(text, failed(STORE_NO_NODE));
	}
}

static struct store_reply folder(const char *floor, int32_t version)
{
	return holds(floor, strlen(floor), (struct store_stat){.version = version});
}

#define PROOF "check workers/me, check leaders/scan, check partitions/scan:1, "

Test(gone, nothing_is_asked_where_the_number_was_never_changed)
{
	struct task *t = lead("scan");

	gone_prune(t, T3);
	idle();
	splits_in_force("scan", 1, 0);
	gone_prune(t, T3);
	idle();
}

Test(gone, what_is_older_than_what_is_kept_goes_and_its_floor_stays)
{
	struct task *t = lead("scan");

	splits_in_force("scan", 1, 8);
	gone_prune(t, T3);
	absent(0, 2);
	asks("get runs/scan:2", folder("", 4));
	asks("list runs/scan:2", names(T1, T2, T3, "junk", NULL));
	asks(PROOF "set runs/scan:2 v4, delete runs/scan:2/" T1 ", delete runs/scan:2/" T2, ok());
	cr_expect_eq(store.last.len, TICK_NAME_SIZE - 1);
	cr_expect_eq(memcmp(store.last.data, T3, store.last.len), 0);
	idle();
	/* The next claim goes on behind it. */
	gone_prune(t, T3);
	absent(3, 3 + 16);
	idle();
}

Test(gone, what_is_young_enough_stays_and_is_looked_at_again)
{
	struct task *t = lead("scan");

	splits_in_force("scan", 1, 8);
	gone_prune(t, T2);
	asks("get runs/scan:0", folder("", 1));
	asks("list runs/scan:0", names(T3, NULL));
	absent(1, 16);
	idle();
	for (unsigned k = 16; k < 256; k += 16) {
		gone_prune(t, T2);
		absent(k, k + 16);
	}
	gone_prune(t, T4);
	asks("get runs/scan:0", folder("", 1));
	asks("list runs/scan:0", names(T3, NULL));
	asks(PROOF "set runs/scan:0 v1, delete runs/scan:0/" T3, ok());
	/* Empty now: looked at once more, and never again. */
	gone_prune(t, T4);
	asks("get runs/scan:0", folder(T4, 2));
	asks("list runs/scan:0", names(NULL));
	idle();
	gone_prune(t, T4);
	idle();
}

Test(gone, a_floor_that_is_written_never_goes_back)
{
	struct task *t = lead("scan");

	splits_in_force("scan", 1, 8);
	gone_prune(t, T2);
	asks("get runs/scan:0", folder(T3, 1));
	absent(1, 16);
	idle();
}

Test(gone, one_look_at_a_time_and_a_failed_one_is_made_again)
{
	struct task *t = lead("scan");

	splits_in_force("scan", 1, 8);
	gone_prune(t, T2);
	gone_prune(t, T2);
	asks("get runs/scan:0", failed(STORE_UNKNOWN));
	idle();
	gone_prune(t, T2);
	asks("get runs/scan:1", folder("", 1));
	asks("list runs/scan:1", failed(STORE_UNKNOWN));
	gone_prune(t, T2);
	asks("get runs/scan:2", folder("", 1));
	asks("list runs/scan:2", names(T1, NULL));
	asks(PROOF "set runs/scan:2 v1, delete runs/scan:2/" T1,
	     failed_at(STORE_NO_NODE, 2)); /* another number is in force */
	idle();
}

/* A node that has lost the task knows nothing of what it did before. */
Test(gone, another_leadership_begins_anew)
{
	struct task *t = lead("scan");

	splits_in_force("scan", 1, 8);
	gone_prune(t, T2);
	t->election.node.token++;
	gone_prune(t, T2);
	asks("get runs/scan:0", failed(STORE_NO_NODE)); /* of the first, which ends here */
	absent(0, 16);
	idle();
}

Test(gone, a_node_that_ends_meanwhile_touches_nothing)
{
	struct task *t = lead("scan");

	splits_in_force("scan", 1, 8);
	gone_prune(t, T2);
	asks("get runs/scan:0", failed(STORE_ABANDONED));
	idle();
}
