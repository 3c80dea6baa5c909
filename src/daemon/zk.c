#include "daemon/zk.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define THREADED
#include <zookeeper/zookeeper.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/aside.h"

#define SERVER_TEXT_MAX 128
#define BUSY_MIN	200  /* requests that leave enough memory behind to give it back */
#define BUSY_MS		1000 /* before it is */

/* What the library's threads hand to the loop: a reply, a watch that fired or a change of state. */
struct item {
	struct item *next;
	enum { ITEM_REPLY, ITEM_WATCH, ITEM_STATE } kind;
	union {
		struct request *request;
		struct {
			enum zk_watch watch;
			char *path;
		};
		struct {
			enum zk_state state;
			int64_t session;
			int timeout_ms;
			uint8_t password[ZK_PASSWORD_SIZE];
			char server[SERVER_TEXT_MAX];
			struct sockaddr_storage address;
		};
	};
};

struct request {
	struct item item; /* its own place in the queue: a reply needs no allocation to get there */
	struct request *prev, *next; /* outstanding, loop thread only */
	struct zk *zk;
	zk_reply_fn fn;
	void *arg;
	struct zk_reply reply;
	void *data;
	char **names;
	struct Stat set; /* of the first node that a multi sets */
	size_t n_ops;
	zoo_op_result_t results[];
};

struct zk {
	zhandle_t *handle;
	struct zk_handlers handlers;
	bool authenticated;
	bool abandoned;
	int64_t session;
	int timeout_ms;
	uint8_t password[ZK_PASSWORD_SIZE];
	char server[SERVER_TEXT_MAX];
	struct sockaddr_storage address;
	struct request *outstanding;
	uv_async_t wake;
	uv_timer_t quiet;
	int handles; /* of these two, that are not closed */
	size_t busy; /* requests since memory was given back */
	void (*closed)(void *arg);
	void *closed_arg;
	pthread_mutex_t lock;
	struct item *head, **tail; /* under lock */
};

/* --- in the library's threads ------------------------------------------------------------------
 */

static void enqueue(struct zk *zk, struct item *item)
{
	item->next = NULL;
	pthread_mutex_lock(&zk->lock);
	*zk->tail = item;
	zk->tail = &item->next;
	pthread_mutex_unlock(&zk->lock);
	uv_async_send(&zk->wake);
}

static void log_line(const char *message)
{
	/* "2026-11-20 13:00:00,000:123(0x7f):ZOO_ERROR@function@123: what it says" */
	const char *level = strstr(message, ":ZOO_");
	const char *text = level ? strstr(level, ": ") : NULL;

	log_debug("zookeeper client", LOG_STR("says", text ? text + 2 : message));
}

static void on_watcher(zhandle_t *handle, int type, int state, const char *path, void *context)
{
	struct zk *zk = context;
	struct item *item = mem_calloc(1, sizeof(*item));

	if (type == ZOO_SESSION_EVENT) {
		item->kind = ITEM_STATE;
		if (state == ZOO_CONNECTED_STATE) {
			item->state = ZK_CONNECTED;
			item->session = zoo_client_id(handle)->client_id;
			memcpy(item->password, zoo_client_id(handle)->passwd, ZK_PASSWORD_SIZE);
			item->timeout_ms = zoo_recv_timeout(handle);
			const char *server = zoo_get_current_server(handle);
			if (server)
				strncpy(item->server, server, sizeof(item->server) - 1);
			socklen_t len = sizeof(item->address);
			zookeeper_get_connected_host(handle, (struct sockaddr *)&item->address,
						     &len);
		} else if (state == ZOO_EXPIRED_SESSION_STATE) {
			item->state = ZK_EXPIRED;
		} else if (state == ZOO_AUTH_FAILED_STATE) {
			item->state = ZK_AUTH_FAILED;
		} else {
			item->state = ZK_CONNECTING;
		}
		enqueue(zk, item);
		return;
	}
	item->kind = ITEM_WATCH;
	if (type == ZOO_CREATED_EVENT) {
		item->watch = ZK_NODE_CREATED;
	} else if (type == ZOO_CHANGED_EVENT) {
		item->watch = ZK_NODE_CHANGED;
	} else if (type == ZOO_DELETED_EVENT) {
		item->watch = ZK_NODE_DELETED;
	} else if (type == ZOO_CHILD_EVENT) {
		item->watch = ZK_CHILDREN_CHANGED;
	} else {
		free(item);
		return;
	}
	item->path = mem_strdup(path);
	enqueue(zk, item);
}

