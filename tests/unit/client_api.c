#include "client_fake.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>

#include "zkleader.h"
#include "base/clock.h"

#define LONG_MS 10000 /* a timeout that no test should need */

static const struct fake_answer leads = {
	.task = "t", .leader = true, .state = "leading", .token = 42, .lease_ms = 6000};

static struct zkleader *open_fake(const struct fake *f)
{
	struct zkleader *z;

	cr_assert_eq(zkleader_open(fake_path(f), &z), 0);
	return z;
}

Test(api, a_leader_gets_token_and_lease)
{
	struct zkleader_answer a = {.size = sizeof(a)};
	struct zkleader *z;
	struct fake f;
	int64_t before, after;

	fake_start(&f, fake_serve_answer, &leads);
	z = open_fake(&f);
	before = clock_boot_ms();
	cr_assert_eq(zkleader_check(z, "t", 0, LONG_MS, &a), 0, "%s", zkleader_message(z));
	after = clock_boot_ms();
	cr_expect(a.leader && !a.led);
	cr_expect_str_eq(a.state, "leading");
	cr_expect_eq(a.token, 42);
	cr_expect_geq(a.valid_until, before + 6000);
	cr_expect_leq(a.valid_until, after + 6000);
	cr_expect_leq(a.lease_ms, 6000);
	cr_expect_gt(a.lease_ms, 0);
	cr_expect(zkleader_still_leads(&a));
	cr_expect_str_eq(zkleader_message(z), "");
	a.valid_until = clock_boot_ms();
	cr_expect(!zkleader_still_leads(&a));
	cr_expect_eq(zkleader_check(z, "t", 0, LONG_MS, &a), 0);
	cr_expect_eq(f.connections, 1);
	zkleader_close(z);
	fake_stop(&f);
}

/*
 * An entry of the answer of `partitions`: f->arg is an array of these, the last with partition -1.
 */
struct fake_owner {
	int partition;
	uint64_t token;
	uint64_t lease_ms;
};

static void serve_owners(struct fake *f, int fd)
{
	const struct fake_owner *owners = f->arg;
	static struct fake_request r;
	size_t n = 0;

	while (owners[n].partition >= 0)
		n++;
	while (fake_read(f, fd, &r)) {
		struct buffer b;
		struct pack p;

		buffer_init(&b, RPC_REQUEST_MAX);
		pack_init(&p, &b);
		rpc_pack_result(&p, r.m.msgid);
		pack_map(&p, 4);
		pack_kv_str(&p, "task", "scan");
		pack_kv_uint(&p, "partitions", 16);
		pack_kv_nil(&p, "of a later version");
		pack_str(&p, "owners");
		pack_array(&p, n);
		for (size_t i = 0; i < n; i++) {
			pack_map(&p, 4);
			pack_kv_int(&p, "partition", owners[i].partition);
			pack_kv_nil(&p, "leader");
			pack_kv_uint(&p, "token", owners[i].token);
			pack_kv_uint(&p, "lease_ms", owners[i].lease_ms);
		}
		fake_send_buffer(fd, &b);
	}
}

static int ask_partitions(const struct fake_owner *owners, const char *task,
			  struct zkleader_partition *list, size_t *n, unsigned *partitions)
{
	struct zkleader *z;
	struct fake f;
	int e;

	fake_start(&f, serve_owners, owners);
	z = open_fake(&f);
	e = zkleader_partitions(z, task, LONG_MS, list, n, partitions);
	zkleader_close(z);
	fake_stop(&f);
	return e;
}

Test(api, the_partitions_that_are_led_here)
{
	static const struct fake_owner owners[] = {
		{0, 41, 0}, {3, 42, 6000}, {15, 43, 5000}, {-1, 0, 0}};
	struct zkleader_partition list[ZKLEADER_PARTITIONS_MAX];
	int64_t before = clock_boot_ms();
	unsigned partitions = 0;
	size_t n = 0;

	cr_assert_eq(ask_partitions(owners, "scan", list, &n, &partitions), 0);
	cr_expect_eq(partitions, 16);
	cr_assert_eq(n, 2);
	cr_expect_eq(list[0].partition, 3);
	cr_expect_eq(list[0].token, 42);
	cr_expect_geq(list[0].valid_until, before + 6000);
	cr_expect_leq(list[0].valid_until, clock_boot_ms() + 6000);
	cr_expect_eq(list[1].partition, 15);
}

