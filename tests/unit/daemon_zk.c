/* The client library behind store.h: it is stood in for by functions of the same names. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define THREADED
#include <zookeeper/zookeeper.h>

#include "daemon/machine/host_uv.h"
#include "daemon/zookeeper/port_probe.h"
#include "daemon/zookeeper/zk_trouble.h"
#include "node/store.h"

/* How the stand-in answers the next request: with rc by its completion, or not even taking it. */
static struct {
	int rc;
	bool refuses, silent;
	int state;
	/* A silent library answers once its state was asked for so often while it closes. */
	int answers_after;
	data_completion_t owed;
	const void *owed_data;
	bool closed_early;
	watcher_fn watcher;
	void *context;
	log_callback_fn logs;
} library;

static struct Stat stat_of_all = {.czxid = 7};

zhandle_t *zookeeper_init2(const char *host, watcher_fn fn, int recv_timeout,
			   const clientid_t *clientid, void *context, int flags,
			   log_callback_fn log_callback)
{
	(void)host, (void)recv_timeout, (void)clientid, (void)flags;
	library.watcher = fn;
	library.context = context;
	library.logs = log_callback;
	return (zhandle_t *)&library;
}

int zookeeper_close(zhandle_t *zh)
{
	(void)zh;
	library.closed_early = library.owed != NULL;
	return ZOK;
}

int zoo_set_servers_resolution_delay(zhandle_t *zh, int delay_ms)
{
	(void)zh, (void)delay_ms;
	return ZOK;
}

int zoo_state(zhandle_t *zh)
{
	(void)zh;
	if (library.answers_after > 0 && --library.answers_after == 0) {
		data_completion_t owed = library.owed;
		library.owed = NULL;
		owed(ZOK, "x", 1, &stat_of_all, library.owed_data);
	}
	return library.state;
}

int is_unrecoverable(zhandle_t *zh)
{
	(void)zh;
	return library.state == ZOO_EXPIRED_SESSION_STATE ? ZINVALIDSTATE : ZOK;
}

int zoo_aget(zhandle_t *zh, const char *path, int watch, data_completion_t completion,
	     const void *data)
{
	(void)zh, (void)path, (void)watch;
	if (library.refuses)
		return library.rc;
	library.owed = completion;
	library.owed_data = data;
	if (library.silent)
		return ZOK;
	library.owed = NULL;
	completion(library.rc, "x", 1, &stat_of_all, data);
	return ZOK;
}

int zoo_aexists(zhandle_t *zh, const char *path, int watch, stat_completion_t completion,
		const void *data)
{
	(void)zh, (void)path, (void)watch;
	if (library.refuses)
		return library.rc;
	completion(library.rc, &stat_of_all, data);
	return ZOK;
}

int zoo_amulti(zhandle_t *zh, int count, const zoo_op_t *ops, zoo_op_result_t *results,
	       void_completion_t completion, const void *data)
{
	(void)zh, (void)ops;
	if (library.refuses)
		return library.rc;
	results[count - 1].err = library.rc;
	completion(library.rc, data);
	return ZOK;
}

static struct {
	int heard, replies;
	enum store_code code;
	int refusals, failures;
	char server[128], message[320];
} seen;

static void on_state(void *arg, enum store_state state)
{
	(void)arg;
	seen.refusals += state == STORE_AUTH_FAILED;
}

static void on_failed(void *arg, const char *server, const char *message)
{
	(void)arg;
	cr_expect_eq(seen.refusals, 0, "before the state");
	seen.failures++;
	snprintf(seen.server, sizeof(seen.server), "%s", server);
	snprintf(seen.message, sizeof(seen.message), "%s", message);
}

static void on_watch(void *arg, enum store_watch type, const char *path)
{
	(void)arg, (void)type, (void)path;
}

static void on_heard(void *arg, int64_t sent_ms)
{
	(void)arg, (void)sent_ms;
	seen.heard++;
	cr_expect_eq(seen.replies, 0, "before the reply");
}

