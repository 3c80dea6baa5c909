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

#define ZNODES_MAX    200
#define HANDLES_MAX   4
#define WATCHES_MAX   300
#define ZK_TIMEOUT_MS 10000

struct znode {
	char *path;
	size_t path_len;
	void *data;
	size_t len;
	struct zk_stat stat;
};

enum news_kind { NEWS_REPLY, NEWS_WATCH, NEWS_STATE };

/* What waits to be told to a handle, in the order in which it happened. */
struct news {
	struct news *next;
	struct zk *zk;
	enum news_kind kind;
	enum zk_state state;
	enum zk_watch watch;
	char *path;
	struct zk_reply reply;
	zk_reply_fn fn; /* NULL: the handle was given up */
	void *arg;
	char **names;
	void *data;
};

struct zk {
	struct zk_handlers handlers;
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
	struct zk *handles[HANDLES_MAX];
	struct watch {
		struct zk *zk;
		char *path;
		bool children;
	} watches[WATCHES_MAX];
	size_t n_watches;
	struct news *first, **last;
	struct news *passing; /* of these, what is yet to be told in this turn */
	unsigned decided;     /* nodes that the sidecar has made under policy and runs */
} zoo;

/* --- news ------------------------------------------------------------------------------------------ */

static struct news *tell(struct zk *zk, enum news_kind kind)
{
	struct news *news = mem_calloc(1, sizeof(*news));

