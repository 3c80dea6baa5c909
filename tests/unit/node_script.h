/*
 * The machine and the ZooKeeper of a node, played by a test: what the node asks becomes lines of text, and the
 * test answers line by line, so that it reads like a table of requests and answers.
 *
 *   asks("get! leaders/report", failed(STORE_NO_NODE));   the oldest open request is this, and is answered so
 *   idle();                                                there is no other
 *
 * Paths are relative to the root; "!" is a watch that is set. A transaction is its operations, "create*" makes
 * an ephemeral, "create+" one that the server numbers, "v3" is the version that one asks for, and "new" a name
 * that the node has drawn. The confirmations of a session that is up are answered here, and not seen.
 */
#ifndef ZKLEADER_TEST_NODE_SCRIPT_H
#define ZKLEADER_TEST_NODE_SCRIPT_H

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "node/session/session.h"
#include "node/store.h"

#define ROOT		 "/r"
#define SESSION		 7 /* our own */
#define TIMEOUT_MS	 10000
#define START_MS	 INT64_C(1000000)
#define WALL_MS		 INT64_C(1795000000000) /* the wall clock at START_MS */
#define SCRIPT_REQUESTS	 400
#define SCRIPT_TIMERS	 52
#define SCRIPT_TEXT_MAX	 9000
#define SCRIPT_NAMES_MAX 64
#define SCRIPT_UUID_LEN	 36
#define SCRIPT_UNWATCHES 400

/* --- the machine --------------------------------------------------------------------------------------- */

struct host {
	int64_t now_ms, ahead_ms;
	int64_t creep_ms; /* by which each look at the time moves it on */
	struct host_timer *timers[SCRIPT_TIMERS];
	int64_t rings[SCRIPT_TIMERS]; /* 0: is not set */
	size_t n_timers;
	struct host_turn *turns[8];
	size_t n_turns;
	unsigned char drawn; /* the next random byte */
};

static struct host host = {.now_ms = START_MS};

int64_t host_now_ms(const struct host *h)
{
	host.now_ms += host.creep_ms;
	return h->now_ms;
}

int64_t host_wall_ms(const struct host *h)
{
	return WALL_MS - START_MS + h->now_ms + h->ahead_ms;
}

void host_random(struct host *h, void *bytes, size_t len)
{
	memset(bytes, ++h->drawn, len);
}

static int64_t *script_ring(const struct host_timer *t)
{
	for (size_t i = 0; i < host.n_timers; i++)
		if (host.timers[i] == t)
			return &host.rings[i];
	return NULL;
}

void host_timer_init(struct host_timer *t, struct host *h, host_fn fn, void *arg)
{
	*t = (struct host_timer){.host = h, .fn = fn, .arg = arg};
	if (script_ring(t))
		return;
	cr_assert_lt(h->n_timers, SCRIPT_TIMERS);
	h->rings[h->n_timers] = 0;
	h->timers[h->n_timers++] = t;
}

void host_timer_start(struct host_timer *t, int64_t ms)
{
	int64_t *ring = script_ring(t);

	cr_assert(ring, "a timer that was not made");
	*ring = host.now_ms + (ms > 0 ? ms : 0);
}

void host_timer_stop(struct host_timer *t)
{
	int64_t *ring = script_ring(t);

	if (ring)
		*ring = 0;
}

bool host_timer_is_set(const struct host_timer *t)
{
	const int64_t *ring = script_ring(t);

	return ring && *ring != 0;
}

void host_timer_done(struct host_timer *t)
{
	host_timer_stop(t);
	t->host = NULL;
}

void host_turn_init(struct host_turn *t, struct host *h, host_fn fn, void *arg)
{
	*t = (struct host_turn){.host = h, .fn = fn, .arg = arg};
	cr_assert_lt(h->n_turns, sizeof(h->turns) / sizeof(h->turns[0]));
	h->turns[h->n_turns++] = t;
}

void host_turn_done(struct host_turn *t)
{
	t->fn = NULL;
}

static inline void script_unwatch(enum store_code code);

/* The end of a turn of the loop. */
static inline void turn(void)
{
	script_unwatch(STORE_OK);
	for (size_t i = 0; i < host.n_turns; i++)
		if (host.turns[i]->fn)
			host.turns[i]->fn(host.turns[i]->arg);
}

/* --- ZooKeeper ----------------------------------------------------------------------------------------- */