static void on_reply(void *arg, const struct store_reply *reply)
{
	(void)arg;
	seen.replies++;
	seen.code = reply->code;
}

static struct host host;
static uv_loop_t loop;
static struct store *store;

static void setup(void)
{
	static const struct store_options options = {.servers = "127.0.0.1:1", .timeout_ms = 1000};
	static const struct store_handlers handlers = {
		.state = on_state, .watch = on_watch, .heard = on_heard, .failed = on_failed};

	uv_loop_init(&loop);
	host_init(&host, &loop);
	cr_assert_eq(store_open(&store, &host, &options, &handlers), 0);
	library.state = ZOO_CONNECTED_STATE;
}

static void on_closed(void *arg)
{
	*(bool *)arg = true;
}

static void end_store(void)
{
	bool closed = false;

	store_close(store, on_closed, &closed);
	store = NULL;
	while (!closed)
		uv_run(&loop, UV_RUN_ONCE);
}

static void teardown(void)
{
	if (store)
		end_store();
}

TestSuite(zk, .init = setup, .fini = teardown);

enum kind { GET, EXISTS, MULTI, NO_PATH, KINDS };

static void ask(enum kind kind)
{
	struct store_op op = {.type = STORE_OP_CHECK, .path = "/a", .version = -1};

	memset(&seen, 0, sizeof(seen));
	switch (kind) {
	case GET: store_get(store, "/a", false, on_reply, NULL); break;
	case EXISTS: store_exists(store, "/a", false, on_reply, NULL); break;
	case NO_PATH: op.path = "/a/"; /* fall through */
	case MULTI: store_multi(store, &op, 1, on_reply, NULL); break;
	case KINDS: break;
	}
	cr_assert_eq(seen.replies, 0, "later");
	for (int i = 0; i < 1000 && seen.replies == 0; i++)
		uv_run(&loop, UV_RUN_ONCE);
	cr_assert_eq(seen.replies, 1);
}

/* Answers of a server prove that the session was alive; those that the library made up do not. */
Test(zk, what_counts_as_heard)
{
	static const struct {
		int rc;
		bool heard;
		enum store_code code;
	} cases[] = {
		{ZOK, true, STORE_OK},
		{ZNONODE, true, STORE_NO_NODE},
		{ZNODEEXISTS, true, STORE_NODE_EXISTS},
		{ZBADVERSION, true, STORE_BAD_VERSION},
		{ZNOAUTH, true, STORE_NO_AUTH},
		{-125, true, STORE_FULL}, /* a quota that is enforced */
		{ZNOTEMPTY, true, STORE_FAILED},
		{ZNOCHILDRENFOREPHEMERALS, true, STORE_FAILED},
		{ZINVALIDACL, true, STORE_FAILED},
		{ZCONNECTIONLOSS, false, STORE_UNKNOWN},
		{ZOPERATIONTIMEOUT, false, STORE_UNKNOWN},
		{ZRUNTIMEINCONSISTENCY, false, STORE_UNKNOWN},
		{ZCLOSING, false, STORE_UNKNOWN},
		{ZSESSIONEXPIRED, false, STORE_UNKNOWN},
		{ZINVALIDSTATE, false, STORE_UNKNOWN},
		{ZSYSTEMERROR, false, STORE_FAILED},
		{ZMARSHALLINGERROR, false, STORE_FAILED},
		{ZBADARGUMENTS, false, STORE_FAILED},
		{ZAUTHFAILED, false, STORE_FAILED},
		{ZSESSIONMOVED, false, STORE_FAILED},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		library.rc = cases[i].rc;
		for (enum kind kind = GET; kind <= MULTI; kind++) {
			ask(kind);
			cr_expect_eq(seen.heard, cases[i].heard, "%s, kind %d", zerror(library.rc),
				     (int)kind);
			cr_expect_eq(seen.code, cases[i].code, "%s, kind %d", zerror(library.rc),
				     (int)kind);
		}
	}
}

