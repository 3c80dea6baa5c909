#include "tree.h"

#include <assert.h>
#include <string.h>

bool tree_has_worker(const struct tree *t, uint32_t record)
{
	for (size_t i = 0; i < t->n_workers; i++)
		if (t->workers[i].record == record)
			return true;
	return false;
}

const struct session_node *tree_session(const struct tree *t, int64_t id)
{
	for (size_t i = 0; i < t->n_sessions; i++)
		if (t->sessions[i].id == id)
			return &t->sessions[i];
	return NULL;
}

const struct tick_node *tree_tick(const struct tree *t, unsigned task, uint32_t tick)
{
	const struct ledger_node *l = &t->ledgers[task];

	for (size_t i = 0; i < l->n; i++)
		if (l->ticks[i].tick == tick)
			return &l->ticks[i];
	return NULL;
}

static enum code judge_tick(const struct tree *t, const struct transaction *x, const struct op *op)
{
	const struct tick_node *node = tree_tick(t, op->target, x->ledger.tick);

	if (op->type == OP_CLAIM_TICK) {
		if (t->ledgers[op->target].version != op->version)
			return CODE_BAD_VERSION;
		return node ? CODE_EXISTS : CODE_OK;
	}
	if (!node)
		return CODE_NO_NODE;
	return node->version == op->version ? CODE_OK : CODE_BAD_VERSION;
}

static enum code judge_leader(struct leader_node *node, const struct op *op)
{
	if (op->type == OP_CREATE_LEADER) {
		if (node->exists)
			return CODE_EXISTS;
		*node = (struct leader_node){.exists = true};
		return CODE_OK;
	}
	if (!node->exists)
		return CODE_NO_NODE;
	if (op->version != -1 && op->version != node->version)
		return CODE_BAD_VERSION;
	if (op->type == OP_SET_LEADER)
		node->version++;
	else
		node->exists = false;
	return CODE_OK;
}

void tree_judge(const struct tree *t, struct transaction *x)
{
	struct leader_node node = {0}; /* of the one task that a multi is about */
	bool loaded = false;

	x->code = CODE_OK;
	x->failed_op = -1;
	for (unsigned i = 0; i < x->n_ops && x->code == CODE_OK; i++) {
		const struct op *op = &x->ops[i];
		switch (op->type) {
		case OP_CHECK_WORKER:
		case OP_DELETE_WORKER:
			if (!tree_has_worker(t, op->target))
				x->code = CODE_NO_NODE;
			break;
		case OP_CREATE_WORKER:
			if (tree_has_worker(t, op->target))
				x->code = CODE_EXISTS;
			break;
		case OP_CREATE_LEADER:
		case OP_SET_LEADER:
		case OP_DELETE_LEADER:
			if (!loaded)
				node = t->leaders[op->target];
			loaded = true;
			x->code = judge_leader(&node, op);
			break;
		case OP_CHECK_LEADER:
			if (!t->leaders[op->target].exists)
				x->code = CODE_NO_NODE;
			break;
		case OP_CLAIM_TICK:
		case OP_SET_TICK: x->code = judge_tick(t, x, op); break;
		}
		if (x->code != CODE_OK)
			x->failed_op = (int)i;
	}
}

static void tell(tree_watch_fn watch, void *arg, unsigned task, enum watch_type type)
{
	if (watch)
		watch(arg, task, 0, type);
}

static void tell_tick(tree_watch_fn watch, void *arg, unsigned task, uint32_t tick,
		      enum watch_type type)
{
	if (watch)
		watch(arg, task, tick, type);
}

static void claim_tick(struct tree *t, unsigned task, const struct ledger_write *w,
		       tree_watch_fn watch, void *arg)
{
	struct ledger_node *l = &t->ledgers[task];
	size_t gone = 0;

	while (gone < l->n && l->ticks[gone].tick < w->floor)
		tell_tick(watch, arg, task, l->ticks[gone++].tick, WATCH_DELETED);
	if (w->floor > 0) {
		l->version++;
		l->floor = w->floor;
		l->n -= gone;
		memmove(l->ticks, l->ticks + gone, l->n * sizeof(l->ticks[0]));
	}
	assert(l->n < TICKS_KEPT);
	size_t at = l->n++;
	for (; at > 0 && l->ticks[at - 1].tick > w->tick; at--)
		l->ticks[at] = l->ticks[at - 1];
	l->ticks[at] = (struct tick_node){w->tick, 0, t->zxid, w->record};
	tell_tick(watch, arg, task, w->tick, WATCH_CREATED);
}

