/* node/store.h over the model: what the library's thread brings is queued, and taken in a turn. */
#include "node/store.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "machine.h"
#include "releases.h"
#include "server.h"

/* The loop is not always woken at once, so that several things come in one turn. */
#define LATE_PER_MILLE 100

struct queued {
	struct queued *next;
	struct item item;
};

struct store {
	struct store *next;
	struct machine *machine;
	struct lib *lib; /* NULL: the process is gone, or it is closed */
	struct store_handlers handlers;
	struct queued *head, **tail;
	bool abandoned;
	void (*done)(void *arg);
	void *done_arg;
	int64_t session;
	int timeout_ms;
	uint8_t password[STORE_PASSWORD_SIZE];
	char server[32];
};

static void on_item(void *arg, const struct item *item)
{
	struct store *s = arg;
	struct queued *q = mem_alloc(sizeof(*q));

	q->next = NULL;
	q->item = *item;
	*s->tail = q;
	s->tail = &q->next;
	machine_wake(s->machine, random_chance(LATE_PER_MILLE) ? random_range(0, sim.late_us) : 0);
}

/* --- replies -------------------------------------------------------------------------------------- */

static const char *text_of(enum store_code code)
{
	switch (code) {
	case STORE_OK: return "ok";
	case STORE_NO_NODE: return "no node";
	case STORE_NODE_EXISTS: return "node exists";
	case STORE_BAD_VERSION: return "bad version";
	case STORE_NO_AUTH: return "not authenticated";
	case STORE_FULL: return "quota exceeded";
	case STORE_FAILED: return "refused";
	case STORE_UNKNOWN: return "connection loss";
	case STORE_ABANDONED: break;
	}
	return "closed";
}

static void queued_free(struct queued *q)
{
	if (q->item.kind == ITEM_REPLY) {
		asked_free(q->item.asked);
		reply_done(&q->item.reply);
	}
	free(q);
}

static void take_reply(struct store *s, const struct item *item)
{
	const struct reply *r = &item->reply;
	mem_auto char **names = mem_calloc(r->n_names + 1, sizeof(*names));
	struct store_reply reply = {.code = r->code,
				    .text = text_of(r->code),
				    .sent_ms = item->asked->sent_ms,
				    .failed_op = r->failed_op,
				    .stat = r->stat,
				    .names = names,
				    .n_names = r->n_names};

	struct blob *data = NULL;
	if (r->data)
		data = release_record(s->machine, path_text(item->asked->request->path),
				      r->data->bytes, r->data->len);
	if (data) {
		reply.data = data->bytes;
		reply.len = data->len;
	}
	for (size_t i = 0; i < r->n_names; i++)
		names[i] = (char *)(uintptr_t)path_name(r->names[i]);
	if (r->code != STORE_UNKNOWN && r->code != STORE_ABANDONED)
		s->handlers.heard(s->handlers.arg, reply.sent_ms);
	if (s->abandoned) { /* by that */
		reply = (struct store_reply){
			.code = STORE_ABANDONED, .text = "closed", .failed_op = -1};
	}
	if (item->asked->fn)
		item->asked->fn(item->asked->arg, &reply);
	blob_drop(data);
}

static void take_connected(struct store *s, const struct item *item)
{
	s->session = item->session;
	s->timeout_ms = item->timeout_ms;
	serve_password(s->session, s->password);
	snprintf(s->server, sizeof(s->server), "10.1.0.%u:2181", item->server + 1);
	s->handlers.state(s->handlers.arg, STORE_CONNECTED);
}

static void take_item(struct store *s, const struct item *item)
{
	switch (item->kind) {
	case ITEM_CONNECTED: take_connected(s, item); break;
	case ITEM_CONNECTING: s->handlers.state(s->handlers.arg, STORE_CONNECTING); break;
	case ITEM_EXPIRED: s->handlers.state(s->handlers.arg, STORE_EXPIRED); break;
	case ITEM_WATCH:
		s->handlers.watch(s->handlers.arg, item->watch, path_text(item->path));
		break;
	case ITEM_REPLY: take_reply(s, item); break;
	case ITEM_CLOSED: break;
	}
}

