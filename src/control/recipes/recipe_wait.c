/* wait: answers once enough workers are in the fleet, as far as it is known here. */
#include <string.h>

#include "base/text/duration.h"
#include "base/text/names.h"
#include "control/ask/options.h"
#include "control/recipes/recipes.h"
#include "core/fleet/version.h"
#include "node/node.h"

struct recipe_wait {
	struct ask ask;
	int64_t wanted, timeout_ms;
	char task[NAME_TASK_MAX + 1];	    /* "": any task */
	char version[NAME_VERSION_MAX + 1]; /* "": any version */
};

static int64_t count(const struct node *n, const struct recipe_wait *w)
{
	const struct fleet *f = &n->registry.fleet;
	int64_t found = 0;

	for (size_t i = 0; i < f->n_members; i++) {
		const struct worker *worker = f->by_id[i]->worker;
		if (w->task[0] && !names_has(worker->tasks, worker->n_tasks, w->task))
			continue;
		if (w->version[0] && version_compare(worker->version, w->version) != 0)
			continue;
		found++;
	}
	return found;
}

static void end_wait(struct recipe_wait *w, int64_t found)
{
	struct pack *p = ask_result(&w->ask);

	pack_map(p, 2);
	pack_kv_bool(p, "done", found >= w->wanted);
	pack_kv_int(p, "workers", found);
	ask_end(&w->ask);
}

static bool is_known(const struct node *n)
{
	return session_is_up(&n->session) && registry_ready(&n->registry);
}

/* Answers the wait if it has enough workers, or no time left. */
static bool look(struct ask *a, void *arg)
{
	struct recipe_wait *w = (struct recipe_wait *)a;
	const struct node *n = a->methods->node;
	int64_t found = is_known(n) ? count(n, w) : 0;

	(void)arg;
	if (found >= w->wanted || a->deadline_ms <= host_now_ms(n->host))
		end_wait(w, found);
	return true;
}

static void on_due(struct ask *a)
{
	look(a, NULL);
}

static const struct ask_kind kind = {
	.size = sizeof(struct recipe_wait), .gone = ask_end, .due = on_due};

void recipes_look(struct methods *m)
{
	const struct fleet *f = &m->node->registry.fleet;
	struct recipe_waits *w = &m->waits;
	bool up = is_known(m->node);

	if (w->up == up && w->serial == f->next_serial && w->n_members == f->n_members)
		return;
	w->up = up;
	w->serial = f->next_serial;
	w->n_members = f->n_members;
	asks_each(&m->asks, &kind, look, NULL);
}

void recipe_wait(struct call *call)
{
	static const struct key keys[] = {
		OPTION_INT(recipe_wait, wanted, "workers", 0, FLEET_MEMBERS_MAX,
			   "not from 0 to 10000"),
		OPTION_INT(recipe_wait, timeout_ms, "timeout_ms", -1, DURATION_MAX_MS,
			   "not a number of ms"),
		OPTION_TEXT(recipe_wait, task, "task", name_is_task, "not the name of a task"),
		OPTION_TEXT(recipe_wait, version, "version", name_is_version, "no version"),
	};
	struct recipe_wait *w = ask_new(call, &kind);

	w->wanted = w->timeout_ms = -1;
	if (!options_take(call, OPTIONS(keys), w)) {
		ask_end(&w->ask);
		return;
	}
	if (w->wanted < 0) {
		ask_fail(&w->ask, RPC_MISUSE, "workers: missing");
		return;
	}
	if (w->timeout_ms >= 0)
		ask_until(&w->ask, host_now_ms(call->m->node->host) + w->timeout_ms);
	look(&w->ask, NULL);
}