Test(api, partitions_that_make_no_sense)
{
	static const struct fake_owner far[] = {{256, 1, 1}, {-1, 0, 0}};
	static const struct fake_owner without_token[] = {{1, 0, 1}, {-1, 0, 0}};
	static const struct fake_owner for_ever[] = {{1, 1, UINT64_MAX}, {-1, 0, 0}};
	static const struct fake_owner none[] = {{-1, 0, 0}};
	struct zkleader_partition list[ZKLEADER_PARTITIONS_MAX];
	unsigned partitions = 7;
	size_t n = 7;

	cr_expect_eq(ask_partitions(far, "scan", list, &n, &partitions), -EBADMSG);
	cr_expect_eq(ask_partitions(without_token, "scan", list, &n, &partitions), -EBADMSG);
	cr_expect_eq(ask_partitions(for_ever, "scan", list, &n, &partitions), -EBADMSG);
	cr_expect_eq(ask_partitions(none, "other", list, &n, &partitions), -EBADMSG);
	cr_expect_eq(ask_partitions(none, "scan:1", list, &n, &partitions), ZKLEADER_MISUSE);
	cr_expect_eq(n, 7);
	cr_expect_eq(ask_partitions(none, "scan", list, &n, &partitions), 0);
	cr_expect_eq(n, 0);
}

Test(api, a_follower_learns_who_leads)
{
	const struct fake_answer follows = {.task = "t",
					    .state = "following",
					    .token = 7,
					    .led_by = "host\x1b[31m",
					    .why = "t is led by \n host"};
	struct zkleader_answer a = {.size = sizeof(a)};
	struct zkleader *z;
	struct fake f;

	fake_start(&f, fake_serve_answer, &follows);
	z = open_fake(&f);
	cr_assert_eq(zkleader_check(z, "t", 0, LONG_MS, &a), 0);
	cr_expect(!a.leader && a.led);
	cr_expect_eq(a.lease_ms, 0);
	cr_expect_str_eq(a.led_by_hostname, "host\\x1b[31m");
	cr_expect_str_eq(a.led_by_ip, "10.0.0.7");
	cr_expect_str_eq(a.led_by_version, "2.1");
	cr_expect_str_eq(a.led_by_id, "some-id");
	cr_expect_str_eq(a.why, "t is led by \\n host");
	cr_expect(!zkleader_still_leads(&a));
	zkleader_close(z);
	fake_stop(&f);
}

/* --- refusals and answers that make no sense --------------------------------------------------- */

static void serve_refusal(struct fake *f, int fd)
{
	static struct fake_request r;

	while (fake_read(f, fd, &r))
		fake_error(fd, r.m.msgid, 3, "unknown task \"t\"\x1b]0;x\a");
}

Test(api, a_refusal_is_its_code_and_text)
{
	struct zkleader_answer a = {.size = sizeof(a), .token = 99};
	struct zkleader *z;
	struct fake f;

	fake_start(&f, serve_refusal, NULL);
	z = open_fake(&f);
	cr_expect_eq(zkleader_check(z, "t", 0, LONG_MS, &a), ZKLEADER_MISUSE);
	cr_expect_str_eq(zkleader_message(z), "unknown task \"t\"\\x1b]0;x\\x07");
	cr_expect_eq(a.token, 99);
	cr_expect_eq(zkleader_check(z, "t", 0, LONG_MS, &a), ZKLEADER_MISUSE);
	cr_expect_eq(f.connections, 1);
	zkleader_close(z);
	fake_stop(&f);
}

struct bytes {
	const char *data;
	size_t len;
};

/* f->arg are bytes that are sent whatever is asked. */
static void serve_bytes(struct fake *f, int fd)
{
	const struct bytes *b = f->arg;
	static struct fake_request r;

	while (fake_read(f, fd, &r))
		fake_send(fd, b->data, b->len);
}

