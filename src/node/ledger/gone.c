#include "node/ledger/gone.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "core/time/tick.h"
#include "node/election/leaders.h"
#include "node/election/tasks.h"
#include "node/tree/paths.h"

#define WHOLE	       NAME_PARTITIONS_MAX /* behind the partitions: the task as a whole */
#define LEDGERS	       (NAME_PARTITIONS_MAX + 1)
#define LOOKED_AT_ONCE 16 /* ledgers, for one claim */
#define PRUNED_AT_ONCE 50 /* records, in one transaction */
#define PRUNE_OPS      4  /* of a transaction; what it deletes comes behind them */

/* The ledgers that may hold records, as far as they were checked under one leadership. */
struct gone {
	int64_t token; /* of the leadership, under which the number does not change */
	bool left[LEDGERS];
	unsigned next; /* ledger, to be looked at */
	bool busy;
};

/* A look at some of these ledgers, caused by one claim. */
struct look {
	struct leaders *leaders;
	char task[NAME_ELECTION_MAX + 1];  /* the task that is led */
	char whole[NAME_ELECTION_MAX + 1]; /* T of it */
	char name[NAME_ELECTION_MAX + 1];  /* of the ledger that is looked at */
	char rule[NAME_ELECTION_MAX + 1];  /* T:N, what is in force */
	char floor[TICK_NAME_SIZE];
	int64_t token; /* of the leadership */
	unsigned ledger, looked;
	int32_t version;
};

static const struct partitions_rule *rule_of(const struct task *t)
{
	return partitions_rule(t->leaders, t->listed ? t->listed : t->name);
}

/* The state that a look is for; NULL: the task has gone, or this is another leadership. */
static struct gone *state_of(const struct look *k)
{
	struct task *t = tasks_find(k->leaders, k->task, strlen(k->task));
	struct gone *g = t ? t->gone : NULL;

	return g && g->token == k->token ? g : NULL;
}

static void end(struct look *k)
{
	struct gone *g = state_of(k);

	if (g)
		g->busy = false;
	free(k);
}

/* The node may be ending with its session: then nothing but the look is touched. */
static void end_failed(struct look *k, const struct store_reply *reply)
{
	if (reply->code == STORE_ABANDONED)
		free(k);
	else
		end(k);
}

static void go_on(struct look *k);

/* This ledger is empty, and stays so while the same number is in force. */
static void is_empty(struct look *k)
{
	struct gone *g = state_of(k);

	if (g)
		g->left[k->ledger] = false;
	go_on(k);
}

static void on_pruned(void *arg, const struct store_reply *reply)
{
	struct look *k = arg;

	if (reply->code == STORE_OK)
		log_info("ledger of a former partition pruned", LOG_STR("task", k->name),
			 LOG_STR("before", k->floor));
	end_failed(k, reply);
}

/*
 * Prunes only while we are registered and the task is led, and if nobody can lead or claim what is
 * pruned.
 */
static void prune(struct look *k, const struct store_reply *reply)
{
	const struct leaders *l = k->leaders;
	char leader[STORE_PATH_MAX], rule[STORE_PATH_MAX], folder[STORE_PATH_MAX];
	char(*paths)[STORE_PATH_MAX] = mem_calloc(PRUNED_AT_ONCE, STORE_PATH_MAX);
	struct store_op ops[PRUNE_OPS + PRUNED_AT_ONCE];
	size_t n = 0;

	path_of(l->registry->settings, PATH_LEADERS, k->task, leader);
	path_of(l->registry->settings, PATH_SPLITS, k->rule, rule);
	path_of_tick(l->session->settings, k->name, NULL, folder);
	ops[0] = (struct store_op){
		.type = STORE_OP_CHECK, .path = l->session->registration, .version = -1};
	ops[1] = (struct store_op){.type = STORE_OP_CHECK, .path = leader, .version = -1};
	ops[2] = (struct store_op){.type = STORE_OP_CHECK, .path = rule, .version = -1};
	ops[3] = (struct store_op){.type = STORE_OP_SET,
				   .path = folder,
				   .version = k->version,
				   .data = k->floor,
				   .len = TICK_NAME_SIZE - 1};
	for (size_t i = 0; i < reply->n_names && n < PRUNED_AT_ONCE; i++) {
		if (!tick_is_name(reply->names[i]) || strcmp(reply->names[i], k->floor) >= 0)
			continue;
		path_of_tick(l->session->settings, k->name, reply->names[i], paths[n]);
		ops[PRUNE_OPS + n] =
			(struct store_op){.type = STORE_OP_DELETE, .path = paths[n], .version = -1};
		n++;
	}
	store_multi(l->session->store, ops, PRUNE_OPS + n, on_pruned, k);
	free(paths);
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct look *k = arg;
	bool old = false, some = false;

	if (reply->code != STORE_OK) {
		end_failed(k, reply);
		return;
	}
	for (size_t i = 0; i < reply->n_names; i++) {
		some |= tick_is_name(reply->names[i]);
		old |= tick_is_name(reply->names[i]) && strcmp(reply->names[i], k->floor) < 0;
	}
	if (old)
		prune(k, reply);
	else if (some)
		go_on(k);
	else
		is_empty(k);
}

