#include "node/store.h"

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
#include "daemon/offload.h"
#include "daemon/host_uv.h"
#include "daemon/zk.h"

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
			enum store_watch watch;
			char *path;
		};
		struct {
			enum store_state state;
			int64_t session;
			int timeout_ms;
			uint8_t password[STORE_PASSWORD_SIZE];
			char server[SERVER_TEXT_MAX];
			struct sockaddr_storage address;
		};
	};
};

struct request {
	struct item item; /* its own place in the queue: a reply needs no allocation to get there */
	struct request *prev, *next; /* outstanding, loop thread only */
	struct store *store;
	store_reply_fn fn;
	void *arg;
	struct store_reply reply;
	bool refused; /* by the library, before it was sent */
	bool heard;   /* a server has answered it */
	void *data;
	char **names;
	struct Stat set; /* of the first node that a multi sets */
	size_t n_ops;
	zoo_op_result_t results[];
};

struct store {
	zhandle_t *handle;
	struct store_handlers handlers;
	bool authenticated;
	bool abandoned;
	int64_t session;
	int timeout_ms;
	uint8_t password[STORE_PASSWORD_SIZE];
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

/* --- in the library's threads --------------------------------------------- */

static void enqueue(struct store *store, struct item *item)
{
	item->next = NULL;
	pthread_mutex_lock(&store->lock);
	*store->tail = item;
	store->tail = &item->next;
	pthread_mutex_unlock(&store->lock);
	uv_async_send(&store->wake);
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
	struct store *store = context;
	struct item *item = mem_calloc(1, sizeof(*item));

	if (type == ZOO_SESSION_EVENT) {
		item->kind = ITEM_STATE;
		if (state == ZOO_CONNECTED_STATE) {
			item->state = STORE_CONNECTED;
			item->session = zoo_client_id(handle)->client_id;
			memcpy(item->password, zoo_client_id(handle)->passwd, STORE_PASSWORD_SIZE);
			item->timeout_ms = zoo_recv_timeout(handle);
			const char *server = zoo_get_current_server(handle);
			if (server)
				strncpy(item->server, server, sizeof(item->server) - 1);
			socklen_t len = sizeof(item->address);
			zookeeper_get_connected_host(handle, (struct sockaddr *)&item->address,
						     &len);
		} else if (state == ZOO_EXPIRED_SESSION_STATE) {
			item->state = STORE_EXPIRED;
		} else if (state == ZOO_AUTH_FAILED_STATE) {
			item->state = STORE_AUTH_FAILED;
		} else {
			item->state = STORE_CONNECTING;
		}
		enqueue(store, item);
		return;
	}
	item->kind = ITEM_WATCH;
	if (type == ZOO_CREATED_EVENT) {
		item->watch = STORE_NODE_CREATED;
	} else if (type == ZOO_CHANGED_EVENT) {
		item->watch = STORE_NODE_CHANGED;
	} else if (type == ZOO_DELETED_EVENT) {
		item->watch = STORE_NODE_DELETED;
	} else if (type == ZOO_CHILD_EVENT) {
		item->watch = STORE_CHILDREN_CHANGED;
	} else {
		free(item);
		return;
	}
	item->path = mem_strdup(path);
	enqueue(store, item);
}

static enum store_code code_of(int rc)
{
	switch (rc) {
	case ZOK: return STORE_OK;
	case ZNONODE: return STORE_NO_NODE;
	case ZNODEEXISTS: return STORE_NODE_EXISTS;
	case ZBADVERSION: return STORE_BAD_VERSION;
	case ZNOAUTH: return STORE_NO_AUTH;
	case ZCONNECTIONLOSS:
	case ZOPERATIONTIMEOUT:
	case ZRUNTIMEINCONSISTENCY:
	case ZCLOSING:
	case ZSESSIONEXPIRED:
	case ZINVALIDSTATE: return STORE_UNKNOWN;
	default: return STORE_FAILED;
	}
}

static void set_stat(struct store_reply *reply, const struct Stat *stat)
{
	if (stat)
		reply->stat = (struct store_stat){.czxid = stat->czxid,
						  .mzxid = stat->mzxid,
						  .pzxid = stat->pzxid,
						  .ctime = stat->ctime,
						  .mtime = stat->mtime,
						  .owner = stat->ephemeralOwner,
						  .version = stat->version};
}

/*
 * Whether a server says so, and not the library by itself. In doubt it does not: it would be a sign
 * of life.
 */
static bool is_answer(int rc)
{
	switch (rc) {
	case ZOK:
	case ZNONODE:
	case ZNODEEXISTS:
	case ZBADVERSION:
	case ZNOAUTH:
	case ZNOTEMPTY:
	case ZNOCHILDRENFOREPHEMERALS:
	case ZINVALIDACL: return true;
	default: return false;
	}
}

static void reply_ready(struct request *r, int rc)
{
	r->heard = !r->refused && is_answer(rc);
	r->reply.code = code_of(rc);
	r->reply.text = zerror(rc);
	enqueue(r->store, &r->item);
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
	for (size_t i = 0; rc != ZOK && code_of(rc) != STORE_UNKNOWN && i < r->n_ops; i++) {
		if (r->results[i].err == rc) {
			r->reply.failed_op = (int)i;
			break;
		}
	}
	if (rc == ZOK)
		set_stat(&r->reply, &r->set);
	reply_ready(r, rc);
}

/* --- on the loop thread --------------------------------------------------- */

static struct request *request_new(struct store *store, size_t n_ops, store_reply_fn fn, void *arg)
{
	struct request *r = mem_calloc(1, sizeof(*r) + n_ops * sizeof(r->results[0]));

