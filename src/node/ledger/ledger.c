#include "node/ledger/ledger.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "node/election/leaders.h"
#include "node/election/tasks.h"
#include "node/ledger/gone.h"
#include "node/tree/paths.h"
#include "node/tree/tick_folder.h"

#define CLAIM_OPS      4  /* of a claim; a trigger and those that prune come behind them */
#define PRUNED_AT_ONCE 50 /* records, in one transaction */

/* An outstanding call. */
struct op {
	struct leaders *leaders;
	char task[NAME_ELECTION_MAX + 1];
	char tick[TICK_NAME_SIZE];
	char limit[TICK_NAME_SIZE];   /* look, claim: as in tick_place() */
	char owed[TICK_NAME_SIZE];    /* claim: not to be older than the oldest kept */
	char trigger[STORE_PATH_MAX]; /* claim: goes with it; "" */
	ledger_fn fn;
	void *arg;
	bool whole; /* look: the record as well */
	/* Fields for claims: */
	struct run_record record;
	size_t keep;
	int64_t token; /* of the leadership that it is claimed under */
	bool made;     /* the parents have been made */
	bool unpruned; /* pruning failed, so it is done without */
	size_t n_pruned;
	struct ledger_ticks ticks; /* with the claimed one, once that is sent */
};

static void load(struct op *op);

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

static void ticks_done(struct ledger_ticks *t)
{
	free(t->names);
	memset(t, 0, sizeof(*t));
}

static void op_free(struct op *op)
{
	ticks_done(&op->ticks);
	free(op);
}

static void end(struct op *op, enum ledger_result result, const struct run_record *record,
		int32_t version)
{
	op->fn(op->arg, result, record, version);
	op_free(op);
}

/* Ends the call for a reply that is no success, and that the operation does not handle itself. */
static void end_failed(struct op *op, const struct store_reply *reply)
{
	end(op, ledger_failure(op->task, op->tick, reply), NULL, 0);
}

/* --- looking -------------------------------------------------------------- */

static void on_floor(void *arg, const struct store_reply *reply)
{
	struct op *op = arg;
	char floor[TICK_NAME_SIZE];

	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE) {
		end_failed(op, reply);
		return;
	}
	tick_folder_floor(reply, floor);
	end(op, strcmp(op->tick, floor) < 0 ? LEDGER_OLDER : LEDGER_ABSENT, NULL, 0);
}

/*
 * The tick has no record. If it is older than all records, it matters whether these are ahead of
 * their time.
 */
static void on_others(void *arg, const struct store_reply *reply)
{
	struct op *op = arg;
	bool older = false, counts = false, younger = false;
	char path[STORE_PATH_MAX];

	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE) {
		end_failed(op, reply);
		return;
	}
	for (size_t i = 0; reply->code == STORE_OK && i < reply->n_names; i++) {
		if (!tick_is_name(reply->names[i]))
			continue;
		older |= strcmp(reply->names[i], op->tick) > 0;
		younger |= strcmp(reply->names[i], op->tick) <= 0;
		counts |= strcmp(reply->names[i], op->limit) <= 0;
	}
	if (!older || younger) {
		end(op, LEDGER_ABSENT, NULL, 0);
	} else if (counts) {
		end(op, LEDGER_OLDER, NULL, 0);
	} else {
		path_of_tick(op->leaders->session->settings, op->task, NULL, path);
		store_get(op->leaders->session->store, path, false, on_floor, op);
	}
}

static void on_record(void *arg, const struct store_reply *reply)
{
	struct op *op = arg;
	struct run_record record;
	const char *why;
	char path[STORE_PATH_MAX];

	if (reply->code == STORE_NO_NODE) {
		end(op, LEDGER_AGAIN, NULL, 0);
		return;
	}
	if (reply->code != STORE_OK) {
		end_failed(op, reply);
		return;
	}
	bool good = record_parse_run(reply->data, reply->len, &record, &why) == 0;
	if (!good) {
		path_of_tick(op->leaders->session->settings, op->task, op->tick, path);
		log_warning("run record refused", LOG_STR("znode", path), LOG_STR("why", why));
	}
	end(op, LEDGER_PRESENT, good ? &record : NULL, reply->stat.version);
}

static void on_exists(void *arg, const struct store_reply *reply)
{
	struct op *op = arg;
	struct store *store = op->leaders->session->store;
	char path[STORE_PATH_MAX];

	if (reply->code == STORE_OK && !op->whole) {
		end(op, LEDGER_PRESENT, NULL, reply->stat.version);
	} else if (reply->code == STORE_OK) {
		path_of_tick(op->leaders->session->settings, op->task, op->tick, path);
		store_get(store, path, false, on_record, op);
	} else if (reply->code == STORE_NO_NODE) {
		path_of_tick(op->leaders->session->settings, op->task, NULL, path);
		store_children(store, path, false, on_others, op);
	} else {
		end_failed(op, reply);
	}
}