#define BYTES(x)                 \
	{                        \
		x, sizeof(x) - 1 \
	}

Test(api, what_makes_no_sense_is_no_answer)
{
	static const struct bytes cases[] = {
		BYTES("\xc1"),
		BYTES("HTTP/1.1 400 Bad Request\r\n\r\n"),
		BYTES("\xdb\xff\xff\xff\xff"),	   /* a string of 4 GiB */
		BYTES("\xdd\xff\xff\xff\xff"),	   /* an array of as many */
		BYTES("\xc6\x00\x01\x00\x01"),	   /* more than an answer may have */
		BYTES("\x94\x01\x02\xc0\x80"),	   /* another msgid */
		BYTES("\x94\x01\x01\xc0\x80"),	   /* an empty map */
		BYTES("\x94\x01\x01\xc0\xc3"),	   /* true */
		BYTES("\x94\x01\x01\xa4oops\xc0"), /* an error that is no map */
		BYTES("\x94\x01\x01\x81\xa4"
		      "code\x03\xc0"), /* without message */
		BYTES("\x94\x00\x01\xa5"
		      "check\x90"),		   /* a request */
		BYTES("\x95\x01\x01\xc0\x80\xc0"), /* one element too many */
		BYTES("\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"
		      "\x01"),
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct zkleader_answer a = {.size = sizeof(a), .token = 99};
		struct zkleader *z;
		struct fake f;

		fake_start(&f, serve_bytes, &cases[i]);
		z = open_fake(&f);
		cr_expect_eq(zkleader_check(z, "t", 0, LONG_MS, &a), -EBADMSG, "case %zu: %s", i,
			     zkleader_message(z));
		cr_expect_eq(a.token, 99, "case %zu", i);
		cr_expect_eq(zkleader_fd(z), -1, "case %zu", i);
		zkleader_close(z);
		fake_stop(&f);
	}
}

Test(api, an_answer_that_contradicts_itself_is_none)
{
	static const struct fake_answer cases[] = {
		{.task = "t", .leader = true, .state = "leading", .lease_ms = 6000},
		{.task = "t",
		 .leader = true,
		 .state = "leading",
		 .token = 1,
		 .lease_ms = UINT64_C(24) * 3600 * 1000 + 1},
		{.task = "t",
		 .leader = true,
		 .state = "leading",
		 .token = 1,
		 .lease_ms = UINT64_MAX},
		{.task = "u", .leader = true, .state = "leading", .token = 1, .lease_ms = 1000},
		{.task = "t", .leader = true, .state = NULL, .token = 1, .lease_ms = 1000},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct zkleader_answer a = {.size = sizeof(a)};
		struct zkleader *z;
		struct fake f;

		fake_start(&f, fake_serve_answer, &cases[i]);
		z = open_fake(&f);
		cr_expect_eq(zkleader_check(z, "t", 0, LONG_MS, &a), -EBADMSG, "case %zu", i);
		zkleader_close(z);
		fake_stop(&f);
	}
}

/* --- time ---------------------------------------------------------------------------------------- */

static void serve_torn(struct fake *f, int fd)
{
	static struct fake_request r;

	while (fake_read(f, fd, &r)) {
		struct buffer b;

		buffer_init(&b, RPC_REQUEST_MAX);
		fake_pack_answer(&b, r.m.msgid, &leads);
		for (size_t i = 0; i < b.len; i++) {
			fake_send(fd, b.data + i, 1);
			fake_sleep(1);
		}
		buffer_done(&b);
	}
}

static void ignore(int signal)
{
	(void)signal;
}

Test(api, a_torn_answer_is_put_together_whatever_signals_come)
{
	struct sigaction action = {.sa_handler = ignore};
	struct itimerval often = {{0, 3000}, {0, 3000}}, never = {0};
	struct zkleader_answer a = {.size = sizeof(a)};
	struct zkleader *z;
	struct fake f;

	fake_start(&f, serve_torn, NULL);
	z = open_fake(&f);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	cr_expect_eq(zkleader_check(z, "t", 0, LONG_MS, &a), 0, "%s", zkleader_message(z));
	setitimer(ITIMER_REAL, &never, NULL);
	cr_expect(a.leader);
	zkleader_close(z);
	fake_stop(&f);
}

