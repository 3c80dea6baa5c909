/* zkleader submit, before sidecars that refuse, and that go before they have answered. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/ui/command.h"
#include "client_fake.h"

TestSuite(submit, .timeout = 60);

#define NOW INT64_C(1795226400000)

struct outcome {
	int code;
	char *out, *err;
};

/* The sidecar's answers: to submit, and then to each `job`. */
struct script {
	int error;	      /* the code of a refusal, 0: none; -1: it goes without an answer */
	const char *other_id; /* NULL: the one that was submitted */
	const char *state;    /* of the job */
	int exit_status;
	char id[200]; /* as it came */
	size_t payload_len;
};

static void take_submission(struct script *s, struct reader r)
{
	struct reader_text key, text;
	size_t n;

	cr_assert_eq(reader_skip(&r), 0);
	cr_assert_eq(reader_map(&r, &n), 0);
	for (; n > 0; n--) {
		cr_assert_eq(reader_str(&r, &key), 0);
		if (reader_text_is(key, "id")) {
			cr_assert_eq(reader_str(&r, &text), 0);
			cr_assert_eq(reader_text_copy(text, s->id, sizeof(s->id)), 0);
		} else if (reader_text_is(key, "payload")) {
			cr_assert_eq(reader_bin(&r, &text), 0);
			s->payload_len = text.len;
		} else {
			cr_assert_eq(reader_skip(&r), 0);
		}
	}
}

static void serve(struct fake *f, int fd)
{
	union {
		const void *in;
		struct script *out;
	} s = {.in = f->arg};
	struct fake_request r;

	while (fake_read(f, fd, &r)) {
		struct buffer b;
		struct pack p;

		if (reader_text_is(r.m.method, "job_id")) { /* of an earlier release */
			fake_error(fd, r.m.msgid, 3, "no method");
			continue;
		}
		if (reader_text_is(r.m.method, "submit"))
			take_submission(s.out, r.m.params);
		if (s.out->error < 0)
			return;
		if (s.out->error > 0) {
			fake_error(fd, r.m.msgid, s.out->error, "not now");
			continue;
		}
		buffer_init(&b, RPC_REQUEST_MAX);
		pack_init(&p, &b);
		rpc_pack_result(&p, r.m.msgid);
		if (reader_text_is(r.m.method, "submit")) {
			pack_map(&p, 1);
			pack_kv_str(&p, "id", s.out->other_id ? s.out->other_id : s.out->id);
		} else {
			pack_map(&p, 4);
			pack_kv_str(&p, "id", s.out->id);
			pack_kv_str(&p, "state", s.out->state);
			if (s.out->exit_status >= 0)
				pack_kv_int(&p, "exit_status", s.out->exit_status);
			else
				pack_kv_nil(&p, "exit_status");
			pack_kv_str(&p, "output", "one\n\033two");
		}
		fake_send_buffer(fd, &b);
	}
}

static struct outcome run(struct script *script, size_t payload, const char *const *words)
{
	static char bytes[20000];
	const char *argv[16] = {"-s"};
	struct outcome r;
	struct fake f;
	size_t n_out, n_err, n = 2;
	int stdin_before = dup(STDIN_FILENO), fd = memfd_create("payload", 0);
	struct output o = {.out = open_memstream(&r.out, &n_out),
			   .err = open_memstream(&r.err, &n_err),
			   .now_ms = NOW};

	fake_start(&f, serve, script);
	cr_assert_eq(write(fd, bytes, payload), (ssize_t)payload);
	lseek(fd, 0, SEEK_SET);
	dup2(fd, STDIN_FILENO);
	argv[1] = fake_path(&f);
	while (words[n - 2]) {
		argv[n] = words[n - 2];
		n++;
	}
	r.code = command_main(argv, &o);
	fclose(o.out);
	fclose(o.err);
	fake_stop(&f);
	dup2(stdin_before, STDIN_FILENO);
	close(stdin_before);
	close(fd);
	return r;
}

static void forget(struct outcome *r)
{
	free(r->out);
	free(r->err);
}

static const char *line_of(const char *id)
{
	static char line[300];

	snprintf(line, sizeof(line), "%s\n", id);
	return line;
}

Test(submit, committed)
{
	struct script s = {.error = 0};
	struct outcome r = run(&s, 16384, (const char *const[]){"submit", "q", NULL});

	cr_expect_eq(r.code, 0);
	cr_expect_str_eq(r.out, line_of(s.id), "the id that the command has chosen");
	cr_expect_eq(strncmp(s.id, "q.", 2), 0);
	cr_expect_str_eq(r.err, "");
	cr_expect_eq(s.payload_len, 16384);
	forget(&r);
}

Test(submit, another_job_of_its_key)
{
	const char *other = "q.htg7k.0a1b2c3d-5e6f-4a7b-8c9d-0e1f2a3b4c5d";
	struct script s = {.other_id = other};
	struct outcome r = run(&s, 0, (const char *const[]){"submit", "--key", "k", "q", NULL});

	cr_expect_eq(r.code, 0);
	cr_expect_str_eq(r.out, line_of(other));
	cr_expect_str_neq(s.id, other);
	forget(&r);
}

/* The id is printed where it is not known whether it was done, and nowhere else. */
Test(submit, refused_and_unknown)
{
	static const struct {
		int error, code;
		bool printed;
	} cases[] = {{-1, 2, true}, {2, 2, true}, {3, 3, false}, {4, 4, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct script s = {.error = cases[i].error};
		struct outcome r = run(&s, 1, (const char *const[]){"submit", "q", NULL});

		cr_expect_eq(r.code, cases[i].code, "%d: %d", cases[i].error, r.code);
		cr_expect_str_eq(r.out, cases[i].printed ? line_of(s.id) : "");
		cr_expect_eq(strstr(r.err, "--id q.") != NULL, cases[i].printed, "%s", r.err);
		forget(&r);
	}
}

Test(submit, too_big)
{
	struct script s = {.error = 0};
	struct outcome r = run(&s, 16385, (const char *const[]){"submit", "q", NULL});

	cr_expect_eq(r.code, 3);
	cr_expect_str_eq(r.out, "");
	cr_expect_str_eq(s.id, "", "nothing was asked");
	forget(&r);
}

Test(submit, waits_for_the_end)
{
	static const struct {
		const char *state;
		int exit_status, code;
	} cases[] = {{"ok", 0, 0},	     {"ok", -1, 0},	   {"dead", 3, 3},
		     {"dead", -1, 70},	     {"dead", 0, 70},	   {"lost", -1, 70},
		     {"cancelled", 143, 70}, {"cancelled", -1, 70}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct script s = {.state = cases[i].state, .exit_status = cases[i].exit_status};
		struct outcome r = run(&s, 1, (const char *const[]){"submit", "--wait", "q", NULL});
		const char *rest = strchr(r.out, '\n');

		cr_expect_eq(r.code, cases[i].code, "%s %d: %d", cases[i].state,
			     cases[i].exit_status, r.code);
		cr_expect(rest && strcmp(rest, "\none\n\\x1btwo\n") == 0, "%s", r.out);
		forget(&r);
	}
}