void ledger_look(struct leaders *l, const char *task, const char *tick,
		 const struct ledger_sight *sight, ledger_fn fn, void *arg)
{
	struct op *op = op_new(l, task, tick, fn, arg);
	char path[STORE_PATH_MAX];

	op->whole = sight->whole;
	snprintf(op->limit, sizeof(op->limit), "%s", sight->limit);
	path_of_tick(l->session->settings, task, tick, path);
	if (sight->watcher)
		watches_exists(&l->session->watches, path, sight->class, sight->watcher, on_exists,
			       op);
	else
		store_exists(l->session->store, path, false, on_exists, op);
}

void ledger_unwatch(struct leaders *l, const char *task, const char *tick, const void *watcher)
{
	char path[STORE_PATH_MAX];

	path_of_tick(l->session->settings, task, tick, path);
	watches_drop(&l->session->watches, path, WATCH_NODE, watcher);
}

/* --- claiming ------------------------------------------------------------- */

/*
 * The oldest tick that is kept after this claim. It never goes back, although a triggered tick may
 * be older.
 */
static const char *floor_after(const struct op *op)
{
	const char *first = op->ticks.names[op->n_pruned];

	return strcmp(op->ticks.floor, first) > 0 ? op->ticks.floor : first;
}

/* Puts the tick in its place, and counts the oldest ticks that are to be pruned. */
static void add_claimed(struct op *op)
{
	struct ledger_ticks *t = &op->ticks;
	size_t at = t->n;

	t->names = mem_resize(t->names, t->n + 1, sizeof(*t->names));
	while (at > 0 && strcmp(t->names[at - 1], op->tick) > 0)
		at--;
	memmove(t->names + at + 1, t->names + at, (t->n - at) * sizeof(*t->names));
	memcpy(t->names[at], op->tick, sizeof(*t->names));
	t->n++;
	op->n_pruned = t->n > op->keep && !op->unpruned ? t->n - op->keep : 0;
	if (op->n_pruned > PRUNED_AT_ONCE)
		op->n_pruned = PRUNED_AT_ONCE;
	if (op->n_pruned > at)
		op->n_pruned = at;
	while (op->n_pruned > 0 && strcmp(t->names[op->n_pruned], op->owed) > 0)
		op->n_pruned--;
}

/* The known ticks serve the next claim, as long as the leadership is the same. */
static void give_back(struct op *op)
{
	struct ledger_ticks *ticks = &op->ticks;
	struct task *t = tasks_find(op->leaders, op->task, strlen(op->task));

	if (!t || !election_leads(&t->election) || t->election.node.token != op->token)
		return;
	if (op->n_pruned > 0) {
		memmove(ticks->floor, floor_after(op), sizeof(ticks->floor));
		ticks->n -= op->n_pruned;
		memmove(ticks->names, ticks->names + op->n_pruned,
			ticks->n * sizeof(*ticks->names));
		ticks->version++;
	}
	ticks->token = op->token;
	ledger_forget(t);
	t->ticks = mem_alloc(sizeof(*t->ticks));
	*t->ticks = *ticks;
	memset(ticks, 0, sizeof(*ticks));
	if (op->n_pruned > 0)
		gone_prune(t, t->ticks->floor);
}

static int first_pruned(const struct op *op)
{
	return CLAIM_OPS + (op->trigger[0] != '\0');
}

static void on_claimed(void *arg, const struct store_reply *reply)
{
	struct op *op = arg;

	if (reply->code == STORE_OK) {
		session_confirmed(op->leaders->session, reply->sent_ms);
		clocks_heard(&op->leaders->registry->clocks, reply);
		give_back(op);
		end(op, LEDGER_DONE, NULL, 0);
		return;
	}
	if (reply->code == STORE_NO_NODE && reply->failed_op == 0)
		session_confirm(op->leaders->session);
	if (reply->failed_op >= first_pruned(op) && !op->unpruned) {
		log_warning("ledger not pruned", LOG_STR("task", op->task),
			    LOG_STR("why", reply->text));
		op->unpruned = true;
		load(op);
	} else if (reply->code == STORE_NO_NODE || reply->code == STORE_NODE_EXISTS ||
		   reply->code == STORE_BAD_VERSION) {
		end(op, LEDGER_AGAIN, NULL, 0);
	} else {
		end_failed(op, reply);
	}
}

