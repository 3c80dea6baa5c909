#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/log/errout.h"
#include "base/log/log.h"

#define LINE	   "a line of the log\n"
#define NOBODY	   65534
#define WRITES_MAX 200000 /* more than any pipe, socket or terminal takes */

/* An end that is handed to others as standard error, and the end from which it is read. */
struct outlet {
	int into, from;
};

static struct outlet a_pipe(void)
{
	int ends[2];

	cr_assert_eq(pipe(ends), 0);
	return (struct outlet){ends[1], ends[0]};
}

static struct outlet a_socket(void)
{
	int ends[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	return (struct outlet){ends[1], ends[0]};
}

static struct outlet a_terminal(void)
{
	int from = posix_openpt(O_RDWR | O_NOCTTY), into;
	struct termios raw;

	cr_assert(from >= 0 && grantpt(from) == 0 && unlockpt(from) == 0);
	into = open(ptsname(from), O_RDWR | O_NOCTTY);
	cr_assert(into >= 0 && tcgetattr(into, &raw) == 0);
	cfmakeraw(&raw);
	cr_assert_eq(tcsetattr(into, TCSANOW, &raw), 0);
	return (struct outlet){into, from};
}

/* Writes until nothing is taken any more; returns how many lines were. */
static size_t fill(int to)
{
	size_t n = 0;
	int e;

	while ((e = errout_write(to, LINE, strlen(LINE))) == 0)
		cr_assert(++n < WRITES_MAX, "it is never full");
	cr_assert_eq(e, -EAGAIN, "%d", e);
	return n;
}

/* Reads all that is there without waiting. */
static size_t empty(int from, char *text, size_t size)
{
	struct pollfd fd = {.fd = from, .events = POLLIN};
	size_t n = 0;

	while (poll(&fd, 1, 100) > 0 && n < size - 1) {
		ssize_t got = read(from, text + n, size - 1 - n);

		cr_assert(got > 0);
		n += (size_t)got;
	}
	text[n] = '\0';
	return n;
}

static void is_taken_again(const struct outlet *o)
{
	static char text[1 << 20];

	empty(o->from, text, sizeof(text));
	cr_assert_eq(errout_write(o->into, LINE, strlen(LINE)), 0);
	empty(o->from, text, sizeof(text));
	cr_assert_str_eq(text, LINE);
}

Test(errout, nobody_waits_where_nobody_reads, .timeout = 60)
{
	const struct outlet all[] = {a_pipe(), a_socket(), a_terminal()};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int before = fcntl(all[i].into, F_GETFL);

		fill(all[i].into);
		cr_assert_eq(errout_write(all[i].into, LINE, strlen(LINE)), -EAGAIN);
		cr_assert_eq(fcntl(all[i].into, F_GETFL), before, "others share its flags");
		is_taken_again(&all[i]);
	}
}

/* A pipe that root has made may not be opened again by whom it was handed to. */
Test(errout, nobody_waits_at_a_pipe_of_another_user, .timeout = 60)
{
	struct outlet o = a_pipe();
	int status, before = fcntl(o.into, F_GETFL);
	char path[32];
	pid_t child;

	if (geteuid() != 0)
		cr_skip_test("only root can become another user");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", o.into);
	child = fork();
	if (child == 0) {
		if (setuid(NOBODY) != 0 || open(path, O_WRONLY) >= 0)
			_exit(2);
		for (int i = 0; i < WRITES_MAX; i++)
			if (errout_write(o.into, LINE, strlen(LINE)) == -EAGAIN)
				_exit(0);
		_exit(1);
	}
	cr_assert(waitpid(child, &status, 0) == child);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", status);
	cr_assert_eq(fcntl(o.into, F_GETFL), before);
	is_taken_again(&o);
}

Test(errout, by_splice_lines_are_whole_and_nobody_waits, .timeout = 60)
{
	struct outlet o = a_pipe();
	static char text[1 << 20];
	size_t n = 0;

	while (errout_splice(o.into, LINE, strlen(LINE)) == 0)
		cr_assert(++n < WRITES_MAX);
	cr_assert(n > 0);
	cr_assert_eq(empty(o.from, text, sizeof(text)), n * strlen(LINE));
	/* A line that was refused is not written later. */
	cr_assert_eq(errout_splice(o.into, "another\n", 8), 0);
	empty(o.from, text, sizeof(text));
	cr_assert_str_eq(text, "another\n");
	cr_assert_eq(errout_splice(o.into, text, PIPE_BUF + 1), -EMSGSIZE);
}

Test(errout, a_stream_loses_what_is_not_taken_and_goes_on, .timeout = 60)
{
	struct outlet o = a_pipe();
	static char text[1 << 20];
	int saved = dup(STDERR_FILENO);
	FILE *f = errout_stream();

	cr_assert_not_null(f);
	cr_assert(dup2(o.into, STDERR_FILENO) >= 0);
	fill(STDERR_FILENO);
	for (int i = 0; i < 1000; i++)
		fprintf(f, "lost %d\n", i);
	cr_assert_eq(fflush(f), 0);
	empty(o.from, text, sizeof(text));
	fprintf(f, "there again\n");
	empty(o.from, text, sizeof(text));
	cr_assert(dup2(saved, STDERR_FILENO) >= 0);
	fclose(f);
	cr_assert_str_eq(text, "there again\n");
}

/* --- the log -------------------------------------------------------------------- */

Test(errout, the_log_counts_what_it_loses_and_says_so, .timeout = 60)
{
	struct outlet o = a_pipe();
	static char text[1 << 20];
	int saved = dup(STDERR_FILENO);
	size_t n;

	log_setup(LOG_INFO, LOG_TEXT, true);
	cr_assert(dup2(o.into, STDERR_FILENO) >= 0);
	fill(STDERR_FILENO);
	cr_assert_eq(log_lost(), 0);
	for (int i = 0; i < 7; i++)
		log_info("nobody reads this", LOG_INT("n", i));
	log_catch_up();
	n = (size_t)log_lost();
	empty(o.from, text, sizeof(text));
	log_catch_up();
	log_catch_up();
	log_info("there again", LOG_END);
	empty(o.from, text, sizeof(text));
	cr_assert(dup2(saved, STDERR_FILENO) >= 0);
	cr_assert_eq(n, 7, "%zu", n);
	cr_assert_eq(log_lost(), 0);
	cr_assert_str_eq(text, "<4>lines of the log were lost lines=7\n<6>there again\n");
}