static enum zk_code code_of(int rc)
{
	switch (rc) {
	case ZOK: return ZK_OK;
	case ZNONODE: return ZK_NO_NODE;
	case ZNODEEXISTS: return ZK_NODE_EXISTS;
	case ZBADVERSION: return ZK_BAD_VERSION;
	case ZNOAUTH: return ZK_NO_AUTH;
	case ZCONNECTIONLOSS:
	case ZOPERATIONTIMEOUT:
	case ZRUNTIMEINCONSISTENCY:
	case ZCLOSING:
	case ZSESSIONEXPIRED:
	case ZINVALIDSTATE: return ZK_UNKNOWN;
	default: return ZK_FAILED;
	}
}

static void set_stat(struct zk_reply *reply, const struct Stat *stat)
{
	if (stat)
		reply->stat = (struct zk_stat){.czxid = stat->czxid,
					       .mzxid = stat->mzxid,
					       .pzxid = stat->pzxid,
					       .owner = stat->ephemeralOwner,
					       .version = stat->version};
}

static void reply_ready(struct request *r, int rc)
{
	r->reply.code = code_of(rc);
	r->reply.text = zerror(rc);
	enqueue(r->zk, &r->item);
}

static void on_data(int rc, const char *value, int len, const struct Stat *stat,
		    const void *context)
{
	struct request *r = (struct request *)(uintptr_t)context;

	if (rc == ZOK) {
		set_stat(&r->reply, stat);
		if (value && len > 0) {
			r->data = mem_alloc((size_t)len);
			memcpy(r->data, value, (size_t)len);
			r->reply.data = r->data;
			r->reply.len = (size_t)len;
		}
	}
	reply_ready(r, rc);
}

static void on_stat(int rc, const struct Stat *stat, const void *context)
{
	struct request *r = (struct request *)(uintptr_t)context;

	if (rc == ZOK)
		set_stat(&r->reply, stat);
	reply_ready(r, rc);
}

/* In one piece, the names behind the pointers to them. */
static char **copy_names(char *const *names, size_t n)
{
	size_t size = n * sizeof(char *);

	for (size_t i = 0; i < n; i++)
		size += strlen(names[i]) + 1;
	char **copy = mem_alloc(size);
	char *at = (char *)(copy + n);
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(names[i]) + 1;
		memcpy(at, names[i], len);
		copy[i] = at;
		at += len;
	}
	return copy;
}

static void on_strings(int rc, const struct String_vector *strings, const void *context)
{
	struct request *r = (struct request *)(uintptr_t)context;

	if (rc == ZOK && strings && strings->count > 0) {
		r->reply.n_names = (size_t)strings->count;
		r->names = copy_names(strings->data, r->reply.n_names);
		r->reply.names = r->names;
	}
	reply_ready(r, rc);
}

static void on_string(int rc, const char *value, const void *context)
{
	(void)value;
	reply_ready((struct request *)(uintptr_t)context, rc);
}

static void on_multi(int rc, const void *context)
{
	struct request *r = (struct request *)(uintptr_t)context;

	r->reply.failed_op = -1;
	/* The operations around the one that failed say RUNTIMEINCONSISTENCY: look for the cause.
	 */
	for (size_t i = 0; rc != ZOK && code_of(rc) != ZK_UNKNOWN && i < r->n_ops; i++) {
		if (r->results[i].err == rc) {
			r->reply.failed_op = (int)i;
			break;
		}
	}
	if (rc == ZOK)
		set_stat(&r->reply, &r->set);
	reply_ready(r, rc);
}

/* --- on the loop thread ------------------------------------------------------------------------
 */

static struct request *request_new(struct zk *zk, size_t n_ops, zk_reply_fn fn, void *arg)
{
	struct request *r = mem_calloc(1, sizeof(*r) + n_ops * sizeof(r->results[0]));

