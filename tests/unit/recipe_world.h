/*
 * The machine and ZooKeeper of a test of one recipe: the clock stands still, timers ring when the test says so,
 * requests are kept until it answers them. To be included once in a test.
 */
#ifndef TESTS_UNIT_RECIPE_WORLD_H
#define TESTS_UNIT_RECIPE_WORLD_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/log/log.h"
#include "node/fleet/registry.h"

#define WORLD_REQUESTS_MAX 4096
#define WORLD_TIMERS_MAX   32

static int64_t world_now = 1000000;

static struct world_request {
	enum { WORLD_GET, WORLD_EXISTS, WORLD_CHILDREN, WORLD_CREATE, WORLD_MULTI } kind;
	char path[STORE_PATH_MAX]; /* of a multi: of its last operation */
	bool watch;
	struct store_op ops
		[STORE_OPS_MAX]; /* with paths of their own; data only of the last that has some */
	size_t n_ops;
	uint8_t data[4096];
	size_t len;
	uint8_t first[64]; /* data of the first operation that has some, if that is short */
	size_t first_len;
	store_reply_fn fn;
	void *arg;
} world_requests[WORLD_REQUESTS_MAX];
static size_t world_n, world_next; /* asked, and answered of those */
static char world_unwatched[STORE_PATH_MAX];
static struct host_timer *world_timers[WORLD_TIMERS_MAX];
static int64_t world_rings[WORLD_TIMERS_MAX];

/* --- host.h -------------------------------------------------------------------------------------------- */

int64_t host_now_ms(const struct host *h)
{
	(void)h;
	return world_now;
}

int64_t host_wall_ms(const struct host *h)
{
	(void)h;
	return world_now;
}

void host_random(struct host *h, void *bytes, size_t len)
{
	static uint8_t next;

	(void)h;
	for (size_t i = 0; i < len; i++)
		((uint8_t *)bytes)[i] = ++next;
}

void host_timer_init(struct host_timer *t, struct host *h, host_fn fn, void *arg)
{
	*t = (struct host_timer){.host = h, .fn = fn, .arg = arg};
}

void host_timer_stop(struct host_timer *t)
{
	for (size_t i = 0; i < WORLD_TIMERS_MAX; i++)
		if (world_timers[i] == t)
			world_timers[i] = NULL;
}

void host_timer_start(struct host_timer *t, int64_t ms)
{
	host_timer_stop(t);
	for (size_t i = 0; i < WORLD_TIMERS_MAX; i++) {
		if (world_timers[i])
			continue;
		world_timers[i] = t;
		world_rings[i] = world_now + (ms > 0 ? ms : 0);
		return;
	}
	cr_assert_fail("too many timers");
}

bool host_timer_is_set(const struct host_timer *t)
{
	for (size_t i = 0; i < WORLD_TIMERS_MAX; i++)
		if (world_timers[i] == t)
			return true;
	return false;
}

void host_timer_done(struct host_timer *t)
{
	host_timer_stop(t);
}

void host_turn_init(struct host_turn *t, struct host *h, host_fn fn, void *arg)
{
	(void)t, (void)h, (void)fn, (void)arg;
}

void host_turn_done(struct host_turn *t)
{
	(void)t;
}

/* Time passes, and what is due rings once. */
static inline void world_pass(int64_t ms)
{
	world_now += ms;
	for (size_t i = 0; i < WORLD_TIMERS_MAX; i++) {
		struct host_timer *t = world_timers[i];
		if (!t || !t->fn || world_rings[i] > world_now)
			continue;
		world_timers[i] = NULL;
		t->fn(t->arg);
	}
}

/* --- store.h ------------------------------------------------------------------------------------------- */

static struct world_request *world_ask(const char *path, bool watch, store_reply_fn fn, void *arg)
{
	cr_assert_lt(world_n, WORLD_REQUESTS_MAX);
	struct world_request *r = &world_requests[world_n++];
	memset(r, 0, sizeof(*r));
	snprintf(r->path, sizeof(r->path), "%s", path);
	r->watch = watch;
	r->fn = fn;
	r->arg = arg;
	return r;
}

void store_get(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	(void)s;
	world_ask(path, watch, fn, arg)->kind = WORLD_GET;
}

