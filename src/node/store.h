/*
 * ZooKeeper as a node sees it: one session, requests, their replies, watches. The daemon implements
 * this over the client library (zk.c), the simulator over its model of the quorum. All is called
 * on, and calls back on, the thread of the host; nothing here waits.
 */
#ifndef ZKLEADER_NODE_STORE_H
#define ZKLEADER_NODE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/host.h"

#define STORE_PATH_MAX	    1024 /* bytes of a znode's path, with its NUL */
#define STORE_OPS_MAX	    1100 /* operations of one multi: a barrier that opens has the most */
#define STORE_PASSWORD_SIZE 16

struct store;

enum store_state {
	STORE_CONNECTED,  /* also when a server other than before has been found */
	STORE_CONNECTING, /* the connection is lost; the session may live on */
	STORE_EXPIRED,	  /* final */
	STORE_AUTH_FAILED /* final */
};

enum store_watch {
	STORE_NODE_CREATED,
	STORE_NODE_CHANGED,
	STORE_NODE_DELETED,
	STORE_CHILDREN_CHANGED
};

enum store_code {
	STORE_OK,
	STORE_NO_NODE,
	STORE_NODE_EXISTS,
	STORE_BAD_VERSION,
	STORE_NO_AUTH,
	STORE_FULL,    /* a quota is used up. Not done, and will be once there is room. */
	STORE_FAILED,  /* refused for another reason; the reply's text says which. Not done. */
	STORE_UNKNOWN, /* the connection went: it may or may not have happened */
	/* store_close() was called: nothing follows from this but that arg is free */
	STORE_ABANDONED,
};

/* No answer came: a change may have been made. */
static inline bool store_is_lost(enum store_code code)
{
	return code == STORE_UNKNOWN || code == STORE_ABANDONED;
}

/* The server refused the request, and will refuse it again. */
static inline bool store_is_refusal(enum store_code code)
{
	return code == STORE_NO_AUTH || code == STORE_FULL || code == STORE_FAILED;
}

/* The code if it is a refusal, else OK. */
static inline enum store_code store_refusal(enum store_code code)
{
	return store_is_refusal(code) ? code : STORE_OK;
}

/* The text for a client whose request was refused, or whose folder could not be made. */
static inline const char *store_refused_why(enum store_code code)
{
	return code == STORE_FULL
		       ? "a quota of ZooKeeper is used up: raise it with setquota, or make room"
		       : "refused by the ZooKeeper server: see the sidecar's log";
}

static inline const char *store_no_folder_why(enum store_code code)
{
	return code == STORE_FULL
		       ? store_refused_why(code)
		       : "refused by the ZooKeeper server: the sidecar may not make the folder";
}

struct store_stat {
	int64_t czxid;
	int64_t mzxid; /* of the transaction that wrote it last */
	int64_t pzxid; /* of the transaction that last made or deleted a node in it */
	int64_t ctime; /* the server's wall clock, ms since the epoch */
	int64_t mtime;
	int64_t owner; /* session of an ephemeral, 0 */
	int32_t version;
	int32_t children; /* how many it has */
};

struct store_reply {
	enum store_code code;
	const char *text;	/* the library's word for the error */
	int64_t sent_ms;	/* host_now_ms() just before the request was handed over */
	int failed_op;		/* multi: the index of the operation that did not hold, -1 */
	struct store_stat stat; /* multi: of the first node that it set */
	const void *data;	/* get: what the node holds */
	size_t len;
	char *const *names; /* children */
	size_t n_names;
};

/* Each request calls this exactly once, and never before it has returned. */
typedef void (*store_reply_fn)(void *arg, const struct store_reply *reply);

struct store_handlers {
	void (*state)(void *arg, enum store_state state);
	void (*watch)(void *arg, enum store_watch type, const char *path);
	/*
	 * The server has answered a request that was sent at sent_ms; before the request's own
	 * reply. Not for what never came to a server: it counts as a heartbeat.
	 */
	void (*heard)(void *arg, int64_t sent_ms);
	/*
	 * The connection to that server ended, or none came about; message says why, for people.
	 * Called with each try, and before STORE_AUTH_FAILED. NULL: it is not wanted.
	 */
	void (*failed)(void *arg, const char *server, const char *message);
	void *arg;
};