/* Whatever the library says where it does not even send a request. */
Test(zk, what_was_never_sent_is_not_heard)
{
	static const int codes[] = {ZBADARGUMENTS, ZINVALIDSTATE, ZMARSHALLINGERROR, ZNONODE,
				    ZNOAUTH};

	library.refuses = true;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		library.rc = codes[i];
		for (enum kind kind = GET; kind <= MULTI; kind++) {
			ask(kind);
			cr_expect_eq(seen.heard, 0, "%s, kind %d", zerror(library.rc), (int)kind);
		}
	}
	library.refuses = false;
	library.rc = ZOK;
	ask(NO_PATH);
	cr_expect_eq(seen.code, STORE_NO_NODE);
	cr_expect_eq(seen.heard, 0, "there is no such path");
	library.state = ZOO_CONNECTING_STATE;
	ask(MULTI);
	cr_expect_eq(seen.code, STORE_UNKNOWN);
	cr_expect_eq(seen.heard, 0, "there is no connection");
	library.state = ZOO_EXPIRED_SESSION_STATE;
	ask(MULTI);
	cr_expect_eq(seen.code, STORE_UNKNOWN);
	cr_expect_eq(seen.heard, 0, "there is no session");
}

static int n_abandoned;

static void on_abandoned(void *arg, const struct store_reply *reply)
{
	cr_expect_eq(reply->code, STORE_ABANDONED);
	cr_expect_eq(*(int *)arg, n_abandoned++, "in the order in which they were asked");
}

/* Whoever asks for several things counts on their order, also when nothing comes of them. */
Test(zk, a_store_that_is_closed_answers_in_order)
{
	int numbers[] = {0, 1, 2, 3};

	library.silent = true;
	for (size_t i = 0; i < 4; i++)
		store_get(store, "/a", false, on_abandoned, &numbers[i]);
	end_store();
	cr_expect_eq(n_abandoned, 4);
}

/* Else the kernel resets the connection, and the server may not read that the session ends. */
Test(zk, the_farewell_comes_behind_the_answers)
{
	int number = 0;

	library.silent = true;
	store_get(store, "/a", false, on_abandoned, &number);
	library.answers_after = 3;
	end_store();
	cr_expect_not(library.closed_early);
}

#define LINE "2026-11-28 21:22:30,613:1(0x7f):ZOO_ERROR@handle_socket_error_msg@1906: "

Test(zk, lines_about_connections)
{
	static const struct {
		const char *line, *server;
		int error;
		bool hung_up;
	} cases[] = {
		{"Socket 127.0.0.1:1 zk retcode=-4, errno=111(Connection refused): server refused",
		 "127.0.0.1:1", ECONNREFUSED, false},
		{"Socket [127.0.0.1:1] zk retcode=-4, errno=112(Host is down): failed",
		 "127.0.0.1:1", EHOSTDOWN, true},
		{"Socket [::1]:2181 zk retcode=-4, errno=104(Connection reset by peer): failed",
		 "[::1]:2181", ECONNRESET, true},
		{"Socket ::1:2181 zk retcode=-7, errno=110(Connection timed out): connection to",
		 "::1:2181", ETIMEDOUT, false},
		{"Socket zk retcode=-4, errno=111(x): y", NULL, 0, false},
		{"Socket 1.2.3.4:1 zk retcode=-4", NULL, 0, false},
		{"Socket 1.2.3.4:1 zk retcode=-4, errno=0(Success): x", NULL, 0, false},
		{" zk retcode=-4, errno=111(x): Socket 1.2.3.4:1", NULL, 0, false},
		{"initiated connection to server 127.0.0.1:1", NULL, 0, false},
		{"", NULL, 0, false},
	};
	struct trouble t;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert_eq(trouble_parse(cases[i].line, &t), cases[i].server != NULL, "%s",
			     cases[i].line);
		if (!cases[i].server)
			continue;
		cr_expect_str_eq(t.server, cases[i].server);
		cr_expect_eq(t.error, cases[i].error);
		cr_expect_eq(t.hung_up, cases[i].hung_up);
	}
}

