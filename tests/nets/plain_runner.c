/*
 * Runs the unit tests in place of Criterion's library, which starts a program for each test, at fifty times
 * the processor time, and which nets cannot bear: TSan aborts it, and under valgrind such a start takes a
 * second and a half. Linked with a test's object file, which finds here all that Criterion's macros call. Each
 * test is run in a child that is forked from the same program, and so inherits a net's state.
 *
 *   PROGRAM [--filter PATTERN]     of SUITE/TEST, as fnmatch() takes it; the last line is as Criterion's
 *
 * CRITERION_JOBS: so many of its tests run at a time, by default one.
 *
 * Time limits of tests are left to whoever runs the program, as time goes by slower under a net.
 */
#include <criterion/criterion.h>
#include <criterion/options.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAILED	 1
#define SKIPPED	 77
#define JOBS_MAX 64

/* Sections into which the macros Test and TestSuite put their structs; there need be no suites. */
extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));

struct criterion_options criterion_options;

static atomic_bool failed;
static const struct criterion_test *running;

/* --- what the macros call ----------------------------------------------------------------------- */

static char *format(const char *fmt, va_list ap)
{
	char *text = NULL;

	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	return text;
}

int cr_asprintf(char **ret_text, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	*ret_text = format(fmt, ap);
	va_end(ap);
	return (int)strlen(*ret_text);
}

void cr_asprintf_free(char *text)
{
	free(text);
}

/* Without a message of its own, an assertion is told by the text of what did not hold. */
char *cr_translate_assert_msg(int index, ...)
{
	va_list ap;
	char *text;

	va_start(ap, index);
	text = format("%s", ap);
	va_end(ap);
	return text;
}

void cri_asserts_passed_incr(void)
{
}

void criterion_send_assert(struct criterion_assert_stats *stats)
{
	printf("%s:%u: %s/%s: %s\n", stats->file, stats->line, running->category, running->name,
	       stats->message);
}

void criterion_continue_test(void)
{
	failed = true;
}

void criterion_abort_test(void)
{
	exit(FAILED);
}

void criterion_skip_test(const char *fmt, ...)
{
	va_list ap;

	printf("%s/%s: skipped: ", running->category, running->name);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	exit(SKIPPED);
}

static const struct criterion_test_extra_data *suite_of(const struct criterion_test *test)
{
	for (struct criterion_suite **s = __start_cr_sts; s < __stop_cr_sts; s++)
		if (*s && strcmp((*s)->name, test->category) == 0)
			return (*s)->data;
	return NULL;
}

void criterion_internal_test_setup(void)
{
	const struct criterion_test_extra_data *suite = suite_of(running);

	if (suite && suite->init)
		suite->init();
	if (running->data->init)
		running->data->init();
}

void criterion_internal_test_main(void (*fn)(void))
{
	fn();
}

void criterion_internal_test_teardown(void)
{
	const struct criterion_test_extra_data *suite = suite_of(running);

	if (running->data->fini)
		running->data->fini();
	if (suite && suite->fini)
		suite->fini();
}

/* --- running them ------------------------------------------------------------------------------- */

struct count {
	int passed, failed, crashed, skipped;
};

struct child {
	pid_t pid;
	const struct criterion_test *test;
};

static struct child begin_child(const struct criterion_test *test)
{
	pid_t pid;

	running = test;
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0) {
		test->test();
		exit(failed ? FAILED : 0);
	}
	return (struct child){.pid = pid, .test = test};
}

static void judge(const struct criterion_test *test, int status, struct count *count)
{
	int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	if (test->data->signal ? number == test->data->signal : code == test->data->exit_code) {
		count->passed++;
	} else if (code == SKIPPED) {
		count->skipped++;
	} else if (number) {
		count->crashed++;
		printf("%s/%s: ended by signal %d\n", test->category, test->name, number);
	} else {
		count->failed++;
		printf("%s/%s: failed with %d\n", test->category, test->name, code);
	}
}

/* Waits for the first of the children that ends, and has its place taken by the last. */
static void end_child(struct child *children, size_t n, struct count *count)
{
	int status = 0;
	pid_t pid = wait(&status);

	for (size_t i = 0; i < n; i++) {
		if (children[i].pid == pid) {
			judge(children[i].test, status, count);
			children[i] = children[n - 1];
			return;
		}
	}
	abort();
}

static void run_all(const char *pattern, struct count *count)
{
	const char *wanted = getenv("CRITERION_JOBS");
	struct child children[JOBS_MAX];
	size_t jobs = wanted ? strtoul(wanted, NULL, 10) : 1, n = 0;
	char name[256];

	if (jobs < 1 || jobs > JOBS_MAX)
		jobs = 1;
	for (struct criterion_test **t = __start_cr_tst; t < __stop_cr_tst; t++) {
		if (!*t || (*t)->data->disabled)
			continue;
		snprintf(name, sizeof(name), "%s/%s", (*t)->category, (*t)->name);
		if (pattern && fnmatch(pattern, name, FNM_EXTMATCH) != 0)
			continue;
		if (n == jobs)
			end_child(children, n--, count);
		children[n++] = begin_child(*t);
	}
	while (n > 0)
		end_child(children, n--, count);
}

int main(int argc, char **argv)
{
	const char *pattern = argc == 3 && strcmp(argv[1], "--filter") == 0 ? argv[2] : NULL;
	static const int usual[] = {SIGHUP, SIGINT, SIGQUIT};
	struct count count = {0};

	if (argc != 1 && !pattern) {
		fprintf(stderr, "usage: %s [--filter PATTERN]\n", argv[0]);
		return 2;
	}
	/* Whoever starts us in the background has them ignored, and a shell of a test could not trap them. */
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		signal(usual[i], SIG_DFL);
	/* A test that is to abort leaves no core file. */
	setrlimit(RLIMIT_CORE, &(struct rlimit){0});
	run_all(pattern, &count);
	printf("Synthesis: Tested: %d | Passing: %d | Failing: %d | Crashing: %d\n",
	       count.passed + count.failed + count.crashed, count.passed, count.failed,
	       count.crashed);
	return count.failed + count.crashed == 0 ? 0 : 1;
}