struct store_options {
	void *world;	     /* the implementation's own; set by the program around the node */
	const char *servers; /* as store_lookup() found them */
	int timeout_ms;
	const char *auth_scheme; /* NULL: none; then nodes are created open to all */
	const char *auth_credential;
	int64_t session; /* to be taken over with its password; 0: a new one */
	const uint8_t *password;
};

struct store_op {
	enum store_op_type {
		STORE_OP_CHECK,
		STORE_OP_CREATE,
		STORE_OP_CREATE_EPHEMERAL,
		/*
		 * The same, with ten digits that the server appends to the path: the count of nodes
		 * ever made in the folder before. The reply does not tell the name.
		 */
		STORE_OP_CREATE_SEQUENTIAL,
		STORE_OP_SET,
		STORE_OP_DELETE
	} type;
	const char *path;
	const void *data;
	size_t len;
	int32_t version; /* check, set, delete; -1: any */
	bool closed;	 /* create: readable with our identity only, as behind store_hide() */
};

/* Starts connecting. 0 or a negative errno. */
int store_open(struct store **ret_store, struct host *host, const struct store_options *options,
	       const struct store_handlers *handlers);
/*
 * Gives the handle up at once: outstanding requests are answered STORE_ABANDONED in their order
 * before this returns, and no handler is called any more. Ending the session may take seconds, so
 * it goes on by itself; done (may be NULL) is called when it is over. Takes NULL.
 */
void store_close(struct store *s, void (*done)(void *arg), void *arg);

/* The id of the present session; 0 before the first connection. */
int64_t store_session(const struct store *s);
int store_timeout(const struct store *s); /* granted on the present connection, ms */
/* The password with which another process may take the session over: STORE_PASSWORD_SIZE bytes. */
const uint8_t *store_password(const struct store *s);
/* "address:port" of the server that was connected last, "" if none was. */
const char *store_server(const struct store *s);
/* The local address of the route to that server; -errno if there is none. */
int store_local_address(const struct store *s, char *text, size_t size);
/* Other addresses for the next connections; 0 or -EINVAL. */
int store_set_servers(struct store *s, const char *servers);
/* Ends the present connection, if there is one; the library then goes on to the next server. */
void store_hang_up(struct store *s);

/*
 * Requests. What cannot be sent at all is answered STORE_UNKNOWN or STORE_FAILED, like all later.
 */
void store_get(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg);
void store_exists(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg);
void store_children(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg);
/*
 * Has server and client forget the watches of that path: those on its children, or those that get
 * and exists set. OK: they are forgotten. NO_NODE: there is none. With another answer they may be
 * there. Not while a request that sets one of them is outstanding.
 */
void store_unwatch(struct store *s, const char *path, bool children, store_reply_fn fn, void *arg);
void store_create(struct store *s, const char *path, store_reply_fn fn,
		  void *arg); /* persistent, empty */
/* Takes the right to read a znode from all but our identity. Nothing to do without an identity. */
void store_hide(struct store *s, const char *path, store_reply_fn fn, void *arg);
/* A path that is empty, or ends with "/" because a name is not known, is answered STORE_NO_NODE. */
void store_multi(struct store *s, const struct store_op *ops, size_t n, store_reply_fn fn,
		 void *arg);

/*
 * Looks the servers of a configuration up, without waiting: done is called once, in a later turn,
 * with "address:port,..." of those found, "" if none was, and what went wrong with the last, NULL.
 * hosts: "name:port,..." as written, [v6]:port too.
 */
typedef void (*store_lookup_fn)(void *arg, const char *servers, const char *problem);
void store_lookup(struct host *host, void *world, const char *hosts, store_lookup_fn done,
		  void *arg);

#endif