static struct queued *pop(struct store *s)
{
	struct queued *q = s->head;

	s->head = q->next;
	if (!s->head)
		s->tail = &s->head;
	return q;
}

static void store_free(struct store *s)
{
	struct store **at = &s->machine->stores;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	while (s->head)
		queued_free(pop(s));
	if (s->lib)
		lib_free(s->lib);
	free(s);
}

/* True: it is gone. */
static bool take_all(struct store *s)
{
	while (s->head && !s->abandoned) {
		struct queued *q = pop(s);
		take_item(s, &q->item);
		queued_free(q);
	}
	while (s->head && s->abandoned) {
		struct queued *q = pop(s);
		bool over = q->item.kind == ITEM_CLOSED;
		queued_free(q);
		if (!over)
			continue;
		void (*done)(void *arg) = s->done;
		void *arg = s->done_arg;
		store_free(s);
		if (done)
			done(arg);
		return true;
	}
	return false;
}

void stores_end(struct machine *m)
{
	while (m->stores) {
		assert(m->stores->abandoned);
		store_free(m->stores);
	}
}

void stores_take(struct machine *m)
{
	for (struct store *s = m->stores; s;)
		s = s->head && take_all(s) ? m->stores : s->next;
}

bool stores_wait(const struct machine *m)
{
	for (const struct store *s = m->stores; s; s = s->next)
		if (s->head)
			return true;
	return false;
}

/* --- handles -------------------------------------------------------------------------------------- */

int store_open(struct store **ret_store, struct host *host, const struct store_options *options,
	       const struct store_handlers *handlers)
{
	struct machine *m = machine_of(host);
	struct store *s = mem_calloc(1, sizeof(*s));

	s->machine = m;
	s->handlers = *handlers;
	s->tail = &s->head;
	s->next = m->stores;
	m->stores = s;
	s->lib = lib_open(m, options->timeout_ms, options->session, options->password, on_item, s);
	*ret_store = s;
	return 0;
}

static void abandon(store_reply_fn fn, void *arg)
{
	static const struct store_reply abandoned = {
		.code = STORE_ABANDONED, .text = "closed", .failed_op = -1};

	if (fn)
		fn(arg, &abandoned);
}

void store_close(struct store *s, void (*done)(void *arg), void *arg)
{
	if (!s)
		return;
	assert(!s->abandoned);
	s->abandoned = true;
	s->done = done;
	s->done_arg = arg;
	/* Replies that the library has brought already are abandoned as well. */
	for (struct queued *q = s->head; q; q = q->next)
		if (q->item.kind == ITEM_REPLY)
			abandon(q->item.asked->fn, q->item.asked->arg);
	for (struct asked *a = s->lib->head; a; a = a->next)
		abandon(a->fn, a->arg);
	if (s->machine->silent)
		store_free(s);
	else
		lib_close(s->lib);
}

int64_t store_session(const struct store *s)
{
	return s->session;
}

int store_timeout(const struct store *s)
{
	return s->timeout_ms;
}

const uint8_t *store_password(const struct store *s)
{
	return s->password;
}

const char *store_server(const struct store *s)
{
	return s->server;
}

int store_local_address(const struct store *s, char *text, size_t size)
{
	if (!s->server[0])
		return -ENOTCONN;
	unsigned number = s->machine->id + 1;
	snprintf(text, size, "10.0.%u.%u", number >> 8, number & 255);
	return 0;
}

int store_set_servers(struct store *s, const char *addresses)
{
	(void)s, (void)addresses;
	return 0;
}

void store_hang_up(struct store *s)
{
	lib_lose(s->lib);
}

/* --- requests ------------------------------------------------------------------------------------- */

/*
 * Whether the request is no consequence of a change: confirmations and signs of life, audits and
 * the servers' time are asked at regular times, and the ledger is read for whoever asked for it.
 */
