/*
 * A ZooKeeper within the process, in the place of zk.c: one server that keeps its promises, with
 * sessions, ephemerals, transactions and one-shot watches. What is asked is done at once, and answered
 * in the next turn of the loop.
 */
#ifndef TESTS_FUZZ_FAKE_ZOOKEEPER_H
#define TESTS_FUZZ_FAKE_ZOOKEEPER_H

#include "fake_loop.h"

#include "base/mem.h"
#include "daemon/zk.h"
#include "node/store.h"

#define ZNODES_MAX    200
#define HANDLES_MAX   4
#define WATCHES_MAX   300
#define ZK_TIMEOUT_MS 10000

struct znode {
	char *path;
	size_t path_len;
	void *data;
	size_t len;
	struct store_stat stat;
};

enum news_kind { NEWS_REPLY, NEWS_WATCH, NEWS_STATE };

/* What waits to be told to a handle, in the order in which it happened. */
struct news {
	struct news *next;
	struct store *store;
	enum news_kind kind;
	enum store_state state;
	enum store_watch watch;
	char *path;
	struct store_reply reply;
	store_reply_fn fn; /* NULL: the handle was given up */
	void *arg;
	char **names;
	void *data;
};

struct store {
	struct store_handlers handlers;
	int64_t session;
	bool connected;
	void (*closed)(void *arg);
	void *closed_arg;
};

static struct fake_zookeeper {
	struct znode nodes[ZNODES_MAX];
	size_t n;
	int64_t zxid;
	int64_t last_session;
	bool reachable;
	struct store *handles[HANDLES_MAX];
	struct watch {
		struct store *store;
		char *path;
		bool children;
	} watches[WATCHES_MAX];
	size_t n_watches;
	struct news *first, **last;
	struct news *passing; /* of these, what is yet to be told in this turn */
	unsigned decided;     /* nodes that the sidecar has made under policy and runs */
	unsigned sequence;    /* of sequential nodes */
} zoo;

/* --- news ------------------------------------------------------------------------------------------ */

static struct news *tell(struct store *store, enum news_kind kind)
{
	struct news *news = mem_calloc(1, sizeof(*news));

	news->store = store;
	news->kind = kind;
	*zoo.last = news;
	zoo.last = &news->next;
	return news;
}

static void news_free(struct news *news)
{
	for (size_t i = 0; news->names && i < news->reply.n_names; i++)
		free(news->names[i]);
	free(news->names);
	free(news->data);
	free(news->path);
	free(news);
}

static bool is_handle(const struct store *store)
{
	for (size_t i = 0; i < HANDLES_MAX; i++)
		if (store && zoo.handles[i] == store)
			return true;
	return false;
}

static void pass_on(struct news *news)
{
	struct store *store = news->store;

	if (news->kind == NEWS_REPLY) {
		if (news->fn && news->reply.code != STORE_UNKNOWN)
			store->handlers.heard(store->handlers.arg, news->reply.sent_ms);
		if (news->fn)
			news->fn(news->arg, &news->reply);
	} else if (is_handle(store) && news->kind == NEWS_WATCH) {
		store->handlers.watch(store->handlers.arg, news->watch, news->path);
	} else if (is_handle(store)) {
		store->handlers.state(store->handlers.arg, news->state);
	}
}

/* What there is now; a change while there is no connection is told when there is one again. */
static bool loop_deliver(void)
{
	bool any = false;

	zoo.passing = zoo.first;
	zoo.first = NULL;
	zoo.last = &zoo.first;
	for (struct news *news; (news = zoo.passing);) {
		zoo.passing = news->next;
		news->next = NULL;
		if (is_handle(news->store) && news->kind == NEWS_WATCH && !news->store->connected) {
			*zoo.last = news;
			zoo.last = &news->next;
			continue;
		}
		any = true;
		pass_on(news);
		news_free(news);
	}
	return any;
}

/* --- the tree -------------------------------------------------------------------------------------- */

FUZZ struct znode *znode_find(const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < zoo.n; i++)
		if (zoo.nodes[i].path_len == len && memcmp(zoo.nodes[i].path, path, len) == 0)
			return &zoo.nodes[i];
	return NULL;
}

static size_t parent_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

static struct znode *parent_of(const char *path)
{
	size_t len = parent_len(path);

	for (size_t i = 0; i < zoo.n; i++)
		if (zoo.nodes[i].path_len == len && memcmp(zoo.nodes[i].path, path, len) == 0)
			return &zoo.nodes[i];
	return NULL;
}

static bool has_parent(const char *path)
{
	return parent_len(path) == 0 || parent_of(path);
}

static void touch_parent(const char *path)
{
	struct znode *parent = parent_of(path);

	if (parent)
		parent->stat.pzxid = zoo.zxid;
}