	r->item.kind = ITEM_REPLY;
	r->item.request = r;
	r->zk = zk;
	r->fn = fn;
	r->arg = arg;
	r->n_ops = n_ops;
	r->reply.failed_op = -1;
	r->next = zk->outstanding;
	if (r->next)
		r->next->prev = r;
	zk->outstanding = r;
	zk->busy++;
	r->reply.sent_ms = clock_boot_ms();
	return r;
}

static void request_free(struct request *r)
{
	if (r->prev)
		r->prev->next = r->next;
	else
		r->zk->outstanding = r->next;
	if (r->next)
		r->next->prev = r->prev;
	free(r->names);
	free(r->data);
	free(r);
}

/* What the library did not even take is answered all the same, later and from the loop. */
static void sent(struct request *r, int rc)
{
	if (rc != ZOK)
		reply_ready(r, rc);
}

static void take_state(struct zk *zk, const struct item *item)
{
	if (item->state == ZK_CONNECTED) {
		zk->session = item->session;
		zk->timeout_ms = item->timeout_ms;
		memcpy(zk->password, item->password, sizeof(zk->password));
		zk->address = item->address;
		memcpy(zk->server, item->server, sizeof(zk->server));
	}
	zk->handlers.state(zk->handlers.arg, item->state);
}

static void take(struct zk *zk, struct item *item)
{
	switch (item->kind) {
	case ITEM_REPLY: {
		struct request *r = item->request;
		zk_reply_fn fn = r->fn;
		r->fn = NULL;
		if (fn && r->reply.code != ZK_UNKNOWN && r->reply.code != ZK_ABANDONED)
			zk->handlers.heard(zk->handlers.arg, r->reply.sent_ms);
		if (fn)
			fn(r->arg, &r->reply);
		request_free(r);
		return;
	}
	case ITEM_WATCH:
		if (!zk->abandoned)
			zk->handlers.watch(zk->handlers.arg, item->watch, item->path);
		free(item->path);
		break;
	case ITEM_STATE:
		if (!zk->abandoned)
			take_state(zk, item);
		break;
	}
	free(item);
}

static void on_quiet(uv_timer_t *quiet)
{
	struct zk *zk = quiet->data;

	zk->busy = 0;
	mem_trim();
}

static void drain(struct zk *zk)
{
	pthread_mutex_lock(&zk->lock);
	struct item *item = zk->head;
	zk->head = NULL;
	zk->tail = &zk->head;
	pthread_mutex_unlock(&zk->lock);
	while (item) {
		struct item *next = item->next;
		take(zk, item);
		item = next;
	}
	/* What many requests at once have taken is not needed for the next while. */
	if (zk->busy >= BUSY_MIN && !zk->abandoned && !uv_is_active((uv_handle_t *)&zk->quiet))
		uv_timer_start(&zk->quiet, on_quiet, BUSY_MS, 0);
}

static void on_wake(uv_async_t *wake)
{
	drain(wake->data);
}

int zk_open(struct zk **ret_zk, uv_loop_t *loop, const struct zk_options *options,
	    const struct zk_handlers *handlers)
{
	struct zk *zk = mem_calloc(1, sizeof(*zk));

	zk->handlers = *handlers;
	zk->tail = &zk->head;
	pthread_mutex_init(&zk->lock, NULL);
	uv_async_init(loop, &zk->wake, on_wake);
	uv_timer_init(loop, &zk->quiet);
	zk->handles = 2;
	zk->wake.data = zk;
	zk->quiet.data = zk;
	clientid_t id = {.client_id = options->session};
	if (options->session)
		memcpy(id.passwd, options->password, ZK_PASSWORD_SIZE);
	zk->handle = zookeeper_init2(options->servers, on_watcher, options->timeout_ms,
				     options->session ? &id : NULL, zk, 0, log_line);
	if (!zk->handle) {
		int error = errno ? -errno : -EINVAL;
		zk_close(zk, NULL, NULL);
		return error;
	}
	/* The addresses are numeric already. Not -1: that means again after each lost connection. */
	zoo_set_servers_resolution_delay(zk->handle, INT_MAX);
	if (options->auth_scheme) {
		zk->authenticated = true;
		zoo_add_auth(zk->handle, options->auth_scheme, options->auth_credential,
			     (int)strlen(options->auth_credential), NULL, NULL);
	}
	*ret_zk = zk;
	return 0;
}