struct script_request {
	char text[SCRIPT_TEXT_MAX];
	char path[STORE_PATH_MAX]; /* whole; "" of a transaction */
	store_reply_fn fn;
	void *arg;
	int64_t sent_ms;
	char data[4096]; /* of the first operation that has some */
	size_t len;
	char last_data[1000]; /* of the last one that has some, if that is short */
	size_t last_len;
};

struct store {
	struct store_handlers handlers;
	struct script_request open[SCRIPT_REQUESTS]; /* the oldest first */
	size_t n_open;
	struct script_request last; /* that was answered */
	char registration[STORE_PATH_MAX];
	int granted_ms; /* the session timeout of the next connection; 0: TIMEOUT_MS */
	bool silent;	/* confirmations are the test's to answer */
	struct script_unwatch {
		store_reply_fn fn;
		void *arg;
	} unwatches[SCRIPT_UNWATCHES]; /* open */
	size_t n_unwatches;
	bool deaf;			/* they are not answered */
	char unwatched[STORE_PATH_MAX]; /* the last of them, whole; "" */
	size_t n_unwatched;		/* all that were asked for */
};

static struct store store;

/* Without the root, and with drawn names as "new". */
static inline void script_path(const char *path, char *text, size_t size)
{
	const char *name;

	if (strncmp(path, ROOT "/", strlen(ROOT) + 1) == 0)
		path += strlen(ROOT) + 1;
	name = strrchr(path, '/');
	if (name && strlen(name + 1) == SCRIPT_UUID_LEN && name[9] == '-')
		snprintf(text, size, "%.*s/new", (int)(name - path), path);
	else
		snprintf(text, size, "%.*s", (int)size - 1, path);
}

static inline struct script_request *script_ask(const char *what, const char *path,
						store_reply_fn fn, void *arg)
{
	struct script_request *r = &store.open[store.n_open];
	char short_path[STORE_PATH_MAX];

	cr_assert_lt(store.n_open, SCRIPT_REQUESTS);
	store.n_open++;
	script_path(path, short_path, sizeof(short_path));
	memset(r, 0, sizeof(*r));
	snprintf(r->text, sizeof(r->text), "%s %s", what, short_path);
	snprintf(r->path, sizeof(r->path), "%s", path);
	r->fn = fn;
	r->arg = arg;
	r->sent_ms = host.now_ms;
	return r;
}

void store_get(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	(void)s;
	script_ask(watch ? "get!" : "get", path, fn, arg);
}

void store_exists(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	(void)s;
	script_ask(watch ? "exists!" : "exists", path, fn, arg);
}

void store_children(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	(void)s;
	script_ask(watch ? "list!" : "list", path, fn, arg);
}

/* Not among the requests of a test: which are forgotten is in store.unwatched. */
void store_unwatch(struct store *s, const char *path, bool children, store_reply_fn fn, void *arg)
{
	(void)s, (void)children;
	cr_assert_lt(store.n_unwatches, SCRIPT_UNWATCHES);
	store.unwatches[store.n_unwatches++] = (struct script_unwatch){fn, arg};
	snprintf(store.unwatched, sizeof(store.unwatched), "%s", path);
	store.n_unwatched++;
}

static inline void script_unwatch(enum store_code code)
{
	while (store.n_unwatches > 0 && (!store.deaf || code != STORE_OK)) {
		struct script_unwatch u = store.unwatches[0];
		store.n_unwatches--;
		memmove(store.unwatches, store.unwatches + 1,
			store.n_unwatches * sizeof(store.unwatches[0]));
		u.fn(u.arg, &(struct store_reply){.code = code, .failed_op = -1});
	}
}

void store_create(struct store *s, const char *path, store_reply_fn fn, void *arg)
{
	(void)s;
	script_ask("create", path, fn, arg);
}

void store_hide(struct store *s, const char *path, store_reply_fn fn, void *arg)
{
	(void)s;
	script_ask("hide", path, fn, arg);
}

/* How many nodes FOLDER/NAME:K, K from 0 on, are made and deleted by the operations from here on. */
static inline size_t script_tried(const struct store_op *ops, size_t n)
{
	size_t k = 0;

	for (; 2 * k + 1 < n; k++) {
		const char *colon = strrchr(ops[2 * k].path, ':');
		if (ops[2 * k].type != STORE_OP_CREATE || ops[2 * k + 1].type != STORE_OP_DELETE ||
		    strcmp(ops[2 * k].path, ops[2 * k + 1].path) != 0 || !colon ||
		    strtoul(colon + 1, NULL, 10) != k)
			break;
	}
	return k;
}

