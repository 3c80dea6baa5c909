/* Requests that are not as they are to be: each is refused at once, in words that name what is wrong. */
#include "control_site.h"

#include "node/recipes/lock/lock.h"

TestSuite(misuse, .init = control_begin);

#define ID	    "0123456789abcdef0123456789abcdef"
#define JOB_OF_NONE "mail.1.01234567-89ab-cdef-0123-456789abcdef"

#define refuses(text, ...)                                  \
	do {                                                \
		request(alice, __VA_ARGS__);                \
		is_refused(alice, RPC_MISUSE, text);        \
		is_free(alice);                             \
		cr_expect(TAILQ_EMPTY(&methods.asks.list)); \
	} while (0)

Test(misuse, methods_say_how_many_parameters_they_take)
{
	refuses("unknown method", "no_such", 0, "");
	refuses("check takes a task, how long to wait", "check", 0, "");
	refuses("check takes", "check", 4, "si0i", "report", N(0), N(1));
	refuses("lock takes a name and a map", "lock", 1, "s", "l");
	refuses("index takes no parameters", "index", 1, "s", "x");
	refuses("pin takes a task, or an array of names and globs, a version", "pin", 1, "s",
		"report");
	refuses("drain takes a map", "drain", 2, "s0", "here");
	refuses("finish takes the number of a run", "finish", 1, "i", N(1));
	refuses("job_begin takes the id of a job", "job_begin", 0, "");
}

/* Each table of keys goes through the same reader: one of each kind of mistake is enough for each. */
Test(misuse, options_are_maps_whose_keys_come_once_and_have_their_type)
{
	refuses("the options are no map", "lock", 2, "ss", "l", "no map");
	refuses("an option has no name", "lock", 2, "s1ii", "l", N(1), N(2));
	refuses("id: repeated", "lock", 2, "s2ssss", "l", "id", ID, "id", ID);
	refuses("id: not 32", "lock", 2, "s1ss", "l", "id", "short");
	refuses("slots: not a number of slots", "lock", 2, "s2sssi", "l", "id", ID, "slots", N(0));
	refuses("again: not a bool", "lock", 2, "s2sssi", "l", "id", ID, "again", N(1));
	refuses("id: missing", "lock", 2, "s0", "l");
	refuses("key: no name", "join", 2, "s1ss", "g", "key", "/");
	refuses("count: repeated", "join", 2, "s2sisi", "g", "count", N(2), "count", N(2));
	refuses("count: not from 1 to 1000", "barrier", 2, "s1si", "b", "count", N(1001));
	refuses("round: not a round", "barrier_leave", 2, "s1si", "b", "round", N(-1));
	refuses("do: not known", "rolling", 2, "s1ss", "g", "do", "dance");
	refuses("state: not one of", "rolling", 2, "s2ssss", "g", "do", "advance", "state", "odd");
	refuses("workers: missing", "wait", 1, "0");
	refuses("workers: not from 0", "wait", 1, "1si", "workers", N(-1));
	refuses("version: no version", "wait", 1, "1ss", "version", "");
	refuses("any: not a bool", "check", 3, "si1ss", "report", N(0), "any", "yes");
	refuses("mine: repeated", "subscribe", 1, "2sbsb", "mine", true, "mine", true);
	refuses("kind: not run or once", "claim", 2, "s1ss", "report", "kind", "twice");
	refuses("an option of claim", "claim", 2, "s0", "report");
	refuses("now_ms: not a time", "claim", 2, "s2sssi", "report", "kind", "run", "now_ms",
		N(-1));
	refuses("tick_ms: not whole seconds, up to a day", "claim", 2, "s2sssi", "report", "kind",
		"run", "tick_ms", N(500));
	refuses("tick_ms: not whole seconds", "claim", 2, "s2sssi", "report", "kind", "once",
		"tick_ms", N(86401000));
	refuses("exit_status: not from", "finish", 2, "i1si", N(1), "exit_status", N(256));
	refuses("exit_status: missing", "finish", 2, "i0", N(1));
	refuses("tick: the tick is none", "trigger", 2, "s1ss", "report", "tick", "tomorrow");
	refuses("tick: repeated", "explain", 2, "s2ssss", "report", "tick", TICK, "tick", TICK);
	refuses("the tick is none", "explain", 2, "s0", "report");
	refuses("the tick is none", "outcome", 2, "ss", "report", "");
	refuses("n: a number from 1", "next", 1, "1si", "n", N(0));
	refuses("from: repeated", "next", 1, "2sisi", "from", N(1), "from", N(1));
	refuses("exit_status: missing", "job_finish", 2, "i0", N(1));
	refuses("how: not one of", "job_finish", 2, "i1ss", N(1), "how", "well");
	refuses("retry_ms: not a time", "job_finish", 2, "i1si", N(1), "retry_ms", N(-2));
	refuses("interrupted: not a bool", "join_finish", 2, "i1ss", N(1), "interrupted", "no");
}

/* Keys that only a later client knows are no mistake. */
Test(misuse, keys_that_are_not_known_are_passed_over)
{
	request(alice, "lock", 2, "s3sssssi", "l", "later", "word", "id", ID, "slots", N(1));
	cr_expect_eq(clients[0].n_errors, 0);
	cr_expect_eq(alice->parked, 2, "the request, and what it is to hold");
}

Test(misuse, strangers_change_nothing)
{
	clients[0].stranger = true;
	refuses("not allowed", "drain", 0, "");
	refuses("not allowed", "reload", 0, "");
	refuses("not allowed", "counter", 1, "s", "c");
	refuses("not allowed", "repartition", 2, "si", "report", N(2));
	refuses("not allowed", "cancel", 1, "s", JOB_OF_NONE);
	refuses("not allowed", "purge", 1, "s", "mail");
	request(alice, "trigger", 1, "s", "report");
	waits(alice);
	threads_end();
	is_refused(alice, RPC_MISUSE, "uid 4000000 may not run report");
	is_free(alice);
}

Test(misuse, nothing_is_asked_without_a_session)
{
	static const struct {
		const char *method, *format;
	} cases[] = {{"drain", ""}, {"history", ""}, {"outcome", "ss"}, {"explain", "s1ss"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool map = strchr(cases[i].format, '1') != NULL;
		request(alice, cases[i].method, cases[i].format[0] ? 2 : 0, cases[i].format,
			"report", map ? "tick" : TICK, TICK);
		is_refused(alice, RPC_CANNOT_TELL, "no confirmed session");
		is_free(alice);
	}
}
