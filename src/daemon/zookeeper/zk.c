#include "daemon/zookeeper/zk_store.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/doing.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "daemon/machine/host_uv.h"
#include "daemon/machine/offload.h"
#include "daemon/zookeeper/spare_threads.h"

#define LIBRARY_THREADS 2    /* of each handle: the library asserts that it gets them */
#define OTHER_THREADS	2    /* spare ones, as others may be started meanwhile */
#define BUSY_MIN	200  /* after so many requests, freed memory is returned to the system */
#define BUSY_MS		1000 /* time before that happens */
#define TURN_US		5000 /* time for handling results in one turn of the loop */
#define ANSWERS_MS	200  /* the longest wait for answers before the session is closed */

static const char wants_sasl[] =
	"authentication refused: the server wants SASL, or another scheme than auth-file has "
	"(sessionRequireClientSASLAuth, enforce.auth.schemes): set the key sasl";
static const char refused_auth[] =
	"authentication refused: the server does not know the scheme in auth-file, or not what "
	"it says: as a rule it is digest";

/* --- in the library's threads --------------------------------------------- */

void zk_enqueue(struct store *store, struct item *item)
{
	pthread_mutex_lock(&store->lock);
	STAILQ_INSERT_TAIL(&store->items, item, link);
	pthread_mutex_unlock(&store->lock);
	uv_async_send(&store->wake);
}

/* Those that are told of trouble. The library does not say which handle a line is of: all are. */
static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, store) told = LIST_HEAD_INITIALIZER(told);

static void tell_trouble(const char *line)
{
	struct trouble trouble;

	if (!trouble_parse(line, &trouble))
		return;
	mem_auto char *why = zk_why_take();
	pthread_mutex_lock(&told_lock);
	for (struct store *s = LIST_FIRST(&told); s; s = LIST_NEXT(s, link)) {
		struct item *item = mem_calloc(1, sizeof(*item));
		item->kind = ITEM_TROUBLE;
		item->trouble = trouble;
		item->trouble.why = why ? mem_strdup(why) : NULL;
		zk_enqueue(s, item);
	}
	pthread_mutex_unlock(&told_lock);
}

static void set_told(struct store *store, bool is_told)
{
	pthread_mutex_lock(&told_lock);
	if (is_told)
		LIST_INSERT_HEAD(&told, store, link);
	else
		LIST_REMOVE(store, link);
	pthread_mutex_unlock(&told_lock);
}

void zk_wants_sasl(struct store *store)
{
	struct item *item = mem_calloc(1, sizeof(*item));

	item->kind = ITEM_STATE;
	item->state = STORE_AUTH_FAILED;
	item->wants_sasl = true;
	zk_enqueue(store, item);
}

static void log_line(const char *message)
{
	/* A line is "2026-11-20 13:00:00,000:123(0x7f):ZOO_ERROR@function@123: MESSAGE". */
	const char *level = strstr(message, ":ZOO_");
	const char *text = level ? strstr(level, ": ") : NULL;

	text = text ? text + 2 : message;
	log_debug("zookeeper client", LOG_STR("says", text));
	if (strstr(text, "SASL negotiation: "))
		zk_why_set("authentication refused (SASL): %s: see auth-file, or sasl-keytab",
			   text);
	tell_trouble(text);
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
		zk_enqueue(store, item);
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
	zk_enqueue(store, item);
}

/* --- on the loop thread --------------------------------------------------- */