static void fire(const char *path, size_t len, bool children, enum store_watch type)
{
	for (size_t i = zoo.n_watches; i-- > 0;) {
		struct watch *w = &zoo.watches[i];
		if (w->children != children || strlen(w->path) != len ||
		    memcmp(w->path, path, len) != 0)
			continue;
		struct news *news = tell(w->store, NEWS_WATCH);
		news->watch = type;
		news->path = w->path;
		*w = zoo.watches[--zoo.n_watches];
	}
}

FUZZ void znode_set(struct znode *node, const void *data, size_t len)
{
	free(node->data);
	node->data = mem_alloc(len + 1);
	if (len > 0)
		memcpy(node->data, data, len);
	node->len = len;
	node->stat.mzxid = zoo.zxid;
	node->stat.mtime = WALL_MS;
	node->stat.version++;
	fire(node->path, node->path_len, false, STORE_NODE_CHANGED);
}

FUZZ void znode_create(const char *path, const void *data, size_t len, int64_t owner)
{
	struct znode *node = &zoo.nodes[zoo.n++];

	FUZZ_CHECK(zoo.n < ZNODES_MAX);
	*node = (struct znode){.path = mem_strdup(path), .path_len = strlen(path)};
	node->data = mem_alloc(len + 1);
	if (len > 0)
		memcpy(node->data, data, len);
	node->len = len;
	node->stat = (struct store_stat){.czxid = zoo.zxid,
					 .mzxid = zoo.zxid,
					 .ctime = WALL_MS,
					 .mtime = WALL_MS,
					 .owner = owner};
	node->stat.pzxid = zoo.zxid;
	touch_parent(path);
	fire(path, node->path_len, false, STORE_NODE_CREATED);
	fire(path, parent_len(path), true, STORE_CHILDREN_CHANGED);
}

FUZZ void znode_delete(struct znode *node)
{
	struct znode gone = *node;

	*node = zoo.nodes[--zoo.n];
	touch_parent(gone.path);
	fire(gone.path, gone.path_len, false, STORE_NODE_DELETED);
	fire(gone.path, gone.path_len, true, STORE_NODE_DELETED);
	fire(gone.path, parent_len(gone.path), true, STORE_CHILDREN_CHANGED);
	free(gone.path);
	free(gone.data);
}

/* --- sessions -------------------------------------------------------------------------------------- */

static void forget_watches(const struct store *store)
{
	for (size_t i = zoo.n_watches; i-- > 0;) {
		if (zoo.watches[i].store != store)
			continue;
		free(zoo.watches[i].path);
		zoo.watches[i] = zoo.watches[--zoo.n_watches];
	}
}

static void end_session(struct store *store)
{
	zoo.zxid++;
	forget_watches(store);
	for (size_t i = zoo.n; i-- > 0;)
		if (store->session != 0 && zoo.nodes[i].stat.owner == store->session)
			znode_delete(&zoo.nodes[i]);
	store->session = 0;
}

static void connect_handle(struct store *store)
{
	if (store->connected)
		return;
	store->connected = true;
	if (store->session == 0)
		store->session = ++zoo.last_session;
	/* Before what has changed meanwhile. */
	struct news *news = mem_calloc(1, sizeof(*news));
	*news = (struct news){
		.store = store, .kind = NEWS_STATE, .state = STORE_CONNECTED, .next = zoo.first};
	if (!zoo.first)
		zoo.last = &news->next;
	zoo.first = news;
}

/* The connection goes; of what is on its way nobody hears how it came out. */
FUZZ void zoo_cut(void)
{
	zoo.reachable = false;
	for (struct news *news = zoo.first; news; news = news->next)
		if (news->kind == NEWS_REPLY)
			news->reply.code = STORE_UNKNOWN;
	for (size_t i = 0; i < HANDLES_MAX; i++) {
		struct store *store = zoo.handles[i];
		if (store && store->connected)
			tell(store, NEWS_STATE)->state = STORE_CONNECTING;
		if (store)
			store->connected = false;
	}
}

/* A session that was given up by the server is told so. */
FUZZ void zoo_heal(bool expired)
{
	zoo.reachable = true;
	for (size_t i = 0; i < HANDLES_MAX; i++) {
		struct store *store = zoo.handles[i];
		if (!store || store->connected)
			continue;
		if (expired && store->session != 0) {
			end_session(store);
			tell(store, NEWS_STATE)->state = STORE_EXPIRED;
		} else {
			connect_handle(store);
		}
	}
}

int store_open(struct store **ret_store, struct host *host, const struct store_options *options,
	       const struct store_handlers *handlers)
{
	struct store *store = mem_calloc(1, sizeof(*store));
	size_t i = 0;

	(void)host;
	FUZZ_CHECK(strcmp(options->servers, "127.0.0.1:2181") == 0 || options->servers[0]);
	store->handlers = *handlers;
	while (i < HANDLES_MAX && zoo.handles[i])
		i++;
	FUZZ_CHECK(i < HANDLES_MAX);
	zoo.handles[i] = store;
	if (zoo.reachable)
		connect_handle(store);
	*ret_store = store;
	return 0;
}

