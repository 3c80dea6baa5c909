#include "client_fake.h"

#include <locale.h>

#include "cli/ui/command.h"
#include "api/json.h"
#include "base/text/options.h"

#define NOW	  INT64_C(1795226400000) /* 2026-11-21T02:00:00Z */
#define ARGV(...) ((const char *[]){__VA_ARGS__, NULL})

/* --- options --------------------------------------------------------------------------------------- */

Test(options, every_form)
{
	static const struct option_spec specs[] = {
		{'a', "all", NULL, ""}, {'f', "file", "FILE", ""}, {300, "long", "X", ""}, {0}};
	static const struct option_spec more[] = {{'x', NULL, NULL, ""}, {0}};
	static const struct {
		int id;
		const char *value;
	} expected[] = {
		{'a', NULL},
		{'x', NULL},
		{'f', "1"},
		{'f', "2"},
		{'f', "3"},
		{'f', ""},
		{'f', "-a"},
		{300, "5=6"},
		{'a', NULL},
		{OPTION_OPERAND, "o"},
		{OPTION_OPERAND, "-"},
		{OPTION_OPERAND, ""},
		{OPTION_OPERAND, "-a"},
		{OPTION_OPERAND, "--"},
		{OPTION_END, NULL},
		{OPTION_END, NULL},
	};
	struct options o;
	const char *value;

	options_init(&o,
		     ARGV("-axf1", "-f", "2", "--file", "3", "--file=", "-f", "-a", "--long=5=6",
			  "--all", "o", "-", "", "--", "-a", "--"),
		     specs, more);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		cr_expect_eq(options_next(&o, &value), expected[i].id, "case %zu", i);
		if (expected[i].value)
			cr_expect_str_eq(value, expected[i].value, "case %zu", i);
		else
			cr_expect_null(value);
	}
}

/* --- the table --------------------------------------------------------------------------------------- */

