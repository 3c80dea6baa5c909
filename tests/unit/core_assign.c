#include <criterion/criterion.h>

#include "core/queue/assign.h"

Test(assign, nobody_has_room)
{
	const struct assign_worker full[] = {{1, 1}, {2, 3}, {0, 0}};
	size_t cursor = 0;

	for (int how = QUEUE_ASSIGN_LEAST; how <= QUEUE_ASSIGN_RANDOM; how++) {
		cr_expect_eq(assign_pick((enum queue_assign)how, full, 3, &cursor, 5),
			     ASSIGN_NOBODY);
		cr_expect_eq(assign_pick((enum queue_assign)how, full, 0, &cursor, 5),
			     ASSIGN_NOBODY);
	}
	cr_expect_eq(cursor, 0);
}

Test(assign, least_loaded_by_its_share)
{
	const struct assign_worker w[] = {{2, 1}, {8, 3}, {4, 2}};
	size_t cursor = 0;

	cr_expect_eq(assign_pick(QUEUE_ASSIGN_LEAST, w, 3, &cursor, 0), 1); /* 3/8 */
	/* Workers that are equally loaded take turns. */
	const struct assign_worker same[] = {{2, 0}, {2, 0}, {2, 0}};
	cursor = 0;
	cr_expect_eq(assign_pick(QUEUE_ASSIGN_LEAST, same, 3, &cursor, 0), 1);
	cr_expect_eq(assign_pick(QUEUE_ASSIGN_LEAST, same, 3, &cursor, 0), 2);
	cr_expect_eq(assign_pick(QUEUE_ASSIGN_LEAST, same, 3, &cursor, 0), 0);
}

Test(assign, round_robin_passes_over_who_is_busy)
{
	const struct assign_worker w[] = {{2, 1}, {2, 2}, {2, 0}};
	size_t cursor = 0;

	cr_expect_eq(assign_pick(QUEUE_ASSIGN_ROUND_ROBIN, w, 3, &cursor, 0), 2);
	cr_expect_eq(assign_pick(QUEUE_ASSIGN_ROUND_ROBIN, w, 3, &cursor, 0), 0);
	cr_expect_eq(assign_pick(QUEUE_ASSIGN_ROUND_ROBIN, w, 3, &cursor, 0), 2);
	cursor = 17; /* of a bigger fleet */
	cr_expect_eq(assign_pick(QUEUE_ASSIGN_ROUND_ROBIN, w, 3, &cursor, 0), 0);
}

Test(assign, random_among_those_with_room)
{
	const struct assign_worker w[] = {{2, 2}, {2, 1}, {2, 2}, {2, 0}};
	size_t cursor = 0, seen[4] = {0};

	for (uint32_t draw = 0; draw < 10; draw++)
		seen[assign_pick(QUEUE_ASSIGN_RANDOM, w, 4, &cursor, draw)]++;
	cr_expect_eq(seen[1], 5);
	cr_expect_eq(seen[3], 5);
}