#define LATE_MS 1500

/* Answers the first request of all far too late, with another token. */
static void serve_late_first(struct fake *f, int fd)
{
	static struct fake_request r;

	while (fake_read(f, fd, &r)) {
		struct fake_answer a = leads;

		if (f->requests == 1) {
			fake_sleep(LATE_MS);
			a.token = 1;
		}
		fake_answer(fd, r.m.msgid, &a);
	}
}

Test(api, a_late_answer_is_not_taken_for_the_next)
{
	struct zkleader_answer a = {.size = sizeof(a)};
	struct zkleader *z;
	struct fake f;
	int64_t before;

	fake_start(&f, serve_late_first, NULL);
	z = open_fake(&f);
	before = clock_boot_ms();
	cr_expect_eq(zkleader_check(z, "t", 0, 100, &a), -ETIMEDOUT);
	cr_expect_geq(clock_boot_ms() - before, 100);
	cr_expect_lt(clock_boot_ms() - before, LATE_MS);
	cr_expect_not_null(strstr(zkleader_message(z), "within 100ms"));
	cr_expect_eq(zkleader_check(z, "t", 0, LONG_MS, &a), 0);
	cr_expect_eq(a.token, 42);
	cr_expect_eq(f.connections, 2);
	zkleader_close(z);
	fake_stop(&f);
}

/* Answers are older than their lease, the first ones of all as many as f->arg says. */
static void serve_stale(struct fake *f, int fd)
{
	static struct fake_request r;

	while (fake_read(f, fd, &r)) {
		struct fake_answer a = leads;

		if (f->requests <= *(const int *)f->arg) {
			a.lease_ms = 40;
			fake_sleep(60);
		}
		fake_answer(fd, r.m.msgid, &a);
	}
}

Test(api, a_lease_that_ran_out_on_the_way_is_asked_for_again)
{
	const int n = 2;
	struct zkleader_answer a = {.size = sizeof(a)};
	struct zkleader *z;
	struct fake f;

	fake_start(&f, serve_stale, &n);
	z = open_fake(&f);
	cr_expect_eq(zkleader_check(z, "t", 0, LONG_MS, &a), 0);
	cr_expect(a.leader && a.lease_ms > 1000);
	cr_expect_eq(f.requests, 3);
	zkleader_close(z);
	fake_stop(&f);
}

Test(api, a_stale_answer_never_says_leads)
{
	const int n = 1000;
	struct zkleader_answer a = {.size = sizeof(a)};
	struct zkleader *z;
	struct fake f;

	fake_start(&f, serve_stale, &n);
	z = open_fake(&f);
	cr_expect_eq(zkleader_check(z, "t", 0, 300, &a), -ETIMEDOUT);
	cr_expect(!a.leader);
	zkleader_close(z);
	fake_stop(&f);
}

static void serve_wait(struct fake *f, int fd)
{
	static struct fake_request r;
	static struct fake_answer a;

	while (fake_read(f, fd, &r)) {
		struct reader_text task;
		int64_t wait_ms = -1;

		a = leads;
		a.token = UINT64_MAX;
		if (r.m.n_params == 2 && reader_str(&r.m.params, &task) == 0 &&
		    reader_text_is(task, "t") && reader_int(&r.m.params, &wait_ms) == 0)
			a.token = (uint64_t)wait_ms + 1;
		fake_answer(fd, r.m.msgid, &a);
	}
}

Test(api, the_wait_is_sent_but_ends_before_the_timeout)
{
	struct zkleader_answer a = {.size = sizeof(a)};
	struct zkleader *z;
	struct fake f;

	fake_start(&f, serve_wait, NULL);
	z = open_fake(&f);
	cr_expect_eq(zkleader_check(z, "t", 0, 5000, &a), 0);
	cr_expect_eq(a.token, 1);
	cr_expect_eq(zkleader_check(z, "t", 2000, 5000, &a), 0);
	cr_expect(a.token >= 1901 && a.token <= 2001, "%d", (int)a.token);
	cr_expect_eq(zkleader_check(z, "t", 20000, 5000, &a), 0);
	cr_expect(a.token >= 4001 && a.token <= 4501, "%d", (int)a.token);
	zkleader_close(z);
	fake_stop(&f);
}