static bool is_regular(const struct request *q)
{
	switch ((int)q->type) {
	case REQUEST_MULTI:
		return q->n_ops == 1 &&
		       (q->ops[0].type == STORE_OP_CHECK || q->ops[0].type == STORE_OP_SET);
	case REQUEST_UNWATCH: return true;
	case REQUEST_EXISTS:
	case REQUEST_CHILDREN: return !q->watch;
	case REQUEST_GET: return !q->watch && strstr(path_text(q->path), "/runs/");
	default: return false;
	}
}

/* Jobs are handed in, given and done at any time. */
static bool is_about_jobs(const struct request *q)
{
	bool any = q->path && strstr(path_text(q->path), "/jobs/");

	for (size_t i = 0; i < q->n_ops; i++)
		any |= strstr(path_text(q->ops[i].path), "/jobs/") != NULL;
	return any;
}

static void ask(struct store *s, struct request *q, store_reply_fn fn, void *arg)
{
	assert(!s->abandoned);
	sim.caused += !is_regular(q) && !is_about_jobs(q);
	lib_ask(s->lib, q, host_now_ms(machine_host(s->machine)), fn, arg);
}

static void ask_read(struct store *s, enum request_type type, const char *path, bool watch,
		     store_reply_fn fn, void *arg)
{
	struct request *q = request_new(type, 0);

	q->path = path_intern(path);
	q->watch = watch;
	ask(s, q, fn, arg);
}

void store_get(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	ask_read(s, REQUEST_GET, path, watch, fn, arg);
}

void store_exists(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	ask_read(s, REQUEST_EXISTS, path, watch, fn, arg);
}

void store_children(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	ask_read(s, REQUEST_CHILDREN, path, watch, fn, arg);
}

void store_unwatch(struct store *s, const char *path, bool children, store_reply_fn fn, void *arg)
{
	struct request *q = request_new(REQUEST_UNWATCH, 0);

	q->path = path_intern(path);
	q->children = children;
	ask(s, q, fn, arg);
}

void store_create(struct store *s, const char *path, store_reply_fn fn, void *arg)
{
	struct request *q = request_new(REQUEST_CREATE, 1);

	q->ops[0] = (struct op){.type = STORE_OP_CREATE, .path = path_intern(path), .version = -1};
	ask(s, q, fn, arg);
}

/* Answered in a later turn, without the library. */
static void refuse(struct store *s, enum store_code code, int failed_op, store_reply_fn fn,
		   void *arg)
{
	struct asked *a = mem_calloc(1, sizeof(*a));

	a->request = request_new(REQUEST_MULTI, 0);
	a->sent_ms = host_now_ms(machine_host(s->machine));
	a->fn = fn;
	a->arg = arg;
	on_item(s, &(struct item){.kind = ITEM_REPLY,
				  .asked = a,
				  .reply = {.code = code, .failed_op = failed_op}});
}

/* No sidecar of the simulator has an identity. */
void store_hide(struct store *s, const char *path, store_reply_fn fn, void *arg)
{
	(void)path;
	refuse(s, STORE_OK, -1, fn, arg);
}

static bool is_node(const char *path)
{
	size_t len = strlen(path);

	return len > 0 && path[len - 1] != '/';
}

void store_multi(struct store *s, const struct store_op *ops, size_t n, store_reply_fn fn,
		 void *arg)
{
	struct request *q;

	assert(n > 0 && n <= STORE_OPS_MAX);
	for (size_t i = 0; i < n; i++) {
		if (is_node(ops[i].path))
			continue;
		refuse(s, STORE_NO_NODE, (int)i, fn, arg);
		return;
	}
	q = request_new(REQUEST_MULTI, n);
	for (size_t i = 0; i < n; i++)
		q->ops[i] = (struct op){
			.type = ops[i].type,
			.path = path_intern(ops[i].path),
			.data = release_record(s->machine, ops[i].path, ops[i].data, ops[i].len),
			.version = ops[i].version};
	ask(s, q, fn, arg);
}
