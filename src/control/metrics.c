#include "control/metrics.h"

#include "control/answer/answers.h"
#include "control/queues/queue_asks.h"
#include "control/queues/queues.h"
#include "node/ledger/counts.h"
#include "node/ledger/overdue.h"
#include "node/node.h"

#define KEYS_OF_TASK 9

static void pack_bounds(struct pack *p, const char *key, const struct histogram_bounds *bounds)
{
	pack_str(p, key);
	pack_array(p, bounds->n);
	for (size_t i = 0; i < bounds->n; i++)
		pack_int(p, bounds->le[i]);
}

/* The keys `counts` and `sum` of a histogram, for a map that the caller has opened. */
static void pack_content(struct pack *p, const struct histogram *h,
			 const struct histogram_bounds *bounds)
{
	pack_str(p, "counts");
	pack_array(p, bounds->n + 1);
	for (size_t i = 0; i <= bounds->n; i++)
		pack_uint(p, h->counts[i]);
	pack_kv_int(p, "sum", h->sum);
}

/* Bounds are packed once, as there may be many tasks; a task without a run has nil. */
static void pack_runs(struct pack *p, const struct histogram *h)
{
	uint64_t n = 0;

	for (size_t i = 0; i <= counts_run_bounds.n; i++)
		n += h->counts[i];
	pack_str(p, "run_ms");
	if (n == 0) {
		pack_nil(p);
		return;
	}
	pack_map(p, 2);
	pack_content(p, h, &counts_run_bounds);
}

static void pack_ends(struct pack *p, const struct task_counts *c)
{
	pack_str(p, "runs");
	pack_map(p, COUNTS_ENDS);
	for (enum counts_end end = 0; end < COUNTS_ENDS; end++)
		pack_kv_uint(p, counts_end_name(end), c->ends[end]);
}

/* Values of the whole task come from its leader alone: sums over the nodes would be too big. */
static void pack_task(struct pack *p, const struct task *t)
{
	bool leads = leaders_lease_left(t) > 0;
	int64_t ok_ms = leads ? overdue_last_ok(t) : 0;

	pack_map(p, KEYS_OF_TASK);
	pack_kv_str(p, "task", t->name);
	pack_kv_uint(p, "leaderships", t->leaderships);
	pack_ends(p, counts_of(t));
	pack_runs(p, &counts_of(t)->run_ms);
	pack_kv_uint(p, "missed", counts_of(t)->missed);
	pack_kv_known(p, "last_ok_ms", ok_ms > 0, ok_ms);
	if (leads && t->settings->alert_after_ms > 0)
		pack_kv_bool(p, "overdue", overdue_is(t));
	else
		pack_kv_nil(p, "overdue");
	pack_kv_bool(p, "leads", leads);
	pack_kv_bool(p, "paused", t->standing.paused);
}

static void pack_metrics(struct queue_ask *a, struct pack *p)
{
	const struct methods *m = a->ask.methods;
	const struct leaders *l = &m->node->leaders;
	size_t n_methods = 0, n = 0;

	for (size_t i = 0; i < l->n_tasks; i++)
		n += !l->tasks[i]->withdrawn;
	while (n_methods < METHODS_COUNT_MAX && m->asked[n_methods].name)
		n_methods++;
	pack_map(p, 5);
	pack_str(p, "requests");
	pack_map(p, n_methods);
	for (size_t i = 0; i < n_methods; i++)
		pack_kv_uint(p, m->asked[i].name, m->asked[i].n);
	pack_str(p, "zookeeper_ms");
	pack_map(p, 3);
	pack_bounds(p, "le", &session_answer_bounds);
	pack_content(p, &m->node->session.answered_ms, &session_answer_bounds);
	pack_bounds(p, "run_le", &counts_run_bounds);
	pack_str(p, "tasks");
	pack_array(p, n);
	for (size_t i = 0; i < l->n_tasks; i++)
		if (!l->tasks[i]->withdrawn)
			pack_task(p, l->tasks[i]);
	pack_str(p, "queues");
	pack_array(p, a->n_views);
	if (a->n_views > 0)
		pack_raw(p, a->views.data, a->views.len);
}

/* The values of a queue come from its leader alone, which has to count the jobs. */
void method_metrics(struct call *call)
{
	queue_views_of_led(call, pack_metrics);
}