	news->zk = zk;
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

static bool is_handle(const struct zk *zk)
{
	for (size_t i = 0; i < HANDLES_MAX; i++)
		if (zk && zoo.handles[i] == zk)
			return true;
	return false;
}

static void pass_on(struct news *news)
{
	struct zk *zk = news->zk;

	if (news->kind == NEWS_REPLY) {
		if (news->fn && news->reply.code != ZK_UNKNOWN)
			zk->handlers.heard(zk->handlers.arg, news->reply.sent_ms);
		if (news->fn)
			news->fn(news->arg, &news->reply);
	} else if (is_handle(zk) && news->kind == NEWS_WATCH) {
		zk->handlers.watch(zk->handlers.arg, news->watch, news->path);
	} else if (is_handle(zk)) {
		zk->handlers.state(zk->handlers.arg, news->state);
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
		if (is_handle(news->zk) && news->kind == NEWS_WATCH && !news->zk->connected) {
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

static void fire(const char *path, size_t len, bool children, enum zk_watch type)
{
	for (size_t i = zoo.n_watches; i-- > 0;) {
		struct watch *w = &zoo.watches[i];
		if (w->children != children || strlen(w->path) != len ||
		    memcmp(w->path, path, len) != 0)
			continue;
		struct news *news = tell(w->zk, NEWS_WATCH);
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
	node->stat.version++;
	fire(node->path, node->path_len, false, ZK_NODE_CHANGED);
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
	node->stat = (struct zk_stat){.czxid = zoo.zxid, .mzxid = zoo.zxid, .owner = owner};
	node->stat.pzxid = zoo.zxid;
	touch_parent(path);
	fire(path, node->path_len, false, ZK_NODE_CREATED);
	fire(path, parent_len(path), true, ZK_CHILDREN_CHANGED);
}

FUZZ void znode_delete(struct znode *node)
{
	struct znode gone = *node;

	*node = zoo.nodes[--zoo.n];
	touch_parent(gone.path);
	fire(gone.path, gone.path_len, false, ZK_NODE_DELETED);
	fire(gone.path, gone.path_len, true, ZK_NODE_DELETED);
	fire(gone.path, parent_len(gone.path), true, ZK_CHILDREN_CHANGED);
	free(gone.path);
	free(gone.data);
}

/* --- sessions -------------------------------------------------------------------------------------- */

static void forget_watches(const struct zk *zk)
{
	for (size_t i = zoo.n_watches; i-- > 0;) {
		if (zoo.watches[i].zk != zk)
			continue;
		free(zoo.watches[i].path);
		zoo.watches[i] = zoo.watches[--zoo.n_watches];
	}
}

static void end_session(struct zk *zk)
{
	zoo.zxid++;
	forget_watches(zk);
	for (size_t i = zoo.n; i-- > 0;)
		if (zk->session != 0 && zoo.nodes[i].stat.owner == zk->session)
			znode_delete(&zoo.nodes[i]);
	zk->session = 0;
}

static void connect_handle(struct zk *zk)
{
	if (zk->connected)
		return;
	zk->connected = true;
	if (zk->session == 0)
		zk->session = ++zoo.last_session;
	/* Before what has changed meanwhile. */
	struct news *news = mem_calloc(1, sizeof(*news));
	*news = (struct news){
		.zk = zk, .kind = NEWS_STATE, .state = ZK_CONNECTED, .next = zoo.first};
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
			news->reply.code = ZK_UNKNOWN;
	for (size_t i = 0; i < HANDLES_MAX; i++) {
		struct zk *zk = zoo.handles[i];
		if (zk && zk->connected)
			tell(zk, NEWS_STATE)->state = ZK_CONNECTING;
		if (zk)
			zk->connected = false;
	}
}

/* A session that was given up by the server is told so. */
FUZZ void zoo_heal(bool expired)
{
	zoo.reachable = true;
	for (size_t i = 0; i < HANDLES_MAX; i++) {
		struct zk *zk = zoo.handles[i];
		if (!zk || zk->connected)
			continue;
		if (expired && zk->session != 0) {
			end_session(zk);
			tell(zk, NEWS_STATE)->state = ZK_EXPIRED;
		} else {
			connect_handle(zk);
		}
	}
}

int zk_open(struct zk **ret_zk, uv_loop_t *l, const struct zk_options *options,
	    const struct zk_handlers *handlers)
{
	struct zk *zk = mem_calloc(1, sizeof(*zk));
	size_t i = 0;

	(void)l;
	FUZZ_CHECK(strcmp(options->servers, "127.0.0.1:2181") == 0 || options->servers[0]);
	zk->handlers = *handlers;
	while (i < HANDLES_MAX && zoo.handles[i])
		i++;
	FUZZ_CHECK(i < HANDLES_MAX);
	zoo.handles[i] = zk;
	if (zoo.reachable)
		connect_handle(zk);
	*ret_zk = zk;
	return 0;
}

static void close_work(void *arg)
{
	(void)arg;
}

static void close_done(void *arg)
{
	struct zk *zk = arg;

	if (zk->closed)
		zk->closed(zk->closed_arg);
	free(zk);
}

static void abandon(const struct zk *zk, struct news *list)
{
	static const struct zk_reply abandoned = {
		.code = ZK_ABANDONED, .text = "closed", .failed_op = -1};

	for (struct news *news = list; news; news = news->next) {
		zk_reply_fn fn = news->zk == zk ? news->fn : NULL;
		if (news->zk == zk) {
			news->fn = NULL;
			news->zk = NULL;
		}
		if (fn)
			fn(news->arg, &abandoned);
	}
}

void zk_close(struct zk *zk, void (*done)(void *arg), void *arg)
{
	if (!zk)
		return;
	FUZZ_CHECK(is_handle(zk));
	for (size_t i = 0; i < HANDLES_MAX; i++)
		if (zoo.handles[i] == zk)
			zoo.handles[i] = NULL;
	abandon(zk, zoo.passing);
	abandon(zk, zoo.first);
	end_session(zk);
	zk->closed = done;
	zk->closed_arg = arg;
	aside(&loop.uv, close_work, close_done, zk);
}

int64_t zk_session(const struct zk *zk)
{
	return zk->session;
}

int zk_timeout(const struct zk *zk)
{
	(void)zk;
	return ZK_TIMEOUT_MS;
}

const uint8_t *zk_password(const struct zk *zk)
{
	static const uint8_t password[ZK_PASSWORD_SIZE];

	(void)zk;
	return password;
}

const char *zk_server(const struct zk *zk)
{
	return zk->session ? "127.0.0.1:2181" : "";
}

int zk_local_address(const struct zk *zk, char *text, size_t size)
{
	(void)zk;
	snprintf(text, size, "10.0.0.1");
	return 0;
}

int zk_set_servers(struct zk *zk, const char *servers)
{
	(void)zk, (void)servers;
	return 0;
}

void zk_hang_up(struct zk *zk)
{
	(void)zk; /* there is no other server */
}

void zk_log_detail(bool detail)
{
	(void)detail;
}

/* --- requests -------------------------------------------------------------------------------------- */

static struct news *answer(struct zk *zk, zk_reply_fn fn, void *arg, enum zk_code code)
{
	static const char *const texts[] = {"ok",      "no node", "node exists",    "bad version",
					    "no auth", "failed",  "connection loss"};

	FUZZ_CHECK(is_handle(zk));
	struct news *news = tell(zk, NEWS_REPLY);
	news->fn = fn;
	news->arg = arg;
	news->reply = (struct zk_reply){
		.code = zk->connected ? code : ZK_UNKNOWN, .sent_ms = loop.now, .failed_op = -1};
	news->reply.text = texts[news->reply.code];
	return news;
}

static void set_watch(struct zk *zk, const char *path, bool children)
{
	for (size_t i = 0; i < zoo.n_watches; i++) {
		const struct watch *w = &zoo.watches[i];
		if (w->zk == zk && w->children == children && strcmp(w->path, path) == 0)
			return;
	}
	FUZZ_CHECK(zoo.n_watches < WATCHES_MAX);
	zoo.watches[zoo.n_watches++] = (struct watch){zk, mem_strdup(path), children};
}

/* A read of one node; a watch is set where it is there, and by exists also where it is not. */
static void read_one(struct zk *zk, const char *path, bool watch, bool data, zk_reply_fn fn,
		     void *arg)
{
	const struct znode *node = znode_find(path);
	struct news *news = answer(zk, fn, arg, node ? ZK_OK : ZK_NO_NODE);

	if (watch && zk->connected && (node || !data))
		set_watch(zk, path, false);
	if (news->reply.code != ZK_OK)
		return;
	news->reply.stat = node->stat;
	if (!data || node->len == 0)
		return;
	news->data = mem_alloc(node->len);
	memcpy(news->data, node->data, node->len);
	news->reply.data = news->data;
	news->reply.len = node->len;
}

void zk_get(struct zk *zk, const char *path, bool watch, zk_reply_fn fn, void *arg)
{
	read_one(zk, path, watch, true, fn, arg);
}

void zk_exists(struct zk *zk, const char *path, bool watch, zk_reply_fn fn, void *arg)
{
	read_one(zk, path, watch, false, fn, arg);
}

void zk_children(struct zk *zk, const char *path, bool watch, zk_reply_fn fn, void *arg)
{
	size_t len = strlen(path), n = 0;
	struct news *news = answer(zk, fn, arg, znode_find(path) ? ZK_OK : ZK_NO_NODE);

	if (news->reply.code != ZK_OK)
		return;
	if (watch)
		set_watch(zk, path, true);
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

void zk_create(struct zk *zk, const char *path, zk_reply_fn fn, void *arg)
{
	enum zk_code code = znode_find(path)   ? ZK_NODE_EXISTS
			    : has_parent(path) ? ZK_OK
					       : ZK_NO_NODE;

	if (answer(zk, fn, arg, code)->reply.code != ZK_OK)
		return;
	zoo.zxid++;
	znode_create(path, NULL, 0, 0);
}

/* Whether the operation holds, after those before it. */
static enum zk_code holds(const struct zk_op *ops, size_t i)
{
	const struct znode *node = znode_find(ops[i].path);
	bool exists = node != NULL;
	int32_t version = node ? node->stat.version : 0;
	size_t len = strlen(ops[i].path);

	if (len == 0 || ops[i].path[len - 1] == '/')
		return ZK_NO_NODE;
	for (size_t j = 0; j < i; j++) {
		if (strcmp(ops[j].path, ops[i].path) != 0)
			continue;
		exists = ops[j].type != ZK_OP_DELETE;
		version = ops[j].type == ZK_OP_SET ? version + 1 : version;
	}
	if (ops[i].type == ZK_OP_CREATE || ops[i].type == ZK_OP_CREATE_EPHEMERAL)
		return exists ? ZK_NODE_EXISTS : has_parent(ops[i].path) ? ZK_OK : ZK_NO_NODE;
	if (!exists)
		return ZK_NO_NODE;
	return ops[i].version == -1 || ops[i].version == version ? ZK_OK : ZK_BAD_VERSION;
}

void zk_multi(struct zk *zk, const struct zk_op *ops, size_t n, zk_reply_fn fn, void *arg)
{
	enum zk_code code = ZK_OK;
	size_t failed = 0;
	bool set = false;

	FUZZ_CHECK(n > 0 && n <= ZK_OPS_MAX);
	while (failed < n && (code = holds(ops, failed)) == ZK_OK)
		failed++;
	/* The news of what it does come behind the answer, as from a server. */
	struct news *news = answer(zk, fn, arg, code);
	if (news->reply.code != ZK_OK) {
		news->reply.failed_op = news->reply.code == ZK_UNKNOWN ? -1 : (int)failed;
		return;
	}
	zoo.zxid++;
	for (size_t i = 0; i < n; i++) {
		struct znode *node = znode_find(ops[i].path);
		switch (ops[i].type) {
		case ZK_OP_CHECK: break;
		case ZK_OP_CREATE:
			znode_create(ops[i].path, ops[i].data, ops[i].len, 0);
			zoo.decided++;
			break;
		case ZK_OP_CREATE_EPHEMERAL:
			znode_create(ops[i].path, ops[i].data, ops[i].len, zk->session);
			break;
		case ZK_OP_SET:
			znode_set(node, ops[i].data, ops[i].len);
			if (!set)
				news->reply.stat = node->stat;
			set = true;
			break;
		case ZK_OP_DELETE: znode_delete(node); break;
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
