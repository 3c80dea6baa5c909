/*
 * ROOT/seen/TASK on every transaction that is committed. The end of a run that was ok comes in one transaction
 * with its time there, unless the node was made but just now. Who leads makes it once, and sets it to nothing
 * but a later end of a run that is in the ledger: so the time never begins anew, whoever was away.
 */
#include "alerts.h"

#include <stdio.h>
#include <string.h>

#include "wire/records/record.h"
#include "wire/records/seen_record.h"

#define FRESH_US \
	(30 * SECOND) /* a write on its way when the node was made may have come without it */
#define OKS_KEPT  4096
#define RUNS_PATH SITE_ROOT "/runs/"
#define SEEN_PATH SITE_ROOT "/seen/"

static struct alert {
	bool there;
	int64_t made_at; /* true time */
	struct seen_record seen;
	int64_t oks[OKS_KEPT]; /* ends that were recorded, the newest over the oldest */
	uint64_t n_oks;
} alerts[TASKS_MAX];
static int64_t last_zxid; /* that was committed, as far as was looked at */
bool alerts_judging;
static void (*next_commit)(const struct transaction *x);

/* The task that a path below that folder is about; NULL: none that can be overdue. */
static struct alert *alert_of(path_id path, const char *folder, char ret_rest[64])
{
	const char *text = path_text(path);
	char name[64];

	if (strncmp(text, folder, strlen(folder)) != 0)
		return NULL;
	snprintf(name, sizeof(name), "%s", text + strlen(folder));
	size_t len = strcspn(name, "/");
	snprintf(ret_rest, 64, "%s", name[len] ? name + len + 1 : "");
	name[len] = '\0';
	unsigned task = task_number(name);
	return task < TASKS_MAX && task_settings[task].alert_after_ms > 0 ? &alerts[task] : NULL;
}

static unsigned number_of(const struct alert *a)
{
	return (unsigned)(a - alerts);
}

/* The end that a transaction records as ok, 0: none. */
static int64_t ok_in(const struct transaction *x, const struct alert *wanted)
{
	struct run_record record;
	char tick[64];
	const char *why;

	for (size_t i = 0; i < x->n_ops; i++) {
		const struct op *op = &x->ops[i];
		if (op->type != STORE_OP_SET || alert_of(op->path, RUNS_PATH, tick) != wanted ||
		    !tick[0] || !op->data ||
		    record_parse_run(op->data->bytes, op->data->len, &record, &why) != 0)
			continue;
		if (strcmp(record.state, "ok") == 0)
			return record.ended_at;
	}
	return 0;
}

static bool was_ok(const struct alert *a, int64_t ended_at)
{
	for (uint64_t i = 0; i < a->n_oks && i < OKS_KEPT; i++)
		if (a->oks[i] == ended_at)
			return true;
	return false;
}

/* Returns whether the op is such a write, and takes it over. */
static bool take_seen(const struct transaction *x, const struct op *op, struct alert *a)
{
	struct seen_record seen;
	const char *why;

	if (op->type != STORE_OP_SET && op->type != STORE_OP_CREATE)
		return false;
	if (!op->data || record_parse_seen(op->data->bytes, op->data->len, &seen, &why) != 0) {
		sim_violation("task %u: what is written of when it was seen is no record",
			      number_of(a));
		return true;
	}
	int64_t ok_ms = ok_in(x, a);
	if (ok_ms > 0 && (!seen.ok || seen.since != ok_ms))
		sim_violation("task %u: a run ended well, and another time was written",
			      number_of(a));
	else if (ok_ms == 0 && seen.ok && !was_ok(a, seen.since))
		sim_violation("task %u: a run is said to have ended well that did not",
			      number_of(a));
	else if (ok_ms == 0 && op->type == STORE_OP_SET &&
		 (!seen.ok || seen.since <= a->seen.since))
		sim_violation("task %u: the time without a good run begins anew", number_of(a));
	if (op->type == STORE_OP_CREATE)
		a->made_at = sim.now;
	a->there = true;
	a->seen = seen;
	sim.figures.seen++;
	return true;
}

static void look(const struct transaction *x)
{
	for (size_t i = 0; i < x->n_ops && !sim.stop; i++) {
		const struct op *op = &x->ops[i];
		char rest[64];
		bool with = false;
		struct alert *a = alert_of(op->path, SEEN_PATH, rest);

		if (a)
			take_seen(x, op, a);
		a = alert_of(op->path, RUNS_PATH, rest);
		int64_t ok_ms = a && rest[0] && op->type == STORE_OP_SET ? ok_in(x, a) : 0;
		if (ok_ms == 0)
			continue;
		a->oks[a->n_oks++ % OKS_KEPT] = ok_ms;
		for (size_t j = 0; j < x->n_ops; j++)
			with |= alert_of(x->ops[j].path, SEEN_PATH, rest) == a;
		if (!with && a->there && sim.now - a->made_at > FRESH_US)
			sim_violation(
				"task %u: a run ended well, and its time was not written with it",
				number_of(a));
	}
}

/* Each server comes to a transaction by itself: the first one counts. */
static void on_commit(const struct transaction *x)
{
	if (next_commit)
		next_commit(x);
	if (x->zxid <= last_zxid)
		return;
	last_zxid = x->zxid;
	alerts_judging = true;
	if (x->code == STORE_OK && x->session != HAND)
		look(x);
	alerts_judging = false;
}

void alerts_forget(void)
{
	last_zxid = 0;
	memset(alerts, 0, sizeof(alerts));
}

void alerts_reset(void)
{
	alerts_forget();
	if (!sim.options.alerts)
		return;
	next_commit = servers_commit;
	servers_commit = on_commit;
}
