#include "daemon/ledger.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/log.h"
#include "base/mem.h"

#define PRUNED_AT_ONCE 50 /* records, in one transaction */

/* One of the calls on its way. */
struct op {
	struct leaders *leaders;
	char task[NAME_TASK_MAX + 1];
	char tick[TICK_NAME_SIZE];
	ledger_fn fn;
	void *arg;
	struct run_record record; /* claim */
	size_t keep;
	char floor[TICK_NAME_SIZE];
	int32_t version; /* of ROOT/runs/TASK */
	bool made;	 /* its parents have been made */
	char **ticks;	 /* claim: the names that are there, sorted, with the claimed one */
	size_t n_ticks;
};

static void load(struct op *op);

void ledger_path(const struct leaders *l, const char *task, const char *tick,
		 char path[ZK_PATH_MAX])
{
	char name[NAME_TASK_MAX + TICK_NAME_SIZE + 1];

	snprintf(name, sizeof(name), "%s%s%s", task, tick ? "/" : "", tick ? tick : "");
	registry_path(l->registry, "runs", name, path);
}

static struct op *op_new(struct leaders *l, const char *task, const char *tick, ledger_fn fn,
			 void *arg)
{
	struct op *op = mem_calloc(1, sizeof(*op));

	op->leaders = l;
	op->fn = fn;
	op->arg = arg;
	snprintf(op->task, sizeof(op->task), "%s", task);
	snprintf(op->tick, sizeof(op->tick), "%s", tick);
	return op;
}

static void op_free(struct op *op)
{
	for (size_t i = 0; i < op->n_ticks; i++)
		free(op->ticks[i]);
	free(op->ticks);
	free(op);
}

static void end(struct op *op, enum ledger_result result, const struct run_record *record,
		int32_t version)
{
	op->fn(op->arg, result, record, version);
	op_free(op);
}

/* For a reply that is neither good nor one of those that the operation knows what to make of. */
static void end_failed(struct op *op, const struct zk_reply *reply)
{
	if (reply->code == ZK_NO_AUTH || reply->code == ZK_FAILED) {
		log_error("ledger refused", LOG_STR("task", op->task), LOG_STR("tick", op->tick),
			  LOG_STR("why", reply->text));
		end(op, LEDGER_FAILED, NULL, 0);
	} else {
		end(op, LEDGER_UNKNOWN, NULL, 0);
	}
}

/* --- looking ----------------------------------------------------------------------------------- */

static void look(struct op *op);

static void on_tick_exists(void *arg, const struct zk_reply *reply)
{
	struct op *op = arg;

	if (reply->code == ZK_NO_NODE)
		end(op, LEDGER_ABSENT, NULL, 0);
	else if (reply->code == ZK_OK)
		look(op);
	else
		end_failed(op, reply);
}

static void on_tick(void *arg, const struct zk_reply *reply)
{
	struct op *op = arg;
	struct run_record record;
	const char *why;
	char path[ZK_PATH_MAX];

	ledger_path(op->leaders, op->task, op->tick, path);
	if (reply->code == ZK_NO_NODE) {
		zk_exists(op->leaders->session->zk, path, true, on_tick_exists, op);
		return;
	}
	if (reply->code != ZK_OK) {
		end_failed(op, reply);
		return;
	}
	bool good = record_parse_run(reply->data, reply->len, &record, &why) == 0;
	if (!good)
		log_warning("run record refused", LOG_STR("znode", path), LOG_STR("why", why));
	end(op, LEDGER_PRESENT, good ? &record : NULL, reply->stat.version);
}

static void look(struct op *op)
{
	char path[ZK_PATH_MAX];

	ledger_path(op->leaders, op->task, op->tick, path);
	zk_get(op->leaders->session->zk, path, true, on_tick, op);
}

void ledger_look(struct leaders *l, const char *task, const char *tick, ledger_fn fn, void *arg)
{
	look(op_new(l, task, tick, fn, arg));
}

/* --- claiming ---------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void keep_names(struct op *op, const struct zk_reply *reply)
{
	op->ticks = mem_calloc(reply->n_names + 2, sizeof(char *));
	for (size_t i = 0; i < reply->n_names; i++)
		if (tick_is_name(reply->names[i]))
			op->ticks[op->n_ticks++] = mem_strdup(reply->names[i]);
	if (op->n_ticks > 0)
		qsort(op->ticks, op->n_ticks, sizeof(char *), compare_names);
}

/* Nothing follows from it: who claims next finds what is left over. */
static void on_pruned(void *arg, const struct zk_reply *reply)
{
	struct op *op = arg;

	if (reply->code != ZK_OK && reply->code != ZK_UNKNOWN && reply->code != ZK_ABANDONED)
		log_debug("ledger not pruned", LOG_STR("task", op->task),
			  LOG_STR("why", reply->text));
	op_free(op);
}