/* Claims the tick and prunes the oldest ones, in one transaction. */
static void send_claim(struct op *op)
{
	char leader[STORE_PATH_MAX], parent[STORE_PATH_MAX], path[STORE_PATH_MAX];
	char(*pruned)[STORE_PATH_MAX] = mem_calloc(PRUNED_AT_ONCE, STORE_PATH_MAX);
	struct store_op ops[CLAIM_OPS + 1 + PRUNED_AT_ONCE];
	size_t first = (size_t)first_pruned(op);
	struct buffer data;

	add_claimed(op);
	path_of(op->leaders->registry->settings, PATH_LEADERS, op->task, leader);
	path_of_tick(op->leaders->session->settings, op->task, NULL, parent);
	path_of_tick(op->leaders->session->settings, op->task, op->tick, path);
	buffer_init(&data, RECORD_RUN_MAX);
	int error = record_pack_run(&data, &op->record);
	assert(error == 0);
	(void)error;
	ops[0] = (struct store_op){
		.type = STORE_OP_CHECK, .path = op->leaders->session->registration, .version = -1};
	ops[1] = (struct store_op){.type = STORE_OP_CHECK, .path = leader, .version = -1};
	ops[2] = (struct store_op){
		.type = STORE_OP_CHECK, .path = parent, .version = op->ticks.version};
	ops[3] = (struct store_op){.type = STORE_OP_CREATE,
				   .path = path,
				   .data = data.data,
				   .len = data.len,
				   .closed = true};
	if (op->trigger[0])
		ops[CLAIM_OPS] = (struct store_op){
			.type = STORE_OP_DELETE, .path = op->trigger, .version = -1};
	if (op->n_pruned > 0) {
		ops[2].type = STORE_OP_SET;
		ops[2].data = floor_after(op);
		ops[2].len = TICK_NAME_SIZE - 1;
	}
	for (size_t i = 0; i < op->n_pruned; i++) {
		path_of_tick(op->leaders->session->settings, op->task, op->ticks.names[i],
			     pruned[i]);
		ops[first + i] = (struct store_op){
			.type = STORE_OP_DELETE, .path = pruned[i], .version = -1};
	}
	store_multi(op->leaders->session->store, ops, first + op->n_pruned, on_claimed, op);
	buffer_done(&data);
	free(pruned);
}

static void claim(struct op *op)
{
	const struct ledger_ticks *t = &op->ticks;

	enum tick_place place = tick_place(op->tick, t->floor, t->names, t->n, op->limit);

	if (place == TICK_OLDER && op->trigger[0])
		place = TICK_FREE;
	switch (place) {
	case TICK_FREE: send_claim(op); break;
	case TICK_CLAIMED:
		give_back(op);
		end(op, LEDGER_PRESENT, NULL, 0);
		break;
	case TICK_OLDER:
		give_back(op);
		end(op, LEDGER_OLDER, NULL, 0);
		break;
	}
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct op *op = arg;

	if (reply->code == STORE_NO_NODE) {
		end(op, LEDGER_AGAIN, NULL, 0);
	} else if (reply->code != STORE_OK) {
		end_failed(op, reply);
	} else {
		op->ticks.names = tick_folder_names(reply, &op->ticks.n);
		claim(op);
	}
}

static void on_parent_made(void *arg, const struct store_reply *reply)
{
	struct op *op = arg;

	if (reply->code == STORE_OK || reply->code == STORE_NODE_EXISTS) {
		op->made = true;
		load(op);
	} else {
		end_failed(op, reply);
	}
}

static void on_runs_made(void *arg, const struct store_reply *reply)
{
	struct op *op = arg;
	char parent[STORE_PATH_MAX];

	if (reply->code != STORE_OK && reply->code != STORE_NODE_EXISTS) {
		end_failed(op, reply);
		return;
	}
	path_of_tick(op->leaders->session->settings, op->task, NULL, parent);
	store_create(op->leaders->session->store, parent, on_parent_made, op);
}

static void on_parent(void *arg, const struct store_reply *reply)
{
	struct op *op = arg;
	struct ledger_ticks *t = &op->ticks;
	char path[STORE_PATH_MAX];

	if (reply->code == STORE_NO_NODE && !op->made) {
		path_of(op->leaders->registry->settings, PATH_RUNS, NULL, path);
		store_create(op->leaders->session->store, path, on_runs_made, op);
		return;
	}
	if (reply->code != STORE_OK) {
		end_failed(op, reply);
		return;
	}
	t->version = reply->stat.version;
	tick_folder_floor(reply, t->floor);
	path_of_tick(op->leaders->session->settings, op->task, NULL, path);
	store_children(op->leaders->session->store, path, false, on_names, op);
}

static void load(struct op *op)
{
	char path[STORE_PATH_MAX];

	ticks_done(&op->ticks);
	path_of_tick(op->leaders->session->settings, op->task, NULL, path);
	store_get(op->leaders->session->store, path, false, on_parent, op);
}

void ledger_claim(struct task *t, const char *tick, const char *limit, const char *owed,
		  const char *trigger, const struct run_record *record, ledger_fn fn, void *arg)
{
	struct op *op = op_new(t->leaders, t->name, tick, fn, arg);

	snprintf(op->limit, sizeof(op->limit), "%s", limit);
	snprintf(op->owed, sizeof(op->owed), "%s", owed);
	snprintf(op->trigger, sizeof(op->trigger), "%s", trigger ? trigger : "");
	op->record = *record;
	op->keep = (size_t)t->settings->history;
	op->token = t->election.node.token;
	/* The claim takes the known ticks away: if it fails, they are not used again. */
	if (t->ticks)
		op->ticks = *t->ticks;
	free(t->ticks);
	t->ticks = NULL;
	if (op->ticks.names && op->ticks.token == op->token)
		claim(op);
	else
		load(op);
}

void ledger_forget(struct task *t)
{
	if (t->ticks)
		ticks_done(t->ticks);
	free(t->ticks);
	t->ticks = NULL;
}