static void close_work(void *arg)
{
	(void)arg;
}

static void close_done(void *arg)
{
	struct store *store = arg;

	if (store->closed)
		store->closed(store->closed_arg);
	free(store);
}

static void abandon(const struct store *store, struct news *list)
{
	static const struct store_reply abandoned = {
		.code = STORE_ABANDONED, .text = "closed", .failed_op = -1};

	for (struct news *news = list; news; news = news->next) {
		store_reply_fn fn = news->store == store ? news->fn : NULL;
		if (news->store == store) {
			news->fn = NULL;
			news->store = NULL;
		}
		if (fn)
			fn(news->arg, &abandoned);
	}
}

void store_close(struct store *store, void (*done)(void *arg), void *arg)
{
	if (!store)
		return;
	FUZZ_CHECK(is_handle(store));
	for (size_t i = 0; i < HANDLES_MAX; i++)
		if (zoo.handles[i] == store)
			zoo.handles[i] = NULL;
	abandon(store, zoo.passing);
	abandon(store, zoo.first);
	end_session(store);
	store->closed = done;
	store->closed_arg = arg;
	offload(&loop.uv, close_work, close_done, store);
}

int64_t store_session(const struct store *store)
{
	return store->session;
}

int store_timeout(const struct store *store)
{
	(void)store;
	return ZK_TIMEOUT_MS;
}

const uint8_t *store_password(const struct store *store)
{
	static const uint8_t password[STORE_PASSWORD_SIZE];

	(void)store;
	return password;
}

const char *store_server(const struct store *store)
{
	return store->session ? "127.0.0.1:2181" : "";
}

int store_local_address(const struct store *store, char *text, size_t size)
{
	(void)store;
	snprintf(text, size, "10.0.0.1");
	return 0;
}

int store_set_servers(struct store *store, const char *servers)
{
	(void)store, (void)servers;
	return 0;
}

void store_hang_up(struct store *store)
{
	(void)store; /* there is no other server */
}

void zk_log_detail(bool detail)
{
	(void)detail;
}

/* --- requests -------------------------------------------------------------------------------------- */

static struct news *answer(struct store *store, store_reply_fn fn, void *arg, enum store_code code)
{
	static const char *const texts[] = {"ok",      "no node", "node exists",    "bad version",
					    "no auth", "failed",  "connection loss"};

	FUZZ_CHECK(is_handle(store));
	struct news *news = tell(store, NEWS_REPLY);
	news->fn = fn;
	news->arg = arg;
	news->reply = (struct store_reply){.code = store->connected ? code : STORE_UNKNOWN,
					   .sent_ms = loop.now,
					   .failed_op = -1};
	news->reply.text = texts[news->reply.code];
	return news;
}

static void set_watch(struct store *store, const char *path, bool children)
{
	for (size_t i = 0; i < zoo.n_watches; i++) {
		const struct watch *w = &zoo.watches[i];
		if (w->store == store && w->children == children && strcmp(w->path, path) == 0)
			return;
	}
	FUZZ_CHECK(zoo.n_watches < WATCHES_MAX);
	zoo.watches[zoo.n_watches++] = (struct watch){store, mem_strdup(path), children};
}

/* A read of one node; a watch is set where it is there, and by exists also where it is not. */
static void read_one(struct store *store, const char *path, bool watch, bool data,
		     store_reply_fn fn, void *arg)
{
	const struct znode *node = znode_find(path);
	struct news *news = answer(store, fn, arg, node ? STORE_OK : STORE_NO_NODE);

	if (watch && store->connected && (node || !data))
		set_watch(store, path, false);
	if (news->reply.code != STORE_OK)
		return;
	news->reply.stat = node->stat;
	if (!data || node->len == 0)
		return;
	news->data = mem_alloc(node->len);
	memcpy(news->data, node->data, node->len);
	news->reply.data = news->data;
	news->reply.len = node->len;
}

void store_get(struct store *store, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	read_one(store, path, watch, true, fn, arg);
}

void store_exists(struct store *store, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	read_one(store, path, watch, false, fn, arg);
}

void store_children(struct store *store, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	size_t len = strlen(path), n = 0;
	struct news *news = answer(store, fn, arg, znode_find(path) ? STORE_OK : STORE_NO_NODE);

	if (news->reply.code != STORE_OK)
		return;
	if (watch)
		set_watch(store, path, true);
	for (size_t i = 0; i < zoo.n; i++) {
		const struct znode *node = &zoo.nodes[i];
		if (node->path_len <= len + 1 || memcmp(node->path, path, len) != 0 ||
		    node->path[len] != '/' || parent_len(node->path) != len)
			continue;
		news->names = mem_resize(news->names, n + 1, sizeof(char *));
		news->names[n++] = mem_strdup(node->path + len + 1);
	}
	news->reply.names = news->names;
	news->reply.n_names = n;
}

