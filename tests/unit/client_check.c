#include "client_fake.h"

#include "check/check.h"

#define ARGV(...) ((const char *[]){__VA_ARGS__, NULL})

Test(check, arguments)
{
	char why[OPTIONS_WHY_SIZE] = "";
	struct check_options o;

	cr_assert_eq(check_parse(ARGV("t"), &o, why), 0);
	cr_expect_str_eq(o.task, "t");
	cr_expect(!o.socket && !o.quiet && !o.verbose && o.action == CHECK_ASK);
	cr_expect_eq(o.wait_ms, 1000);
	cr_expect_eq(o.timeout_ms, 5000);

	cr_assert_eq(check_parse(ARGV("-qvs", "/x", "t", "-t300ms", "--wait=2s"), &o, why), 0);
	cr_expect_str_eq(o.socket, "/x");
	cr_expect(o.quiet && o.verbose);
	cr_expect_eq(o.timeout_ms, 300);
	cr_expect_eq(o.wait_ms, 2000);

	cr_expect(!o.once);
	cr_assert_eq(check_parse(ARGV("--", "t"), &o, why), 0);
	cr_assert_eq(check_parse(ARGV("--once", "--tick", "5m", "t"), &o, why), 0);
	cr_expect(o.once);
	cr_expect_eq(o.tick_ms, 300000);
	cr_assert_eq(check_parse(ARGV("scan:17"), &o, why), 0);
	cr_expect_str_eq(o.task, "scan:17");
	cr_assert_eq(check_parse(ARGV("scan", "--partition", "0"), &o, why), 0);
	cr_expect_str_eq(o.task, "scan:0");
	cr_assert_eq(check_parse(ARGV("-p255", "--once", "scan"), &o, why), 0);
	cr_expect_str_eq(o.task, "scan:255");
	cr_expect(!o.any);
	cr_assert_eq(check_parse(ARGV("--any", "scan"), &o, why), 0);
	cr_expect_str_eq(o.task, "scan");
	cr_expect(o.any);
	cr_assert_eq(check_parse(ARGV("-h"), &o, why), 0);
	cr_expect_eq(o.action, CHECK_HELP);
	cr_assert_eq(check_parse(ARGV("--version"), &o, why), 0);
	cr_expect_eq(o.action, CHECK_VERSION);
}

Test(check, a_longer_wait_has_a_longer_timeout_unless_one_is_given)
{
	char why[OPTIONS_WHY_SIZE] = "";
	struct check_options o;

	cr_assert_eq(check_parse(ARGV("-w", "5s", "t"), &o, why), 0);
	cr_expect_eq(o.timeout_ms, 5000);
	cr_assert_eq(check_parse(ARGV("-w", "10s", "t"), &o, why), 0);
	cr_expect_eq(o.timeout_ms, 15000);
	cr_assert_eq(check_parse(ARGV("-w", "10s", "-t", "2s", "t"), &o, why), 0);
	cr_expect_eq(o.timeout_ms, 2000);
	cr_assert_eq(check_parse(ARGV("-t", "5s", "-w", "10s", "t"), &o, why), 0);
	cr_expect_eq(o.timeout_ms, 5000);
}

