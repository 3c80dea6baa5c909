#include "client_fake.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "cli/ui/command.h"

#define ARGV(...) ((const char *[]){__VA_ARGS__, NULL})
#define NOW	  INT64_C(1795226400000)
#define BACKLOG	  64

/* --- a sidecar with one run ------------------------------------------------------------------------- */

struct plan {
	const char *outcome; /* NULL: the error */
	const char *why;
	int error;
	int claim_delay_ms;
	int64_t lease_ms;
	int renewals;  /* that are answered; then it stalls */
	bool refuses;  /* then it says that the leadership is lost, in place of stalling */
	bool hangs_up; /* then it closes the connection */
	bool without_tick;
	int64_t timeout_ms; /* of the session, in status */
};

/* Calls as the sidecar saw them; a test reads this once the connection is closed. */
static struct seen {
	char kind[16];
	int64_t now_ms, zone_ms, tick_ms, wait_ms; /* -1: not there */
	atomic_int renewals, finish;		   /* finish: exit_status, -1: none */
	char start[151];			   /* why the command could not be started, "" */
	atomic_bool closed, interrupted;
	atomic_llong finished_ms;
} seen;

static void take_claim(struct reader *params)
{
	struct reader_text key, kind, id;
	bool again;
	size_t n;

	seen.zone_ms = seen.tick_ms = seen.wait_ms = -1;
	cr_assert_eq(reader_skip(params), 0);
	cr_assert_eq(reader_map(params, &n), 0);
	for (; n > 0; n--) {
		cr_assert_eq(reader_str(params, &key), 0);
		if (reader_text_is(key, "kind")) {
			cr_assert_eq(reader_str(params, &kind), 0);
			reader_text_copy(kind, seen.kind, sizeof(seen.kind));
		} else if (reader_text_is(key, "now_ms")) {
			cr_assert_eq(reader_int(params, &seen.now_ms), 0);
		} else if (reader_text_is(key, "zone_ms")) {
			cr_assert_eq(reader_int(params, &seen.zone_ms), 0);
		} else if (reader_text_is(key, "tick_ms")) {
			cr_assert_eq(reader_int(params, &seen.tick_ms), 0);
		} else if (reader_text_is(key, "wait_ms")) {
			cr_assert_eq(reader_int(params, &seen.wait_ms), 0);
		} else if (reader_text_is(key, "id")) {
			cr_assert_eq(reader_str(params, &id), 0);
			cr_assert_eq(id.len, 32);
		} else if (reader_text_is(key, "again")) {
			cr_assert(reader_bool(params, &again) == 0 && !again);
		} else {
			cr_assert_fail("unknown key");
		}
	}
}

static void pack_claim(struct pack *p, const struct plan *plan)
{
	pack_map(p, 10);
	pack_kv_str(p, "outcome", plan->outcome);
	pack_kv_str(p, "tick", plan->without_tick ? NULL : "2026-11-21T02:00:00Z");
	pack_kv_uint(p, "token", 4294967301);
	pack_kv_int(p, "attempt", 2);
	pack_kv_str(p, "worker_id", "some-id");
	pack_kv_str(p, "version", "2.1");
	pack_kv_int(p, "lease_ms", plan->lease_ms);
	pack_kv_uint(p, "run", 17);
	pack_kv_str(p, "why", plan->why ? plan->why : "");
	pack_kv_nil(p, "of a later version");
}

static void take_finish(struct reader *params)
{
	struct reader_text key;
	bool interrupted;
	int64_t status;
	uint64_t run;
	size_t n;

	cr_assert_eq(reader_uint(params, &run), 0);
	cr_assert_eq(run, 17);
	cr_assert(reader_map(params, &n) == 0 && (n == 2 || n == 3));
	cr_assert(reader_str(params, &key) == 0 && reader_text_is(key, "exit_status"));
	cr_assert_eq(reader_int(params, &status), 0);
	cr_assert(reader_str(params, &key) == 0 && reader_text_is(key, "interrupted"));
	cr_assert_eq(reader_bool(params, &interrupted), 0);
	seen.start[0] = '\0';
	if (n == 3) {
		cr_assert(reader_str(params, &key) == 0 && reader_text_is(key, "start"));
		cr_assert_eq(reader_str(params, &key), 0);
		snprintf(seen.start, sizeof(seen.start), "%.*s", (int)key.len, key.data);
	}
	seen.interrupted = interrupted;
	seen.finish = (int)status;
	seen.finished_ms = clock_boot_ms();
}

