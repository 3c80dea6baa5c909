/* The fleet as the servers have it, and who leads each task there: judged at each transaction that is committed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/fleet/fleet.h"
#include "scale.h"
#include "server.h"
#include "wire/records/record.h"

struct best best;
static struct fleet fleet;
static struct contest *contests;
static int64_t last_zxid;
static path_id workers, leaders;
static struct {
	char digest[WORKER_LIST_LEN + 1];
	struct worker *list;
} * lists;
static size_t n_lists;
static struct led {
	int64_t owner;	  /* session, 0: nobody */
	int64_t given_up; /* when it ceased to be led; 0: it never was, or is led */
	bool wrong;
	uint64_t claims;
} * led;

static void judge(unsigned task)
{
	const struct member *m = fleet_standing(&fleet, task, NULL).best;
	bool wrong = led[task].owner != (m ? m->session : 0);

	if (wrong == led[task].wrong)
		return;
	led[task].wrong = wrong;
	best.n_wrong += wrong ? 1U : -1U;
	best.right_since = sim.now;
}

static void vacate(struct led *l)
{
	l->owner = 0;
	l->given_up = sim.now;
}

static void judge_all(void)
{
	for (unsigned k = 0; k < plan.tasks; k++)
		judge(k);
}

static unsigned task_of(path_id p)
{
	return (unsigned)strtoul(path_name(p) + strlen("job-"), NULL, 10);
}

/* Gives the worker what its list says. */
static void adopt(struct worker *w)
{
	for (size_t i = 0; w->unlisted && i < n_lists; i++)
		if (strcmp(lists[i].digest, w->list) == 0)
			worker_adopt(w, lists[i].list);
}

static void on_list(const struct op *op)
{
	struct worker *list;
	const char *why;

	if (strcmp(path_name(path_parent(op->path)), "lists") != 0 || !op->data ||
	    record_parse_list(op->data->bytes, op->data->len, &list, &why) != 0)
		return;
	lists = mem_resize(lists, n_lists + 1, sizeof(*lists));
	snprintf(lists[n_lists].digest, sizeof(lists[n_lists].digest), "%s", path_name(op->path));
	lists[n_lists++].list = list;
}

static void on_create(const struct transaction *x, const struct op *op)
{
	struct worker *w;
	const char *why;

	if (path_parent(op->path) == workers &&
	    record_parse_worker(op->data->bytes, op->data->len, &w, &why) == 0) {
		adopt(w);
		fleet_add(&fleet, w, x->session, 0);
		best.changed_at = sim.now;
		best.record_bytes = op->data->len;
		judge_all();
	} else if (path_parent(op->path) == leaders) {
		struct led *l = &led[task_of(op->path)];
		if (l->given_up && sim.now - l->given_up > best.worst_unled)
			best.worst_unled = sim.now - l->given_up;
		l->given_up = 0;
		l->owner = x->session;
		best.claims++;
		if (++l->claims > best.worst_claims)
			best.worst_claims = l->claims;
		judge(task_of(op->path));
	}
}

static void on_delete(path_id p)
{
	if (path_parent(p) == workers && fleet_remove(&fleet, path_name(p))) {
		best.changed_at = sim.now;
		judge_all();
	} else if (path_parent(p) == leaders) {
		vacate(&led[task_of(p)]);
		judge(task_of(p));
	}
}

static void on_close(int64_t session)
{
	const struct member *m;
	char id[NAME_ID_MAX + 1];

	for (unsigned k = 0; k < plan.tasks; k++)
		if (led[k].owner == session)
			vacate(&led[k]);
	while ((m = fleet_find_session(&fleet, session))) {
		memcpy(id, m->worker->id, sizeof(id));
		fleet_remove(&fleet, id);
		best.changed_at = sim.now;
	}
	judge_all();
}

/* Each server tells it; the first is the leader. */
static void on_commit(const struct transaction *x)
{
	if (x->zxid <= last_zxid)
		return;
	last_zxid = x->zxid;
	if (x->code != STORE_OK)
		return;
	if (x->type == TRANSACTION_CLOSE)
		on_close(x->session);
	for (size_t i = 0; i < x->n_ops; i++) {
		if (x->ops[i].type == STORE_OP_CREATE_EPHEMERAL)
			on_create(x, &x->ops[i]);
		else if (x->ops[i].type == STORE_OP_CREATE)
			on_list(&x->ops[i]);
		else if (x->ops[i].type == STORE_OP_DELETE)
			on_delete(x->ops[i].path);
	}
}

void best_reset(void)
{
	best.claims = best.worst_claims = 0;
	best.worst_unled = 0;
	for (unsigned k = 0; k < plan.tasks; k++)
		led[k].claims = 0;
}

void best_begin(void)
{
	const struct contest **list = mem_calloc(plan.tasks, sizeof(*list));

	fleet_done(&fleet);
	free(contests);
	free(led);
	while (n_lists > 0)
		worker_free(lists[--n_lists].list);
	contests = mem_calloc(plan.tasks, sizeof(*contests));
	led = mem_calloc(plan.tasks, sizeof(*led));
	fleet_init(&fleet);
	fleet_set_tasks(&fleet, (const char *const *)task_name, plan.tasks);
	for (unsigned k = 0; k < plan.tasks; k++) {
		contests[k] = (struct contest){.task = task_name[k], .rank_position = -1};
		list[k] = &contests[k];
	}
	fleet_set_contests(&fleet, list);
	free(list);
	best = (struct best){.n_wrong = 0};
	last_zxid = 0;
	workers = path_intern(SCALE_ROOT "/workers");
	leaders = path_intern(SCALE_ROOT "/leaders");
	servers_commit = on_commit;
}