static void take_state(struct store *store, const struct item *item)
{
	if (item->state == STORE_CONNECTED) {
		store->session = item->session;
		store->timeout_ms = item->timeout_ms;
		memcpy(store->password, item->password, sizeof(store->password));
		store->address = item->address;
		memcpy(store->server, item->server, sizeof(store->server));
		store->troubles.hung_up = 0;
	} else if (item->state == STORE_AUTH_FAILED && store->troubles.said && !store->sasl) {
		store->troubles.said(store->handlers.arg, store->server,
				     item->wants_sasl ? wants_sasl : refused_auth);
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
		zk_request_free(r);
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
	case ITEM_TROUBLE:
		if (!store->abandoned)
			troubles_heard(&store->troubles, &item->trouble);
		else
			free(item->trouble.why);
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

static struct item *next_item(struct store *store)
{
	pthread_mutex_lock(&store->lock);
	struct item *item = STAILQ_FIRST(&store->items);
	if (item)
		STAILQ_REMOVE_HEAD(&store->items, link);
	pthread_mutex_unlock(&store->lock);
	return item;
}

/* Handles what has come, in its order. What is left at until_us is handled in the next turn. */
static void drain(struct store *store, int64_t until_us)
{
	static const char *const kinds[] = {
		[ITEM_REPLY] = "an answer of ZooKeeper",
		[ITEM_WATCH] = "a watch of ZooKeeper",
		[ITEM_STATE] = "a change of the session",
		[ITEM_TROUBLE] = "trouble with a ZooKeeper server",
	};
	struct item *item;

	while ((item = next_item(store))) {
		const char *before = doing_begin(kinds[item->kind]);

		take(store, item);
		doing_end(before);
		if (clock_boot_us() >= until_us) {
			uv_async_send(&store->wake);
			break;
		}
	}
	/* The memory that many requests have taken is not needed for a while. */
	if (store->busy >= BUSY_MIN && !store->abandoned &&
	    !uv_is_active((uv_handle_t *)&store->quiet))
		uv_timer_start(&store->quiet, on_quiet, BUSY_MS, 0);
}

static void on_wake(uv_async_t *wake)
{
	drain(wake->data, clock_boot_us() + TURN_US);
}

int store_open(struct store **ret_store, struct host *host, const struct store_options *options,
	       const struct store_handlers *handlers)
{
	int e = spare_threads(LIBRARY_THREADS + OTHER_THREADS);

	if (e < 0)
		return e;
	struct store *store = mem_calloc(1, sizeof(*store));
	store->handlers = *handlers;
	STAILQ_INIT(&store->items);
	TAILQ_INIT(&store->outstanding);
	pthread_mutex_init(&store->lock, NULL);
	uv_async_init(host->loop, &store->wake, on_wake);
	uv_timer_init(host->loop, &store->quiet);
	store->handles = 2;
	store->wake.data = store;
	store->quiet.data = store;
	store->troubles = (struct troubles){
		.loop = host->loop, .said = handlers->failed, .arg = handlers->arg};
	store->security = options->world;
	store->troubles.tls = store->security && store->security->tls;
	if (handlers->failed)
		set_told(store, true);
	clientid_t id = {.client_id = options->session};
	if (options->session)
		memcpy(id.passwd, options->password, STORE_PASSWORD_SIZE);
	store->handle =
		zk_secure_open(store, options, options->session ? &id : NULL, on_watcher, log_line);
	if (!store->handle) {
		int error = errno ? -errno : -EINVAL;
		store_close(store, NULL, NULL);
		return error;
	}
	/*
	 * The addresses are numeric already, so the library must never resolve them again. -1 would
	 * make it do so after each lost connection.
	 */
	zoo_set_servers_resolution_delay(store->handle, INT_MAX);
	store->authenticated = options->auth_scheme != NULL;
	if (options->auth_scheme && strcmp(options->auth_scheme, ZK_AUTH_SASL) != 0)
		zoo_add_auth(store->handle, options->auth_scheme, options->auth_credential,
			     (int)strlen(options->auth_credential), NULL, NULL);
	*ret_store = store;
	return 0;
}

/*
 * The library closes the socket right after the request that closes the session. If answers are
 * outstanding then, the kernel resets the connection, and the server may never read that request.
 */
static void await_answers(struct store *store)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	for (int ms = 0; ms < ANSWERS_MS && store->unanswered > 0 &&
			 zoo_state(store->handle) == ZOO_CONNECTED_STATE;
	     ms++)
		nanosleep(&moment, NULL);
}

static void close_work(void *arg)
{
	struct store *store = arg;

	if (!store->handle)
		return;
	await_answers(store);
	zookeeper_close(store->handle);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct store *store = handle->data;

	if (--store->handles > 0)
		return;
	pthread_mutex_destroy(&store->lock);
	zk_sasl_end(store);
	if (store->closed)
		store->closed(store->closed_arg);
	free(store);
}

static void close_done(void *arg)
{
	struct store *store = arg;

	drain(store, INT64_MAX);
	while (!TAILQ_EMPTY(&store->outstanding)) /* NOLINTNEXTLINE: removes it from the list */
		zk_request_free(TAILQ_FIRST(&store->outstanding));
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
	if (store->handlers.failed)
		set_told(store, false);
	troubles_done(&store->troubles);
	/*
	 * This handle is closed now, not later: whoever ends the loop closes all timers that are
	 * left.
	 */
	uv_close((uv_handle_t *)&store->quiet, on_handle_closed);
	store->closed = done;
	store->closed_arg = arg;
	for (struct request *r = TAILQ_FIRST(&store->outstanding); r; r = TAILQ_NEXT(r, link)) {
		store_reply_fn fn = r->fn;
		r->fn = NULL;
		if (fn)
			fn(r->arg, &abandoned);
	}
	if (offload(store->wake.loop, close_work, close_done, store) != 0) {
		close_work(store); /* no thread could be started: it blocks the loop instead */
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
	/*
	 * Connecting a datagram socket sends nothing, but makes the kernel choose the route and so
	 * the local address.
	 */
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
 * Breaks the connection. The library has no call for this, and does not tell its socket. So this
 * looks for the socket that is connected to the server. It is only shut down, as the library closes
 * it. If the library has already connected again, it has to do so once more.
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

void zk_log_detail(bool detail)
{
	/* The level is never DEBUG, at which the library uses freed memory when it is closed. */
	zoo_set_debug_level(detail ? ZOO_LOG_LEVEL_INFO : ZOO_LOG_LEVEL_ERROR);
}