/* Whether the connection goes on. */
static bool serve_one(const struct plan *plan, int fd, struct fake_request *r)
{
	struct buffer b;
	struct pack p;

	buffer_init(&b, RPC_REQUEST_MAX);
	pack_init(&p, &b);
	rpc_pack_result(&p, r->m.msgid);
	if (reader_text_is(r->m.method, "claim")) {
		take_claim(&r->m.params);
		fake_sleep(plan->claim_delay_ms);
		if (!plan->outcome) {
			buffer_done(&b);
			fake_error(fd, r->m.msgid, plan->error, "the reason");
			return true;
		}
		pack_claim(&p, plan);
	} else if (reader_text_is(r->m.method, "renew")) {
		bool over = seen.renewals++ >= plan->renewals;

		if (over && !plan->refuses) {
			buffer_done(&b);
			return !plan->hangs_up;
		}
		pack_map(&p, 2);
		pack_kv_bool(&p, "leads", !over);
		pack_kv_int(&p, "lease_ms", over ? 0 : plan->lease_ms);
	} else if (reader_text_is(r->m.method, "finish")) {
		take_finish(&r->m.params);
		pack_bool(&p, true);
	} else if (reader_text_is(r->m.method, "status")) {
		pack_map(&p, 1);
		pack_str(&p, "session");
		pack_map(&p, 1);
		pack_kv_int(&p, "timeout_ms", plan->timeout_ms);
	}
	fake_send_buffer(fd, &b);
	return true;
}

static void serve(struct fake *f, int fd)
{
	static struct fake_request r;

	while (fake_read(f, fd, &r) && serve_one(f->arg, fd, &r))
		;
	seen.closed = true;
}

/* --- zkleader in a process of its own ---------------------------------------------------------------- */

struct test {
	struct fake fake;
	pid_t main;
	int in, out, err; /* files in memory */
	int64_t began_ms;
	bool ignore_hup;
};

/*
 * Begins a test. Processes that the job leaves behind become our children, so that we can find
 * them. The sidecar's thread begins after the fork: ASan's allocator may be locked by a thread then,
 * and the child would wait for that lock for ever.
 */
static void begin_with(struct test *t, void (*server)(struct fake *f, int fd),
		       const struct plan *plan, const char *const *argv)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	memset(&seen, 0, sizeof(seen));
	seen.finish = -1;
	fake_bind(&t->fake);
	t->fake.arg = plan;
	cr_assert_eq(listen(t->fake.listener, BACKLOG), 0);
	t->in = memfd_create("in", MFD_CLOEXEC);
	t->out = memfd_create("out", MFD_CLOEXEC);
	t->err = memfd_create("err", MFD_CLOEXEC);
	t->began_ms = clock_boot_ms();
	t->main = fork();
	if (t->main == 0) {
		struct output o;

		dup2(t->in, 0);
		dup2(t->out, 1);
		dup2(t->err, 2);
		setenv(ZKLEADER_SOCKET_ENV, fake_path(&t->fake), 1);
		if (t->ignore_hup)
			signal(SIGHUP, SIG_IGN);
		output_init(&o, stdout, stderr);
		o.now_ms = NOW;
		setvbuf(stderr, NULL, _IONBF, 0);
		_exit(command_main(argv, &o));
	}
	fake_serve(&t->fake, BACKLOG, server);
}

static void begin(struct test *t, const struct plan *plan, const char *const *argv)
{
	begin_with(t, serve, plan, argv);
}

static char *text_of(int fd)
{
	static char texts[4][4096];
	static unsigned next;
	char *text = texts[next++ % 4];
	ssize_t n = pread(fd, text, 4095, 0);

	cr_assert(n >= 0);
	text[n] = '\0';
	return text;
}

/* The exit code, or minus the signal; 1000 after far too long, and then it is killed. */
static int wait_for(pid_t pid)
{
	int status;

	for (int i = 0; i < 2000; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
		fake_sleep(5);
	}
	kill(pid, SIGKILL);
	return 1000;
}

static bool closed_within(int ms)
{
	for (int i = 0; i < ms / 5 && !seen.closed; i++)
		fake_sleep(5);
	return seen.closed;
}