Test(command, the_nearest)
{
	static const struct {
		const char *word, *command;
	} cases[] = {
		{"lst", "list"},      {"lists", "list"},
		{"task", "tasks"},    {"stat", "status"},
		{"exp", "explain"},   {"wacth", "watch"},
		{"relaod", "reload"}, {"verison", "version"},
		{"x", NULL},	      {"", NULL},
		{"frobnicate", NULL}, {"a word that is much longer than any command is", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct command *c = command_nearest(cases[i].word);

		cr_expect_str_eq(c ? c->name : "none", cases[i].command ? cases[i].command : "none",
				 "%s", cases[i].word);
	}
}

Test(command, every_one_is_complete)
{
	for (const struct command *const *c = command_all(); *c; c++) {
		cr_expect_eq(command_find((*c)->name), *c);
		cr_expect((*c)->run && (*c)->args);
		cr_expect_lt(strlen((*c)->help), 56, "%s does not fit 80 columns", (*c)->name);
		cr_expect_leq((*c)->min_args, (*c)->max_args);
	}
}

/* --- a sidecar that answers from a table of JSON ------------------------------------------------------ */

static void pack_json(struct pack *p, json_t *json)
{
	const char *key;
	json_t *value;
	size_t i;

	switch (json_typeof(json)) {
	case JSON_OBJECT:
		pack_map(p, json_object_size(json));
		json_object_foreach(json, key, value)
		{
			pack_str(p, key);
			pack_json(p, value);
		}
		break;
	case JSON_ARRAY:
		pack_array(p, json_array_size(json));
		json_array_foreach(json, i, value) pack_json(p, value);
		break;
	case JSON_STRING: pack_str(p, json_string_value(json)); break;
	case JSON_INTEGER: pack_int(p, json_integer_value(json)); break;
	case JSON_REAL: cr_assert_fail("no floats here"); break;
	case JSON_TRUE: pack_bool(p, true); break;
	case JSON_FALSE: pack_bool(p, false); break;
	case JSON_NULL: pack_nil(p); break;
	}
}

/* f->arg is an object: the result of each method; what is not in it is refused with code 3. */
static void serve_json(struct fake *f, int fd)
{
	static struct fake_request r;

	while (fake_read(f, fd, &r)) {
		char method[RPC_METHOD_MAX + 1];
		json_t *all = json_loads(f->arg, 0, NULL), *result;
		struct buffer b;
		struct pack p;

		reader_text_copy(r.m.method, method, sizeof(method));
		result = json_object_get(all, method);
		if (result) {
			buffer_init(&b, RPC_RESPONSE_MAX);
			pack_init(&p, &b);
			rpc_pack_result(&p, r.m.msgid);
			pack_json(&p, result);
			fake_send_buffer(fd, &b);
		} else {
			fake_error(fd, r.m.msgid, 3, "not known\033c here");
		}
		json_decref(all);
	}
}

struct outcome {
	int code;
	char *out, *err;
};

static struct outcome run_with(const char *const *argv, int width, bool color)
{
	struct outcome r;
	size_t n_out, n_err;
	struct output o = {.out = open_memstream(&r.out, &n_out),
			   .err = open_memstream(&r.err, &n_err),
			   .width = width,
			   .color = color,
			   .now_ms = NOW};

	r.code = command_main(argv, &o);
	fclose(o.out);
	fclose(o.err);
	return r;
}

/* Runs the command in argv, and its answers come from the JSON. */
static struct outcome run(const char *json, int width, bool color, const char *const *argv)
{
	struct outcome r;
	struct fake f;

	fake_start(&f, serve_json, json);
	setenv(ZKLEADER_SOCKET_ENV, fake_path(&f), 1);
	r = run_with(argv, width, color);
	fake_stop(&f);
	return r;
}

static void expect(struct outcome r, int code, const char *out, const char *err)
{
	cr_expect_eq(r.code, code, "%d", r.code);
	cr_expect_str_eq(r.out, out, "out:\n%s", r.out);
	cr_expect_str_eq(r.err, err, "err:\n%s", r.err);
	free(r.out);
	free(r.err);
}

#define LEADER \
	"\"leader\":{\"id\":\"i\",\"ip\":\"10.0.0.1\",\"hostname\":\"app01\",\"version\":\"2.1\"}"
#define WORKER(id, version, host, state, leads, self)                                      \
	"{\"id\":\"" id "\",\"version\":\"" version                                        \
	"\",\"ip\":\"10.20.130.101\",\"hostname\":\"" host                                 \
	"\",\"random_ints\":[1,-2,3,4,5],\"tasks\":[\"a\",\"b\",\"c\"],\"state\":\"" state \
	"\",\"leads\":" #leads ",\"self\":" #self ",\"since\":\"2026-11-17T22:00:00Z\"}"
#define ID "-1c2d-4e5f-8a9b-0123456789ab"

static const char fleet[] = "{\"workers\":[" WORKER(
	"9f3a1c00" ID, "2.14.0-rc2", "app-prod-01.eu-west.example.com", "active", 21,
	true) "," WORKER("9f3a1c01" ID, "2.13.7", "app-prod-02.eu-west.example.com", "drained", 0,
			 false) "," WORKER("9f3a1c02" ID, "2.13.7", "evil\\u001b[31mhost", "active",
					   0, false) "]}";

/* --- arguments ------------------------------------------------------------------------------------------ */

Test(command, misuse)
{
	static const struct {
		const char *argv[4];
		const char *err;
	} cases[] = {
		{{"lst"}, "zkleader: unknown command \"lst\": did you mean \"list\"?\n"},
		{{"xyz\033"}, "zkleader: unknown command \"xyz\\x1b\": zkleader help lists them\n"},
		{{"frobnicate"},
		 "zkleader: unknown command \"frobnicate\": zkleader help lists them\n"},
		{{"--nope"}, "zkleader: unknown option --nope: zkleader -h lists them\n"},
		{{"--wide"}, "zkleader: unknown option --wide: zkleader -h lists them\n"},
		{{"list", "-x"}, "zkleader: unknown option -x: zkleader list -h lists them\n"},
		{{"list", "-s"},
		 "zkleader: option -s needs a value: zkleader list -h lists them\n"},
		{{"-s", "", "list"}, "zkleader: the socket's path is empty\n"},
		{{"list", "x"}, "zkleader: too many arguments: usage: zkleader list\n"},
		{{"explain"}, "zkleader: an argument is missing: usage: zkleader explain TASK\n"},
		{{"explain", "a", "b"},
		 "zkleader: too many arguments: usage: zkleader explain TASK\n"},
		{{"help", "statsu"},
		 "zkleader: unknown command \"statsu\": did you mean \"status\"?\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect(run_with(cases[i].argv, 0, false), 3, "", cases[i].err);
}

Test(command, options_before_and_behind_the_command)
{
	struct output o = {.color = true};
	struct invocation i;

	cr_assert_eq(command_parse(ARGV("--json", "-s", "/x", "list", "-w", "--no-color"), &o, &i),
		     0);
	cr_expect_eq(i.context.command, &command_list);
	cr_expect_str_eq(i.context.socket, "/x");
	cr_expect(i.context.output.json && !i.context.output.color);
	cr_expect_str_eq(i.context.values[0], "");
	invocation_done(&i);
	cr_assert_eq(command_parse(ARGV("tasks", "a", "--socket=/y", "b", "--", "--json"), &o, &i),
		     0);
	cr_expect_str_eq(i.context.socket, "/y");
	cr_expect(!i.context.output.json && i.context.output.color);
	cr_assert_eq(i.context.n_args, 3);
	cr_expect_str_eq(i.context.args[2], "--json");
	invocation_done(&i);
	cr_assert_eq(command_parse(ARGV("run", "t", "-E", "3", "--", "a", "-E", "--", "b"), &o, &i),
		     0);
	cr_assert_eq(i.context.n_args, 5);
	cr_expect_eq(i.context.n_before, 1);
	cr_expect_str_eq(i.context.args[3], "--");
	cr_expect_null(i.context.args[5]);
	invocation_done(&i);
}

static void expect_in_help(const char *command, const char *text)
{
	struct outcome r = run_with(ARGV(command, "-h"), 0, false);

	cr_expect_not_null(strstr(r.out, text), "%s", r.out);
	free(r.out);
	free(r.err);
}

/* A help is read on terminals of 80 columns. */
static void expect_narrow(const char *help)
{
	for (const char *line = help; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		cr_expect_leq(strcspn(line, "\n"), 80, "%s", line);
	}
}

/* Every command is in the group that says what it is for. */
Test(command, help_is_in_groups)
{
	static const char *const order[] = {
		"\nlook:\n",	"\n  list ",	  "\n  version ", "\n\ndecide:\n", "\n  drain ",
		"\n  rolling ", "\n\nrun:\n",	  "\n  run ",	  "\n\nqueues:\n", "\n  submit ",
		"\n  purge ",	"\n\nrecipes:\n", "\n  lock ",	  "\n  forget ",   "\n\noptions:\n",
	};
	struct outcome r = run_with(ARGV("help"), 0, false);
	const char *at = r.out;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const char *found = strstr(at, order[i]);

		cr_expect_not_null(found, "%s", order[i]);
		at = found ? found : at;
	}
	for (const struct command *const *c = command_all(); *c; c++) {
		char line[40];

		snprintf(line, sizeof(line), "\n  %s ", (*c)->name);
		cr_expect_not_null(strstr(r.out, line), "%s", line);
	}
	free(r.out);
	free(r.err);
}

Test(command, help_and_version)
{
	struct outcome r = run_with(ARGV(NULL), 0, false);

	cr_expect_eq(r.code, 0);
	cr_expect_not_null(strstr(r.out, "\n  explain TASK "));
	expect_narrow(r.out);
	free(r.out);
	free(r.err);
	for (const struct command *const *c = command_all(); *c; c++) {
		struct outcome a = run_with(ARGV((*c)->name, "-h"), 0, false);
		struct outcome b = run_with(ARGV("help", (*c)->name), 0, false);

		cr_expect_eq(a.code, 0);
		cr_expect_not_null(strstr(a.out, (*c)->help));
		expect_narrow(a.out);
		expect(b, 0, a.out, "");
		free(a.out);
		free(a.err);
	}
	expect_in_help("run", "\nexit: CMD's own status (128+N for signal N");
	expect_in_help("status", "\nexit: 0 the sidecar is healthy (--live: answers;");
	expect_in_help("resign", "\nexit: 0 done, 1 this node does not lead it, 2 ");
	expect_in_help("reload", ", or a file was refused\n");
	expect_in_help("list", "\nexit: 0 done, 2 no sidecar or no answer, 3 misuse\n");
	expect(run_with(ARGV("version"), 0, false), 0, "zkleader " ZKLEADER_VERSION "\n", "");
	expect(run_with(ARGV("-V"), 0, false), 0, "zkleader " ZKLEADER_VERSION "\n", "");
	expect(run_with(ARGV("version", "1.10", "1.9"), 0, false), 0, "1.10 > 1.9\n", "");
	expect(run_with(ARGV("version", "1.5", "1.5.0"), 0, false), 0, "1.5 = 1.5.0\n", "");
	expect(run_with(ARGV("version", "1.5-rc1", "1.5"), 0, false), 0, "1.5-rc1 < 1.5\n", "");
	expect(run_with(ARGV("version", "1.5", "v1.6"), 0, false), 0, "1.5 > v1.6\n",
	       "zkleader: warning: \"v1.6\" begins with no number, so every version that does is "
	       "newer: take what is in front of it off with version-strip\n");
	expect(run_with(ARGV("version", "1.5", "--json", "1.6"), 0, false), 0,
	       "{\n  \"a\": \"1.5\",\n  \"b\": \"1.6\",\n  \"order\": \"<\"\n}\n", "");
	expect(run_with(ARGV("version", "1.5"), 0, false), 3, "",
	       "zkleader: two versions are compared: zkleader version A B\n");
	expect(run_with(ARGV("version", "1.5", " "), 0, false), 3, "",
	       "zkleader: \" \" is no version: that is up to 255 characters of printable ASCII\n");
	expect(run_with(ARGV("version", "-V", "1", "2"), 0, false), 0,
	       "zkleader " ZKLEADER_VERSION "\n", "");
	expect(run_with(ARGV("version", "--json"), 0, false), 0,
	       "{\n  \"version\": \"" ZKLEADER_VERSION "\"\n}\n", "");
	expect(run_with(ARGV("help", "reload", "--json"), 0, false), 0,
	       "[\n  {\n    \"command\": \"reload\",\n    \"args\": \"\",\n    \"help\": \"read "
	       "the "
	       "configuration again and say what changed\"\n  }\n]\n",
	       "");
}

/* --- failures --------------------------------------------------------------------------------------------- */

Test(command, no_sidecar)
{
	char longest[200];

	setenv(ZKLEADER_SOCKET_ENV, "/nonexistent", 1);
	for (const struct command *const *c = command_all(); *c; c++)
		if (*c != &command_help && *c != &command_version && *c != &command_run &&
		    *c != &command_barrier && *c != &command_counter && *c != &command_wait &&
		    *c != &command_rolling && *c != &command_import_crontab &&
		    *c != &command_lock && *c != &command_join && *c != &command_submit &&
		    *c != &command_requeue)
			expect(run_with(ARGV((*c)->name, (*c)->min_args > 0 ? "t" : NULL,
					     (*c)->min_args > 1 ? "1" : NULL),
					0, false),
			       2, "",
			       "zkleader: no sidecar on /nonexistent (No such file or directory): "
			       "is "
			       "zkleaderd running?\n");
	expect(run_with(ARGV("counter", "t", "+1"), 0, false), 2, "",
	       "zkleader: t: not done: no sidecar on /nonexistent (No such file or directory): is "
	       "zkleaderd running?\n");
	expect(run_with(ARGV("rolling", "t", "--status"), 0, false), 2, "",
	       "zkleader: no sidecar on /nonexistent (No such file or directory): is zkleaderd "
	       "running?\n");
	expect(run_with(ARGV("rolling", "t", "--", "true"), 0, false), 2, "",
	       "zkleader: t: waiting for a slot, of 1\n"
	       "zkleader: no sidecar on /nonexistent (No such file or directory): is zkleaderd "
	       "running?\n");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	expect(run_with(ARGV("list", "-s", longest), 0, false), 3, "",
	       "zkleader: the path of the socket is too long\n");
}

Test(command, refusals_and_nonsense)
{
	static char long_name[RPC_REQUEST_MAX + 1];
	struct outcome r;

	expect(run("{}", 0, false, ARGV("tasks", "x")), 3, "", "zkleader: not known\\x1bc here\n");
	r = run("{\"workers\":{}}", 0, false, ARGV("list"));
	cr_expect_eq(r.code, 2);
	cr_expect_not_null(strstr(r.err, "makes no sense\n"));
	free(r.out);
	free(r.err);
	memset(long_name, 'x', sizeof(long_name) - 1);
	expect(run("{\"tasks\":[]}", 0, false, ARGV("tasks", long_name)), 3, "",
	       "zkleader: too much for one request\n");
}

/* The sidecar always says the same, and so that it has come no further. */
Test(command, it_asks_on_for_the_letters_that_are_left)
{
#define LEFT ",\"more\":\"q.1a.01234567-89ab-cdef-0123-456789abcdef\"}}"
	expect(run("{\"purge\":{\"purged\":5" LEFT, 0, false, ARGV("purge", "q")), 0,
	       "purged 10 dead letters\n", "");
	expect(run("{\"requeue\":{\"requeued\":5" LEFT, 0, true, ARGV("requeue", "--all", "q")), 0,
	       "requeued 10 jobs\n", "");
	expect(run("{\"purge\":{\"purged\":5,\"more\":7}}", 0, false, ARGV("purge", "q")), 0,
	       "purged 5 dead letters\n", "");
#undef LEFT
}

#define ORDERS(answer)                                                                        \
	"\"drain\":" answer ",\"undrain\":" answer ",\"pause\":" answer ",\"resume\":" answer \
	",\"resign\":" answer ",\"unresign\":" answer ",\"pin\":" answer ",\"unpin\":" answer \
	",\"counter\":{\"done\":true,\"value\":7},\"index\":{\"index\":7},\"trigger\":{}"     \
	",\"roster\":[1,{},[],null],\"forget\":{}"                                            \
	",\"locks\":[1,{},[],null,{\"entries\":[1,{}]}]"

/* Everything that a command looks at is missing or of another type. */
Test(command, answers_with_nothing_in_them)
{
	static const char *const answers[] = {
		"{\"workers\":[1,{},[],null],\"tasks\":[1,{},[],null],\"status\":{},"
		"\"explain\":{},\"reload\":{},\"history\":[1,{},[],null],\"next\":[1,{},[],null]"
		",\"job\":{},\"cancel\":{},\"queue\":[1,{},[],null],\"dead\":[1,{},[],null]"
		",\"purge\":{},\"partitions\":{}," ORDERS("{}") "}",
		"{\"workers\":[{\"id\":1,\"version\":null,\"tasks\":7,\"since\":{}}],"
		"\"tasks\":[{\"task\":[],\"leader\":1,\"token\":\"x\",\"since\":-1}],"
		"\"status\":{\"session\":1,\"problems\":[1,{}],\"leads\":\"x\"},"
		"\"explain\":{\"reason\":1,\"ranking\":[1,{}]},"
		"\"reload\":{\"changes\":[1,{}],\"problems\":[]},"
		"\"history\":[{\"tick\":1,\"started_at\":{}},{\"tick\":\"x\"},{\"tick\":[]}],"
		"\"next\":[{\"tick\":[],\"task\":1,\"local\":{}},{\"tick\":\"x\"}],"
		"\"job\":{\"state\":1,\"output\":7,\"exit_status\":\"x\"},\"cancel\":{\"message\":"
		"7},"
		"\"queue\":[{\"queue\":1,\"workers\":[1,{}]}],\"dead\":[{\"id\":1}],"
		"\"purge\":{\"purged\":\"x\"},"
		"\"partitions\":{\"task\":1,\"owners\":[1,{}],\"here\":[\"x\",1]}"
		"," ORDERS("{\"message\":7}") "}",
	};

	for (size_t a = 0; a < 2; a++) {
		for (const struct command *const *c = command_all(); *c; c++) {
			struct outcome r;

			if (*c == &command_barrier || *c == &command_watch || *c == &command_run ||
			    *c == &command_wait || *c == &command_rolling ||
			    *c == &command_import_crontab || *c == &command_lock ||
			    *c == &command_join || *c == &command_logs || *c == &command_submit ||
			    *c == &command_requeue)
				continue;
			r = run(answers[a], 80, true,
				ARGV((*c)->name, (*c)->min_args > 0 ? "t" : NULL,
				     (*c)->min_args > 1 ? "1" : NULL));
			cr_expect_leq(r.code, 3, "%s", (*c)->name);
			cr_expect_gt(strlen(r.out), 0, "%s", (*c)->name);
			free(r.out);
			free(r.err);
		}
	}
}

Test(rolling, what_is_told)
{
	static const char *const answers[] = {
		"{\"rolling\":{}}", "{\"rolling\":{\"group\":7,\"result\":[]}}",
		"{\"rolling\":{\"group\":{\"max_unavailable\":2,\"slots\":[1,{}],\"waiting\":[{},"
		"null],\"halted\":{}},\"slot\":{}}}"};
	static const char *const orders[] = {"--status", "--resume", "--finish"};

	for (size_t a = 0; a < 3; a++) {
		for (size_t i = 0; i < 3; i++) {
			struct outcome r =
				run(answers[a], 80, true, ARGV("rolling", "t", orders[i]));
			cr_expect_eq(r.code, 0, "%s", orders[i]);
			free(r.out);
			free(r.err);
		}
	}
	expect(run("{\"rolling\":{}}", 0, false, ARGV("rolling", "t", "--", "true")), 2, "",
	       "zkleader: t: waiting for a slot, of 1\n"
	       "zkleader: the answer of the sidecar makes no sense\n");
	expect(run("{\"rolling\":{\"result\":\"halted\",\"group\":{\"halted\":{\"node\":\"n\","
		   "\"why\":\"CMD failed\"}}}}",
		   0, false, ARGV("rolling", "t", "--", "true")),
	       1, "",
	       "zkleader: t: waiting for a slot, of 1\n"
	       "zkleader: t is halted by n: CMD failed; zkleader rolling t --resume ends that\n");
	expect(run("{\"rolling\":{\"result\":\"done\"}}", 0, false,
		   ARGV("rolling", "t", "--release", "n")),
	       0, "the slot of n is free, and its drain is ended\n", "");
}

Test(counter, outcomes)
{
	static const struct {
		const char *answer, *out, *err;
		int code;
	} cases[] = {
		{"{\"value\":-7,\"done\":true,\"why\":null}", "-7\n", "", 0},
		{"{\"value\":null,\"done\":false,\"why\":\"x\"}", "", "zkleader: c: not done: x\n",
		 2},
		{"{\"value\":null,\"done\":null,\"why\":\"x\"}", "", "zkleader: c: unknown: x\n",
		 2},
		{"{\"value\":\"7\",\"done\":true}", "",
		 "zkleader: c: unknown: the answer makes no sense\n", 2},
		{"{}", "", "zkleader: c: unknown: the answer makes no sense\n", 2},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char json[200];
		snprintf(json, sizeof(json), "{\"counter\":%s}", cases[i].answer);
		expect(run(json, 0, false, ARGV("counter", "c", "+1")), cases[i].code, cases[i].out,
		       cases[i].err);
	}
	expect(run("{}", 0, false, ARGV("counter", "c", "1")), 3, "",
	       "zkleader: \"1\" is nothing to add: that is +N or -N, an int64; behind \"--\" if it "
	       "is "
	       "negative\n");
}

#define OWNER(k, leader, token)                                                     \
	"{\"partition\":" k ",\"leader\":" leader ",\"token\":" token ",\"since\":" \
	"\"2026-11-21T00:58:00Z\",\"lease_ms\":0}"
#define LED_BY(host) "{\"id\":\"i\",\"ip\":\"::1\",\"hostname\":\"" host "\",\"version\":\"1.5\"}"
#define PARTITIONS(owners, here)                                                       \
	"{\"partitions\":{\"task\":\"scan\",\"partitions\":3,\"owners\":[" owners "]," \
	"\"here\":[" here "]},\"status\":{\"stale_since\":null}}"

Test(partitions, who_leads_them)
{
	static const char *const three =
		PARTITIONS(OWNER("0", LED_BY("h1"), "77") "," OWNER(
				   "1", LED_BY("h2"), "78") "," OWNER("2", "null", "null"),
			   "1");
	static const char *const none =
		PARTITIONS(OWNER("0", LED_BY("h1"), "77") "," OWNER("1", LED_BY("h2"), "78"), "");

	expect(run(three, 0, false, ARGV("partitions", "scan")), 0,
	       "scan has 3 partitions: 2 led, 1 of them here\n"
	       "PARTITION LEADER VERSION SINCE TOKEN\n"
	       "        0 h1     1.5      1h2m    77\n"
	       "        1 h2     1.5      1h2m    78\n"
	       "        2 -      -        1h2m     -\n",
	       "");
	expect(run(three, 0, false, ARGV("partitions", "scan", "--here")), 0, "1\n", "");
	expect(run(none, 0, false, ARGV("partitions", "scan", "--here")), 1, "", "");
	expect(run(three, 0, false, ARGV("--json", "partitions", "scan", "--here")), 0,
	       "{\n  \"task\": \"scan\",\n  \"partitions\": 3,\n  \"owners\": [\n    {\n"
	       "      \"partition\": 1,\n      \"leader\": {\n        \"id\": \"i\",\n"
	       "        \"ip\": \"::1\",\n        \"hostname\": \"h2\",\n"
	       "        \"version\": \"1.5\"\n      },\n      \"token\": 78,\n"
	       "      \"since\": \"2026-11-21T00:58:00Z\",\n      \"lease_ms\": 0\n    }\n  ],\n"
	       "  \"here\": [\n    1\n  ]\n}\n",
	       "");
}

Test(partitions, another_number)
{
	static const char *const done = "{\"repartition\":{\"message\":\"it is so\"}}";
	static const char *const numbers[] = {"0", "257", "1x", "x", "", "+1", "0001"};

	expect(run(done, 0, false, ARGV("partitions", "scan", "16", "-r", "more hosts")), 0,
	       "it is so\n", "");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct outcome r = run(done, 0, false, ARGV("partitions", "scan", numbers[i]));

		cr_expect_eq(r.code, 3, "%s", numbers[i]);
		cr_expect_not_null(strstr(r.err, "is no number of partitions: that is 1 to 256"));
		free(r.out);
		free(r.err);
	}
	expect(run(done, 0, false, ARGV("partitions", "scan", "16", "--here")), 3, "",
	       "zkleader: --here is for a look, not for another number\n");
	expect(run(done, 0, false, ARGV("partitions", "scan", "-r", "x")), 3, "",
	       "zkleader: --reason is for another number of partitions\n");
	expect(run("{}", 0, false, ARGV("partitions", "scan", "16")), 3, "",
	       "zkleader: not known\\x1bc here\n");
}

/* --- the commands -------------------------------------------------------------------------------------------- */

Test(list, text)
{
	expect(run(fleet, 0, false, ARGV("list")), 0,
	       "2.14.0-rc2: 1 of 3 workers, leads 21 of 3 tasks; 2.13.7: 2 workers (1 drained), "
	       "leads 0\n"
	       "\n"
	       "  VERSION    IP            NODE                            LEADS TASKS STATE   "
	       "SINCE ID\n"
	       "* 2.14.0-rc2 10.20.130.101 app-prod-01.eu-west.example.com    21     3 active   "
	       "3d4h 9f3a1c00\n"
	       "  2.13.7     10.20.130.101 app-prod-02.eu-west.example.com     0     3 drained  "
	       "3d4h 9f3a1c01\n"
	       "  2.13.7     10.20.130.101 evil\\x1b[31mhost                    0     3 active   "
	       "3d4h 9f3a1c02\n",
	       "");
	setlocale(LC_CTYPE, "C");
	expect(run(fleet, 80, false, ARGV("list")), 0,
	       "2.14.0-rc2: 1 of 3 workers, leads 21 of 3 tasks; 2.13.7: 2 workers (1 drained), "
	       "leads 0\n"
	       "\n"
	       "  VERSION    IP            NODE                        LEADS TASKS STATE   SINCE\n"
	       "* 2.14.0-rc2 10.20.130.101 app-prod-01.e~t.example.com    21     3 active   3d4h\n"
	       "  2.13.7     10.20.130.101 app-prod-02.e~t.example.com     0     3 drained  3d4h\n"
	       "  2.13.7     10.20.130.101 evil\\x1b[31mhost                0     3 active   "
	       "3d4h\n",
	       "");
	expect(run("{\"workers\":[]}", 80, true, ARGV("list")), 0,
	       "no workers are known: this one has not joined the fleet, zkleader status says "
	       "why\n",
	       "");
}

#define MEMBER_OF(version, leads, tasks, drain)                                                  \
	"{\"id\":\"i\",\"version\":\"" version "\",\"ip\":\"::1\",\"hostname\":\"h\",\"state\":" \
	"\"active\",\"leads\":" leads ",\"self\":true,\"tasks\":" tasks ",\"drain\":" drain "}"
#define DRAIN(more)                                                                     \
	"{\"kind\":\"drain\",\"by\":\"eva\",\"host\":\"h\",\"node\":\"h:s\",\"since\":" \
	"\"2026-11-21T00:58:00Z\"" more "}"

/* Below the table: who is drained; above it: how far a version has come. */
Test(list, drains_and_the_rollout)
{
	static const struct {
		const char *workers, *above, *below;
	} cases[] = {
		{MEMBER_OF("1", "2", "[]", "null") "," MEMBER_OF("1", "1", "[]", "null"), "", ""},
		{MEMBER_OF("2", "9223372036854775807", "[\"a\"]", "null") "," MEMBER_OF(
			 "1", "0", "[\"b\",\"a\",7]",
			 "null") "," MEMBER_OF("2", "9223372036854775807", "[]", "null"),
		 "2: 2 of 3 workers, leads -2 of 2 tasks; 1: 1 worker, leads 0\n\n", ""},
		{MEMBER_OF("2", "9", "[\"a\",\"b\"],\"partitions\":{\"b\":8,\"c\":4}",
			   "null") "," MEMBER_OF("1", "0", "[]", "null"),
		 "2: 1 of 2 workers, leads 9 of 1 task and 8 partitions; 1: 1 worker, leads 0\n\n",
		 ""},
		{MEMBER_OF("2", "3", "[\"b\"],\"partitions\":{\"b\":8}",
			   "null") "," MEMBER_OF("1", "5", "[]", "null"),
		 "2: 1 of 2 workers, leads 3 of 8 partitions; 1: 1 worker, leads 5\n\n", ""},
		{MEMBER_OF("1", "0", "[]", DRAIN("")), "", "h: drained by eva at h 1h2m ago\n"},
		{MEMBER_OF("1", "0", "[]",
			   DRAIN(",\"reason\":\"a\\nb\",\"until\":\"2026-11-22T00:00:00Z\"")),
		 "", "h: drained by eva at h 1h2m ago, until 2026-11-22T00:00:00Z: a\\nb\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char json[2000];
		struct outcome r;
		char *table, *below;

		snprintf(json, sizeof(json), "{\"workers\":[%s]}", cases[i].workers);
		r = run(json, 0, false, ARGV("list"));
		table = strstr(r.out, "  VERSION");
		below = table;
		while (strncmp(below, "  V", 3) == 0 || *below == '*')
			below = strchr(below, '\n') + 1;
		cr_expect_str_eq(below, cases[i].below, "case %zu:\n%s", i, r.out);
		*table = '\0';
		cr_expect_str_eq(r.out, cases[i].above, "case %zu", i);
		free(r.out);
		free(r.err);
	}
}

Test(order, says_what_was_done)
{
	static const char answer[] =
		"{\"pause\":{\"done\":true,\"message\":\"t is paused\\u001b by me\"}}";

	expect(run(answer, 80, true, ARGV("pause", "t", "--reason", "why not", "--for", "2h")), 0,
	       "t is paused\\x1b by me\n", "");
	expect(run(answer, 80, true, ARGV("pause", "t", "--for", "2y")), 3, "",
	       "zkleader: --for \"2y\" is no duration such as 500ms, 10s or 5m\n");
	expect(run(answer, 80, true, ARGV("pause", "t", "--for", "0s")), 3, "",
	       "zkleader: --for: no time at all\n");
	expect(run(answer, 80, true, ARGV("pin", "t")), 3, "",
	       "zkleader: an argument is missing: usage: zkleader pin TASK... VERSION\n");
	expect(run(answer, 80, true, ARGV("resume", "t", "--for", "1h")), 3, "",
	       "zkleader: unknown option --for: zkleader resume -h lists them\n");
}

#define DRAINED "\"drain\":{\"message\":\"h is drained\",\"node\":\"h:s\",\"name\":\"h\"}"

Test(order, waits_for_a_drain)
{
	static const char idle[] =
		"{" DRAINED ",\"status\":{\"jobs\":[{\"task\":\"t\"}]},\"tasks\":[],"
		"\"queue\":[{\"workers\":[{\"node\":\"other\",\"running\":3}]}],\"workers\":["
		"{\"id\":\"1\",\"node\":\"h\",\"leads\":0,\"drain\":{\"node\":\"h:s\"}},"
		"{\"id\":\"2\",\"leads\":7,\"self\":true,\"drain\":null}]}";
	static const char busy[] =
		"{" DRAINED ",\"status\":{},\"tasks\":[{\"task\":\"t\",\"leader\":{\"id\":\"1\"}}],"
		"\"workers\":[{\"id\":\"1\",\"leads\":1,\"drain\":{\"node\":\"h:s\"}}]}";
	static const char job[] =
		"{" DRAINED ",\"status\":{\"jobs\":[{\"task\":\"t\",\"tick\":\"T\"}]},\"tasks\":[],"
		"\"workers\":[{\"id\":\"1\",\"leads\":0,\"self\":true,\"drain\":{\"node\":\"h:s\"}}"
		"]}";
	static const char queued[] =
		"{" DRAINED ",\"status\":{},\"tasks\":[],"
		"\"queue\":[{\"workers\":[{\"node\":\"h\",\"running\":1}]},{\"workers\":[]}],"
		"\"workers\":[{\"id\":\"1\",\"node\":\"h\",\"leads\":0,"
		"\"drain\":{\"node\":\"h:s\"}}]}";
	static const char stale[] =
		"{" DRAINED ",\"status\":{\"stale_since\":\"x\"},\"tasks\":[],\"workers\":[]}";

	expect(run(idle, 0, false, ARGV("drain", "h")), 0, "h is drained\n", "");
	expect(run(idle, 0, false, ARGV("drain", "h", "--wait")), 0,
	       "h is drained\nh leads nothing, and no job runs there\n", "");
	expect(run(busy, 0, false, ARGV("drain", "h", "--wait=0s")), 1, "h is drained\n",
	       "zkleader: h is not done in time; the drain stays\n");
	expect(run(busy, 0, false, ARGV("drain", "--wait=1ms", "h")), 1,
	       "h is drained\nwaiting for h: it still leads 1 task: t\n",
	       "zkleader: h is not done in time; the drain stays\n");
	expect(run(job, 0, false, ARGV("drain", "--wait=1ms")), 1,
	       "h is drained\nwaiting for h: it still leads 0 tasks; jobs that run: t (T)\n",
	       "zkleader: h is not done in time; the drain stays\n");
	expect(run(queued, 0, false, ARGV("drain", "h", "--wait=1ms")), 1,
	       "h is drained\nwaiting for h: it still leads 0 tasks; it has 1 job of queues\n",
	       "zkleader: h is not done in time; the drain stays\n");
	expect(run(stale, 0, false, ARGV("drain", "--wait")), 2, "h is drained\n",
	       "zkleader: the session with ZooKeeper was lost while waiting\n");
	expect(run("{" DRAINED "}", 0, false, ARGV("drain", "--wait")), 2, "h is drained\n",
	       "zkleader: the sidecar does not answer any more: not known\\x1bc here\n");
	expect(run(idle, 0, false, ARGV("drain", "--wait=x")), 3, "",
	       "zkleader: --wait \"x\" is no duration such as 500ms, 10s or 5m\n");
}

/* Answers with the parameters that it was sent. */
static void serve_parameters(struct fake *f, int fd)
{
	static struct fake_request r;

	(void)f;
	while (fake_read(f, fd, &r)) {
		const struct reader *params = &r.m.params;
		json_t *json = NULL, *all = json_array();
		struct reader one = *params;
		struct buffer b;
		struct pack p;

		for (size_t i = 0; i < r.m.n_params; i++) {
			const uint8_t *begin = one.p;

			cr_assert_eq(reader_skip(&one), 0);
			cr_assert_eq(json_from_msgpack(begin, (size_t)(one.p - begin), &json), 0);
			json_array_append_new(all, json);
		}
		char *text = json_dumps(all, JSON_COMPACT);
		buffer_init(&b, RPC_RESPONSE_MAX);
		pack_init(&p, &b);
		rpc_pack_result(&p, r.m.msgid);
		pack_map(&p, 1);
		pack_kv_str(&p, "message", text);
		fake_send_buffer(fd, &b);
		free(text);
		json_decref(all);
	}
}

Test(order, sends_what_was_said)
{
	static const struct {
		const char *args[7], *sent;
	} cases[] = {
		{{"drain"}, "[]"},
		{{"drain", "h2"}, "[{\"node\":\"h2\"}]"},
		{{"drain", "h2", "--for", "1s", "-r", "x"},
		 "[{\"reason\":\"x\",\"for_ms\":1000,\"node\":\"h2\"}]"},
		{{"undrain"}, "[]"},
		{{"undrain", "h2"}, "[{\"node\":\"h2\"}]"},
		{{"pause", "t"}, "[\"t\"]"},
		{{"pause", "t", "-r", ""}, "[\"t\",{\"reason\":\"\"}]"},
		{{"unresign", "t"}, "[\"t\"]"},
		{{"unresign", "t", "h2"}, "[[\"t\",\"h2\"]]"},
		{{"pause", "a", "b*", "-r", "x"}, "[[\"a\",\"b*\"],{\"reason\":\"x\"}]"},
		{{"resume", "b*"}, "[[\"b*\"]]"},
		{{"pause", "t", "--dry-run"}, "[[\"t\"],{\"dry_run\":true}]"},
		{{"unpin", "t", "--dry-run"}, "[[\"t\"],{\"dry_run\":true}]"},
		{{"pin", "a", "b", "1"}, "[[\"a\",\"b\"],\"1\"]"},
		{{"drain", "--force"}, "[{\"force\":true}]"},
		{{"pin", "t", "1"}, "[\"t\",\"1\"]"},
		{{"pin", "--force", "t", "1"}, "[\"t\",\"1\",{\"force\":true}]"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fake f;
		char out[200];

		snprintf(out, sizeof(out), "%s\n", cases[i].sent);
		fake_start(&f, serve_parameters, NULL);
		setenv(ZKLEADER_SOCKET_ENV, fake_path(&f), 1);
		expect(run_with(cases[i].args, 0, false), 0, out, "");
		fake_stop(&f);
	}
}

Test(list, wide_and_coloured)
{
	struct outcome r = run(fleet, 80, true, ARGV("list", "-w"));

	cr_expect_not_null(strstr(r.out, "9f3a1c00" ID));
	cr_expect_not_null(strstr(r.out, "app-prod-01.eu-west.example.com"));
	cr_expect_not_null(strstr(r.out, "\033[1m* "));
	cr_expect_not_null(strstr(r.out, "\033[33mdrained"));
	cr_expect_not_null(strstr(r.out, "\033[2m  2.13.7"));
	free(r.out);
	free(r.err);
	r = run(fleet, 80, true, ARGV("list", "--no-color"));
	cr_expect_null(strchr(r.out, '\033'));
	free(r.out);
	free(r.err);
}

Test(list, json_is_what_was_sent)
{
	struct outcome r = run(fleet, 80, true, ARGV("list", "--json"));
	json_t *sent = json_loads(fleet, 0, NULL), *shown = json_loads(r.out, 0, NULL);

	cr_expect_eq(r.code, 0);
	cr_expect(json_equal(json_object_get(sent, "workers"), shown));
	cr_expect_eq(strstr(r.out, "[\n  {\n    \"id\": \"9f3a1c00"), r.out);
	cr_expect_null(strchr(r.out, '\033'));
	json_decref(sent);
	json_decref(shown);
	free(r.out);
	free(r.err);
}

Test(tasks, text_and_json)
{
	static const char answer[] =
		"{\"tasks\":[{\"task\":\"x-10\",\"state\":\"contending\",\"self\":false,\"leader\":"
		"null,"
		"\"token\":null,\"since\":null,\"lease_ms\":0},"
		"{\"task\":\"x-9\",\"state\":\"leading\",\"self\":"
		"true," LEADER
		",\"token\":25769803793,\"since\":\"2026-11-21T00:58:00Z\",\"lease_ms\":9000,"
		"\"description\":\"sums up\\u001b\",\"last\":{\"tick\":\"2026-11-21T01:00:00Z\","
		"\"state\":\"failed\",\"ended_at\":\"2026-11-21T01:59:00Z\"}}]}";
	struct outcome r;

	expect(run(answer, 0, false, ARGV("tasks")), 0,
	       "2 tasks: 1 led, 1 of them here; 1 without a leader\n"
	       "\n"
	       "TASK LEADER VERSION SINCE       TOKEN STATE      LAST\n"
	       "x-9  app01  2.1      1h2m 25769803793 leading    failed 1m\n"
	       "x-10 -      -           -           - contending -\n",
	       "");
	expect(run(answer, 0, false, ARGV("tasks", "-l", "x-9")), 0,
	       "TASK LEADER VERSION SINCE       TOKEN STATE   LAST      DESCRIPTION\n"
	       "x-9  app01  2.1      1h2m 25769803793 leading failed 1m sums up\\x1b\n",
	       "");
	expect(run("{\"tasks\":[{\"task\":\"t\",\"state\":\"paused\",\"decisions\":[{\"kind\":"
		   "\"pause\",\"by\":\"eva\",\"host\":\"h\",\"since\":\"2026-11-21T00:58:00Z\"},{"
		   "\"kind\":\"pin\",\"version\":\"1\\u001b\"},{\"kind\":\"of a later "
		   "version\"}]}],"
		   "\"workers\":[" MEMBER_OF("2", "1", "[\"t\"]",
					     DRAIN("")) "," MEMBER_OF("1", "0", "[]", "null") "]}",
		   0, false, ARGV("tasks")),
	       0,
	       "1 task: 0 led, 0 of them here; 1 paused\n"
	       "2: 1 of 2 workers, leads 1 of 1 task; 1: 1 worker, leads 0\n"
	       "\n"
	       "TASK LEADER VERSION SINCE TOKEN STATE  LAST\n"
	       "t    -      -           -     - paused -\n"
	       "t: paused by eva at h 1h2m ago\n"
	       "t: pinned to version 1\\x1b by - at - - ago\n"
	       "t: of a later version by - at - - ago\n"
	       "this node: drained by eva at h 1h2m ago\n",
	       "");
	r = run(answer, 0, false, ARGV("tasks", "--json"));
	cr_expect_not_null(strstr(r.out, "\"token\": 25769803793,\n"));
	cr_expect_not_null(strstr(r.out, "\"leader\": null,\n"));
	free(r.out);
	free(r.err);
	expect(run("{\"tasks\":[]}", 0, false, ARGV("tasks")), 0,
	       "no tasks: the task-dir names none, or zkleader status says why not\n", "");
}

/* Names of the tasks that are shown, in their order. */
static void expect_tasks(const char *const *argv, const char *names)
{
	static const char answer[] =
		"{\"tasks\":["
		"{\"task\":\"a-1\",\"state\":\"leading\",\"self\":true,\"since\":\"2026-11-21T00:"
		"00:01Z\","
		"\"leader\":{\"id\":\"1\",\"hostname\":\"db10.example.com\"},"
		"\"last\":{\"tick\":\"2026-11-21T01:00:00Z\",\"ended_at\":null}},"
		"{\"task\":\"a-10\",\"state\":\"paused\",\"self\":false,\"since\":null,\"leader\":"
		"null,"
		"\"last\":null},"
		"{\"task\":\"a-2\",\"state\":\"following\",\"self\":false,"
		"\"since\":\"2026-11-21T00:00:03Z\","
		"\"leader\":{\"id\":\"2\",\"hostname\":\"db9.example.com\"},"
		"\"last\":{\"tick\":\"2026-11-21T00:00:00Z\",\"ended_at\":\"2026-11-21T01:30:00Z\"}"
		"},"
		"{\"task\":\"b\",\"state\":\"contending\",\"self\":false,\"since\":null,\"leader\":"
		"null}"
		"]}";
	struct outcome r = run(answer, 0, false, argv);
	json_t *shown = json_loads(r.out, 0, NULL);
	char found[100] = "";

	cr_expect_eq(r.code, 0, "%s", r.err);
	for (size_t i = 0; i < json_array_size(shown); i++) {
		strcat(found, i > 0 ? " " : "");
		strcat(found, json_text(json_array_get(shown, i), "task", "?"));
	}
	cr_expect_str_eq(found, names, "%s %s: %s", argv[2] ? argv[2] : "", argv[2] ? argv[3] : "",
			 found);
	json_decref(shown);
	free(r.out);
	free(r.err);
}

Test(tasks, selection)
{
	static const struct {
		const char *words[5], *names;
	} cases[] = {
		{{NULL}, "a-1 a-2 a-10 b"},
		{{"a-*"}, "a-1 a-2 a-10"},
		{{"a-?", "[b]"}, "a-1 a-2 b"},
		{{"*x*"}, ""},
		{{"a-1*", "b"}, "a-1 a-10 b"}, /* the fake knows every name */
		{{"--mine"}, "a-1"},
		{{"--leader", "db9"}, "a-2"},
		{{"--leader", "db1"}, ""},
		{{"--leader", "db10.example.com"}, "a-1"},
		{{"--leader", "db*"}, "a-1 a-2"},
		{{"--state", "paused"}, "a-10"},
		{{"--no-leader"}, "a-10 b"},
		{{"--no-leader", "a-*"}, "a-10"},
		{{"--sort", "leader"}, "a-10 b a-2 a-1"},
		{{"--sort", "since"}, "a-2 a-1 a-10 b"},
		{{"--sort", "last"}, "a-2 a-1 a-10 b"},
		{{"--sort", "name"}, "a-1 a-2 a-10 b"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *argv[10] = {"--json", "tasks"};

		memcpy(argv + 2, cases[i].words, sizeof(cases[i].words));
		expect_tasks(argv, cases[i].names);
	}
	expect(run_with(ARGV("tasks", "--sort", "size"), 0, false), 3, "",
	       "zkleader: --sort \"size\": it is name, leader, since or last\n");
	expect(run_with(ARGV("tasks", "--state", "off"), 0, false), 3, "",
	       "zkleader: --state \"off\": it is leading, following, contending, paused, drained "
	       "or "
	       "disconnected\n");
	expect(run("{\"tasks\":[{\"task\":\"t\",\"state\":\"leading\"}]}", 0, false,
		   ARGV("tasks", "x*")),
	       0, "1 task: 0 led, 0 of them here; 1 without a leader; 0 shown\n\nno task matches\n",
	       "");
}

#define STATUS(session, healthy, why, problems)                                                    \
	"{\"status\":{\"id\":\"9f3a\",\"version\":\"2.1\",\"ip\":\"10.0.0.1\","                    \
	"\"session\":" session ",\"lease_ms\":6420,\"leads\":1,\"tasks\":3,\"problems\":" problems \
	",\"healthy\":" healthy ",\"why\":" why ",\"sidecar_version\":\"0.1.0\",\"hostname\":"     \
	"\"app01\",\"root\":\"/myapps\",\"zookeeper\":\"zk1:2181\",\"started_at\":"                \
	"\"2026-11-20T22:58:00Z\"}}"

Test(status, names_the_node)
{
	static const char *const lines[][2] = {
		{"\"hostname\":\"app01\",\"ip\":\"10.0.0.1\"", "app01 (10.0.0.1)"},
		{"\"hostname\":\"app01\",\"ip\":null,\"node\":null", "app01"},
		{"\"hostname\":\"app01\",\"ip\":\"10.0.0.1\",\"node\":\"blue\"",
		 "blue (app01, 10.0.0.1)"},
		{"\"hostname\":\"app01\",\"ip\":null,\"node\":\"blue\"", "blue (app01)"},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char answer[200], line[100];

		snprintf(answer, sizeof(answer), "{\"status\":{\"healthy\":true,%s}}", lines[i][0]);
		snprintf(line, sizeof(line), "\nNode       %s\n", lines[i][1]);
		struct outcome r = run(answer, 80, false, ARGV("status"));
		cr_expect_not_null(strstr(r.out, line), "%s", r.out);
		free(r.out);
		free(r.err);
	}
}

Test(status, tells_of_the_roll_where_there_is_one)
{
	static const char *const answers[][2] = {
		{"{\"status\":{\"healthy\":true,\"roll\":{\"state\":\"following\","
		 "\"workers\":203}}}",
		 "\nRoll       following, 203 workers\n"},
		{"{\"status\":{\"healthy\":true,\"roll\":{\"state\":\"off\",\"workers\":3}}}",
		 NULL},
		{"{\"status\":{\"healthy\":true}}", NULL}, /* of an earlier sidecar */
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct outcome r = run(answers[i][0], 80, false, ARGV("status"));
		const char *line = answers[i][1];

		cr_expect_eq(strstr(r.out, line ? line : "Roll") != NULL, line != NULL, "%s",
			     r.out);
		free(r.out);
		free(r.err);
	}
}

Test(status, says_who_drained_it)
{
	struct outcome r =
		run("{\"status\":{\"healthy\":true,\"drain\":" DRAIN(",\"reason\":\"x\"") "}}", 80,
		    false, ARGV("status"));

	cr_expect_eq(r.code, 0);
	cr_expect_not_null(strstr(r.out, "\nState      drained by eva at h 1h2m ago: x\n"), "%s",
			   r.out);
	free(r.out);
	free(r.err);
}

Test(status, names_failing_checks_and_disagreements)
{
	struct outcome r = run("{\"status\":{\"healthy\":false,\"health\":{\"known\":true,\"node\":"
			       "\"exit 3: full\\u001b\","
			       "\"tasks\":[{\"task\":\"t\",\"says\":\"exit "
			       "1\"},{\"task\":\"u\",\"says\":\"exit 2\"},"
			       "{\"task\":\"v\",\"says\":\"exit "
			       "2\"}]},\"disagreements\":[{\"key\":\"wait\",\"count\":5,\"tasks\":["
			       "\"a\",\"b\",\"c\",\"d\"],\"groups\":[[\"h1\",\"h2\"],[\"h3\"]]},"
			       "{\"key\":\"tick\",\"count\":1,\"tasks\":[\"a\"],"
			       "\"groups\":[[\"h1\"],[\"h3\"]]}]}}",
			       80, false, ARGV("status"));

	cr_expect_eq(r.code, 2);
	cr_expect_not_null(
		strstr(r.out, "\nHealth     this node fails its check: exit 3: full\\x1b\n"
			      "Health     t fails its check: exit 1\n"
			      "Health     u and 1 more fail their checks: exit 2\n"
			      "Disagrees  wait of 5 tasks (a, b, c and 2 more): most as h1, h2, "
			      "not h3\n"
			      "Disagrees  tick of 1 task (a): h1 | h3\n"),
		"%s", r.out);
	free(r.out);
	free(r.err);
}

Test(status, ages_and_what_is_pending)
{
	struct outcome r = run("{\"status\":{\"healthy\":true,\"id\":\"9f3a\","
			       "\"registered_at\":\"2026-11-21T01:59:50Z\","
			       "\"session\":{\"id\":\"0x17\",\"state\":\"connecting\","
			       "\"timeout_ms\":10000,\"since\":\"2026-11-21T01:00:00Z\"},"
			       "\"started_at\":\"2026-11-21T01:59:58Z\","
			       "\"stale_since\":\"2026-11-21T01:59:59Z\","
			       "\"pending_restart\":[\"root\",\"socket\"]}}",
			       0, false, ARGV("status"));
	static const char *const lines[] = {
		"\nWorker     9f3a, registered 10s ago\n",
		"\nSession    0x17 connecting, timeout 10s, 1h old\n",
		"\nConfirmed  not since 2026-11-21T01:59:59Z (1s ago)\n",
		", up 2s (since 2026-11-21T01:59:58Z)\n",
		"\nPending    root takes effect with a restart\n",
		"\nPending    socket takes effect with a restart\n",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		cr_expect_not_null(strstr(r.out, lines[i]), "%s not in %s", lines[i], r.out);
	free(r.out);
	free(r.err);
}

Test(status, probes)
{
	static const char away[] =
		"{\"status\":{\"healthy\":false,\"why\":\"no\\u001b\",\"session\":"
		"{\"state\":\"connecting\"}}}";
	static const char there[] = "{\"status\":{\"healthy\":false,\"why\":\"a file\",\"session\":"
				    "{\"state\":\"connected\"}}}";

	expect(run(away, 0, false, ARGV("status", "--live")), 0, "", "");
	expect(run(there, 0, false, ARGV("status", "--live")), 0, "", "");
	expect(run(there, 0, false, ARGV("status", "--ready")), 0, "", "");
	expect(run(away, 0, false, ARGV("status", "--ready")), 2, "",
	       "zkleader: not ready: no\\x1b\n");
	expect(run("{\"status\":{}}", 0, false, ARGV("status", "--ready")), 2, "",
	       "zkleader: not ready: no confirmed session\n");
}

/* The last known state is shown although no session is confirmed. */
Test(status, as_last_known)
{
#define STALE "\"status\":{\"stale_since\":\"2026-11-21T01:59:00Z\"}"
	static const char line[] = "zkleader: as last known: no confirmed session with ZooKeeper "
				   "since 2026-11-21T01:59:00Z (1m ago)\n";

	expect(run("{\"tasks\":[]," STALE "}", 0, false, ARGV("tasks")), 2,
	       "no tasks: the task-dir names none, or zkleader status says why not\n", line);
	expect(run("{\"tasks\":[]," STALE "}", 0, false, ARGV("tasks", "--json")), 2, "[]\n", line);
	expect(run("{\"explain\":{\"reason\":\"r\",\"ranking\":[]}," STALE "}", 0, false,
		   ARGV("explain", "t")),
	       2, "r\nnobody is a candidate, so there is no ranking\n", line);
}

Test(tasks, names_what_is_not_healthy)
{
#define SICK(task, says) \
	"{\"task\":\"" task "\",\"state\":\"following\",\"leader\":null,\"unhealthy\":" says "}"
	struct outcome r =
		run("{\"tasks\":[" SICK("a", "\"exit 1\"") "," SICK("b", "null") "," SICK(
			    "c", "\"exit 1\"") "," SICK("d", "\"full\\u001b\"") "]}",
		    0, false, ARGV("tasks"));

	cr_expect_eq(r.code, 0);
	cr_expect_not_null(strstr(r.out, "\na    -      -           -     - unhealthy -\n"
					 "b    -      -           -     - following -\n"),
			   "%s", r.out);
	cr_expect_not_null(strstr(r.out,
				  "\na and 1 more: this node is not healthy for them: exit 1\n"
				  "d: this node is not healthy for it: full\\x1b\n"),
			   "%s", r.out);
	free(r.out);
	free(r.err);
}

Test(status, healthy)
{
	expect(run(STATUS("{\"id\":\"0x17\",\"state\":\"connected\",\"timeout_ms\":10000,"
			  "\"server\":\"10.0.0.9:2181\"}",
			  "true", "null", "[]"),
		   80, false, ARGV("status")),
	       0,
	       "Healthy    yes\n"
	       "Node       app01 (10.0.0.1)\n"
	       "Version    2.1\n"
	       "Worker     9f3a\n"
	       "ZooKeeper  zk1:2181, root /myapps\n"
	       "Session    0x17 connected to 10.0.0.9:2181, timeout 10s\n"
	       "Lease      6420ms left\n"
	       "Leads      1 of 3 tasks\n"
	       "Sidecar    0.1.0, up 3h2m (since 2026-11-20T22:58:00Z)\n"
	       "Problems   none\n",
	       "");
}

/* A lease that is none is what is wrong only where something is. */
Test(status, no_lease)
{
	static const char *const healthy[] = {"true", "false"};

	for (size_t i = 0; i < 2; i++) {
		char answer[200];

		snprintf(answer, sizeof(answer),
			 "{\"status\":{\"session\":{\"id\":\"0x17\",\"state\":\"connected\"},"
			 "\"lease_ms\":0,\"problems\":[],\"healthy\":%s}}",
			 healthy[i]);
		struct outcome r = run(answer, 80, true, ARGV("status"));

		cr_expect_not_null(strstr(r.out, i == 0 ? "\nLease      none\n"
							: "\n\033[33mLease      none\033[0m\n"),
				   "%s", r.out);
		free(r.out);
		free(r.err);
	}
}

Test(status, not_healthy)
{
	static const char answer[] =
		STATUS("{\"id\":null,\"state\":\"connecting\",\"timeout_ms\":0,\"server\":null}",
		       "false", "\"problems in the configuration\"",
		       "[{\"file\":\"conf.d/a.conf\",\"line\":3,\"message\":\"no such option\"}]");
	struct outcome r = run(answer, 80, false, ARGV("status"));

	cr_expect_eq(r.code, 2);
	cr_expect_not_null(strstr(r.out, "Healthy    no: problems in the configuration\n"));
	cr_expect_not_null(strstr(r.out, "Session    none (connecting)\n"));
	cr_expect_not_null(strstr(r.out, "\nconf.d/a.conf:3: no such option\n"));
	cr_expect_str_eq(r.err, "");
	free(r.out);
	free(r.err);
	r = run(answer, 80, false, ARGV("status", "--json"));
	cr_expect_eq(r.code, 2);
	cr_expect_eq(r.out[0], '{');
	free(r.out);
	free(r.err);
}

Test(explain, text)
{
	static const char answer[] =
		"{\"explain\":{\"task\":\"t\",\"state\":\"following\",\"leads\":false,\"reason\":"
		"\"t is led by app01\",\"description\":\"what it is for\",\"ranking\":["
		"{\"id\":\"1\",\"ip\":\"10.0.0.1\",\"hostname\":\"app01\",\"version\":\"2.1\","
		"\"rank\":8329249654021521,\"candidate\":true,\"self\":true,\"why\":\"the best\"},"
		"{\"id\":\"2\",\"ip\":\"10.0.0.2\",\"hostname\":\"app02\",\"version\":\"2.0\","
		"\"rank\":-7,\"candidate\":true,\"why\":\"older version\"},"
		"{\"id\":\"3\",\"ip\":\"10.0.0.3\",\"hostname\":\"app03\",\"version\":\"2.1\","
		"\"rank\":5,\"candidate\":false,\"why\":\"drained\"}]}}";

	expect(run(answer, 80, false, ARGV("explain", "t")), 0,
	       "t: what it is for\n"
	       "t is led by app01\n"
	       "\n"
	       "  # NODE  VERSION WHY\n"
	       "* 1 app01 2.1     the best\n"
	       "  2 app02 2.0     older version\n"
	       "  - app03 2.1     drained\n",
	       "");
	expect(run(answer, 80, false, ARGV("explain", "-v", "t")), 0,
	       "t: what it is for\n"
	       "t is led by app01\n"
	       "\n"
	       "  # NODE  VERSION             RANK WHY\n"
	       "* 1 app01 2.1     8329249654021521 the best\n"
	       "  2 app02 2.0                   -7 older version\n"
	       "  - app03 2.1                    5 drained\n",
	       "");
	expect(run("{\"explain\":{\"reason\":\"r\",\"ranking\":[{\"id\":\"1\",\"hostname\":"
		   "\"app01\","
		   "\"version\":\"1\",\"rank\":1,\"candidate\":true,\"why\":\"the "
		   "best\",\"disagrees\":true}],"
		   "\"refused\":[{\"id\":\"x\\u001b\",\"why\":\"not ephemeral\"}]}}",
		   80, false, ARGV("explain", "t")),
	       0,
	       "r\n"
	       "\n"
	       "  # NODE  VERSION WHY\n"
	       "  1 app01 1       the best\n"
	       "app01 goes by another rank-position, min-version or version-policy for this task: "
	       "they "
	       "have to be the same\n"
	       "worker x\\x1b is refused: not ephemeral\n",
	       "");
	expect(run("{\"explain\":{\"reason\":\"no session\",\"ranking\":[]}}", 80, false,
		   ARGV("explain", "t")),
	       0, "no session\nnobody is a candidate, so there is no ranking\n", "");
}

/* Thirty workers: the first five, the leader, this node, and what the others have in common. */
#define TICK_TOLD(rest) "{\"explain\":{\"task\":\"t\",\"tick\":\"2026-11-20T02:00:00Z\"," rest "}}"

Test(explain, what_became_of_a_tick)
{
	static const char *const argv[] = {"explain", "t", "--tick", "2026-11-20T03:00:00+01:00",
					   NULL};

	expect(run(TICK_TOLD("\"state\":\"missed\",\"why\":\"outage\",\"detail\":\"nobody led it\","
			     "\"record\":{\"node\":\"app01\"}"),
		   0, false, argv),
	       0, "t 2026-11-20T02:00:00Z: missed (outage): nobody led it\n", "");
	expect(run(TICK_TOLD("\"state\":\"ok\",\"why\":null,\"detail\":null,\"record\":{"
			     "\"node\":\"app01\",\"attempt\":2,\"started_at\":"
			     "\"2026-11-20T02:00:01Z\",\"ended_at\":\"2026-11-20T02:00:06Z\","
			     "\"exit_status\":0,\"by\":\"root@app02\"}"),
		   0, false, argv),
	       0,
	       "t 2026-11-20T02:00:00Z: ok\n"
	       "on app01, attempt 2, begun at 2026-11-20T02:00:01Z, took 5s, triggered by "
	       "root@app02\n"
	       "exit status 0\n",
	       "");
	expect(run(TICK_TOLD("\"state\":\"ahead\",\"detail\":\"it lies ahead\",\"record\":null"), 0,
		   false, argv),
	       0, "t 2026-11-20T02:00:00Z: ahead: it lies ahead\n", "");
	expect(run(TICK_TOLD("\"state\":\"ahead\""), 0, false,
		   ARGV("explain", "t", "--tick", "yesterday")),
	       3, "", "zkleader: --tick: \"yesterday\" is no time such as 2026-11-20T02:00:00Z\n");
}

Test(explain, a_long_ranking)
{
	char *json = NULL;
	size_t len;
	FILE *f = open_memstream(&json, &len);

	fputs("{\"explain\":{\"task\":\"t\",\"reason\":\"r\",\"leader\":{\"id\":\"i7\"},"
	      "\"ranking\":[",
	      f);
	for (int i = 1; i <= 30; i++)
		fprintf(f,
			"%s{\"id\":\"i%d\",\"hostname\":\"h%d\",\"version\":\"%d\",\"self\":%s,"
			"\"candidate\":%s,\"cause\":\"%s\",\"why\":\"%s%.0d\"}",
			i > 1 ? "," : "", i, i, i <= 10 ? 2 : 1, i == 20 ? "true" : "false",
			i <= 26 ? "true" : "false",
			i == 1	  ? "best"
			: i <= 10 ? "rank"
			: i <= 26 ? "version"
				  : "drained",
			i == 1	  ? "the best"
			: i <= 10 ? "lower rank"
			: i <= 26 ? "older version"
				  : "drained by eva at h",
			i <= 26 ? 0 : i);
	fputs("]}}", f);
	fclose(f);
	expect(run(json, 80, false, ARGV("explain", "t")), 0,
	       "r\n"
	       "\n"
	       "   # NODE VERSION WHY\n"
	       "   1 h1   2       the best\n"
	       "   2 h2   2       lower rank\n"
	       "   3 h3   2       lower rank\n"
	       "   4 h4   2       lower rank\n"
	       "   5 h5   2       lower rank\n"
	       "   7 h7   2       lower rank\n"
	       "* 20 h20  1       older version\n"
	       "and 23 more: 4 lower rank, 15 older version, 4 drained (--all shows them)\n",
	       "");
	struct outcome all = run(json, 80, false, ARGV("explain", "t", "--all"));
	cr_expect_not_null(strstr(all.out, "\n   - h30  1       drained by eva at h30\n"), "%s",
			   all.out);
	cr_expect_null(strstr(all.out, "more"));
	free(all.out);
	free(all.err);
	free(json);
}

Test(reload, changes_and_problems)
{
	expect(run("{\"reload\":{\"changes\":[],\"problems\":[]}}", 0, false, ARGV("reload")), 0,
	       "nothing changed\n", "");
	expect(run("{\"reload\":{\"changes\":[\"a: new\",\"b\\n: gone\"],\"problems\":[{\"file\":"
		   "\"c.conf\",\"line\":9,\"message\":\"bad\\u0007\"}]}}",
		   0, false, ARGV("reload")),
	       3, "a: new\nb\\n: gone\n", "c.conf:9: bad\\x07\n");
	expect(run("{\"reload\":{\"changes\":[],\"problems\":[{}]}}", 0, false,
		   ARGV("reload", "--json")),
	       3, "{\n  \"changes\": [],\n  \"problems\": [\n    {}\n  ]\n}\n", "");
}

/* --- watch ------------------------------------------------------------------------------------------------------ */

static void notify(int fd, const char *method, const char *json)
{
	json_t *param = json_loads(json, 0, NULL);
	struct buffer b;
	struct pack p;

	buffer_init(&b, RPC_RESPONSE_MAX);
	pack_init(&p, &b);
	rpc_pack_notify(&p, method);
	pack_json(&p, param);
	fake_send_buffer(fd, &b);
	json_decref(param);
}

static void answer_json(struct fake *f, int fd, const char *method, const char *json)
{
	static struct fake_request r;
	json_t *result = json_loads(json, 0, NULL);
	struct buffer b;
	struct pack p;

	cr_assert(fake_read(f, fd, &r) && reader_text_is(r.m.method, method));
	buffer_init(&b, RPC_RESPONSE_MAX);
	pack_init(&p, &b);
	rpc_pack_result(&p, r.m.msgid);
	pack_json(&p, result);
	fake_send_buffer(fd, &b);
	json_decref(result);
}

#define TIME(seconds) "\"time\":\"2026-11-21T02:00:0" #seconds "Z\""
#define WATCHED(token, leader)                                                     \
	"{\"task\":\"t\",\"state\":\"following\",\"self\":false,\"token\":" #token \
	",\"leader\":" leader ","
#define NEW_LEADER "{\"id\":\"b\",\"ip\":\"10.0.0.2\",\"hostname\":\"app02\",\"version\":\"2.2\"}"
#define MEMBER(id, self)                                            \
	"{\"id\":\"" id "\",\"ip\":\"10.0.0.2\",\"hostname\":\"" id \
	"\\u001b\",\"version\":\"2.2\",\"self\":" #self ","
#define DECISION(kind, node, reason)                                                  \
	"\"kind\":\"" kind "\",\"by\":\"root\",\"host\":\"app01\",\"reason\":" reason \
	",\"since\":\"2026-11-21T02:00:00Z\",\"until\":\"2026-11-21T03:00:00Z\",\"node\":" node

/* Sends the state at the beginning, then news, some of which change nothing. */
static void serve_news(struct fake *f, int fd)
{
	answer_json(f, fd, "tasks", "[" WATCHED(7, "null") "\"decisions\":[]}]");
	answer_json(f, fd, "workers", "[" MEMBER("a", true) "\"drain\":null}]");
	notify(fd, "leadership",
	       "{\"task\":\"t\",\"state\":\"leading\",\"self\":true," LEADER
	       ",\"token\":42," TIME(0) "}");
	notify(fd, "leadership",
	       "{\"task\":\"t\",\"state\":\"leading\",\"self\":true," LEADER
	       ",\"token\":42," TIME(9) "}");
	notify(fd, "leadership",
	       "{\"task\":\"t\",\"self\":false,\"leader\":null,\"token\":null," TIME(1) "}");
	notify(fd, "membership", MEMBER("b", false) "\"event\":\"joined\"," TIME(2) "}");
	notify(fd, "membership", MEMBER("a", true) "\"event\":\"joined\"," TIME(9) "}");
	notify(fd, "membership", "[]");
	notify(fd, "of a later version", "{}");
	notify(fd, "membership", MEMBER("a", true) "\"event\":\"left\"," TIME(3) "}");
	notify(fd, "decision",
	       "{\"event\":\"decided\",\"task\":\"t\"," TIME(4) "," DECISION("pause", "null",
									     "\"x\\ny\"") "}");
	notify(fd, "decision",
	       "{\"event\":\"decided\",\"task\":\"t\"," TIME(9) "," DECISION("pause", "null",
									     "\"x\\ny\"") "}");
	notify(fd, "decision",
	       "{\"event\":\"decided\",\"task\":null," TIME(5) "," DECISION("drain", "\"n\"",
									    "null") "}");
	notify(fd, "decision",
	       "{\"event\":\"ended\",\"task\":null," TIME(6) "," DECISION("drain", "\"n\"",
									  "null") "}");
	notify(fd, "decision",
	       "{\"event\":\"ended\",\"task\":null," TIME(9) "," DECISION("drain", "\"n\"",
									  "null") "}");
}

/* After a restart: at first it has no session, and then things are different. */
static void serve_changed(struct fake *f, int fd)
{
	answer_json(f, fd, "tasks", "[" WATCHED(0, "null") "\"state\":\"disconnected\"}]");
	answer_json(f, fd, "workers", "[]");
	answer_json(f, fd, "tasks",
		    "[" WATCHED(43, NEW_LEADER) "\"decisions\":[{" DECISION("resign", "\"n\"",
									    "null") "}]}]");
	answer_json(f, fd, "workers", "[" MEMBER("c", true) "\"drain\":null}]");
}

/* Serves a connection with news, one after a restart, and then the task is no longer known. */
static void serve_watch(struct fake *f, int fd)
{
	static struct fake_request r;

	if (!fake_read(f, fd, &r))
		return;
	if (f->connections == 3) {
		fake_error(fd, r.m.msgid, 3, "unknown task");
		return;
	}
	fake_send(fd, "\x94\x01", 2);
	fake_send(fd, (const char[]){(char)r.m.msgid}, 1);
	fake_send(fd, "\xc0\xc3", 2);
	if (f->connections == 1)
		serve_news(f, fd);
	else
		serve_changed(f, fd);
}

static struct outcome watch(const char *option, char *path, size_t size)
{
	struct outcome r;
	struct fake f;

	fake_start(&f, serve_watch, NULL);
	snprintf(path, size, "%s", fake_path(&f));
	setenv(ZKLEADER_SOCKET_ENV, path, 1);
	r = run_with(ARGV("watch", "t", option), 0, false);
	fake_stop(&f);
	return r;
}

/* The lines that begin with a time of our own, which the test does not know, without it. */
static void drop_now(char *text)
{
	for (char *line = text; line && *line != '\0'; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, "20", 2) == 0 && strncmp(line, "2026-11-21T02:00:0", 18) != 0)
			memmove(line, line + 21, strlen(line + 21) + 1);
	}
}

Test(watch, text)
{
	char path[120], err[800];
	struct outcome r = watch(NULL, path, sizeof(path));

	snprintf(err, sizeof(err),
		 "zkleader: a change that makes no sense was passed over\n"
		 "zkleader: the sidecar on %s closed the connection: trying again every second\n"
		 "zkleader: the sidecar on %s is back\n"
		 "zkleader: the sidecar on %s closed the connection: trying again every second\n"
		 "zkleader: unknown task\n",
		 path, path, path);
	drop_now(r.out);
	expect(r, 3,
	       "2026-11-21T02:00:00Z t: led by app01 (2.1)\n"
	       "2026-11-21T02:00:04Z t: paused by root at app01 until 2026-11-21T03:00:00Z: x\\ny\n"
	       "2026-11-21T02:00:05Z n: drained by root at app01 until 2026-11-21T03:00:00Z\n"
	       "2026-11-21T02:00:06Z n: no longer drained\n"
	       "2026-11-21T02:00:02Z b\\x1b (10.0.0.2, version 2.2) joined\n"
	       "2026-11-21T02:00:01Z t: nobody leads it\n"
	       "2026-11-21T02:00:03Z a\\x1b (10.0.0.2, version 2.2) left, this node\n"
	       "b\\x1b (10.0.0.2, version 2.2) left (while the sidecar was away)\n"
	       "c\\x1b (10.0.0.2, version 2.2) joined, this node (while the sidecar was away)\n"
	       "t: no longer paused (while the sidecar was away)\n"
	       "t: resigned by root at app01 until 2026-11-21T03:00:00Z (while the sidecar was "
	       "away)\n"
	       "t: app01 (2.1) -> app02 (2.2) (while the sidecar was away)\n",
	       err);
}

Test(watch, json)
{
	static const char *const events[] = {"leadership", "leadership", "joined",  "left",
					     "decided",	   "decided",	 "ended",   "left",
					     "joined",	   "ended",	 "decided", "leadership"};
	const size_t meanwhile = 7, all = sizeof(events) / sizeof(events[0]);
	char path[120], *line;
	struct outcome r = watch("--json", path, sizeof(path));
	size_t n = 0;

	for (line = strtok(r.out, "\n"); line; line = strtok(NULL, "\n"), n++) {
		json_t *object = json_loads(line, 0, NULL);

		cr_assert(n < all && json_is_object(object));
		cr_expect_str_eq(json_text(object, "event", "-"), events[n], "line %zu", n);
		cr_expect_eq(json_flag(object, "meanwhile"), n >= meanwhile, "line %zu", n);
		cr_expect_neq(json_text(object, "time", NULL), NULL);
		json_decref(object);
	}
	cr_expect_eq(n, all);
	free(r.out);
	free(r.err);
}

/* --- history -------------------------------------------------------------------------------------------- */

#define RECORD(tick, state, started, ended, status)                                                \
	"{\"tick\":\"2026-11-20T" tick "Z\",\"state\":\"" state                                    \
	"\",\"id\":\"i\",\"hostname\":\"app01\",\"token\":42,\"attempt\":1,\"started_at\":\"2026-" \
	"11-20T" started "Z\",\"ended_at\":" ended ",\"exit_status\":" status "}"
#define AT(time) "\"2026-11-20T" time "Z\""

Test(history, text)
{
	expect(run("{\"history\":[" RECORD("02:00:00", "ok", "02:00:01", AT("02:00:06"), "0") "," RECORD(
			   "02:01:00", "failed", "02:01:01", AT("02:03:01"),
			   "7") "," RECORD("02:04:00", "lost", "02:04:00", AT("02:04:00"),
					   "null") "," RECORD("02:05:00", "claimed", "02:05:00",
							      "null",
							      "null") "," RECORD("02:06:00",
										 "running",
										 "02:06:00", "null",
										 "null") "]}",
		   0, false, ARGV("history", "t")),
	       0,
	       "TICK                 STATE   NODE  START                DURATION ATTEMPT EXIT "
	       "TOKEN\n"
	       "2026-11-20T02:00:00Z ok      app01 2026-11-20T02:00:01Z       5s       1    0    "
	       "42\n"
	       "2026-11-20T02:01:00Z failed  app01 2026-11-20T02:01:01Z       2m       1    7    "
	       "42\n"
	       "2026-11-20T02:02:00Z missed  -     -                           -       -    -     "
	       "-\n"
	       "2026-11-20T02:03:00Z missed  -     -                           -       -    -     "
	       "-\n"
	       "2026-11-20T02:04:00Z lost    app01 2026-11-20T02:04:00Z       0s       1    -    "
	       "42\n"
	       "2026-11-20T02:05:00Z claimed app01 2026-11-20T02:05:00Z        -       1    -    "
	       "42\n"
	       "2026-11-20T02:06:00Z running app01 2026-11-20T02:06:00Z   23h54m       1    -    "
	       "42\n",
	       "");
	expect(run("{\"history\":[]}", 0, false, ARGV("history", "t")), 0,
	       "no runs of t are recorded\n", "");
}

static size_t count_missed(const char *const *ticks, bool *ret_more)
{
	char json[2000] = "{\"history\":[";
	struct outcome r;
	size_t n = 0;

	for (; *ticks; ticks++)
		sprintf(json + strlen(json), "{\"tick\":\"2026-11-%sZ\",\"state\":\"ok\"}%s",
			*ticks, ticks[1] ? "," : "");
	r = run(strcat(json, "]}"), 0, false, ARGV("history", "t"));
	cr_expect_eq(r.code, 0);
	*ret_more = strstr(r.out, "\nand 1435 more ") != NULL;
	for (const char *p = r.out; (p = strstr(p, "missed")); p++)
		n++;
	free(r.out);
	free(r.err);
	return n;
}

Test(history, missed)
{
	static const struct {
		const char *ticks[8];
		size_t missed;
		bool more;
	} cases[] = {
		{{"20T02:00:00", "20T02:02:00"}, 0, false}, /* too few to say */
		{{"20T02:00:00", "20T02:01:00", "20T02:03:00"},
		 0,
		 false}, /* no distance is the usual */
		{{"20T02:00:00", "20T02:01:00", "20T02:02:00", "20T02:04:00"}, 1, false},
		{{"20T02:00:00", "20T02:01:00", "20T02:02:00", "20T02:03:30"}, 0, false},
		{{"20T02:00:00", "20T02:01:00", "20T02:02:00", "20T02:02:00"}, 0, false},
		{{"20T02:00:00", "20T02:01:00", "20T02:02:00", "20T02:08:00"}, 5, false},
		{{"20T02:00:00", "20T02:01:00", "20T02:02:00", "21T02:02:00"}, 5, true},
		{{"20T02:00:00", "21T02:00:00", "22T02:00:00", "25T02:00:00", "26T02:00:00"},
		 2,
		 false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool more;

		cr_expect_eq(count_missed(cases[i].ticks, &more), cases[i].missed, "case %zu", i);
		cr_expect_eq(more, cases[i].more, "case %zu", i);
	}
}

#define RUNS                                                                          \
	RECORD("02:00:00", "ok", "02:00:01", AT("02:00:06"), "0")                     \
	"," RECORD("02:01:00", "failed", "02:01:01", AT("02:03:01"), "7") "," RECORD( \
		"02:02:00", "lost", "02:02:00", AT("02:02:00"),                       \
		"null") "," RECORD("02:04:00", "running", "02:04:00", "null", "null")
#define NAMES  "[{\"task\":\"b-10\"},{\"task\":\"b-9\"},{\"task\":7},3]"
#define LEDGER "{\"history\":[" RUNS "],\"tasks\":" NAMES "}"

/* The tasks and the states of the rows, as in "t ok,t failed"; of one task the states alone. */
static void expect_rows(const char *const *argv, const char *rows)
{
	struct outcome r = run(LEDGER, 0, false, argv);
	char found[1000] = "";

	cr_expect_eq(r.code, 0, "%s", r.err);
	bool many = strncmp(r.out, "TASK", 4) == 0;
	char *line = strtok(r.out, "\n");
	while ((line = strtok(NULL, "\n"))) {
		char task[40] = "", tick[40], state[40];
		if (many)
			cr_assert_eq(sscanf(line, "%39s %39s %39s", task, tick, state), 3);
		else
			cr_assert_eq(sscanf(line, "%39s %39s", tick, state), 2);
		sprintf(found + strlen(found), "%s%s%s%s", found[0] ? "," : "", task,
			many ? " " : "", state);
	}
	cr_expect_str_eq(found, rows, "%s", found);
	free(r.out);
	free(r.err);
}

Test(history, of_several_tasks_is_newest_first)
{
	const char *all = "b-9 running,b-10 running,b-9 missed,b-10 missed,b-9 lost,b-10 lost,"
			  "b-9 failed,b-10 failed,b-9 ok,b-10 ok";

	expect_rows(ARGV("history"), all);
	expect_rows(ARGV("history", "b-10", "b-9", "b-10"), all);
	expect(run("{\"history\":[],\"tasks\":[{\"task\":\"a\"}]}", 0, false, ARGV("history")), 0,
	       "no runs are recorded\n", "");
	expect(run("{\"tasks\":[]}", 0, false, ARGV("history")), 0, "no runs are recorded\n", "");
	expect(run("{\"tasks\":[{\"task\":\"a\"}]}", 0, false, ARGV("history")), 3, "",
	       "zkleader: not known\\x1bc here\n");
}

Test(history, filters)
{
	/* NOW is 2026-11-21T02:00:00Z. */
	expect_rows(ARGV("history", "t"), "ok,failed,lost,missed,running");
	expect_rows(ARGV("history", "t", "--failed"), "failed,lost");
	expect_rows(ARGV("history", "t", "--running"), "running");
	expect_rows(ARGV("history", "t", "--failed", "--running"), "failed,lost,running");
	expect_rows(ARGV("history", "t", "--since", "1439m"), "failed,lost,missed,running");
	expect_rows(ARGV("history", "t", "--since", "1438m"), "lost,missed,running");
	expect_rows(ARGV("history", "--failed", "--since", "1438m"), "b-9 lost,b-10 lost");
	expect(run(LEDGER, 0, false, ARGV("history", "t", "--since", "1h")), 0, "no run matches\n",
	       "");
	expect(run(LEDGER, 0, false, ARGV("history", "--since", "soon")), 3, "",
	       "zkleader: --since \"soon\" is no duration such as 500ms, 10s or 5m\n");
}

#define KEPT(tick)                                                          \
	"{\"tick\":\"2026-11-" tick                                         \
	"Z\",\"state\":\"missed\",\"started_at\":\"2026-11-20T02:00:01Z\"," \
	"\"ended_at\":\"2026-11-20T02:00:05Z\",\"attempt\":1,\"oldest_kept\":true}"

Test(history, says_where_older_runs_are_not_kept)
{
	static const char cut[] =
		"{\"history\":[" KEPT("20T02:00:00") "],\"tasks\":[{\"task\":\"b-9\"},"
						     "{\"task\":\"b-10\"}]}";

	expect(run(cut, 0, false, ARGV("history", "t")), 0,
	       "TICK                 STATE  NODE START DURATION ATTEMPT EXIT TOKEN\n"
	       "2026-11-20T02:00:00Z missed -    -            -       -    -     -\n"
	       "\n"
	       "older runs are not kept (key history) of\n"
	       "  t since 2026-11-20T02:00:00Z\n",
	       "");
	expect(run(cut, 0, false, ARGV("history", "--failed")), 0,
	       "no run matches\n"
	       "\n"
	       "older runs are not kept (key history) of\n"
	       "  b-9  since 2026-11-20T02:00:00Z\n"
	       "  b-10 since 2026-11-20T02:00:00Z\n",
	       "");
	/* NOW is a day later: what is asked for is all there. */
	expect(run(cut, 0, false, ARGV("history", "t", "--since", "23h")), 0, "no run matches\n",
	       "");
}

Test(history, json_of_several_tasks_names_them)
{
	struct outcome r = run(LEDGER, 0, false, ARGV("history", "--json", "--failed"));
	json_t *json = json_loads(r.out, 0, NULL), *record;
	size_t i;

	cr_expect_eq(r.code, 0);
	cr_expect_eq(json_array_size(json), 4);
	json_array_foreach(json, i, record)
	{
		cr_expect_str_eq(json_string_value(json_object_get(record, "task")),
				 i % 2 ? "b-10" : "b-9");
		cr_expect_str_eq(json_string_value(json_object_get(record, "state")),
				 i < 2 ? "lost" : "failed");
	}
	json_decref(json);
	free(r.out);
	free(r.err);
}

Test(history, json)
{
	struct outcome r =
		run("{\"history\":[" RECORD("02:00:00", "ok", "02:00:01", AT("02:00:06"), "0") "]}",
		    0, false, ARGV("history", "t", "--json"));
	json_t *json = json_loads(r.out, 0, NULL);

	cr_expect_eq(r.code, 0);
	cr_expect_eq(json_array_size(json), 1);
	cr_expect_eq(json_object_size(json_array_get(json, 0)), 9);
	json_decref(json);
	free(r.out);
	free(r.err);
}

/* --- logs ----------------------------------------------------------------- */

#define RUN(tick, state, rest)                                                                     \
	"{\"tick\":\"2026-11-20T02:0" tick ":00Z\",\"state\":\"" state "\",\"node\":\"app1\"" rest \
	"}"

Test(command, logs)
{
	static const char history[] =
		"{\"history\":[" RUN("0", "ok",
				     ",\"exit_status\":0,\"output\":\"a\\nb\\u001b["
				     "1m\\n\"") "," RUN("1", "failed",
							",\"exit_status\":3,\"output\":"
							"null") "," RUN("2", "missed", "") "]}";

	expect(run(history, 0, false, ARGV("logs", "t")), 0,
	       "t 2026-11-20T02:01:00Z: failed, exit 3, on app1\n"
	       "(nothing is kept: it has written nothing, goes on, was not started by a schedule, "
	       "or is not yours to read)\n"
	       "on app1: journalctl -t t ZKLEADER_TICK=2026-11-20T02:01:00Z\n",
	       "");
	expect(run(history, 0, false, ARGV("logs", "t", "--tick", "2026-11-20T03:00:00+01:00")), 0,
	       "t 2026-11-20T02:00:00Z: ok, exit 0, on app1\na\nb\\x1b[1m\n"
	       "all of it, on app1: journalctl -t t ZKLEADER_TICK=2026-11-20T02:00:00Z\n",
	       "");
	expect(run(history, 0, false, ARGV("logs", "t", "--tick", "2026-11-20T02:02:00Z")), 3, "",
	       "zkleader: t: no run is recorded of 2026-11-20T02:02:00Z\n");
	expect(run("{\"history\":[1,[],{}]}", 0, false, ARGV("logs", "t")), 3, "",
	       "zkleader: t: no run is recorded\n");
	expect(run(history, 0, false, ARGV("logs", "t", "--tick", "2")), 3, "",
	       "zkleader: --tick \"2\": a time is needed, as 2026-03-29T00:00:00Z\n");
}