static void set_tick(struct tree *t, unsigned task, const struct ledger_write *w,
		     tree_watch_fn watch, void *arg)
{
	for (size_t i = 0; i < t->ledgers[task].n; i++) {
		struct tick_node *node = &t->ledgers[task].ticks[i];
		if (node->tick != w->tick)
			continue;
		node->version++;
		node->mzxid = t->zxid;
		node->record = w->record;
		tell_tick(watch, arg, task, w->tick, WATCH_CHANGED);
	}
}

static void add_worker(struct tree *t, uint32_t record, int64_t session)
{
	assert(t->n_workers < WORKERS_MAX);
	t->workers[t->n_workers++] = (struct worker_node){record, session};
	t->workers_pzxid = t->zxid;
}

static void delete_worker(struct tree *t, size_t at)
{
	t->workers[at] = t->workers[--t->n_workers];
	t->workers_pzxid = t->zxid;
}

static void apply_op(struct tree *t, const struct transaction *x, const struct op *op,
		     tree_watch_fn watch, void *arg)
{
	struct leader_node *node = op->target < TASKS_MAX ? &t->leaders[op->target] : NULL;

	switch (op->type) {
	case OP_CHECK_WORKER:
	case OP_CHECK_LEADER: break;
	case OP_CLAIM_TICK: claim_tick(t, op->target, &x->ledger, watch, arg); break;
	case OP_SET_TICK: set_tick(t, op->target, &x->ledger, watch, arg); break;
	case OP_CREATE_WORKER:
		add_worker(t, op->target, x->session);
		tell(watch, arg, WATCH_WORKERS, WATCH_CHILDREN);
		break;
	case OP_DELETE_WORKER:
		for (size_t i = t->n_workers; i-- > 0;)
			if (t->workers[i].record == op->target)
				delete_worker(t, i);
		tell(watch, arg, WATCH_WORKERS, WATCH_CHILDREN);
		break;
	case OP_CREATE_LEADER:
		*node = (struct leader_node){true, x->session, t->zxid, t->zxid, 0};
		tell(watch, arg, op->target, WATCH_CREATED);
		break;
	case OP_SET_LEADER:
		node->version++;
		node->mzxid = t->zxid;
		tell(watch, arg, op->target, WATCH_CHANGED);
		break;
	case OP_DELETE_LEADER:
		node->exists = false;
		tell(watch, arg, op->target, WATCH_DELETED);
		break;
	}
}

/* The workers' node goes first or last, as the server's set happens to be ordered. */
static void close_session(struct tree *t, int64_t session, tree_watch_fn watch, void *arg)
{
	for (int pass = 0; pass < 2; pass++) {
		if ((pass == 0) == (session % 2 == 0)) {
			for (size_t i = t->n_workers; i-- > 0;) {
				if (t->workers[i].session != session)
					continue;
				delete_worker(t, i);
				tell(watch, arg, WATCH_WORKERS, WATCH_CHILDREN);
			}
			continue;
		}
		for (unsigned k = 0; k < sim.n_tasks; k++) {
			if (!t->leaders[k].exists || t->leaders[k].owner != session)
				continue;
			t->leaders[k].exists = false;
			tell(watch, arg, k, WATCH_DELETED);
		}
	}
	for (size_t i = t->n_sessions; i-- > 0;)
		if (t->sessions[i].id == session)
			t->sessions[i] = t->sessions[--t->n_sessions];
}

void tree_apply(struct tree *t, const struct transaction *x, tree_watch_fn watch, void *arg)
{
	t->zxid = x->zxid;
	switch (x->type) {
	case TRANSACTION_MULTI:
		for (unsigned i = 0; x->code == CODE_OK && i < x->n_ops; i++)
			apply_op(t, x, &x->ops[i], watch, arg);
		break;
	case TRANSACTION_OPEN:
		assert(t->n_sessions < SESSIONS_MAX);
		t->sessions[t->n_sessions++] = (struct session_node){x->session, x->timeout_ms};
		break;
	case TRANSACTION_CLOSE: close_session(t, x->session, watch, arg); break;
	}
}