static void prune(struct op *op)
{
	char parent[ZK_PATH_MAX];
	char(*paths)[ZK_PATH_MAX] = mem_calloc(PRUNED_AT_ONCE, ZK_PATH_MAX);
	struct zk_op ops[PRUNED_AT_ONCE + 1];
	size_t n = op->n_ticks > op->keep ? op->n_ticks - op->keep : 0;

	if (n > PRUNED_AT_ONCE)
		n = PRUNED_AT_ONCE;
	if (n == 0) {
		free(paths);
		op_free(op);
		return;
	}
	ledger_path(op->leaders, op->task, NULL, parent);
	ops[0] = (struct zk_op){.type = ZK_OP_SET,
				.path = parent,
				.data = op->ticks[n],
				.len = TICK_NAME_SIZE - 1,
				.version = op->version};
	for (size_t i = 0; i < n; i++) {
		ledger_path(op->leaders, op->task, op->ticks[i], paths[i]);
		ops[i + 1] = (struct zk_op){.type = ZK_OP_DELETE, .path = paths[i], .version = -1};
	}
	zk_multi(op->leaders->session->zk, ops, n + 1, on_pruned, op);
	free(paths);
}

static void on_claimed(void *arg, const struct zk_reply *reply)
{
	struct op *op = arg;

	if (reply->code == ZK_OK) {
		session_confirmed(op->leaders->session, reply->sent_ms);
		op->fn(op->arg, LEDGER_DONE, NULL, 0);
		op->ticks[op->n_ticks++] = mem_strdup(op->tick);
		qsort(op->ticks, op->n_ticks, sizeof(char *), compare_names);
		prune(op);
		return;
	}
	if (reply->code == ZK_NO_NODE && reply->failed_op == 0)
		session_confirm(op->leaders->session);
	if (reply->code == ZK_NO_NODE || reply->code == ZK_NODE_EXISTS ||
	    reply->code == ZK_BAD_VERSION)
		end(op, LEDGER_AGAIN, NULL, 0);
	else
		end_failed(op, reply);
}

static void claim(struct op *op)
{
	char leader[ZK_PATH_MAX], parent[ZK_PATH_MAX], path[ZK_PATH_MAX];
	struct buffer data;

	registry_path(op->leaders->registry, "leaders", op->task, leader);
	ledger_path(op->leaders, op->task, NULL, parent);
	ledger_path(op->leaders, op->task, op->tick, path);
	buffer_init(&data, RECORD_RUN_MAX);
	int error = record_pack_run(&data, &op->record);
	assert(error == 0);
	(void)error;
	struct zk_op ops[] = {
		{.type = ZK_OP_CHECK, .path = op->leaders->session->registration, .version = -1},
		{.type = ZK_OP_CHECK, .path = leader, .version = -1},
		{.type = ZK_OP_CHECK, .path = parent, .version = op->version},
		{.type = ZK_OP_CREATE, .path = path, .data = data.data, .len = data.len},
	};
	zk_multi(op->leaders->session->zk, ops, sizeof(ops) / sizeof(ops[0]), on_claimed, op);
	buffer_done(&data);
}

static void on_names(void *arg, const struct zk_reply *reply)
{
	struct op *op = arg;

	if (reply->code == ZK_NO_NODE) {
		end(op, LEDGER_AGAIN, NULL, 0);
		return;
	}
	if (reply->code != ZK_OK) {
		end_failed(op, reply);
		return;
	}
	keep_names(op, reply);
	if (tick_is_claimed(op->tick, op->floor, op->ticks, op->n_ticks))
		end(op, LEDGER_PRESENT, NULL, 0);
	else
		claim(op);
}

static void on_parent_made(void *arg, const struct zk_reply *reply)
{
	struct op *op = arg;

	if (reply->code == ZK_OK || reply->code == ZK_NODE_EXISTS) {
		op->made = true;
		load(op);
	} else {
		end_failed(op, reply);
	}
}

static void on_runs_made(void *arg, const struct zk_reply *reply)
{
	struct op *op = arg;
	char parent[ZK_PATH_MAX];

	if (reply->code != ZK_OK && reply->code != ZK_NODE_EXISTS) {
		end_failed(op, reply);
		return;
	}
	ledger_path(op->leaders, op->task, NULL, parent);
	zk_create(op->leaders->session->zk, parent, on_parent_made, op);
}

static void on_parent(void *arg, const struct zk_reply *reply)
{
	struct op *op = arg;
	char path[ZK_PATH_MAX];

	if (reply->code == ZK_NO_NODE && !op->made) {
		registry_path(op->leaders->registry, "runs", NULL, path);
		zk_create(op->leaders->session->zk, path, on_runs_made, op);
		return;
	}
	if (reply->code != ZK_OK) {
		end_failed(op, reply);
		return;
	}
	op->version = reply->stat.version;
	op->floor[0] = '\0';
	if (reply->len == TICK_NAME_SIZE - 1) {
		memcpy(op->floor, reply->data, reply->len);
		op->floor[reply->len] = '\0';
		if (!tick_is_name(op->floor))
			op->floor[0] = '\0';
	}
	ledger_path(op->leaders, op->task, NULL, path);
	zk_children(op->leaders->session->zk, path, false, on_names, op);
}

