/* The znodes as one server has them, by path and with their bytes; sessions; and transactions on them. */
#ifndef TESTS_SIMNODE_TREE_H
#define TESTS_SIMNODE_TREE_H

#include "node/store.h"
#include "sim.h"

#define HAND (-1) /* the session of whoever changes things by hand */

/* Bytes that several hold. */
struct blob {
	unsigned refs;
	size_t len;
	uint8_t bytes[];
};

struct blob *blob_new(const void *data, size_t len); /* NULL for no bytes */
struct blob *blob_keep(struct blob *b);
void blob_drop(struct blob *b); /* takes NULL */

/* A path is told by a number, the same for all servers and the whole run. */
typedef uint32_t path_id;
#define PATH_ROOT 0

void paths_reset(void);
path_id path_intern(const char *text);
const char *path_text(path_id p);
const char *path_name(path_id p); /* behind the last slash */
path_id path_parent(path_id p);

struct op {
	enum store_op_type type;
	path_id path;
	struct blob *data;
	int32_t version; /* -1: any */
};

/* A transaction, as the leader makes it of a request; what it holds is its own. */
struct transaction {
	unsigned refs;
	enum transaction_type { TRANSACTION_OPS, TRANSACTION_OPEN, TRANSACTION_CLOSE } type;
	int64_t zxid;
	int64_t session;
	int64_t timeout_ms; /* OPEN */
	int64_t wall_ms;    /* of the leader, when it made it */
	enum store_code code;
	int failed_op;
	bool moved; /* refused: the session is connected elsewhere */
	/* who is to be answered: the server that passed it on, and its connection */
	unsigned origin;
	struct connection *connection;
	uint64_t request;
	size_t n_ops;
	struct op ops[];
};

struct transaction *transaction_new(enum transaction_type type, int64_t session, size_t n_ops);
void transaction_drop(struct transaction *x); /* takes NULL */

struct znode {
	bool exists;
	struct store_stat stat;
	struct blob *data;
	path_id *children; /* in no order, as in ZooKeeper */
	size_t n_children, capacity;
	int32_t made; /* children that were ever made in it */
};

struct session_node {
	int64_t id;
	int64_t timeout_ms;
};

struct tree {
	int64_t zxid;	       /* of the last transaction */
	struct store_stat set; /* of the first node that it set, or one before it */
	struct znode *nodes;
	size_t n_nodes; /* paths that there is room for */
	struct session_node *sessions;
	size_t n_sessions, capacity;
};

/* Zeroed memory is one without anything but "/", once this was called. */
void tree_init(struct tree *t);
void tree_done(struct tree *t);
void tree_copy(struct tree *t, const struct tree *from);

/* NULL if there is none. */
const struct znode *tree_get(const struct tree *t, path_id path);
const struct session_node *tree_session(const struct tree *t, int64_t id);

/* Told of what a transaction changes, in order; fn may be NULL. */
typedef void (*tree_watch_fn)(void *arg, path_id path, enum store_watch type);

/*
 * Sets code and failed_op: whether all of its operations hold. Sequential nodes get their names, and are
 * ephemeral ones from then on.
 */
void tree_judge(const struct tree *t, struct transaction *x);
void tree_apply(struct tree *t, const struct transaction *x, tree_watch_fn fn, void *arg);

#endif