void store_multi(struct store *s, const struct store_op *ops, size_t n, store_reply_fn fn,
		 void *arg)
{
	static const char *const names[] = {[STORE_OP_CHECK] = "check",
					    [STORE_OP_CREATE] = "create",
					    [STORE_OP_CREATE_EPHEMERAL] = "create*",
					    [STORE_OP_CREATE_SEQUENTIAL] = "create+",
					    [STORE_OP_SET] = "set",
					    [STORE_OP_DELETE] = "delete"};
	struct script_request *r = script_ask("", "", fn, arg);
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		char path[STORE_PATH_MAX], version[16] = "";
		bool has = ops[i].type != STORE_OP_CREATE &&
			   ops[i].type != STORE_OP_CREATE_EPHEMERAL &&
			   ops[i].type != STORE_OP_CREATE_SEQUENTIAL && ops[i].version != -1;
		script_path(ops[i].path, path, sizeof(path));
		size_t tried = script_tried(ops + i, n - i);
		if (tried > 1) {
			used += (size_t)snprintf(r->text + used, sizeof(r->text) - used,
						 "%stry %s-%zu", i ? ", " : "", path, tried - 1);
			i += 2 * tried - 1;
			continue;
		}
		if (has)
			snprintf(version, sizeof(version), " v%d", ops[i].version);
		used += (size_t)snprintf(r->text + used, sizeof(r->text) - used, "%s%s %s%s",
					 i ? ", " : "", names[ops[i].type], path, version);
		cr_assert_lt(used, sizeof(r->text));
		if (ops[i].len > 0 && ops[i].len <= sizeof(r->last_data)) {
			memcpy(r->last_data, ops[i].data, ops[i].len);
			r->last_len = ops[i].len;
		}
		if (r->len > 0 || ops[i].len == 0)
			continue;
		cr_assert_leq(ops[i].len, sizeof(r->data));
		memcpy(r->data, ops[i].data, ops[i].len);
		r->len = ops[i].len;
	}
	(void)s;
}

int store_open(struct store **ret_store, struct host *h, const struct store_options *options,
	       const struct store_handlers *handlers)
{
	(void)h, (void)options;
	store.handlers = *handlers;
	*ret_store = &store;
	return 0;
}

/* Whatever is open is answered so, as if the connection or the handle went. */
static inline void answer_all(enum store_code code)
{
	size_t n = store.n_open;
	struct script_request *list = malloc((n + 1) * sizeof(*list));

	memcpy(list, store.open, n * sizeof(*list));
	store.n_open = 0;
	for (size_t i = 0; i < n; i++)
		list[i].fn(list[i].arg, &(struct store_reply){.code = code,
							      .text = "it went",
							      .sent_ms = list[i].sent_ms,
							      .failed_op = -1});
	free(list);
}

void store_close(struct store *s, void (*done)(void *arg), void *arg)
{
	if (s) {
		answer_all(STORE_ABANDONED);
		script_unwatch(STORE_ABANDONED);
	}
	if (done)
		done(arg);
}

int64_t store_session(const struct store *s)
{
	(void)s;
	return SESSION;
}

int store_timeout(const struct store *s)
{
	(void)s;
	return store.granted_ms > 0 ? store.granted_ms : TIMEOUT_MS;
}

const uint8_t *store_password(const struct store *s)
{
	static const uint8_t password[STORE_PASSWORD_SIZE] = {1, 2, 3};

	(void)s;
	return password;
}

const char *store_server(const struct store *s)
{
	(void)s;
	return "127.0.0.1:2181";
}

int store_local_address(const struct store *s, char *text, size_t size)
{
	(void)s;
	snprintf(text, size, "192.0.2.1");
	return 0;
}

int store_set_servers(struct store *s, const char *servers)
{
	(void)s, (void)servers;
	return 0;
}

void store_hang_up(struct store *s)
{
	(void)s;
}

void store_lookup(struct host *h, void *world, const char *hosts, store_lookup_fn done, void *arg)
{
	(void)h, (void)world;
	done(arg, hosts, NULL);
}

/* --- the script ---------------------------------------------------------------------------------------- */

/* Answers to be given to asks(). */
static inline struct store_reply ok(void)
{
	return (struct store_reply){.code = STORE_OK, .failed_op = -1};
}

static inline struct store_reply failed(enum store_code code)
{
	return (struct store_reply){.code = code, .failed_op = -1};
}

