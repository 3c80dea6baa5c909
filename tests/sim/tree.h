/* The znodes, as one server has them: workers, leaders and sessions; and the transactions on them. */
#ifndef TESTS_SIM_TREE_H
#define TESTS_SIM_TREE_H

#include "sim.h"

#define WORKERS_MAX  (4 * SIDECARS_MAX)
#define SESSIONS_MAX (64 * SIDECARS_MAX)
#define OPS_MAX	     4
#define TICKS_KEPT   40
#define HAND	     (-1) /* the session of whoever changes things by hand */

enum code { CODE_OK, CODE_NO_NODE, CODE_EXISTS, CODE_BAD_VERSION, CODE_UNKNOWN, CODE_MOVED };

enum op_type {
	OP_CHECK_WORKER,
	OP_CREATE_WORKER,
	OP_DELETE_WORKER,
	OP_CREATE_LEADER,
	OP_SET_LEADER,
	OP_DELETE_LEADER,
	OP_CHECK_LEADER,
	OP_CLAIM_TICK, /* version: of the ledger; what is older than ledger.floor is pruned */
	OP_SET_TICK    /* version: of the record */
};

struct op {
	enum op_type type;
	uint32_t target; /* number of the worker record, or of the task */
	int32_t version; /* -1: any */
};

/* A tick is told by its number: the time at which it begins, in ticks since the epoch. */
enum tick_state { TICK_RUNNING, TICK_OK, TICK_LOST };

struct tick_record {
	enum tick_state state;
	int32_t attempt;
	uint64_t run;
	int64_t session, token;
};

struct tick_node {
	uint32_t tick;
	int32_t version;
	int64_t mzxid;
	struct tick_record record;
};

/* ROOT/runs/TASK */
struct ledger_node {
	int32_t version;
	uint32_t floor;
	size_t n;
	struct tick_node ticks[TICKS_KEPT]; /* sorted */
};

struct ledger_write {
	uint32_t tick, floor;
	struct tick_record record;
};

enum transaction_type { TRANSACTION_MULTI, TRANSACTION_OPEN, TRANSACTION_CLOSE };

struct transaction {
	enum transaction_type type;
	int64_t zxid;
	int64_t session;
	int64_t timeout_ms; /* OPEN */
	struct op ops[OPS_MAX];
	unsigned n_ops;
	struct ledger_write ledger;
	uint32_t heir;	/* whom a leader node is given up to, 0 */
	enum code code; /* decided by the leader when it is proposed */
	int failed_op;
	/* who is to be answered: the server that passed it on, and its connection */
	unsigned origin;
	struct connection *connection;
	uint64_t request;
};

struct leader_node {
	bool exists;
	int64_t owner; /* session, or HAND */
	int64_t czxid, mzxid;
	int32_t version;
};

struct worker_node {
	uint32_t record;
	int64_t session;
};

struct session_node {
	int64_t id;
	int64_t timeout_ms;
};

struct tree {
	int64_t zxid; /* of the last transaction */
	int64_t workers_pzxid;
	struct worker_node workers[WORKERS_MAX];
	size_t n_workers;
	struct leader_node leaders[TASKS_MAX];
	struct ledger_node ledgers[TASKS_MAX];
	struct session_node sessions[SESSIONS_MAX];
	size_t n_sessions;
};

enum watch_type { WATCH_CREATED, WATCH_CHANGED, WATCH_DELETED, WATCH_CHILDREN };
#define WATCH_WORKERS TASKS_MAX /* in the place of a task: the list of workers */

/* Told of what the transaction changes, in order; tick 0: the leader node, or the workers. NULL: nobody
 * wants to know. */
typedef void (*tree_watch_fn)(void *arg, unsigned task, uint32_t tick, enum watch_type type);

/* Sets code and failed_op: whether all of its operations hold. */
void tree_judge(const struct tree *t, struct transaction *x);
void tree_apply(struct tree *t, const struct transaction *x, tree_watch_fn watch, void *arg);
/* NULL if it has no record. */
const struct tick_node *tree_tick(const struct tree *t, unsigned task, uint32_t tick);
bool tree_has_worker(const struct tree *t, uint32_t record);
const struct session_node *tree_session(const struct tree *t, int64_t id);

#endif