/* --- connections ---------------------------------------------------------------------------------- */

/* Hangs up on as many connections as f->arg says, then answers. */
static void serve_hangup(struct fake *f, int fd)
{
	static struct fake_request r;

	if (fake_read(f, fd, &r) && f->connections > *(const int *)f->arg)
		fake_answer(fd, r.m.msgid, &leads);
}

Test(api, a_check_that_is_cut_off_is_asked_once_more)
{
	const int once = 1, always = 1000;
	struct zkleader_answer a = {.size = sizeof(a)};
	struct zkleader *z;
	struct fake f;

	fake_start(&f, serve_hangup, &once);
	z = open_fake(&f);
	cr_expect_eq(zkleader_check(z, "t", 0, LONG_MS, &a), 0);
	cr_expect_str_eq(zkleader_message(z), "");
	cr_expect_eq(f.connections, 2);
	/* The fake has hung up after its answer, too: that is noticed before anything is sent. */
	fake_sleep(50);
	cr_expect_eq(zkleader_check(z, "t", 0, LONG_MS, &a), 0);
	cr_expect_eq(f.requests, 3);
	zkleader_close(z);
	fake_stop(&f);

	fake_start(&f, serve_hangup, &always);
	z = open_fake(&f);
	cr_expect_eq(zkleader_check(z, "t", 0, LONG_MS, &a), -ECONNRESET);
	cr_expect_eq(f.connections, 2);
	zkleader_close(z);
	fake_stop(&f);
}

Test(api, a_call_is_never_sent_twice)
{
	const int always = 1000;
	const void *result;
	struct zkleader *z;
	struct fake f;
	size_t len;

	fake_start(&f, serve_hangup, &always);
	z = open_fake(&f);
	cr_expect_eq(zkleader_call(z, "reload", NULL, 0, LONG_MS, &result, &len), -ECONNRESET);
	cr_expect_eq(f.requests, 1);
	zkleader_close(z);
	fake_stop(&f);
}

Test(api, no_sidecar_is_told_at_once)
{
	struct zkleader_answer a = {.size = sizeof(a)};
	struct zkleader *z;
	struct fake f;

	fake_bind(&f);
	z = open_fake(&f);
	cr_expect_eq(zkleader_check(z, "t", 1000, LONG_MS, &a), -ECONNREFUSED);
	cr_expect_not_null(
		strstr(zkleader_message(z), "(Connection refused): is zkleaderd running?"));
	unlink(fake_path(&f));
	cr_expect_eq(zkleader_check(z, "t", 1000, LONG_MS, &a), -ENOENT);
	cr_expect_not_null(strstr(zkleader_message(z), fake_path(&f)));
	zkleader_close(z);
	fake_stop(&f);
}

static void *serve_soon(void *arg)
{
	fake_sleep(100);
	fake_serve(arg, 0, fake_serve_answer);
	return NULL;
}

static int fill_backlog(const struct fake *f, int fds[], int n)
{
	for (int i = 0; i < n; i++) {
		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (connect(fds[i], (const struct sockaddr *)&f->address, sizeof(f->address)) < 0) {
			cr_assert_eq(errno, EAGAIN);
			close(fds[i]);
			return i;
		}
	}
	cr_assert_fail("the backlog has no end");
	return 0;
}

Test(api, a_full_backlog_is_waited_for)
{
	struct zkleader_answer a = {.size = sizeof(a)};
	struct zkleader *z;
	pthread_t thread;
	struct fake f;
	int fds[16];
	int n;

	fake_bind(&f);
	f.arg = &leads;
	cr_assert_eq(listen(f.listener, 0), 0);
	n = fill_backlog(&f, fds, 16);
	z = open_fake(&f);
	cr_expect_eq(zkleader_check(z, "t", 0, 100, &a), -ETIMEDOUT);
	for (int i = 0; i < n; i++)
		close(fds[i]);
	pthread_create(&thread, NULL, serve_soon, &f);
	cr_expect_eq(zkleader_check(z, "t", 0, LONG_MS, &a), 0, "%s", zkleader_message(z));
	pthread_join(thread, NULL);
	zkleader_close(z);
	fake_stop(&f);
}