/* Whether nothing that was started lives on, given that the processes that were called have ended. */
static bool nothing_is_left(void)
{
	return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

static int end(struct test *t)
{
	int code = wait_for(t->main);

	cr_expect(nothing_is_left());
	fake_stop(&t->fake);
	return code;
}

static int run_shell(struct test *t, const struct plan *plan, const char *script)
{
	begin(t, plan, ARGV("run", "t", "--", "sh", "-c", script));
	return end(t);
}

/* Waits until the job has written so much; fails after 5 s. */
static void wait_for_text(const struct test *t, const char *text)
{
	for (int i = 0; i < 1000; i++) {
		if (strstr(text_of(t->out), text))
			return;
		fake_sleep(5);
	}
	cr_assert_fail("the job never said %s, but %s, %s", text, text_of(t->out), text_of(t->err));
}

static const struct plan good = {.outcome = "yours", .lease_ms = 30000, .renewals = 1000000};
static const struct plan stalls = {.outcome = "yours", .lease_ms = 800, .renewals = 1};

static const struct plan stalls_for_long = {.outcome = "yours", .lease_ms = 3000, .renewals = 1};

/* --- arguments --------------------------------------------------------------------------------------- */

Test(run, misuse)
{
	static const struct {
		const char *argv[8];
		const char *err;
	} cases[] = {
		{{"run"}, "an argument is missing"},
		{{"run", "t"}, "an argument is missing"},
		{{"run", "t", "--"}, "an argument is missing"},
		{{"run", "t", "true"}, "where does the command begin?"},
		{{"run", "t", "true", "--", "x"}, "where does the command begin?"},
		{{"run", "--", "t", "true"}, "where does the command begin?"},
		{{"run", "a b", "--", "true"}, "\"a b\" is not the name of a task"},
		{{"run", "t", "--tick", "1500ms", "--", "true"}, "a tick is whole seconds"},
		{{"run", "t", "--tick", "x", "--", "true"}, "tick \"x\" is no duration"},
		{{"run", "t", "--wait", "2d", "--", "true"}, "wait 2d is longer than 1d"},
		{{"run", "t", "--kill-after", "5", "--", "true"}, "kill-after \"5\" is no"},
		{{"run", "t", "-E", "256", "--", "true"}, "a number from 0 to 255"},
		{{"run", "t", "-E", "-1", "--", "true"}, "a number from 0 to 255"},
		{{"run", "t", "-E", "", "--", "true"}, "a number from 0 to 255"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct test t = {.main = 0};

		begin(&t, &good, cases[i].argv);
		cr_expect_eq(end(&t), 3, "case %zu", i);
		cr_expect_eq(t.fake.requests, 0);
		cr_expect_not_null(strstr(text_of(t.err), cases[i].err), "case %zu: %s", i,
				   text_of(t.err));
	}
}

Test(run, what_is_asked)
{
	struct test t = {.main = 0};

	begin(&t, &good, ARGV("run", "t", "--", "true"));
	cr_expect_eq(end(&t), 0);
	cr_expect_str_eq(seen.kind, "run");
	cr_expect_eq(seen.now_ms, NOW);
	cr_expect_eq(seen.tick_ms, -1);
	cr_expect_eq(seen.wait_ms, -1);
	begin(&t, &good, ARGV("run", "--tick", "5m", "--wait=3s", "t", "--", "true"));
	cr_expect_eq(end(&t), 0);
	cr_expect_eq(seen.tick_ms, 300000);
	cr_expect_eq(seen.wait_ms, 3000);
	begin(&t, &good, ARGV("run", "--tick=none", "t", "--", "true", "--tick", "5m"));
	cr_expect_eq(end(&t), 0);
	cr_expect_eq(seen.tick_ms, 0);
}

Test(run, the_longest_kill_after)
{
	static const struct plan session = {
		.outcome = "yours", .lease_ms = 6000, .renewals = 1000, .timeout_ms = 12000};
	struct test t = {.main = 0};

	begin(&t, &session, ARGV("run", "--kill-after=3s", "t", "--", "true"));
	cr_expect_eq(end(&t), 0);
	begin(&t, &session, ARGV("run", "--kill-after=3001ms", "t", "--", "true"));
	cr_expect_eq(end(&t), 3);
	cr_expect_str_eq(text_of(t.err), "zkleader: --kill-after is at most 3s here: a quarter of "
					 "the session's timeout\n");
	cr_expect_eq(t.fake.requests, 1, "nothing was claimed");
}

/* --- not here ---------------------------------------------------------------------------------------- */

Test(run, outcomes)
{
	static const struct {
		struct plan plan;
		int code, code_7; /* without and with -E 7 */
		const char *err;
	} cases[] = {
		{{.outcome = "taken"}, 1, 7, ""},
		{{.outcome = "waited"}, 1, 7, ""},
		{{.outcome = "waited", .why = "no session"}, 2, 2, "cannot tell: no session\n"},
		{{.outcome = "nobody"}, 4, 4, ""},
		{{.outcome = "something new"}, 2, 2, "makes no sense\n"},
		{{.error = 1}, 1, 1, "zkleader: the reason\n"},
		{{.error = 2}, 2, 2, "zkleader: the reason\n"},
		{{.error = 3}, 3, 3, "zkleader: the reason\n"},
		{{.error = 4}, 4, 4, ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct test t = {.main = 0};

		begin(&t, &cases[i].plan, ARGV("run", "t", "--", "echo", "no"));
		cr_expect_eq(end(&t), cases[i].code, "case %zu", i);
		cr_expect_str_eq(text_of(t.out), "");
		cr_expect_not_null(strstr(text_of(t.err), cases[i].err), "case %zu", i);
		if (cases[i].err[0] == '\0')
			cr_expect_str_eq(text_of(t.err), "");
		begin(&t, &cases[i].plan, ARGV("run", "-E7", "t", "--", "echo", "no"));
		cr_expect_eq(end(&t), cases[i].code_7, "case %zu", i);
	}
}

Test(run, without_a_sidecar)
{
	struct test t = {.main = 0};

	begin(&t, &good, ARGV("run", "-s", "/nonexistent", "t", "--", "echo", "no"));
	cr_expect_eq(end(&t), 2);
	cr_expect_not_null(strstr(text_of(t.err), "is zkleaderd running?\n"));
}

static void serve_and_close(struct fake *f, int fd)
{
	static struct fake_request r;

	fake_read(f, fd, &r);
}

Test(run, a_sidecar_that_goes_while_the_claim_is_waited_for)
{
	struct test t = {.main = 0};

	begin_with(&t, serve_and_close, &good, ARGV("run", "t", "--", "echo", "no"));
	cr_expect_eq(end(&t), 2);
	cr_expect_not_null(strstr(text_of(t.err), "closed the connection\n"), "%s", text_of(t.err));
}

Test(run, a_leadership_that_is_lost_before_the_start)
{
	static const struct plan lost = {.outcome = "yours", .lease_ms = 6000, .refuses = true};
	struct test t = {.main = 0};

	cr_expect_eq(run_shell(&t, &lost, "echo no"), 2);
	cr_expect_str_eq(text_of(t.out), "");
	cr_expect_str_eq(text_of(t.err),
			 "zkleader: the leadership of t was lost before its command began\n");
	cr_expect_eq(seen.finish, -1);
}

Test(run, a_signal_while_it_waits)
{
	static const struct plan slow = {
		.outcome = "yours", .lease_ms = 6000, .renewals = 9, .claim_delay_ms = 500};
	struct test t = {.main = 0};

	begin(&t, &slow, ARGV("run", "t", "--", "echo", "no"));
	fake_sleep(200);
	kill(t.main, SIGTERM);
	cr_expect_eq(end(&t), -SIGTERM);
	cr_expect_str_eq(text_of(t.out), "");
}

/* --- the job ----------------------------------------------------------------------------------------- */

Test(run, environment_and_status)
{
	struct test t = {.main = 0};

	cr_expect_eq(run_shell(&t, &good, "env | grep ^ZKLEADER_ | grep -v SOCKET | sort; exit 7"),
		     7);
	cr_expect_str_eq(text_of(t.out), "ZKLEADER_ATTEMPT=2\n"
					 "ZKLEADER_TASK=t\n"
					 "ZKLEADER_TICK=2026-11-21T02:00:00Z\n"
					 "ZKLEADER_TOKEN=4294967301\n"
					 "ZKLEADER_VERSION=2.1\n"
					 "ZKLEADER_WORKER_ID=some-id\n");
	cr_expect_str_eq(text_of(t.err), "");
	cr_expect_eq(seen.finish, 7);
	cr_expect_eq(run_shell(&t, &good, "kill -9 $$"), 137);
	cr_expect_eq(seen.finish, 137);
	cr_expect_eq(run_shell(&t, &good, "kill -TERM $$"), 143);
	begin(&t, &good, ARGV("run", "t", "--", "/nonexistent"));
	cr_expect_eq(end(&t), 127);
	cr_expect_eq(seen.finish, 127);
	cr_expect_str_eq(seen.start, "/nonexistent: No such file or directory");
	cr_expect_str_eq(text_of(t.err), "zkleader: /nonexistent: No such file or directory\n");
	begin(&t, &good, ARGV("run", "t", "--", "/dev/null"));
	cr_expect_eq(end(&t), 126);
	cr_expect_eq(seen.finish, 126);
	cr_expect_str_eq(seen.start, "/dev/null: Permission denied");
}

static void write_script(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);

	cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* The kernel says of a script that it is not there where its interpreter is not. */
Test(run, an_interpreter_that_is_missing_is_named)
{
	static const struct {
		const char *first_line, *why;
		int code;
	} cases[] = {
		{"#!/nonexistent/perl -w\n",
		 "its interpreter /nonexistent/perl: No such file or directory", 127},
		{"#! /bin/sh\r\n", "its interpreter /bin/sh\\x0d: No such file or directory", 127},
		{"#!/etc/passwd\n", "its interpreter /etc/passwd: Permission denied", 126},
	};
	char folder[] = "/tmp/zkleader-run-XXXXXX", script[64], expected[200];
	struct test t = {.main = 0};

	cr_assert(mkdtemp(folder));
	snprintf(script, sizeof(script), "%s/script", folder);
	setenv("PATH", folder, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_script(script, cases[i].first_line);
		begin(&t, &good, ARGV("run", "t", "--", i == 1 ? "script" : script));
		cr_expect_eq(end(&t), cases[i].code);
		cr_expect_str_eq(seen.start, cases[i].why);
		snprintf(expected, sizeof(expected), "zkleader: %s\n", cases[i].why);
		cr_expect_str_eq(text_of(t.err), expected);
	}
	write_script(script, "exit 3\n"); /* without #!, sh reads it */
	begin(&t, &good, ARGV("run", "t", "--", script));
	cr_expect_eq(end(&t), 3);
	cr_expect_eq(remove(script), 0);
	begin(&t, &good, ARGV("run", "t", "--", script));
	cr_expect_eq(end(&t), 127);
	snprintf(expected, sizeof(expected), "%s: No such file or directory", script);
	cr_expect_str_eq(seen.start, expected);
	cr_expect_eq(remove(folder), 0);
}

Test(run, without_a_tick)
{
	static const struct plan plan = {
		.outcome = "yours", .lease_ms = 6000, .renewals = 9, .without_tick = true};
	struct test t = {.main = 0};

	cr_expect_eq(run_shell(&t, &plan, "echo \"<$ZKLEADER_TICK>\""), 0);
	cr_expect_str_eq(text_of(t.out), "<>\n");
	cr_expect_eq(seen.finish, 0);
}

/* The signals that this process ignores; whoever started it may have left it some. */
static unsigned long long ignored(void)
{
	unsigned long long set = 0;
	char line[128];
	FILE *f = fopen("/proc/self/status", "r");

	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f))
		if (strncmp(line, "SigIgn:", 7) == 0)
			set = strtoull(line + 7, NULL, 16);
	fclose(f);
	return set;
}

/* Descriptors, group, signals: as if it had been called directly. */
Test(run, what_the_job_finds)
{
	struct test t = {.main = 0};
	char wanted[256];

	begin(&t, &good,
	      ARGV("run", "t", "--", "sh", "-c",
		   "cat; ls -l /proc/self/fd | grep -c -e socket -e signalfd -e timerfd; "
		   "[ \"$(cut -d' ' -f5 /proc/self/stat)\" = $$ ] && echo own group; "
		   "grep -e SigBlk -e SigIgn /proc/self/status"));
	cr_assert_eq(pwrite(t.in, "in and out\n", 11, 0), 11);
	cr_expect_eq(end(&t), 0);
	/* The one socket is the listener of this test. */
	snprintf(wanted, sizeof(wanted),
		 "in and out\n1\nown group\nSigBlk:\t0000000000000000\nSigIgn:\t%016llx\n",
		 ignored());
	cr_expect_str_eq(text_of(t.out), wanted);
	t.ignore_hup = true;
	cr_expect_eq(run_shell(&t, &good, "grep SigIgn /proc/self/status; kill -HUP $PPID"), 0);
	snprintf(wanted, sizeof(wanted), "SigIgn:\t%016llx\n", ignored() | 1);
	cr_expect_str_eq(text_of(t.out), wanted);
}

Test(run, signals_are_passed_on)
{
	static const struct {
		int sig;
		const char *name;
	} cases[] = {{SIGTERM, "TERM"}, {SIGINT, "INT"},   {SIGHUP, "HUP"},
		     {SIGQUIT, "QUIT"}, {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct test t = {.main = 0};
		char script[200];

		snprintf(script, sizeof(script),
			 "trap 'echo got; exit 9' %s; echo ready; while :; do sleep 0.05; done",
			 cases[i].name);
		begin(&t, &good, ARGV("run", "t", "--", "sh", "-c", script));
		wait_for_text(&t, "ready\n");
		kill(t.main, cases[i].sig);
		cr_expect_eq(end(&t), 9, "%s", cases[i].name);
		cr_expect_str_eq(text_of(t.out), "ready\ngot\n", "%s", cases[i].name);
		cr_expect_eq(seen.finish, 9);
	}
}

Test(run, a_stop_stops_the_job_and_the_lease_goes_on)
{
	static const struct plan plan = {.outcome = "yours", .lease_ms = 2000, .renewals = 1000000};
	struct test t = {.main = 0};
	char before[200];
	int status;

	begin(&t, &plan,
	      ARGV("run", "t", "--", "sh", "-c",
		   "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep .1; done"));
	wait_for_text(&t, "2\n");
	kill(t.main, SIGTSTP);
	cr_expect_eq(waitpid(t.main, &status, WUNTRACED), t.main);
	cr_expect(WIFSTOPPED(status));
	fake_sleep(100);
	strcpy(before, text_of(t.out));
	fake_sleep(3000); /* longer than the lease */
	cr_expect_str_eq(text_of(t.out), before);
	kill(t.main, SIGCONT);
	cr_expect_eq(end(&t), 0);
	cr_expect_not_null(strstr(text_of(t.out), "8\n"));
}

/* --- what it leaves behind ------------------------------------------------------------------------------ */

Test(run, children_of_the_job_are_ended)
{
	static const struct plan patient = {
		.outcome = "yours", .lease_ms = 100000, .renewals = 1000000};
	struct test t = {.main = 0};

	cr_expect_eq(run_shell(&t, &patient, "sleep 100 & setsid sleep 100 & sleep .2; exit 5"), 5);
	cr_expect_lt(clock_boot_ms() - t.began_ms, 19000, "before a fifth of the lease");
	cr_expect_eq(seen.finish, 5);
	/* A daemon, and one that takes no TERM. */
	begin(&t, &patient,
	      ARGV("run", "--kill-after=200ms", "t", "--", "sh", "-c",
		   "f=$(mktemp); (setsid sh -c 'trap \"\" TERM; echo on >$0; sleep 100' $f &) & "
		   "while [ ! -s $f ]; do sleep .01; done; rm $f; exit 6"));
	cr_expect_eq(end(&t), 6);
	cr_expect_geq(clock_boot_ms() - t.began_ms, 190);
	cr_expect_eq(seen.finish, 6);
}

Test(run, the_report_comes_after_the_last_of_them)
{
	struct test t = {.main = 0};

	begin(&t, &good,
	      ARGV("run", "t", "--", "sh", "-c",
		   "f=$(mktemp); sh -c 'trap \"sleep .3; exit\" TERM; echo on >$0; "
		   "while :; do sleep .05; done' $f & while [ ! -s $f ]; do sleep .01; done; rm "
		   "$f; exit 5"));
	cr_expect_eq(end(&t), 5);
	cr_expect_geq(seen.finished_ms - t.began_ms, 300);
}

/* --- the lease ------------------------------------------------------------------------------------------ */

/* Ignores TERM, as do its children, of which one is in a session of its own. */
#define STUBBORN                                                                                \
	"trap '' TERM; sh -c 'sleep 101; :' & setsid sh -c 'sleep 102; :' & echo ready; sleep " \
	"103; "                                                                                 \
	"sleep 104; sleep 105"

Test(run, the_lease_ends)
{
	struct test t = {.main = 0};
	int64_t took;

	begin(&t, &stalls_for_long,
	      ARGV("run", "--kill-after=1500ms", "t", "--", "sh", "-c",
		   "trap 'date +%s%3N' TERM; echo ready; while :; do sleep .02; done"));
	wait_for_text(&t, "ready");
	cr_expect_eq(end(&t), 2);
	took = clock_boot_ms() - t.began_ms;
	cr_expect(took >= 2990 && took < 6000, "KILL after %d", (int)took);
	cr_expect_not_null(
		strstr(text_of(t.err),
		       "zkleader: the leadership of t was lost, so its command was ended\n"));
	took = clock_wall_ms() - strtoll(strchr(text_of(t.out), '\n') + 1, NULL, 10);
	cr_expect(took >= 100 && took < 2000, "TERM %d before", (int)took);
	cr_expect(seen.interrupted, "the run is not over: another node may go on with it");

	cr_expect_eq(run_shell(&t, &stalls, STUBBORN), 2);
	took = clock_boot_ms() - t.began_ms;
	cr_expect(took >= 790 && took < 3000, "%d", (int)took);
	/* A job that heeds TERM exits by itself, but was ended all the same. */
	begin(&t, &stalls_for_long,
	      ARGV("run", "--kill-after=1500ms", "t", "--", "sh", "-c",
		   "trap 'exit 0' TERM; while :; do sleep .02; done"));
	cr_expect_eq(end(&t), 2);
	cr_expect_lt(clock_boot_ms() - t.began_ms, 2990);
}

Test(run, the_job_ends_in_time)
{
	static const struct plan hangs_up = {
		.outcome = "yours", .lease_ms = 4000, .renewals = 1, .hangs_up = true};
	static const struct plan hangs_up_soon = {
		.outcome = "yours", .lease_ms = 1500, .renewals = 1, .hangs_up = true};
	struct test t = {.main = 0};

	/* The sidecar stalls, but answers no question about the renewal only. */
	cr_expect_eq(run_shell(&t, &stalls_for_long, "sleep .4; exit 8"), 8);
	cr_expect_str_eq(text_of(t.err), "");
	cr_expect_eq(run_shell(&t, &hangs_up, "sleep 1.2; exit 8"), 8);
	cr_expect_str_eq(text_of(t.err),
			 "zkleader: the end of this run of t could not be recorded\n");
	cr_expect_eq(run_shell(&t, &hangs_up_soon, "sleep 8"), 2);
}

Test(run, renewals_keep_it_going)
{
	static const struct plan plan = {.outcome = "yours", .lease_ms = 3000, .renewals = 1000000};
	struct test t = {.main = 0};

	cr_expect_eq(run_shell(&t, &plan, "sleep 7; exit 4"), 4);
	cr_expect_geq(seen.renewals, 10);
	cr_expect_leq(seen.renewals, 60);
}

Test(run, the_leadership_is_lost)
{
	static const struct plan refused = {
		.outcome = "yours", .lease_ms = 16000, .renewals = 1, .refuses = true};
	struct test t = {.main = 0};
	int64_t took;

	begin(&t, &refused, ARGV("run", "--kill-after=200ms", "t", "--", "sh", "-c", STUBBORN));
	cr_expect_eq(end(&t), 2);
	took = clock_boot_ms() - t.began_ms;
	cr_expect(took >= 1190 && took < 8000, "%d", (int)took);
	cr_expect(seen.interrupted);
}

/* --- killed ---------------------------------------------------------------------------------------------- */

/* The guard is the one child of the process that was called. */
static pid_t guard_of(pid_t main)
{
	char path[80], text[40] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", main, main);
	file = fopen(path, "r");
	cr_assert_not_null(file);
	cr_assert_not_null(fgets(text, sizeof(text), file));
	fclose(file);
	return atoi(text);
}

Test(run, the_process_that_was_called_is_killed)
{
	struct test t = {.main = 0};
	int64_t killed;

	begin(&t, &good, ARGV("run", "--kill-after=1s", "t", "--", "sh", "-c", STUBBORN));
	wait_for_text(&t, "ready");
	killed = clock_boot_ms();
	kill(t.main, SIGKILL);
	cr_expect_eq(wait_for(t.main), -SIGKILL);
	fake_sleep(100);
	cr_expect_not(seen.closed, "the run is held until the job is dead");
	cr_expect(closed_within(20000));
	cr_expect_geq(clock_boot_ms() - killed, 990);
	cr_expect_eq(seen.finish, 137);
	cr_expect(seen.interrupted);
	while (waitpid(-1, NULL, 0) > 0)
		; /* the guard has come to us */
	cr_expect_lt(clock_boot_ms() - killed, 25000, "not at the end of the lease");
	fake_stop(&t.fake);
}

Test(run, a_command_that_exits_0_as_it_is_ended_was_cut_short)
{
	struct test t = {.main = 0};

	begin(&t, &good,
	      ARGV("run", "t", "--", "sh", "-c",
		   "trap 'exit 0' TERM; echo ready; while :; do sleep .02; done"));
	wait_for_text(&t, "ready");
	kill(t.main, SIGKILL);
	cr_expect_eq(wait_for(t.main), -SIGKILL);
	cr_expect(closed_within(4000));
	cr_expect_eq(seen.finish, 0);
	cr_expect(seen.interrupted, "it did not come to its own end");
	while (waitpid(-1, NULL, 0) > 0)
		;
	fake_stop(&t.fake);
}

Test(run, its_whole_group_is_killed)
{
	struct test t = {.main = 0};

	begin(&t, &good, ARGV("run", "t", "--", "sh", "-c", "echo ready; sleep 100"));
	wait_for_text(&t, "ready");
	cr_expect_neq(getpgid(guard_of(t.main)), getpgid(t.main));
	kill(t.main, SIGKILL);
	cr_expect_eq(wait_for(t.main), -SIGKILL);
	cr_expect(closed_within(20000));
	cr_expect_eq(seen.finish, 143);
	cr_expect(seen.interrupted);
	while (waitpid(-1, NULL, 0) > 0)
		;
	fake_stop(&t.fake);
}

Test(run, the_guard_is_killed)
{
	struct test t = {.main = 0};
	int64_t killed;

	begin(&t, &good, ARGV("run", "t", "--", "sh", "-c", STUBBORN));
	wait_for_text(&t, "ready");
	killed = clock_boot_ms();
	kill(guard_of(t.main), SIGKILL);
	cr_expect_eq(end(&t), 137);
	cr_expect_lt(clock_boot_ms() - killed, 25000, "not at the end of the lease");
	cr_expect_eq(seen.finish, 137);
	cr_expect(seen.interrupted);
	cr_expect_str_eq(
		text_of(t.err),
		"zkleader: the guard of t was killed, so its command was killed as well\n");
}

Test(run, the_guard_is_stopped)
{
	static const struct plan plan = {.outcome = "yours", .lease_ms = 2000, .renewals = 1000000};
	struct test t = {.main = 0};

	begin(&t, &plan, ARGV("run", "t", "--", "sh", "-c", STUBBORN));
	wait_for_text(&t, "ready");
	kill(guard_of(t.main), SIGSTOP);
	fake_sleep(2600);
	cr_expect_eq(kill(t.main, 0), 0);
	cr_expect_eq(end(&t), 2);
	cr_expect_not_null(strstr(text_of(t.err), "was lost"), "%s", text_of(t.err));
}

Test(run, the_process_that_was_called_is_stopped)
{
	struct test t = {.main = 0};
	int64_t took;

	/* Nobody but the guard can end it. */
	begin(&t, &stalls_for_long, ARGV("run", "t", "--", "sh", "-c", STUBBORN));
	wait_for_text(&t, "ready");
	kill(t.main, SIGSTOP);
	cr_expect(closed_within(6000));
	took = clock_boot_ms() - t.began_ms;
	cr_expect(took >= 2990 && took < 6000, "%d", (int)took);
	kill(t.main, SIGCONT);
	cr_expect_eq(end(&t), 2);
}

Test(run, the_job_is_killed)
{
	struct test t = {.main = 0};
	char pid[40] = "";

	begin(&t, &good,
	      ARGV("run", "t", "--", "sh", "-c",
		   "echo $$ ready; sleep 100 & sleep 100; sleep 100"));
	wait_for_text(&t, "ready");
	strcpy(pid, text_of(t.out));
	kill(atoi(pid), SIGKILL);
	cr_expect_eq(end(&t), 137);
	cr_expect_eq(seen.finish, 137);
	cr_expect_not(seen.interrupted, "it has ended, however");
}
