/* wait: answers once enough workers are in the fleet, as far as it is known here. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/duration.h"
#include "base/text/names.h"
#include "control/recipes/recipes.h"
#include "core/fleet/version.h"
#include "node/node.h"

struct recipe_wait {
	struct recipe_wait *next;
	struct peer *client;
	uint32_t msgid;
	int64_t wanted;
	int64_t deadline_ms;		    /* INT64_MAX: none */
	char task[NAME_TASK_MAX + 1];	    /* "": of workers with any tasks */
	char version[NAME_VERSION_MAX + 1]; /* "": of workers of any version */
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

/* Removes the wait from the list and answers it. */
static void end_wait(struct recipe_wait **link, int64_t found)
{
	struct recipe_wait *w = *link;
	struct peer *c = w->client;

	*link = w->next;
	c->parked--;
	struct pack *p = peer_begin(c);
	rpc_pack_result(p, w->msgid);
	pack_map(p, 2);
	pack_kv_bool(p, "done", found >= w->wanted);
	pack_kv_int(p, "workers", found);
	peer_end(c, w->msgid);
	free(w);
}

static bool is_known(const struct node *n)
{
	return session_is_up(&n->session) && n->registry.workers.ready;
}

/* Answers the waits that have enough workers or no time left; sets the timer for the next. */
static void look(struct methods *m)
{
	int64_t now = host_now_ms(m->node->host), first = INT64_MAX;
	struct recipe_wait **link = &m->waits.list;

	while (*link) {
		struct recipe_wait *w = *link;
		int64_t found = is_known(m->node) ? count(m->node, w) : 0;
		if (found >= w->wanted || w->deadline_ms <= now) {
			end_wait(link, found);
			continue;
		}
		if (w->deadline_ms < first)
			first = w->deadline_ms;
		link = &w->next;
	}
	if (first == INT64_MAX)
		host_timer_stop(&m->waits.due);
	else
		host_timer_start(&m->waits.due, first > now ? first - now : 1000);
}

void recipes_look(struct methods *m)
{
	const struct fleet *f = &m->node->registry.fleet;
	struct recipe_waits *w = &m->waits;
	bool up = is_known(m->node);

	if (!w->list ||
	    (w->up == up && w->serial == f->next_serial && w->n_members == f->n_members))
		return;
	w->up = up;
	w->serial = f->next_serial;
	w->n_members = f->n_members;
	look(m);
}

static void on_due(void *arg)
{
	look(arg);
}

static int take_option(struct reader *r, struct recipe_wait *w, int64_t *timeout_ms)
{
	struct reader_text key, text = {"", 0};
	int e = reader_str(r, &key);

	if (e != 0)
		return e;
	if (reader_text_is(key, "workers"))
		return reader_int(r, &w->wanted);
	if (reader_text_is(key, "timeout_ms"))
		return reader_int(r, timeout_ms);
	if (!reader_text_is(key, "task") && !reader_text_is(key, "version"))
		return reader_skip(r);
	e = reader_str(r, &text);
	if (e != 0)
		return e;
	if (reader_text_is(key, "task"))
		return name_is_task(text.data, text.len)
			       ? reader_text_copy(text, w->task, sizeof(w->task))
			       : -1;
	return name_is_version(text.data, text.len)
		       ? reader_text_copy(text, w->version, sizeof(w->version))
		       : -1;
}

/* Takes the options of wait, a map; unknown keys are skipped. */
static bool take_options(struct call *call, struct recipe_wait *w, int64_t *timeout_ms)
{
	size_t n;

	if (call->n_params != 1 || reader_map(&call->params, &n) != 0)
		return false;
	for (; n > 0; n--)
		if (take_option(&call->params, w, timeout_ms) != 0)
			return false;
	return w->wanted >= 0 && w->wanted <= FLEET_MEMBERS_MAX && *timeout_ms >= -1 &&
	       *timeout_ms <= DURATION_MAX_MS;
}

void recipe_wait(struct call *call)
{
	struct recipe_wait taken = {.client = call->c, .msgid = call->msgid, .wanted = -1};
	struct recipe_wait **end = &call->m->waits.list;
	int64_t timeout_ms = -1;

	if (!recipes_may_use(call))
		return;
	if (!take_options(call, &taken, &timeout_ms)) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "wait takes a map: workers, from 0 to 5000, and may have task, version "
			   "and timeout_ms");
		return;
	}
	struct recipe_wait *w = mem_alloc(sizeof(*w));
	*w = taken;
	w->deadline_ms = timeout_ms < 0 ? INT64_MAX : host_now_ms(call->m->node->host) + timeout_ms;
	while (*end)
		end = &(*end)->next;
	*end = w;
	call->c->parked++;
	look(call->m);
}

void recipe_waits_client_gone(struct methods *m, const struct peer *c)
{
	struct recipe_wait **link = &m->waits.list;

	while (*link) {
		struct recipe_wait *w = *link;
		if (w->client != c) {
			link = &w->next;
			continue;
		}
		*link = w->next;
		w->client->parked--;
		free(w);
	}
}

void recipes_init_waits(struct methods *m)
{
	host_timer_init(&m->waits.due, m->node->host, on_due, m);
}

void recipes_done_waits(struct methods *m)
{
	host_timer_done(&m->waits.due);
}
