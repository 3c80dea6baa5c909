/*
 * Shared by zk.c (a handle of the ZooKeeper library and its session) and zk_requests.c (its
 * requests). No other file includes this, or the library.
 */
#ifndef ZKLEADER_DAEMON_ZOOKEEPER_ZK_STORE_H
#define ZKLEADER_DAEMON_ZOOKEEPER_ZK_STORE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <uv.h>

#define THREADED
#include <zookeeper/zookeeper.h>

#include "daemon/zookeeper/zk.h"
#include "daemon/zookeeper/zk_trouble.h"
#include "node/store.h"

#define SERVER_TEXT_MAX 128

/*
 * An item that the library's threads hand to the loop: a reply, a watch that fired, a change of
 * state or trouble with a server.
 */
struct item {
	STAILQ_ENTRY(item) link;
	enum { ITEM_REPLY, ITEM_WATCH, ITEM_STATE, ITEM_TROUBLE } kind;
	union {
		struct request *request;
		struct {
			enum store_watch watch;
			char *path;
		};
		struct {
			enum store_state state;
			bool wants_sasl; /* why authentication failed */
			int64_t session;
			int timeout_ms;
			uint8_t password[STORE_PASSWORD_SIZE];
			char server[SERVER_TEXT_MAX];
			struct sockaddr_storage address;
		};
		struct trouble trouble;
	};
};

struct request {
	struct item item; /* its own place in the queue: a reply needs no allocation to get there */
	TAILQ_ENTRY(request) link; /* outstanding, loop thread only */
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
	LIST_ENTRY(store) link; /* of those that are told of trouble, under a lock of zk.c */
	struct store_handlers handlers;
	struct zk_security *security;	  /* NULL: no TLS, no SASL */
	struct zk_sasl_client *sasl;	  /* NULL: none; of zk_sasl.c */
	char tls_server[SERVER_TEXT_MAX]; /* of the handshake; in the IO thread */
	bool authenticated;
	bool abandoned;
	int64_t session;
	int timeout_ms;
	uint8_t password[STORE_PASSWORD_SIZE];
	char server[SERVER_TEXT_MAX];
	struct sockaddr_storage address;
	TAILQ_HEAD(request_list, request) outstanding; /* in the order in which they were made */
	_Atomic size_t unanswered;		       /* of them; from all threads */
	uv_async_t wake;
	uv_timer_t quiet;
	struct troubles troubles;
	int handles; /* how many of these two are not closed */
	size_t busy; /* requests since memory was given back */
	void (*closed)(void *arg);
	void *closed_arg;
	pthread_mutex_t lock;
	STAILQ_HEAD(item_queue, item) items; /* under lock */
};

/* Called by a thread of the library: hands the item to the loop, which then owns it. */
void zk_enqueue(struct store *store, struct item *item);
/* Likewise: the server wants another authentication, so the session is of no use. */
void zk_wants_sasl(struct store *store);
/* A handle with the TLS and SASL that the store wants; NULL with errno set. */
zhandle_t *zk_secure_open(struct store *store, const struct store_options *options,
			  const clientid_t *id, watcher_fn watcher, log_callback_fn log);
#ifdef ZKLEADER_TLS
/* In the IO thread, called by the library: see its header. The context is the store. */
SSL *zk_tls_open(void *context, const char *server);
void zk_tls_failed(void *context, SSL *ssl);
/* The parameters for the library; a negative errno if there are none. */
int zk_sasl_begin(struct store *store, const struct store_options *options,
		  zoo_sasl_params_t *ret_params);
#endif
/* After the handle was closed. */
void zk_sasl_end(struct store *store);
/* In the IO thread: why the library's next line tells of a failure. */
void zk_why_set(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, owned by the caller; NULL: nothing was said. */
char *zk_why_take(void);
/* On the loop: the request has been answered, or its answer is not wanted any more. */
void zk_request_free(struct request *r);

#endif