static void load(struct op *op)
{
	char path[ZK_PATH_MAX];

	ledger_path(op->leaders, op->task, NULL, path);
	zk_get(op->leaders->session->zk, path, false, on_parent, op);
}

void ledger_claim(struct leaders *l, const char *task, const char *tick,
		  const struct run_record *record, size_t keep, ledger_fn fn, void *arg)
{
	struct op *op = op_new(l, task, tick, fn, arg);

	op->record = *record;
	op->keep = keep;
	load(op);
}

/* --- writing ----------------------------------------------------------------------------------- */

static void on_written(void *arg, const struct zk_reply *reply)
{
	struct op *op = arg;

	if (reply->code == ZK_OK)
		end(op, LEDGER_DONE, NULL, 0);
	else if (reply->code == ZK_BAD_VERSION || reply->code == ZK_NO_NODE)
		end(op, LEDGER_AGAIN, NULL, 0);
	else
		end_failed(op, reply);
}

void ledger_write(struct leaders *l, const char *task, const char *tick,
		  const struct run_record *record, int32_t version, bool must_lead, ledger_fn fn,
		  void *arg)
{
	char leader[ZK_PATH_MAX], path[ZK_PATH_MAX];
	struct buffer data;

	registry_path(l->registry, "leaders", task, leader);
	ledger_path(l, task, tick, path);
	buffer_init(&data, RECORD_RUN_MAX);
	int error = record_pack_run(&data, record);
	assert(error == 0);
	(void)error;
	struct zk_op ops[] = {
		{.type = ZK_OP_SET,
		 .path = path,
		 .data = data.data,
		 .len = data.len,
		 .version = version},
		{.type = ZK_OP_CHECK, .path = l->session->registration, .version = -1},
		{.type = ZK_OP_CHECK, .path = leader, .version = -1},
	};
	zk_multi(l->session->zk, ops, must_lead ? 3 : 1, on_written,
		 op_new(l, task, tick, fn, arg));
	buffer_done(&data);
}

/* --- history ----------------------------------------------------------------------------------- */

struct history {
	struct leaders *leaders;
	char task[NAME_TASK_MAX + 1];
	ledger_history_fn fn;
	void *arg;
	size_t pending;
	bool failed;
	struct ledger_entry *entries;
	size_t n;
};

struct history_read {
	struct history *history;
	char tick[TICK_NAME_SIZE];
};

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct ledger_entry *)a)->tick,
		      ((const struct ledger_entry *)b)->tick);
}

static void history_answered(struct history *h)
{
	if (--h->pending > 0)
		return;
	if (h->n > 0)
		qsort(h->entries, h->n, sizeof(*h->entries), compare_entries);
	h->fn(h->arg, !h->failed, h->entries, h->failed ? 0 : h->n);
	free(h->entries);
	free(h);
}

static void on_history_record(void *arg, const struct zk_reply *reply)
{
	struct history_read *read = arg;
	struct history *h = read->history;
	const char *why;

	if (reply->code == ZK_OK) {
		struct ledger_entry *e = &h->entries[h->n];
		if (record_parse_run(reply->data, reply->len, &e->record, &why) == 0) {
			memcpy(e->tick, read->tick, sizeof(e->tick));
			h->n++;
		} else {
			log_warning("run record refused", LOG_STR("task", h->task),
				    LOG_STR("tick", read->tick), LOG_STR("why", why));
		}
	} else if (reply->code != ZK_NO_NODE) {
		h->failed = true;
	}
	free(read);
	history_answered(h);
}

static void on_history_names(void *arg, const struct zk_reply *reply)
{
	struct history *h = arg;
	char path[ZK_PATH_MAX];

	h->failed = reply->code != ZK_OK && reply->code != ZK_NO_NODE;
	h->entries = mem_calloc(reply->n_names + 1, sizeof(*h->entries));
	for (size_t i = 0; i < reply->n_names; i++) {
		if (!tick_is_name(reply->names[i]))
			continue;
		struct history_read *read = mem_calloc(1, sizeof(*read));
		read->history = h;
		memcpy(read->tick, reply->names[i], sizeof(read->tick));
		ledger_path(h->leaders, h->task, read->tick, path);
		h->pending++;
		zk_get(h->leaders->session->zk, path, false, on_history_record, read);
	}
	history_answered(h);
}

void ledger_history(struct leaders *l, const char *task, ledger_history_fn fn, void *arg)
{
	struct history *h = mem_calloc(1, sizeof(*h));
	char path[ZK_PATH_MAX];

	h->leaders = l;
	h->fn = fn;
	h->arg = arg;
	h->pending = 1;
	snprintf(h->task, sizeof(h->task), "%s", task);
	ledger_path(l, task, NULL, path);
	zk_children(l->session->zk, path, false, on_history_names, h);
}