static void close_work(void *arg)
{
	struct zk *zk = arg;

	if (zk->handle)
		zookeeper_close(zk->handle);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct zk *zk = handle->data;

	if (--zk->handles > 0)
		return;
	pthread_mutex_destroy(&zk->lock);
	if (zk->closed)
		zk->closed(zk->closed_arg);
	free(zk);
}

static void close_done(void *arg)
{
	struct zk *zk = arg;

	drain(zk);
	while (zk->outstanding)
		request_free(zk->outstanding); /* NOLINT: it takes itself out of the list */
	uv_close((uv_handle_t *)&zk->wake, on_handle_closed);
}

void zk_close(struct zk *zk, void (*done)(void *arg), void *arg)
{
	static const struct zk_reply abandoned = {
		.code = ZK_ABANDONED, .text = "closed", .failed_op = -1};

	if (!zk)
		return;
	assert(!zk->abandoned);
	zk->abandoned = true;
	/* At once: whoever ends the loop closes what timers there are. */
	uv_close((uv_handle_t *)&zk->quiet, on_handle_closed);
	zk->closed = done;
	zk->closed_arg = arg;
	for (struct request *r = zk->outstanding; r; r = r->next) {
		zk_reply_fn fn = r->fn;
		r->fn = NULL;
		if (fn)
			fn(r->arg, &abandoned);
	}
	if (aside(zk->wake.loop, close_work, close_done, zk) != 0) {
		close_work(zk); /* better late than never */
		close_done(zk);
	}
}

int64_t zk_session(const struct zk *zk)
{
	return zk->session;
}

const uint8_t *zk_password(const struct zk *zk)
{
	return zk->password;
}

int zk_timeout(const struct zk *zk)
{
	return zk->timeout_ms;
}

const char *zk_server(const struct zk *zk)
{
	return zk->server;
}

int zk_local_address(const struct zk *zk, char *text, size_t size)
{
	struct sockaddr_storage local;
	socklen_t len = sizeof(local);
	socklen_t to_len = zk->address.ss_family == AF_INET
				   ? (socklen_t)sizeof(struct sockaddr_in)
				   : (socklen_t)sizeof(struct sockaddr_in6);
	int fd = socket(zk->address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int error = 0;

	if (fd < 0)
		return -errno;
	/* Connecting a datagram socket sends nothing, but makes the kernel choose the route. */
	if (connect(fd, (const struct sockaddr *)&zk->address, to_len) < 0 ||
	    getsockname(fd, (struct sockaddr *)&local, &len) < 0)
		error = -errno;
	else if (getnameinfo((struct sockaddr *)&local, len, text, (socklen_t)size, NULL, 0,
			     NI_NUMERICHOST) != 0)
		error = -EAFNOSUPPORT;
	close(fd);
	return error;
}

int zk_set_servers(struct zk *zk, const char *servers)
{
	return zoo_set_servers(zk->handle, servers) == ZOK ? 0 : -EINVAL;
}

/*
 * The library has no call for this, and tells nobody its socket: it is the one that is connected to the
 * server. Only shut down, as the library closes it. Should it be another one by now, to that server or
 * the next, that connection is made anew, no more.
 */
void zk_hang_up(struct zk *zk)
{
	DIR *fds = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!fds)
		return;
	while ((entry = readdir(fds))) {
		struct sockaddr_storage peer = {0};
		socklen_t len = sizeof(peer);
		int fd = atoi(entry->d_name);
		if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
		    memcmp(&peer, &zk->address, sizeof(peer)) == 0)
			shutdown(fd, SHUT_RDWR);
	}
	closedir(fds);
}

void zk_get(struct zk *zk, const char *path, bool watch, zk_reply_fn fn, void *arg)
{
	struct request *r = request_new(zk, 0, fn, arg);

	sent(r, zoo_aget(zk->handle, path, watch, on_data, r));
}