void store_unwatch(struct store *s, const char *path, bool children, store_reply_fn fn, void *arg)
{
	(void)s, (void)children;
	snprintf(world_unwatched, sizeof(world_unwatched), "%s", path);
	fn(arg, &(struct store_reply){.code = STORE_UNKNOWN, .failed_op = -1});
}

void store_exists(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	(void)s;
	world_ask(path, watch, fn, arg)->kind = WORLD_EXISTS;
}

void store_children(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	(void)s;
	world_ask(path, watch, fn, arg)->kind = WORLD_CHILDREN;
}

void store_create(struct store *s, const char *path, store_reply_fn fn, void *arg)
{
	(void)s;
	world_ask(path, false, fn, arg)->kind = WORLD_CREATE;
}

void store_multi(struct store *s, const struct store_op *ops, size_t n, store_reply_fn fn,
		 void *arg)
{
	(void)s;
	struct world_request *r = world_ask(ops[n - 1].path, false, fn, arg);

	r->kind = WORLD_MULTI;
	r->n_ops = n;
	for (size_t i = 0; i < n; i++) {
		r->ops[i] = ops[i];
		r->ops[i].path = strdup(ops[i].path);
		if (ops[i].len == 0)
			continue;
		cr_assert_leq(ops[i].len, sizeof(r->data));
		if (r->len == 0 && ops[i].len <= sizeof(r->first)) {
			memcpy(r->first, ops[i].data, ops[i].len);
			r->first_len = ops[i].len;
		}
		memcpy(r->data, ops[i].data, ops[i].len);
		r->len = ops[i].len;
	}
}

int store_open(struct store **ret_store, struct host *host, const struct store_options *options,
	       const struct store_handlers *handlers)
{
	(void)host, (void)options, (void)handlers;
	*ret_store = NULL;
	return -1;
}

void store_close(struct store *s, void (*done)(void *arg), void *arg)
{
	(void)s;
	if (done)
		done(arg);
}

int64_t store_session(const struct store *s)
{
	(void)s;
	return 0;
}

int store_timeout(const struct store *s)
{
	(void)s;
	return 10000;
}

const uint8_t *store_password(const struct store *s)
{
	(void)s;
	return NULL;
}

const char *store_server(const struct store *s)
{
	(void)s;
	return "";
}

int store_local_address(const struct store *s, char *text, size_t size)
{
	(void)s, (void)text, (void)size;
	return -1;
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

void store_lookup(struct host *host, void *world, const char *hosts, store_lookup_fn done,
		  void *arg)
{
	(void)host, (void)world, (void)hosts, (void)done, (void)arg;
}

/* --- answering ----------------------------------------------------------------------------------------- */

/* The oldest request that is not answered yet, confirmations apart, which are answered on the way; NULL. */
static inline struct world_request *world_request(void)
{
	while (world_next < world_n) {
		struct world_request *r = &world_requests[world_next];
		if (r->kind != WORLD_MULTI || r->n_ops > 1 || r->ops[0].type != STORE_OP_CHECK)
			return r;
		world_next++; /* nothing follows from it here */
	}
	return NULL;
}

static inline void world_answer(const struct store_reply *reply)
{
	struct world_request *r = world_request();

	cr_assert(r, "nothing is asked");
	world_next++;
	r->fn(r->arg, reply);
}

static inline void world_answer_code(enum store_code code, int failed_op)
{
	world_answer(&(struct store_reply){.code = code, .text = "", .failed_op = failed_op});
}

/* --- a node that is up --------------------------------------------------------------------------------- */

static const struct node_settings world_settings = {.root = "/r", .hostname = "h", .name = "me"};
static void world_nobody(void *arg, enum store_watch type, const char *path)
{
	(void)arg, (void)type, (void)path;
}

static struct session world_session;
static struct registry world_registry;

static inline void world_begin(void)
{
	log_setup(LOG_ERROR, LOG_TEXT, false);
	world_session.settings = &world_settings;
	world_session.state = SESSION_UP;
	watches_init(&world_session.watches, NULL, world_nobody, NULL);
	strcpy(world_session.registration, "/r/workers/w");
	world_registry.settings = &world_settings;
	world_registry.session = &world_session;
	strcpy(world_registry.node, "me");
	strcpy(world_registry.machine, "m1");
}

#endif