/* A transaction of which the operation at that index did not hold. */
static inline struct store_reply failed_at(enum store_code code, int op)
{
	return (struct store_reply){.code = code, .failed_op = op};
}

/* The reply for a node with this data, which is borrowed. */
static inline struct store_reply holds(const void *data, size_t len, struct store_stat stat)
{
	return (struct store_reply){
		.code = STORE_OK, .failed_op = -1, .stat = stat, .data = data, .len = len};
}

static inline struct store_reply of_stat(struct store_stat stat)
{
	return holds(NULL, 0, stat);
}

/* The children; ends with NULL. */
static inline struct store_reply names(const char *first, ...)
{
	static char *list[SCRIPT_NAMES_MAX];
	struct store_reply reply = {.code = STORE_OK, .failed_op = -1, .names = list};
	va_list ap;

	va_start(ap, first);
	for (const char *name = first; name; name = va_arg(ap, const char *)) {
		cr_assert_lt(reply.n_names, SCRIPT_NAMES_MAX);
		list[reply.n_names++] = (char *)(uintptr_t)name;
	}
	va_end(ap);
	return reply;
}

/* Signs of life, and, unless the test wants to see them, confirmations. */
static inline bool script_is_confirmation(const struct script_request *r)
{
	char path[STORE_PATH_MAX], sign[STORE_PATH_MAX + 8], check[STORE_PATH_MAX + 8];

	if (!store.registration[0])
		return false;
	script_path(store.registration, path, sizeof(path));
	snprintf(sign, sizeof(sign), "exists %s", path);
	snprintf(check, sizeof(check), "check %s", path);
	return strcmp(r->text, sign) == 0 || (!store.silent && strcmp(r->text, check) == 0);
}

static inline void script_answer(size_t at, struct store_reply reply)
{
	struct script_request r = store.open[at];

	store.n_open--;
	memmove(&store.open[at], &store.open[at + 1], (store.n_open - at) * sizeof(store.open[0]));
	reply.sent_ms = r.sent_ms;
	if (!reply.text)
		reply.text = "as the test says";
	if (reply.code != STORE_UNKNOWN && reply.code != STORE_ABANDONED && store.handlers.heard)
		store.handlers.heard(store.handlers.arg, reply.sent_ms);
	r.fn(r.arg, &reply);
	store.last = r;
	turn();
}

static inline void script_confirm(void)
{
	for (size_t i = 0; i < store.n_open;) {
		if (script_is_confirmation(&store.open[i])) {
			script_answer(i, ok());
			i = 0;
		} else {
			i++;
		}
	}
}

/* Time passes: timers ring when they are due, each in a turn of its own. */
static inline void pass(int64_t ms)
{
	int64_t end = host.now_ms + ms;

	turn();
	for (;;) {
		size_t first = SCRIPT_TIMERS;
		for (size_t i = 0; i < host.n_timers; i++)
			if (host.rings[i] != 0 && host.rings[i] <= end &&
			    (first == SCRIPT_TIMERS || host.rings[i] < host.rings[first]))
				first = i;
		if (first == SCRIPT_TIMERS)
			break;
		if (host.rings[first] > host.now_ms)
			host.now_ms = host.rings[first];
		host.rings[first] = 0;
		host.timers[first]->fn(host.timers[first]->arg);
		turn();
		script_confirm();
	}
	host.now_ms = end;
}

#define asks(text, reply) script_asks(text, reply, __LINE__)
static inline void script_asks(const char *text, struct store_reply reply, int line)
{
	pass(0);
	script_confirm();
	cr_assert_gt(store.n_open, 0, "line %d: nothing is asked, wanted: %s", line, text);
	cr_assert_str_eq(store.open[0].text, text, "line %d: asked: %s, wanted: %s", line,
			 store.open[0].text, text);
	script_answer(0, reply);
	script_confirm();
}

/* Nothing is open. */
#define idle() script_idle(__LINE__)
static inline void script_idle(int line)
{
	pass(0);
	script_confirm();
	cr_assert_eq(store.n_open, 0, "line %d: asked: %s", line, store.open[0].text);
}

/* A watch fires; the path is relative to the root. */
static inline void fires(enum store_watch type, const char *path)
{
	char full[STORE_PATH_MAX];

	snprintf(full, sizeof(full), ROOT "/%s", path);
	store.handlers.watch(store.handlers.arg, type, full);
	turn();
}

static inline void connection(enum store_state state)
{
	store.handlers.state(store.handlers.arg, state);
	turn();
}

#endif