Test(api, never_takes_a_standard_descriptor)
{
	struct zkleader_answer a = {.size = sizeof(a)};
	struct zkleader *z;
	struct fake f;
	int saved = dup(0);

	fake_start(&f, fake_serve_answer, &leads);
	z = open_fake(&f);
	close(0);
	cr_expect_eq(zkleader_check(z, "t", 0, LONG_MS, &a), 0);
	cr_expect_gt(zkleader_fd(z), 2);
	dup2(saved, 0);
	zkleader_close(z);
	fake_stop(&f);
}

/* --- arguments -------------------------------------------------------------------------------------- */

Test(api, paths_come_from_the_argument_the_environment_or_the_default)
{
	char longest[200];
	struct zkleader *z;

	unsetenv(ZKLEADER_SOCKET_ENV);
	cr_assert_eq(zkleader_open(NULL, &z), 0);
	cr_expect_str_eq(zkleader_path(z), ZKLEADER_SOCKET_DEFAULT);
	zkleader_close(z);
	setenv(ZKLEADER_SOCKET_ENV, "", 1);
	cr_assert_eq(zkleader_open(NULL, &z), 0);
	cr_expect_str_eq(zkleader_path(z), ZKLEADER_SOCKET_DEFAULT);
	zkleader_close(z);
	setenv(ZKLEADER_SOCKET_ENV, "/x/y", 1);
	cr_assert_eq(zkleader_open(NULL, &z), 0);
	cr_expect_str_eq(zkleader_path(z), "/x/y");
	zkleader_close(z);
	memset(longest, 'x', sizeof(longest));
	longest[107] = '\0';
	cr_assert_eq(zkleader_open(longest, &z), 0);
	zkleader_close(z);
	longest[107] = 'x';
	longest[108] = '\0';
	cr_expect_eq(zkleader_open(longest, &z), -ENAMETOOLONG);
	cr_expect_eq(zkleader_open("", &z), -EINVAL);
	zkleader_close(NULL);
}

Test(api, bad_arguments_are_refused_before_anything_is_sent)
{
	struct zkleader_answer a = {.size = sizeof(a)};
	const void *result;
	struct zkleader *z;
	static char big[RPC_REQUEST_MAX + 8];
	size_t len;

	cr_assert_eq(zkleader_open("/nonexistent", &z), 0);
	cr_expect_eq(zkleader_check(z, "", 0, 10, &a), ZKLEADER_MISUSE);
	cr_expect_eq(zkleader_check(z, "a b\n", 0, 10, &a), ZKLEADER_MISUSE);
	cr_expect_str_eq(zkleader_message(z), "\"a b\\n\" is not the name of a task");
	cr_expect_eq(zkleader_check(z, "t", -1, 10, &a), -EINVAL);
	cr_expect_eq(zkleader_check(z, "t", ZKLEADER_WAIT_MAX_MS + 1, 10, &a), -EINVAL);
	cr_expect_eq(zkleader_check(z, "t", 0, -1, &a), -EINVAL);
	cr_expect_eq(zkleader_check(z, "t", 0, INT64_MAX, &a), -EINVAL);
	cr_expect_eq(zkleader_check(z, "t", 0, 10, &a), -ENOENT);
	cr_expect_eq(zkleader_call(z, "m", "\xc0", 1, 10, &result, &len), -EINVAL);
	cr_expect_eq(zkleader_call(z, "m", "\x91", 1, 10, &result, &len), -EINVAL);
	cr_expect_eq(zkleader_call(z, "m", "\x90\xc0", 2, 10, &result, &len), -EINVAL);
	memcpy(big, "\x91\xdb\x00\x01\x00\x00", 6);
	cr_expect_eq(zkleader_call(z, "m", big, 65536 + 6, 10, &result, &len), -EMSGSIZE);
	cr_expect_eq(zkleader_call(z, "m", "\x91\x01", 2, 10, &result, &len), -ENOENT);
	cr_expect_eq(zkleader_call(z, "m", NULL, 0, 10, &result, &len), -ENOENT);
	zkleader_close(z);
}

