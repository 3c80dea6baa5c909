/* The relay, which passes a job's output on, and keeps the end of it. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "supervise/relay.h"

#define PATIENCE_MS 400 /* less than what relay_settle() has */

/* A relay is waited for as long as something of the output is not kept yet. */
Test(relay, its_end_is_waited_for)
{
	struct relay r;
	char last[TAIL_MAX];
	int null = open("/dev/null", O_WRONLY), out = dup(STDOUT_FILENO);

	cr_assert_geq(dup2(null, STDOUT_FILENO), 0);
	cr_assert_eq(relay_begin(&r, NULL, RELAY_KEEP_PIPED), 0);
	cr_assert_geq(dup2(out, STDOUT_FILENO), 0);
	cr_assert_eq(kill(r.pid, SIGSTOP), 0);
	cr_assert_eq(write(r.into[0], "last", 4), 4);
	relay_hold(&r);
	int64_t began_ms = clock_boot_ms();
	relay_settle(&r);
	cr_expect_geq(clock_boot_ms() - began_ms, PATIENCE_MS);
	cr_expect_not(r.tail->all);
	cr_assert_eq(kill(r.pid, SIGCONT), 0);
	while (!r.tail->all)
		relay_settle(&r);
	cr_expect_eq(tail_last(r.tail, last), 4);
	cr_expect_eq(memcmp(last, "last", 4), 0);
	relay_end(&r);
}