Test(check, misuse)
{
	static const struct {
		const char *argv[5];
		const char *why;
	} cases[] = {
		{{NULL}, "which task"},
		{{"-q"}, "which task"},
		{{"a", "b"}, "\"b\""},
		{{"a b"}, "\"a b\" is not the name of a task"},
		{{""}, "not the name"},
		{{"../x"}, "not the name"},
		{{"a\033[1m"}, "\\x1b"},
		{{"-x", "t"}, "unknown option -x"},
		{{"--nope", "t"}, "unknown option --nope"},
		{{"--quiet=1", "t"}, "takes no value"},
		{{"t", "-s"}, "-s needs a value"},
		{{"t", "--wait"}, "--wait needs a value"},
		{{"-s", "", "t"}, "empty"},
		{{"-t", "5", "t"}, "timeout \"5\" is no duration"},
		{{"-t", "-5s", "t"}, "no duration"},
		{{"-w", "25h", "t"}, "wait 25h is longer than 1d"},
		{{"-t", "367d", "t"}, "timeout 367d is longer than 366d"},
		{{"-t", "99999999999999999999d", "t"}, "is longer than"},
		{{"scan:256"}, "\"scan:256\" is not the name of a task"},
		{{"scan:"}, "not the name"},
		{{"scan", "-p", "256"}, "a partition is a number from 0 to 255"},
		{{"scan", "-p", "x"}, "a partition is a number from 0 to 255"},
		{{"scan", "-p", "1:1"}, "a partition is a number from 0 to 255"},
		{{"scan:1", "-p", "1"}, "the partition is there twice: in \"scan:1\" as well"},
		{{"scan:1", "--any"}, "--any is about all partitions"},
		{{"scan", "--any", "-p1"}, "--any is about all partitions"},
		{{"scan", "--any", "--once"}, "--once is about one partition"},
		{{"-p", "1"}, "which task"},
		{{"t", "--tick", "1m"}, "--tick is for --once"},
		{{"t", "--once", "--tick", "1500ms"}, "a tick is whole seconds"},
		{{"t", "--once", "--tick", "0s"}, "a tick is whole seconds"},
		{{"t", "--once", "--tick", "2d"}, "tick 2d is longer than 1d"},
		{{"t", "--once", "--tick", "x"}, "tick \"x\" is no duration"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char why[OPTIONS_WHY_SIZE] = "";
		struct check_options o;

		cr_expect_lt(check_parse(cases[i].argv, &o, why), 0, "case %zu", i);
		cr_expect_not_null(strstr(why, cases[i].why), "case %zu: %s", i, why);
	}
}

/* Runs zkleader-check, and gives its exit code and the text of both streams. */
static int check(const char *const *argv, char **ret_out, char **ret_err)
{
	size_t n_out, n_err;
	FILE *out = open_memstream(ret_out, &n_out);
	FILE *err = open_memstream(ret_err, &n_err);
	int code = check_run(argv, out, err);

	fclose(out);
	fclose(err);
	return code;
}

Test(check, exit_codes_and_lines)
{
	static const struct {
		struct fake_answer answer;
		int code;
		const char *err; /* after "zkleader-check: cannot tell: " */
		const char *out; /* with -v */
	} cases[] = {
		{{"t", true, "leading", 42, 9000, NULL, ""},
		 0,
		 NULL,
		 "this node leads t, token 42"},
		{{"t", false, "following", 42, 0, "h", ""},
		 1,
		 NULL,
		 "h (10.0.0.7, version 2.1) leads t, token 42; this node is following\n"},
		{{"t", false, "contending", 42, 0, "h", ""}, 1, NULL, "h ("},
		/* No more is known of it than its id. */
		{{"t", false, "following", 42, 0, "", ""}, 1, NULL, "some-id leads t, token 42; "},
		{{"t", false, "drained", 42, 0, "h", ""}, 1, NULL, "h ("},
		{{"t", false, "drained", 0, 0, NULL, ""}, 4, NULL, "nobody leads t"},
		{{"t", false, "paused", 0, 0, NULL, ""}, 4, NULL, "nobody leads t"},
		{{"t", false, "disconnected", 0, 0, NULL, "no session"},
		 2,
		 "no session",
		 "who leads t is not known here"},
		/* This node itself, say, but without a lease. */
		{{"t", false, "disconnected", 42, 0, "h", "no quorum"}, 2, "no quorum", "h ("},
		{{"t", false, "contending", 0, 0, NULL, "not settled"}, 2, "not settled", "nobody"},
		{{"t", false, "following", 0, 0, NULL, ""}, 2, "nobody leads it", "nobody"},
		{{"t", false, "something new", 0, 0, NULL, "x\ny"}, 2, "x\\ny", "nobody"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char expected[200] = "", *out, *err;
		struct fake f;

		fake_start(&f, fake_serve_answer, &cases[i].answer);
		const char *path = f.address.sun_path;
		if (cases[i].err)
			snprintf(expected, sizeof(expected), "zkleader-check: cannot tell: %s\n",
				 cases[i].err);
		cr_expect_eq(check(ARGV("-s", path, "t"), &out, &err), cases[i].code, "case %zu",
			     i);
		cr_expect_str_eq(out, "", "case %zu: %s", i, out);
		cr_expect_str_eq(err, expected, "case %zu: %s", i, err);
		free(out);
		free(err);
		cr_expect_eq(check(ARGV("-s", path, "-qv", "t"), &out, &err), cases[i].code);
		cr_expect_eq(strstr(out, cases[i].out), out, "case %zu: %s", i, out);
		cr_expect_str_eq(err, "", "case %zu: %s", i, err);
		free(out);
		free(err);
		fake_stop(&f);
	}
}

/* Four keys, which is what every sidecar has to say. */
static void serve_least(struct fake *f, int fd)
{
	static struct fake_request r;
	const struct fake_answer *a = f->arg;

	while (fake_read(f, fd, &r)) {
		struct buffer b;
		struct pack p;

		buffer_init(&b, RPC_REQUEST_MAX);
		pack_init(&p, &b);
		rpc_pack_result(&p, r.m.msgid);
		pack_map(&p, 4);
		pack_kv_bool(&p, "leader", a->leader);
		pack_kv_str(&p, "state", a->state);
		pack_kv_uint(&p, "token", a->token);
		pack_kv_uint(&p, "lease_ms", a->lease_ms);
		fake_send_buffer(fd, &b);
	}
}

Test(check, of_an_answer_that_says_the_least)
{
	static const struct {
		struct fake_answer answer;
		int code;
		const char *out;
	} cases[] = {
		{{NULL, true, "leading", 42, 9000, NULL, NULL}, 0, "this node leads t, token 42"},
		{{NULL, false, "following", 42, 0, NULL, NULL},
		 1,
		 "another node leads t, token 42; this node is following\n"},
		{{NULL, false, "drained", 42, 0, NULL, NULL}, 1, "another node leads t"},
		{{NULL, false, "drained", 0, 0, NULL, NULL}, 4, "nobody leads t"},
		{{NULL, false, "paused", 0, 0, NULL, NULL}, 4, "nobody leads t"},
		{{NULL, false, "contending", 0, 0, NULL, NULL}, 2, "nobody leads t"},
		{{NULL, false, "disconnected", 42, 0, NULL, NULL}, 2, "another node leads t"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *out, *err;
		struct fake f;

		fake_start(&f, serve_least, &cases[i].answer);
		cr_expect_eq(check(ARGV("-qvs", fake_path(&f), "t"), &out, &err), cases[i].code,
			     "case %zu", i);
		cr_expect_eq(strstr(out, cases[i].out), out, "case %zu: %s", i, out);
		cr_expect_str_eq(err, "", "case %zu: %s", i, err);
		free(out);
		free(err);
		fake_stop(&f);
	}
}

static void serve_error(struct fake *f, int fd)
{
	static struct fake_request r;

	while (fake_read(f, fd, &r))
		fake_error(fd, r.m.msgid, *(const int *)f->arg, "the reason\033c");
}

Test(check, refusals)
{
	static const struct {
		int code, exit;
		const char *err, *quiet;
	} cases[] = {
		{1, 2, "zkleader-check: cannot tell: the reason\\x1bc\n", ""},
		{2, 2, "zkleader-check: cannot tell: the reason\\x1bc\n", ""},
		{3, 3, "zkleader-check: the reason\\x1bc\n", "zkleader-check: the reason\\x1bc\n"},
		{4, 4, "", ""},
		{5, 2, "zkleader-check: cannot tell: the reason\\x1bc\n", ""},
		{255, 2, "zkleader-check: cannot tell: the reason\\x1bc\n", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *out, *err;
		struct fake f;

		fake_start(&f, serve_error, &cases[i].code);
		const char *path = f.address.sun_path;
		cr_expect_eq(check(ARGV("-s", path, "t"), &out, &err), cases[i].exit, "case %zu",
			     i);
		cr_expect_str_eq(out, "");
		cr_expect_str_eq(err, cases[i].err, "case %zu: %s", i, err);
		free(out);
		free(err);
		cr_expect_eq(check(ARGV("-s", path, "-q", "t"), &out, &err), cases[i].exit);
		cr_expect_str_eq(err, cases[i].quiet, "case %zu: %s", i, err);
		free(out);
		free(err);
		fake_stop(&f);
	}
}

Test(check, without_a_sidecar)
{
	char *out, *err;
	char longest[200];

	cr_expect_eq(check(ARGV("-s", "/nonexistent", "t"), &out, &err), 2);
	cr_expect_str_eq(err, "zkleader-check: cannot tell: no sidecar on /nonexistent (No such "
			      "file or directory): is zkleaderd running?\n");
	free(out);
	free(err);
	cr_expect_eq(check(ARGV("-s", "/nonexistent", "-q", "t"), &out, &err), 2);
	cr_expect_str_eq(err, "");
	free(out);
	free(err);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	cr_expect_eq(check(ARGV("-s", longest, "t"), &out, &err), 3);
	cr_expect_str_eq(err, "zkleader-check: the path of the socket is too long\n");
	free(out);
	free(err);
}

Test(check, help_and_version)
{
	char *out, *err;

	cr_expect_eq(check(ARGV("-h", "--nonsense"), &out, &err), 0);
	cr_expect_eq(strstr(out, "usage: zkleader-check "), out);
	cr_expect_str_eq(err, "");
	free(out);
	free(err);
	cr_expect_eq(check(ARGV("-V"), &out, &err), 0);
	cr_expect_str_eq(out, "zkleader-check " ZKLEADER_VERSION "\n");
	free(out);
	free(err);
}

/* --- --once ------------------------------------------------------------------------------------------ */

struct once_case {
	const char *outcome, *why;
	uint64_t token, lease_ms;
	int code;
	const char *out; /* with -v */
	const char *err;
};

/* f->arg is the case. A check is answered as well: that nobody leads. */
static void serve_once(struct fake *f, int fd)
{
	const struct once_case *c = f->arg;
	static struct fake_request r;

	while (fake_read(f, fd, &r)) {
		struct buffer b;
		struct pack p;
		char text[64];
		size_t n;

		if (reader_text_is(r.m.method, "check")) {
			fake_answer(fd, r.m.msgid,
				    &(struct fake_answer){"t", false, "contending", 0, 0, NULL,
							  "over"});
			continue;
		}
		cr_assert(reader_text_is(r.m.method, "claim"));
		cr_assert_eq(r.m.n_params, 2);
		struct reader_text task, kind;
		cr_assert(reader_str(&r.m.params, &task) == 0 && reader_text_is(task, "t"));
		cr_assert(reader_map(&r.m.params, &n) == 0);
		cr_assert_eq(n, 5, "kind, now_ms, zone_ms, tick_ms, wait_ms");
		cr_assert(reader_skip(&r.m.params) == 0 && reader_str(&r.m.params, &kind) == 0);
		cr_assert_eq(reader_text_copy(kind, text, sizeof(text)), 0);
		cr_assert_str_eq(text, "once");
		buffer_init(&b, RPC_REQUEST_MAX);
		pack_init(&p, &b);
		rpc_pack_result(&p, r.m.msgid);
		pack_map(&p, 9);
		pack_kv_str(&p, "outcome", c->outcome);
		pack_kv_str(&p, "tick", "2026-11-20T02:00:00Z");
		pack_kv_uint(&p, "token", c->token);
		pack_kv_int(&p, "attempt", 1);
		pack_kv_str(&p, "worker_id", "w");
		pack_kv_str(&p, "version", "1.0");
		pack_kv_uint(&p, "lease_ms", c->lease_ms);
		pack_kv_uint(&p, "run", 1);
		pack_kv_str(&p, "why", c->why);
		fake_send_buffer(fd, &b);
	}
}

Test(check, once)
{
#define TICK "tick 2026-11-20T02:00:00Z of t "
	static const struct once_case cases[] = {
		{"yours", "", 7, 9000, 0, TICK "is claimed for the caller, token 7, lease ", ""},
		{"yours", "", 0, 9000, 2, "", "makes no sense\n"},
		{"yours", "", 7, 0, 2, TICK, "zkleader-check: cannot tell: over\n"},
		{"taken", "", 7, 0, 1, TICK "is claimed already\n", ""},
		{"waited", "", 0, 0, 1, TICK "is not claimed here", ""},
		{"waited", "no session", 0, 0, 2, TICK "is not", "cannot tell: no session\n"},
		{"nobody", "", 0, 0, 4, "nobody may lead t now\n", ""},
		{"something new", "", 0, 0, 2, "", "makes no sense\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *out, *err;
		struct fake f;
		const char *path;

		fake_start(&f, serve_once, &cases[i]);
		path = fake_path(&f);
		cr_expect_eq(check(ARGV("-s", path, "--once", "--tick", "1m", "t"), &out, &err),
			     cases[i].code, "case %zu", i);
		cr_expect_str_eq(out, "");
		cr_expect_not_null(strstr(err, cases[i].err), "case %zu: %s", i, err);
		if (cases[i].err[0] == '\0')
			cr_expect_str_eq(err, "");
		free(out);
		free(err);
		cr_expect_eq(check(ARGV("-vqs", path, "--once", "--tick=1m", "t"), &out, &err),
			     cases[i].code);
		cr_expect_eq(strstr(out, cases[i].out), out, "case %zu: %s", i, out);
		cr_expect_str_eq(err, "");
		free(out);
		free(err);
		fake_stop(&f);
	}
}