static void on_folder(void *arg, const struct store_reply *reply)
{
	struct look *k = arg;
	const char *floor = reply->data;
	char path[STORE_PATH_MAX];

	if (reply->code == STORE_NO_NODE) {
		is_empty(k);
		return;
	}
	if (reply->code != STORE_OK) {
		end_failed(k, reply);
		return;
	}
	k->version = reply->stat.version;
	/* The floor in the folder never goes back. */
	if (reply->len == TICK_NAME_SIZE - 1 && memcmp(floor, k->floor, reply->len) > 0) {
		go_on(k);
		return;
	}
	path_of_tick(k->leaders->session->settings, k->name, NULL, path);
	store_children(k->leaders->session->store, path, false, on_names, k);
}

/* Goes on to the next ledger that may hold records, unless this claim has looked at enough. */
static void go_on(struct look *k)
{
	struct gone *g = state_of(k);
	char path[STORE_PATH_MAX];
	unsigned tried = 0;

	while (g && tried < LEDGERS && !g->left[g->next]) {
		g->next = (g->next + 1) % LEDGERS;
		tried++;
	}
	if (!g || tried == LEDGERS || k->looked++ == LOOKED_AT_ONCE) {
		end(k);
		return;
	}
	k->ledger = g->next;
	g->next = (g->next + 1) % LEDGERS;
	if (k->ledger == WHOLE)
		snprintf(k->name, sizeof(k->name), "%s", k->whole);
	else
		snprintf(k->name, sizeof(k->name), "%.*s:%u", NAME_TASK_MAX, k->whole, k->ledger);
	path_of_tick(k->leaders->session->settings, k->name, NULL, path);
	store_get(k->leaders->session->store, path, false, on_folder, k);
}

/* Marks the ledgers that may hold records while this number is in force. */
static void begin(struct gone *g, const struct partitions_rule *rule, int64_t token)
{
	memset(g, 0, sizeof(*g));
	g->token = token;
	for (unsigned k = rule->n > 1 ? rule->n : 0; rule->record.from > 0 && k < WHOLE; k++)
		g->left[k] = true;
	g->left[WHOLE] = rule->n > 1;
	g->next = rule->n > 1 ? WHOLE : 0;
}

void gone_prune(struct task *t, const char *floor)
{
	const struct partitions_rule *rule = rule_of(t);
	struct gone *g = t->gone;
	int64_t token = t->election.node.token;

	if (!rule || t->partition != 0 || (rule->n > 1) != (t->listed != NULL))
		return;
	if (!g)
		g = t->gone = mem_calloc(1, sizeof(*g));
	if (g->token != token)
		begin(g, rule, token);
	if (g->busy)
		return;
	struct look *k = mem_calloc(1, sizeof(*k));
	k->leaders = t->leaders;
	k->token = token;
	snprintf(k->task, sizeof(k->task), "%s", t->name);
	snprintf(k->whole, sizeof(k->whole), "%s", rule->task);
	snprintf(k->rule, sizeof(k->rule), "%s", rule->name);
	snprintf(k->floor, sizeof(k->floor), "%s", floor);
	g->busy = true;
	go_on(k);
}

void gone_forget(struct task *t)
{
	free(t->gone);
	t->gone = NULL;
}