void store_create(struct store *store, const char *path, store_reply_fn fn, void *arg)
{
	enum store_code code = znode_find(path)	  ? STORE_NODE_EXISTS
			       : has_parent(path) ? STORE_OK
						  : STORE_NO_NODE;

	if (answer(store, fn, arg, code)->reply.code != STORE_OK)
		return;
	zoo.zxid++;
	znode_create(path, NULL, 0, 0);
}

/* Whether the operation holds, after those before it. */
static enum store_code holds(const struct store_op *ops, size_t i)
{
	const struct znode *node = znode_find(ops[i].path);
	bool exists = node != NULL;
	int32_t version = node ? node->stat.version : 0;
	size_t len = strlen(ops[i].path);

	if (len == 0 || ops[i].path[len - 1] == '/')
		return STORE_NO_NODE;
	for (size_t j = 0; j < i; j++) {
		if (strcmp(ops[j].path, ops[i].path) != 0)
			continue;
		exists = ops[j].type != STORE_OP_DELETE;
		version = ops[j].type == STORE_OP_SET ? version + 1 : version;
	}
	if (ops[i].type == STORE_OP_CREATE_SEQUENTIAL)
		return has_parent(ops[i].path) ? STORE_OK : STORE_NO_NODE;
	if (ops[i].type == STORE_OP_CREATE || ops[i].type == STORE_OP_CREATE_EPHEMERAL)
		return exists			 ? STORE_NODE_EXISTS
		       : has_parent(ops[i].path) ? STORE_OK
						 : STORE_NO_NODE;
	if (!exists)
		return STORE_NO_NODE;
	return ops[i].version == -1 || ops[i].version == version ? STORE_OK : STORE_BAD_VERSION;
}

void store_multi(struct store *store, const struct store_op *ops, size_t n, store_reply_fn fn,
		 void *arg)
{
	enum store_code code = STORE_OK;
	size_t failed = 0;
	bool set = false;

	FUZZ_CHECK(n > 0 && n <= STORE_OPS_MAX);
	while (failed < n && (code = holds(ops, failed)) == STORE_OK)
		failed++;
	/* The news of what it does come behind the answer, as from a server. */
	struct news *news = answer(store, fn, arg, code);
	if (news->reply.code != STORE_OK) {
		news->reply.failed_op = news->reply.code == STORE_UNKNOWN ? -1 : (int)failed;
		return;
	}
	zoo.zxid++;
	for (size_t i = 0; i < n; i++) {
		struct znode *node = znode_find(ops[i].path);
		switch (ops[i].type) {
		case STORE_OP_CHECK: break;
		case STORE_OP_CREATE:
			znode_create(ops[i].path, ops[i].data, ops[i].len, 0);
			/* The rest, such as a number of the roster, is the sidecar's own. */
			zoo.decided += strstr(ops[i].path, "/policy/") != NULL ||
				       strstr(ops[i].path, "/runs/") != NULL;
			break;
		case STORE_OP_CREATE_EPHEMERAL:
			znode_create(ops[i].path, ops[i].data, ops[i].len, store->session);
			break;
		case STORE_OP_CREATE_SEQUENTIAL: {
			char path[STORE_PATH_MAX];
			snprintf(path, sizeof(path), "%s%010u", ops[i].path, ++zoo.sequence);
			znode_create(path, ops[i].data, ops[i].len, store->session);
			break;
		}
		case STORE_OP_SET:
			znode_set(node, ops[i].data, ops[i].len);
			if (!set)
				news->reply.stat = node->stat;
			set = true;
			break;
		case STORE_OP_DELETE: znode_delete(node); break;
		}
	}
}

FUZZ void zoo_begin(void)
{
	memset(&zoo, 0, sizeof(zoo));
	zoo.last = &zoo.first;
	zoo.zxid = 100;
	zoo.last_session = 0x1000;
	zoo.reachable = true;
}

/* The sidecar has given back all that it had. */
FUZZ void zoo_end(void)
{
	for (size_t i = 0; i < HANDLES_MAX; i++)
		FUZZ_CHECK(!zoo.handles[i]);
	FUZZ_CHECK(zoo.n_watches == 0);
	while (zoo.first) {
		struct news *news = zoo.first;
		zoo.first = news->next;
		news_free(news);
	}
	for (size_t i = 0; i < zoo.n; i++) {
		free(zoo.nodes[i].path);
		free(zoo.nodes[i].data);
	}
}

#endif