Test(zk, words_for_what_became_of_a_connection)
{
	static const struct {
		struct trouble t;
		unsigned times;
		enum port_speaks speaks;
		const char *starts, *has;
	} cases[] = {
		{{.error = ECONNREFUSED}, 0, PORT_UNKNOWN, "Connection refused", "nothing listens"},
		{{.error = ETIMEDOUT}, 0, PORT_UNKNOWN, "Connection timed out", "firewalls"},
		{{.error = ETIMEDOUT}, 0, PORT_HTTP, "Connection timed out", "speaks HTTP"},
		{{.error = EHOSTDOWN, .hung_up = true}, 1, PORT_UNKNOWN, "it hung up", "up"},
		{{.error = EHOSTDOWN, .hung_up = true}, 2, PORT_UNKNOWN, "it hung up", "want TLS"},
		{{.error = ECONNRESET, .hung_up = true},
		 9,
		 PORT_TLS,
		 "Connection reset",
		 "speaks TLS"},
	};
	char message[TROUBLE_MESSAGE_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		trouble_say(&cases[i].t, cases[i].times, cases[i].speaks, false, message);
		cr_expect(strncmp(message, cases[i].starts, strlen(cases[i].starts)) == 0, "%s",
			  message);
		cr_expect(strstr(message, cases[i].has), "%s", message);
		cr_expect_lt(strlen(message), TROUBLE_MESSAGE_MAX - 1, "nothing is cut");
	}
}

Test(zk, what_first_bytes_are_of)
{
	cr_expect_eq(port_speaks("\x15\x03\x01\x00\x02\x02\x46", 7), PORT_TLS);
	cr_expect_eq(port_speaks("\x16\x03\x03\x00", 4), PORT_TLS);
	cr_expect_eq(port_speaks("HTTP/1.1 400 Bad Request", 16), PORT_HTTP);
	cr_expect_eq(port_speaks("\x15\x03", 2), PORT_UNKNOWN);
	cr_expect_eq(port_speaks("\x00\x00\x00\x25\x00", 5), PORT_UNKNOWN); /* ZooKeeper */
	cr_expect_eq(port_speaks("HTTP", 4), PORT_UNKNOWN);
	cr_expect_eq(port_speaks("", 0), PORT_UNKNOWN);
}

Test(zk, a_line_of_the_library_is_told_on_the_loop)
{
	memset(&seen, 0, sizeof(seen));
	library.logs(LINE "Socket 127.0.0.1:1 zk retcode=-4, errno=111(Connection refused): x");
	cr_expect_eq(seen.failures, 0, "on the loop, later");
	while (seen.failures == 0)
		uv_run(&loop, UV_RUN_ONCE);
	cr_expect_str_eq(seen.server, "127.0.0.1:1");
	cr_expect(strstr(seen.message, "Connection refused"));
	end_store();
	library.logs(LINE "Socket 127.0.0.1:1 zk retcode=-4, errno=111(Connection refused): x");
	cr_expect_eq(seen.failures, 1, "nobody is left to be told");
}

Test(zk, a_server_that_wants_sasl_refuses_authentication)
{
	library.rc = ZSESSIONCLOSEDREQUIRESASLAUTH;
	ask(GET);
	cr_expect_eq(seen.refusals, 1);
	cr_expect_eq(seen.failures, 1);
	cr_expect(strstr(seen.message, "wants SASL"), "%s", seen.message);
	cr_expect_eq(seen.heard, 0);
}

Test(zk, a_scheme_that_the_server_does_not_know)
{
	memset(&seen, 0, sizeof(seen));
	library.watcher((zhandle_t *)&library, ZOO_SESSION_EVENT, ZOO_AUTH_FAILED_STATE, "",
			library.context);
	while (seen.refusals == 0)
		uv_run(&loop, UV_RUN_ONCE);
	cr_expect(strstr(seen.message, "auth-file"), "%s", seen.message);
}