/* --- calls and notifications ------------------------------------------------------------------------ */

#define BIG (3 * 1000 * 1000)

static void serve_big(struct fake *f, int fd)
{
	static struct fake_request r;

	while (fake_read(f, fd, &r)) {
		struct buffer b;
		struct pack p;

		buffer_init(&b, RPC_RESPONSE_MAX);
		pack_init(&p, &b);
		rpc_pack_result(&p, r.m.msgid);
		pack_array(&p, BIG);
		for (size_t i = 0; i < BIG; i++)
			pack_bool(&p, true);
		fake_send_buffer(fd, &b);
	}
}

Test(api, a_big_result_arrives_whole)
{
	const uint8_t *bytes;
	const void *result;
	struct zkleader *z;
	struct fake f;
	size_t len;

	fake_start(&f, serve_big, NULL);
	z = open_fake(&f);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(zkleader_call(z, "m", NULL, 0, LONG_MS, &result, &len), 0);
		cr_expect_eq(len, BIG + 5);
		bytes = result;
		cr_expect_eq(bytes[0], 0xdd);
		cr_expect_eq(bytes[len - 1], 0xc3);
	}
	zkleader_close(z);
	fake_stop(&f);
}

/* Accepts, sends three notifications in two pieces, then something that is none. */
static void serve_news(struct fake *f, int fd)
{
	static const char news[] = "\x93\x02\xa1m\x91\x81\xa1k\x01"
				   "\x93\x02\xa1n\x91\x81\xa1k\x02"
				   "\x93\x02\xa1o\x91\x81\xa1k\x03";
	static struct fake_request r;

	if (!fake_read(f, fd, &r))
		return;
	fake_send(fd, "\x94\x01", 2);
	fake_send(fd, (const char[]){(char)r.m.msgid}, 1);
	fake_send(fd, "\xc0\xc3", 2);
	fake_send(fd, news, 12);
	fake_sleep(150);
	fake_send(fd, news + 12, sizeof(news) - 1 - 12);
	fake_send(fd, "\x01", 1);
	fake_read(f, fd, &r);
}

Test(api, notifications_come_one_by_one)
{
	struct zkleader_notification n = {.size = sizeof(n)};
	struct zkleader_answer a = {.size = sizeof(a)};
	const void *result;
	struct zkleader *z;
	struct fake f;
	size_t len;

	fake_start(&f, serve_news, NULL);
	z = open_fake(&f);
	cr_expect_eq(zkleader_next(z, 0, &n), -ENOTCONN);
	cr_assert_eq(zkleader_call(z, "subscribe", NULL, 0, LONG_MS, &result, &len), 0);
	cr_expect_eq(zkleader_call(z, "status", NULL, 0, LONG_MS, &result, &len), -EBUSY);
	cr_expect_eq(zkleader_check(z, "t", 0, LONG_MS, &a), -EBUSY);
	cr_assert_eq(zkleader_next(z, LONG_MS, &n), 0);
	cr_expect_str_eq(n.method, "m");
	cr_expect_eq(n.len, 4);
	cr_expect_arr_eq(n.param, "\x81\xa1k\x01", 4);
	cr_expect_eq(zkleader_next(z, 0, &n), -ETIMEDOUT);
	cr_assert_eq(zkleader_next(z, -1, &n), 0);
	cr_expect_str_eq(n.method, "n");
	cr_assert_eq(zkleader_next(z, LONG_MS, &n), 0);
	cr_expect_str_eq(n.method, "o");
	cr_expect_eq(zkleader_next(z, LONG_MS, &n), -EBADMSG);
	cr_expect_eq(zkleader_next(z, LONG_MS, &n), -ENOTCONN);
	cr_expect_eq(zkleader_fd(z), -1);
	cr_expect_eq(zkleader_call(z, "subscribe", NULL, 0, LONG_MS, &result, &len), 0);
	zkleader_close(z);
	fake_stop(&f);
}