	r->item.kind = ITEM_REPLY;
	r->item.request = r;
	r->store = store;
	r->fn = fn;
	r->arg = arg;
	r->n_ops = n_ops;
	r->reply.failed_op = -1;
	r->next = store->outstanding;
	if (r->next)
		r->next->prev = r;
	store->outstanding = r;
	store->busy++;
	r->reply.sent_ms = clock_boot_ms();
	return r;
}

static void request_free(struct request *r)
{
	if (r->prev)
		r->prev->next = r->next;
	else
		r->store->outstanding = r->next;
	if (r->next)
		r->next->prev = r->prev;
	free(r->names);
	free(r->data);
	free(r);
}

/* What cannot be sent is answered all the same, later and from the loop. */
static void not_sent(struct request *r, int rc)
{
	r->refused = true;
	reply_ready(r, rc);
}

/* The library has taken it, or not. */
static void sent(struct request *r, int rc)
{
	if (rc != ZOK)
		not_sent(r, rc);
}

static void take_state(struct store *store, const struct item *item)
{
	if (item->state == STORE_CONNECTED) {
		store->session = item->session;
		store->timeout_ms = item->timeout_ms;
		memcpy(store->password, item->password, sizeof(store->password));
		store->address = item->address;
		memcpy(store->server, item->server, sizeof(store->server));
	}
	store->handlers.state(store->handlers.arg, item->state);
}

static void take(struct store *store, struct item *item)
{
	switch (item->kind) {
	case ITEM_REPLY: {
		struct request *r = item->request;
		store_reply_fn fn = r->fn;
		r->fn = NULL;
		if (fn && r->heard)
			store->handlers.heard(store->handlers.arg, r->reply.sent_ms);
		if (fn)
			fn(r->arg, &r->reply);
		request_free(r);
		return;
	}
	case ITEM_WATCH:
		if (!store->abandoned)
			store->handlers.watch(store->handlers.arg, item->watch, item->path);
		free(item->path);
		break;
	case ITEM_STATE:
		if (!store->abandoned)
			take_state(store, item);
		break;
	}
	free(item);
}

static void on_quiet(uv_timer_t *quiet)
{
	struct store *store = quiet->data;

	store->busy = 0;
	mem_trim();
}

static void drain(struct store *store)
{
	pthread_mutex_lock(&store->lock);
	struct item *item = store->head;
	store->head = NULL;
	store->tail = &store->head;
	pthread_mutex_unlock(&store->lock);
	while (item) {
		struct item *next = item->next;
		take(store, item);
		item = next;
	}
	/* What many requests at once have taken is not needed for the next while. */
	if (store->busy >= BUSY_MIN && !store->abandoned &&
	    !uv_is_active((uv_handle_t *)&store->quiet))
		uv_timer_start(&store->quiet, on_quiet, BUSY_MS, 0);
}

static void on_wake(uv_async_t *wake)
{
	drain(wake->data);
}

int store_open(struct store **ret_store, struct host *host, const struct store_options *options,
	       const struct store_handlers *handlers)
{
	struct store *store = mem_calloc(1, sizeof(*store));

	store->handlers = *handlers;
	store->tail = &store->head;
	pthread_mutex_init(&store->lock, NULL);
	uv_async_init(host->loop, &store->wake, on_wake);
	uv_timer_init(host->loop, &store->quiet);
	store->handles = 2;
	store->wake.data = store;
	store->quiet.data = store;
	clientid_t id = {.client_id = options->session};
	if (options->session)
		memcpy(id.passwd, options->password, STORE_PASSWORD_SIZE);
	store->handle = zookeeper_init2(options->servers, on_watcher, options->timeout_ms,
					options->session ? &id : NULL, store, 0, log_line);
	if (!store->handle) {
		int error = errno ? -errno : -EINVAL;
		store_close(store, NULL, NULL);
		return error;
	}
	/*
	 * The addresses are numeric already. Not -1: that means again after each lost connection.
	 */
	zoo_set_servers_resolution_delay(store->handle, INT_MAX);
	if (options->auth_scheme) {
		store->authenticated = true;
		zoo_add_auth(store->handle, options->auth_scheme, options->auth_credential,
			     (int)strlen(options->auth_credential), NULL, NULL);
	}
	*ret_store = store;
	return 0;
}

static void close_work(void *arg)
{
	struct store *store = arg;

	if (store->handle)
		zookeeper_close(store->handle);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct store *store = handle->data;

	if (--store->handles > 0)
		return;
	pthread_mutex_destroy(&store->lock);
	if (store->closed)
		store->closed(store->closed_arg);
	free(store);
}

static void close_done(void *arg)
{
	struct store *store = arg;

	drain(store);
	while (store->outstanding)
		request_free(store->outstanding); /* NOLINT: it takes itself out of the list */
	uv_close((uv_handle_t *)&store->wake, on_handle_closed);
}

void store_close(struct store *store, void (*done)(void *arg), void *arg)
{
	static const struct store_reply abandoned = {
		.code = STORE_ABANDONED, .text = "closed", .failed_op = -1};

	if (!store)
		return;
	assert(!store->abandoned);
	store->abandoned = true;
	/* At once: whoever ends the loop closes what timers there are. */
	uv_close((uv_handle_t *)&store->quiet, on_handle_closed);
	store->closed = done;
	store->closed_arg = arg;
	for (struct request *r = store->outstanding; r; r = r->next) {
		store_reply_fn fn = r->fn;
		r->fn = NULL;
		if (fn)
			fn(r->arg, &abandoned);
	}
	if (offload(store->wake.loop, close_work, close_done, store) != 0) {
		close_work(store); /* better late than never */
		close_done(store);
	}
}

int64_t store_session(const struct store *store)
{
	return store->session;
}

const uint8_t *store_password(const struct store *store)
{
	return store->password;
}

int store_timeout(const struct store *store)
{
	return store->timeout_ms;
}

const char *store_server(const struct store *store)
{
	return store->server;
}

int store_local_address(const struct store *store, char *text, size_t size)
{
	struct sockaddr_storage local;
	socklen_t len = sizeof(local);
	socklen_t to_len = store->address.ss_family == AF_INET
				   ? (socklen_t)sizeof(struct sockaddr_in)
				   : (socklen_t)sizeof(struct sockaddr_in6);
	int fd = socket(store->address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int error = 0;

	if (fd < 0)
		return -errno;
	/* Connecting a datagram socket sends nothing, but makes the kernel choose the route. */
	if (connect(fd, (const struct sockaddr *)&store->address, to_len) < 0 ||
	    getsockname(fd, (struct sockaddr *)&local, &len) < 0)
		error = -errno;
	else if (getnameinfo((struct sockaddr *)&local, len, text, (socklen_t)size, NULL, 0,
			     NI_NUMERICHOST) != 0)
		error = -EAFNOSUPPORT;
	close(fd);
	return error;
}

int store_set_servers(struct store *store, const char *servers)
{
	return zoo_set_servers(store->handle, servers) == ZOK ? 0 : -EINVAL;
}

/*
 * The library has no call for this, and tells nobody its socket: it is the one that is connected to
 * the server. Only shut down, as the library closes it. Should it be another one by now, to that
 * server or the next, that connection is made anew, no more.
 */
void store_hang_up(struct store *store)
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
		    memcmp(&peer, &store->address, sizeof(peer)) == 0)
			shutdown(fd, SHUT_RDWR);
	}
	closedir(fds);
}