void zk_exists(struct zk *zk, const char *path, bool watch, zk_reply_fn fn, void *arg)
{
	struct request *r = request_new(zk, 0, fn, arg);

	sent(r, zoo_aexists(zk->handle, path, watch, on_stat, r));
}

void zk_children(struct zk *zk, const char *path, bool watch, zk_reply_fn fn, void *arg)
{
	struct request *r = request_new(zk, 0, fn, arg);

	sent(r, zoo_aget_children(zk->handle, path, watch, on_strings, r));
}

/*
 * With an identity, nodes belong to it and all the world may read them; without, they are open.
 */
static const struct ACL_vector *acl_of(const struct zk *zk)
{
	static struct ACL owned[2];
	static struct ACL_vector owned_vector = {2, owned};

	owned[0] = (struct ACL){ZOO_PERM_ALL, ZOO_AUTH_IDS};
	owned[1] = (struct ACL){ZOO_PERM_READ, ZOO_ANYONE_ID_UNSAFE};
	return zk->authenticated ? &owned_vector : &ZOO_OPEN_ACL_UNSAFE;
}

void zk_create(struct zk *zk, const char *path, zk_reply_fn fn, void *arg)
{
	struct request *r = request_new(zk, 0, fn, arg);

	sent(r, zoo_acreate(zk->handle, path, "", 0, acl_of(zk), ZOO_PERSISTENT, on_string, r));
}

static bool is_node(const char *path)
{
	size_t len = strlen(path);

	return len > 0 && path[len - 1] != '/';
}

void zk_multi(struct zk *zk, const struct zk_op *ops, size_t n, zk_reply_fn fn, void *arg)
{
	zoo_op_t list[ZK_OPS_MAX];

	assert(n > 0 && n <= ZK_OPS_MAX);
	for (size_t i = 0; i < n; i++) {
		/* The library would free memory that is not its own: there is no node of that name. */
		if (!is_node(ops[i].path)) {
			struct request *r = request_new(zk, 0, fn, arg);
			r->reply.failed_op = (int)i;
			reply_ready(r, ZNONODE);
			return;
		}
	}
	/*
	 * On a handle whose session has ended, the library frees an uninitialised pointer for each
	 * operation but the first. It may still end between here and there; then free() aborts.
	 */
	if (is_unrecoverable(zk->handle)) {
		reply_ready(request_new(zk, 0, fn, arg), ZINVALIDSTATE);
		return;
	}
	struct request *r = request_new(zk, n, fn, arg);
	struct Stat *set = &r->set;
	for (size_t i = 0; i < n; i++) {
		const struct zk_op *op = &ops[i];
		const char *data = op->len > 0 ? op->data : "";
		switch (op->type) {
		case ZK_OP_CHECK: zoo_check_op_init(&list[i], op->path, op->version); break;
		case ZK_OP_CREATE:
		case ZK_OP_CREATE_EPHEMERAL:
			zoo_create_op_init(
				&list[i], op->path, data, (int)op->len, acl_of(zk),
				op->type == ZK_OP_CREATE ? ZOO_PERSISTENT : ZOO_EPHEMERAL, NULL, 0);
			break;
		case ZK_OP_SET:
			zoo_set_op_init(&list[i], op->path, data, (int)op->len, op->version, set);
			set = NULL;
			break;
		case ZK_OP_DELETE: zoo_delete_op_init(&list[i], op->path, op->version); break;
		}
	}
	/*
	 * The same happens on a handle whose session has expired, of which we may not have heard yet. From
	 * connected to expired it has to lose the connection and make another, which takes longer than
	 * from here to the end of the call.
	 */
	if (zoo_state(zk->handle) != ZOO_CONNECTED_STATE) {
		reply_ready(r, ZCONNECTIONLOSS);
		return;
	}
	sent(r, zoo_amulti(zk->handle, (int)n, list, r->results, on_multi, r));
}

void zk_log_detail(bool detail)
{
	/* Never DEBUG: there the library uses freed memory when it closes. */
	zoo_set_debug_level(detail ? ZOO_LOG_LEVEL_INFO : ZOO_LOG_LEVEL_ERROR);
}
