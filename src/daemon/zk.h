/*
 * The ZooKeeper client library, made safe for one loop thread. zk.c is the one file that includes
 * zookeeper.h. The library's own threads only copy what they have into a queue and wake the loop;
 * everything declared here is called on, and calls back on, the loop thread.
 */
#ifndef ZKLEADER_DAEMON_ZK_H
#define ZKLEADER_DAEMON_ZK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#define ZK_PATH_MAX	 1024 /* bytes of a znode's path, with its NUL */
#define ZK_OPS_MAX	 128  /* operations of one multi */
#define ZK_PASSWORD_SIZE 16

struct zk;

enum zk_state {
	ZK_CONNECTED,  /* also when a server other than before has been found */
	ZK_CONNECTING, /* the connection is lost; the session may live on */
	ZK_EXPIRED,    /* final */
	ZK_AUTH_FAILED /* final */
};

enum zk_watch { ZK_NODE_CREATED, ZK_NODE_CHANGED, ZK_NODE_DELETED, ZK_CHILDREN_CHANGED };

enum zk_code {
	ZK_OK,
	ZK_NO_NODE,
	ZK_NODE_EXISTS,
	ZK_BAD_VERSION,
	ZK_NO_AUTH,
	ZK_FAILED,    /* refused for another reason; the reply's text says which. Not done. */
	ZK_UNKNOWN,   /* the connection went: it may or may not have happened */
	ZK_ABANDONED, /* zk_close() was called: nothing follows from this but that arg is free */
};

struct zk_stat {
	int64_t czxid;
	int64_t mzxid; /* of the transaction that wrote it last */
	int64_t pzxid; /* of the transaction that last made or deleted a node in it */
	int64_t owner; /* session of an ephemeral, 0 */
	int32_t version;
};

struct zk_reply {
	enum zk_code code;
	const char *text;    /* the library's word for the error */
	int64_t sent_ms;     /* CLOCK_BOOTTIME just before the request was given to the library */
	int failed_op;	     /* multi: the index of the operation that did not hold, -1 */
	struct zk_stat stat; /* multi: of the first node that it set */
	const void *data;    /* get: what the node holds */
	size_t len;
	char *const *names; /* children */
	size_t n_names;
};

/* Each request calls this exactly once, and never before it has returned. */
typedef void (*zk_reply_fn)(void *arg, const struct zk_reply *reply);

struct zk_handlers {
	void (*state)(void *arg, enum zk_state state);
	void (*watch)(void *arg, enum zk_watch type, const char *path);
	/* The server has answered a request that was sent at sent_ms; before the request's own reply. */
	void (*heard)(void *arg, int64_t sent_ms);
	void *arg;
};

struct zk_options {
	const char *servers; /* numeric "a.b.c.d:port,[v6]:port": nothing is looked up here */
	int timeout_ms;
	const char *auth_scheme; /* NULL: none; then nodes are created open to all */
	const char *auth_credential;
	int64_t session; /* to be taken over with its password; 0: a new one */
	const uint8_t *password;
};

struct zk_op {
	enum zk_op_type {
		ZK_OP_CHECK,
		ZK_OP_CREATE,
		ZK_OP_CREATE_EPHEMERAL,
		ZK_OP_SET,
		ZK_OP_DELETE
	} type;
	const char *path;
	const void *data;
	size_t len;
	int32_t version; /* check, set, delete; -1: any */
};

/* Starts connecting. 0 or a negative errno. */
int zk_open(struct zk **ret_zk, uv_loop_t *loop, const struct zk_options *options,
	    const struct zk_handlers *handlers);
/*
 * Gives the handle up at once: outstanding requests are answered ZK_ABANDONED before this returns,
 * and no handler is called any more. Closing the session can block for seconds on a stalled server,
 * so it goes on in another thread; done (may be NULL) is called when it is over. Takes NULL.
 */
void zk_close(struct zk *zk, void (*done)(void *arg), void *arg);

/* Of the present session; 0 before the first connection. */
int64_t zk_session(const struct zk *zk);
int zk_timeout(const struct zk *zk); /* negotiated, ms */
/* With which another process may take the session over: ZK_PASSWORD_SIZE bytes. */
const uint8_t *zk_password(const struct zk *zk);
/* "address:port" of the server that was connected last, "" if none was. */
const char *zk_server(const struct zk *zk);
/* The local address of the route to that server; -errno if there is none. */
int zk_local_address(const struct zk *zk, char *text, size_t size);
/* Other numeric addresses for the next connections; 0 or -EINVAL. */
int zk_set_servers(struct zk *zk, const char *servers);
/* Ends the present connection, if there is one; the library then goes on to the next server. */
void zk_hang_up(struct zk *zk);

/* Requests. What cannot be sent at all is answered ZK_UNKNOWN or ZK_FAILED, like all later. */
void zk_get(struct zk *zk, const char *path, bool watch, zk_reply_fn fn, void *arg);
void zk_exists(struct zk *zk, const char *path, bool watch, zk_reply_fn fn, void *arg);
void zk_children(struct zk *zk, const char *path, bool watch, zk_reply_fn fn, void *arg);
void zk_create(struct zk *zk, const char *path, zk_reply_fn fn, void *arg); /* persistent, empty */
/* A path that is empty, or ends with "/" because a name is not known, is answered ZK_NO_NODE. */
void zk_multi(struct zk *zk, const struct zk_op *ops, size_t n, zk_reply_fn fn, void *arg);

/* With detail, the library's informational lines go to our log at debug level as well. */
void zk_log_detail(bool detail);

#endif