void store_get(struct store *store, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	struct request *r = request_new(store, 0, fn, arg);

	sent(r, zoo_aget(store->handle, path, watch, on_data, r));
}

void store_exists(struct store *store, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	struct request *r = request_new(store, 0, fn, arg);

	sent(r, zoo_aexists(store->handle, path, watch, on_stat, r));
}

void store_children(struct store *store, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	struct request *r = request_new(store, 0, fn, arg);

	sent(r, zoo_aget_children(store->handle, path, watch, on_strings, r));
}

/*
 * With an identity, nodes belong to it and all the world may read them; without, they are open.
 */
static const struct ACL_vector *acl_of(const struct store *store)
{
	static struct ACL owned[2];
	static struct ACL_vector owned_vector = {2, owned};

	owned[0] = (struct ACL){ZOO_PERM_ALL, ZOO_AUTH_IDS};
	owned[1] = (struct ACL){ZOO_PERM_READ, ZOO_ANYONE_ID_UNSAFE};
	return store->authenticated ? &owned_vector : &ZOO_OPEN_ACL_UNSAFE;
}

void store_create(struct store *store, const char *path, store_reply_fn fn, void *arg)
{
	struct request *r = request_new(store, 0, fn, arg);

	sent(r,
	     zoo_acreate(store->handle, path, "", 0, acl_of(store), ZOO_PERSISTENT, on_string, r));
}

