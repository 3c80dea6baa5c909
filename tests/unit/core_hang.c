#include <criterion/criterion.h>

#include "core/queue/hang.h"

#define T INT64_C(4000)

/* A thread that looks at a loop. */
struct site {
	struct hang hang;
	struct hang_look look;
};

/* A step in which the loop does nothing but what is told; returns whether it is said to hang. */
static bool step(struct site *s, int64_t ms, int64_t cpu_ms, bool asleep)
{
	s->look.now_ms += ms;
	s->look.cpu_ns += cpu_ms * 1000000;
	s->look.asleep = asleep;
	return hang_look(&s->hang, &s->look, T);
}

/* The same so often; returns at which it was said to hang, 0: at none. */
static int steps(struct site *s, int n, int64_t ms, int64_t cpu_ms, bool asleep)
{
	for (int i = 1; i <= n; i++)
		if (step(s, ms, cpu_ms, asleep))
			return i;
	return 0;
}

static struct site a_site(void)
{
	struct site s = {.look = {.now_ms = 1000000, .turns = 7}};

	cr_assert_not(hang_look(&s.hang, &s.look, T));
	return s;
}

Test(hang, steps)
{
	cr_assert_eq(hang_step_ms(T), 200);
	cr_assert_eq(hang_step_ms(100), 20);
	cr_assert_eq(hang_step_ms(INT64_C(3600) * 1000), 500);
}

Test(hang, a_loop_that_sleeps_through_the_timeout_hangs)
{
	struct site s = a_site();

	cr_assert_eq(steps(&s, 100, 200, 0, true), HANG_LOOKS);
}

Test(hang, a_loop_that_works_without_end_hangs)
{
	struct site s = a_site();

	/* Half of the processor is its. */
	cr_assert_eq(steps(&s, 100, 200, 100, false), 2 * HANG_LOOKS);
}

Test(hang, a_loop_that_turns_or_waits_does_not_hang)
{
	struct site s = a_site();

	for (int i = 0; i < 1000; i++) {
		cr_assert_eq(steps(&s, HANG_LOOKS - 1, 200, 0, true), 0);
		if (i % 2)
			s.look.turns++;
		else
			s.look.idle_ns += 5;
		cr_assert_not(step(&s, 200, 0, true));
	}
}

Test(hang, a_stopped_process_or_suspended_machine_does_not_hang)
{
	struct site s = a_site();

	/* Stopped again and again, with a look or two between. */
	for (int i = 0; i < 9; i++) {
		cr_assert_eq(steps(&s, 2, 200, 0, true), 0);
		cr_assert_not(step(&s, 3 * T, 0, true));
	}
}

Test(hang, a_clock_of_the_processor_that_jumps_is_none)
{
	struct site s = a_site();

	cr_assert_not(step(&s, 200, 0, false));
	cr_assert_not(step(&s, 200, 86400000, false));
}

Test(hang, a_busy_machine_is_no_hang)
{
	struct site s = a_site();

	/* This thread gets the processor in time, and the loop's hardly ever. */
	cr_assert_eq(steps(&s, 1000, 200, 1, false), 0);
	/* Nor does this thread. */
	s = a_site();
	cr_assert_eq(steps(&s, 1000, 500, 0, true), 0);
	/* A hang on such a machine is found all the same, only later. */
	s = a_site();
	for (int64_t slept = 300; slept < T; slept += 300)
		cr_assert(!step(&s, 900, 0, true) && !step(&s, 300, 0, true));
	cr_assert(step(&s, 300, 0, true));
}