static bool is_node(const char *path)
{
	size_t len = strlen(path);

	return len > 0 && path[len - 1] != '/';
}

void store_multi(struct store *store, const struct store_op *ops, size_t n, store_reply_fn fn,
		 void *arg)
{
	zoo_op_t list[STORE_OPS_MAX];

	assert(n > 0 && n <= STORE_OPS_MAX);
	for (size_t i = 0; i < n; i++) {
		/*
		 * The library would free memory that is not its own: there is no node of that name.
		 */
		if (!is_node(ops[i].path)) {
			struct request *r = request_new(store, 0, fn, arg);
			r->reply.failed_op = (int)i;
			not_sent(r, ZNONODE);
			return;
		}
	}
	/*
	 * On a handle whose session has ended, the library frees an uninitialised pointer for each
	 * operation but the first. It may still end between here and there; then free() aborts.
	 */
	if (is_unrecoverable(store->handle)) {
		not_sent(request_new(store, 0, fn, arg), ZINVALIDSTATE);
		return;
	}
	struct request *r = request_new(store, n, fn, arg);
	struct Stat *set = &r->set;
	for (size_t i = 0; i < n; i++) {
		const struct store_op *op = &ops[i];
		const char *data = op->len > 0 ? op->data : "";
		switch (op->type) {
		case STORE_OP_CHECK: zoo_check_op_init(&list[i], op->path, op->version); break;
		case STORE_OP_CREATE:
		case STORE_OP_CREATE_EPHEMERAL:
			zoo_create_op_init(&list[i], op->path, data, (int)op->len, acl_of(store),
					   op->type == STORE_OP_CREATE ? ZOO_PERSISTENT
								       : ZOO_EPHEMERAL,
					   NULL, 0);
			break;
		case STORE_OP_SET:
			zoo_set_op_init(&list[i], op->path, data, (int)op->len, op->version, set);
			set = NULL;
			break;
		case STORE_OP_DELETE: zoo_delete_op_init(&list[i], op->path, op->version); break;
		}
	}
	/*
	 * The same happens on a handle whose session has expired, of which we may not have heard
	 * yet. From connected to expired it has to lose the connection and make another, which
	 * takes longer than from here to the end of the call.
	 */
	if (zoo_state(store->handle) != ZOO_CONNECTED_STATE) {
		not_sent(r, ZCONNECTIONLOSS);
		return;
	}
	sent(r, zoo_amulti(store->handle, (int)n, list, r->results, on_multi, r));
}

void zk_log_detail(bool detail)
{
	/* Never DEBUG: there the library uses freed memory when it closes. */
	zoo_set_debug_level(detail ? ZOO_LOG_LEVEL_INFO : ZOO_LOG_LEVEL_ERROR);
}
